//! The comparison of all configs, its reports, and the known values that no config selects.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::blocks::as_markdown;
use super::known::part;
use super::report::{Remaining, Report};
use super::verdict::Verdict;
use super::{assemble, bands, contents, deviations, html, index};
use crate::config::{Config, Profile};
use crate::error::{Error, FileRole, Result};
use crate::experiment::Experiment;
use crate::files::write_atomically;
use crate::layout::Results;
use crate::table::Table;

/// Compares the results of `configs` with the known values and writes the reports.
///
/// The reports `COMPARISON.md` and `comparison.html` are written to the results folder of the
/// profile. `experiments` are the kinds that the configs name. Mismatches are in
/// [`Report::findings`]; they are not errors of this function.
///
/// # Errors
/// Missing or unusable input files (all of them are reported), or a report that cannot be written.
pub fn run(
    root: &Path,
    configs: &[Config],
    experiments: &[Box<dyn Experiment>],
    profile: Profile,
) -> Result<Report> {
    let deviations = deviations::Deviations::read(root)?;
    let known = assemble::Known { deviations: &deviations, bands: &bands::Bands::read(root)? };
    let assembly = assemble::assemble(root, configs, experiments, profile, known)?;
    let remaining = remaining(root, &assembly.selected)?;
    let folder = Results::new(root, profile).dir();
    let explained = assembly
        .sections
        .iter()
        .flat_map(|section| &section.lines)
        .filter(|line| matches!(line.verdict, Verdict::Deviates | Verdict::Unexplained));
    let explanations = explained
        .filter_map(|line| Some((line.id.clone(), deviations.explanation(&line.id)?)))
        .collect();
    let report = Report {
        profile,
        explanations,
        sections: assembly.sections,
        findings: assembly.findings,
        remaining,
        markdown: folder.join("COMPARISON.md"),
        html: folder.join("comparison.html"),
    };
    let blocks = contents::blocks(&report);
    for (file, text) in [
        (&report.markdown, as_markdown(&blocks)),
        (&report.html, html::render(contents::TITLE, &blocks)),
        (&folder.join("verdicts.csv"), index::totals_as_csv(&report)),
    ] {
        write_atomically(file, text.as_bytes())
            .map_err(|error| Error::unwritable(FileRole::Report, file, &error))?;
    }
    Ok(report)
}

/// Counts the rows that no config selects, per file of known values and part of the paper.
///
/// `selected` maps a file to the line numbers of its selected rows. Fully selected files are
/// omitted.
///
/// # Errors
/// An unreadable folder or file.
fn remaining(root: &Path, selected: &BTreeMap<String, BTreeSet<usize>>) -> Result<Vec<Remaining>> {
    let mut found = Vec::new();
    for folder in ["data/published", "data/expected"] {
        for name in csv_names(root, folder)? {
            let file = format!("{folder}/{name}");
            let table = Table::read(&root.join(&file), &file, "check the file")?;
            let none = BTreeSet::new();
            let chosen = selected.get(&file).unwrap_or(&none);
            let mut parts: Vec<(String, usize)> = Vec::new();
            for row in (0..table.len()).filter(|row| !chosen.contains(&table.line(*row))) {
                let part = part(&table, row);
                match parts.iter_mut().find(|(known, _)| known == part) {
                    Some((_, count)) => *count += 1,
                    None => parts.push((part.to_owned(), 1)),
                }
            }
            if !parts.is_empty() {
                found.push(Remaining { file, rows: table.len(), selected: chosen.len(), parts });
            }
        }
    }
    Ok(found)
}

fn csv_names(root: &Path, folder: &str) -> Result<Vec<String>> {
    let path = root.join(folder);
    if !path.is_dir() {
        return Ok(Vec::new());
    }
    let unreadable = |error: std::io::Error| {
        Error::file(FileRole::Input, folder, "a readable folder", error, "check its permissions")
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".csv") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
