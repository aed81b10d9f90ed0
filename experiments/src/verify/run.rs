//! All checks, over all results.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::check::{Check, Verified, in_short, start};
use super::{numbers, proofs, record, relations, rows};
use crate::config::{Config, Profile};
use crate::datasets::Catalogue;
use crate::engine::{Code, ExperimentPlan, ProvenanceRecord, lacks_data};
use crate::error::Result;
use crate::experiment::Experiment;
use crate::files::sha256_hex;
use crate::layout::{Results, shown};
use crate::table::Table;
use crate::{derive, difference, pages as generated};

/// Checks the result table of every config and the folder of results; with `proofs` also their
/// certificates.
///
/// # Errors
/// A config whose grid is refused, or unreadable data sets or folders. Problems with results are in
/// [`Verified::findings`].
pub fn run(
    root: &Path,
    configs: &[Config],
    experiments: &[Box<dyn Experiment>],
    catalogue: &Catalogue,
    profile: Profile,
    proofs: bool,
) -> Result<Verified> {
    let mut verified = Verified::default();
    let mut sources: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut uncommitted = Vec::new();
    for config in configs {
        let plan = ExperimentPlan::new(config, experiments, profile)?;
        let results = Results::new(root, profile);
        let (file, provenance) =
            (results.table(&config.experiment), results.provenance(&config.experiment));
        let Ok(content) = fs::read(&file) else {
            if lacks_data(root, config, experiments, profile) {
                verified.notes.push(format!(
                    "{}: no table, because its data are not on this machine",
                    config.experiment
                ));
                continue;
            }
            verified.add(Check::Missing, &config.experiment, format!("no {}", shown(root, &file)));
            continue;
        };
        verified.tables += 1;
        let record =
            record_of(&provenance, &shown(root, &provenance), &config.experiment, &mut verified);
        if let Some(record) = &record {
            record::check(record, &plan, &sha256_hex(&content), catalogue, &mut verified)?;
            if record.code.dirty == Some(true) {
                uncommitted.push(config.experiment.clone());
            }
            for source in [&record.code.source].into_iter().chain(&record.other_sources) {
                sources.entry(source.clone()).or_default().push(config.experiment.clone());
            }
        }
        match Table::read(&file, &shown(root, &file), "run the experiment again") {
            Ok(table) => {
                rows::check(&table, &plan, &mut verified);
                derived(&table, config, results, &mut verified);
            }
            Err(error) => verified.add(Check::Columns, &config.experiment, error.to_string()),
        }
    }
    if !uncommitted.is_empty() {
        let tables = in_short(&uncommitted);
        verified.notes.push(format!(
            "computed with uncommitted changes, which the hash of the sources includes: {tables}"
        ));
    }
    one_source(&sources, &Code::detect(root).source, &mut verified);
    orphans(root, configs, profile, &mut verified)?;
    orphan_figures(root, configs, profile, &mut verified)?;
    if profile == Profile::Standard {
        check_pages(root, configs, &mut verified);
    }
    if proofs {
        proofs::check(root, configs, experiments, profile, &mut verified)?;
    }
    Ok(verified)
}

/// Checks derived rows, pages and statements against the results, whatever program computed the
/// results.
#[must_use]
pub fn pages(root: &Path, configs: &[Config]) -> Verified {
    let mut verified = Verified::default();
    let results = Results::new(root, Profile::Standard);
    for config in configs.iter().filter(|config| !config.derive.is_empty()) {
        let file = results.table(&config.experiment);
        if file.is_file() {
            match Table::read(&file, &shown(root, &file), "run the experiment again") {
                Ok(table) => derived(&table, config, results, &mut verified),
                Err(error) => verified.add(Check::Columns, &config.experiment, error.to_string()),
            }
        }
    }
    check_pages(root, configs, &mut verified);
    verified
}

fn check_pages(root: &Path, configs: &[Config], verified: &mut Verified) {
    stale_pages(root, verified);
    index(root, configs, verified);
    for statement in relations::RELATIONS.iter().chain(&numbers::NUMBERS) {
        if statement.files.iter().all(|file| root.join(file).is_file()) {
            verified.statements += 1;
            if let Err(found) = (statement.check)(root) {
                verified.add(Check::Statement, statement.says, found);
            }
        }
    }
}

/// Reads the record of a table, or adds a finding.
fn record_of(
    file: &Path,
    name: &str,
    experiment: &str,
    verified: &mut Verified,
) -> Option<ProvenanceRecord> {
    let found = match ProvenanceRecord::read(file) {
        Ok(Some(record)) => return Some(record),
        Ok(None) => format!("no {name}"),
        Err(error) => format!("{name}: {error}"),
    };
    verified.add(Check::Record, experiment, found);
    None
}

/// Checks the derived rows of a table.
fn derived(table: &Table, config: &Config, folder: Results<'_>, verified: &mut Verified) {
    if config.derive.is_empty() {
        return;
    }
    let file = folder.derived(&config.experiment);
    match derive::as_csv(table, &config.derive, folder.profile()) {
        Ok(rows) if fs::read(&file).is_ok_and(|found| found == rows) => {}
        Ok(_) => verified.add(Check::Derived, &config.experiment, folder.shown(&file)),
        Err(error) => verified.add(Check::Derived, &config.experiment, error.to_string()),
    }
}

/// Checks that the sources of this program, and no others, computed all tables.
fn one_source(sources: &BTreeMap<String, Vec<String>>, running: &str, verified: &mut Verified) {
    if sources.len() == 1 && sources.contains_key(running) {
        return;
    }
    for (source, experiments) in sources {
        let whose = if source == running { " (this program)" } else { "" };
        verified.add(Check::Source, &format!("{}…{whose}", start(source)), in_short(experiments));
    }
}

/// Finds tables without a config.
fn orphans(
    root: &Path,
    configs: &[Config],
    profile: Profile,
    verified: &mut Verified,
) -> Result<()> {
    let folder = Results::new(root, profile).dir();
    if !folder.is_dir() {
        return Ok(());
    }
    let derived = configs.iter().filter(|config| !config.derive.is_empty());
    let known: BTreeSet<String> = (configs.iter().map(|c| format!("{}.csv", c.experiment)))
        .chain(derived.map(|config| format!("{}.derived.csv", config.experiment)))
        .collect();
    for name in
        difference::tables_below(&folder)?.difference(&known).filter(|name| name.contains('/'))
    {
        verified.add(Check::Orphan, name, "no config with this name".to_owned());
    }
    Ok(())
}

/// Finds figures of this profile without a config.
fn orphan_figures(
    root: &Path,
    configs: &[Config],
    profile: Profile,
    verified: &mut Verified,
) -> Result<()> {
    let folder = Results::new(root, profile).figures();
    if !folder.is_dir() {
        return Ok(());
    }
    let figures = configs.iter().flat_map(|config| &config.figure);
    let known: BTreeSet<String> = figures
        .flat_map(|figure| ["svg", "png"].map(|extension| format!("{}.{extension}", figure.file)))
        .collect();
    for name in difference::files_below(&folder, &["svg", "png"])?.difference(&known) {
        verified.add(
            Check::OrphanFigure,
            &format!("{}/{name}", shown(root, &folder)),
            "no config has this figure".to_owned(),
        );
    }
    Ok(())
}

/// Checks that the index of the comparison, if there is one, names the command of every config.
fn index(root: &Path, configs: &[Config], verified: &mut Verified) {
    let page = Results::new(root, Profile::Standard).dir().join("COMPARISON.md");
    let Ok(comparison) = fs::read_to_string(&page) else { return };
    for config in configs.iter().filter(|c| !c.compare.is_empty() || !c.figure.is_empty()) {
        let command = format!("| `reproduce run {}` |", config.experiment);
        if comparison.matches(&command).count() != 1 {
            verified.add(Check::Page, &shown(root, &page), format!("no single {command}"));
        }
    }
}

/// Checks that the tables of pages agree with the results.
fn stale_pages(root: &Path, verified: &mut Verified) {
    match generated::stale(root) {
        Ok(stale) => stale.iter().for_each(|(page, _)| {
            verified.add(Check::Page, &shown(root, page), "other tables".to_owned());
        }),
        Err(error) => verified.add(Check::Page, "pages", error.to_string()),
    }
}
