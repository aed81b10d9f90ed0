//! The comparison of all configs, and its reports.

use std::path::Path;

use super::report::Report;
use super::{assemble, bands, contents, deviations, html, index, markdown, remaining};
use crate::atomic::write_atomically;
use crate::config::{Config, Profile};
use crate::error::{Error, FileRole, Result};
use crate::experiment::Experiment;
use crate::layout::Results;

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
    let remaining = remaining::remaining(root, &assembly.selected)?;
    let folder = Results::new(root, profile).dir();
    let report = Report {
        profile,
        sections: assembly.sections,
        findings: assembly.findings,
        remaining,
        markdown: folder.join("COMPARISON.md"),
        html: folder.join("comparison.html"),
    };
    let blocks = contents::blocks(&report);
    for (file, text) in [
        (&report.markdown, markdown::render(&blocks)),
        (&report.html, html::render(contents::TITLE, &blocks)),
        (&folder.join("verdicts.csv"), index::totals_as_csv(&report)),
    ] {
        write_atomically(file, text.as_bytes())
            .map_err(|error| Error::unwritable(FileRole::Report, file, &error))?;
    }
    Ok(report)
}
