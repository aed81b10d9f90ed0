//! `reproduce run` and `reproduce all`.

use std::path::Path;

use super::steps::{self, Kinds};
use super::{report_failure, say};
use crate::config::{self, Config, Profile};
use crate::engine::{CellError, CellFailure, Display, Prepared, RunOptions, Summary, Table, prepare};
use crate::failure::{Failure, FileProblem};
use crate::layout::Results;

/// Runs the named configs.
pub(super) fn run(
    root: &Path,
    names: &[String],
    kinds: Kinds<'_>,
    profile: Profile,
    options: &RunOptions,
    display: &Display,
) -> Result<(), Failure> {
    let mut configs: Vec<Config> = Vec::with_capacity(names.len());
    for name in names {
        let config = config::load(&config::find(root, name)?)?;
        if !configs.iter().any(|earlier| earlier.experiment == config.experiment) {
            configs.push(config);
        }
    }
    let prepared = prepare(root, steps::plans_with_data(&configs, kinds, profile)?, options)?;
    run_each(prepared, options, display).map_or(Ok(()), Err)
}

/// Runs every config, draws the figures, compares. A step that fails does not keep the later ones from running.
pub(super) fn all(
    root: &Path,
    kinds: Kinds<'_>,
    profile: Profile,
    options: &RunOptions,
    display: &Display,
) -> Result<(), Failure> {
    let configs = steps::configs(root)?;
    let prepared = prepare(root, steps::plans_with_data(&configs, kinds, profile)?, options)?;
    let ran = run_each(prepared, options, display).map_or(Ok(()), Err);
    // A figure without table would only repeat that the experiment failed.
    let with_table: Vec<Config> = configs
        .iter()
        .filter(|config| Results::new(root, profile).table(&config.experiment).is_file())
        .cloned()
        .collect();
    let drawn = steps::figures(root, &with_table, profile);
    let compared = steps::compare(root, &configs, profile);
    first_failure([ran, drawn, compared])
}

/// Returns the first failure; reports the others here, since only one can be returned.
fn first_failure(outcomes: impl IntoIterator<Item = Result<(), Failure>>) -> Result<(), Failure> {
    let mut failures = outcomes.into_iter().filter_map(Result::err);
    let Some(first) = failures.next() else {
        return Ok(());
    };
    failures.for_each(|failure| report_failure(&failure));
    Err(first)
}

/// Runs one experiment after the other, prints what became of each, and sums up what failed.
fn run_each(prepared: Vec<Prepared<'_>>, options: &RunOptions, display: &Display) -> Option<Failure> {
    let mut failed_cells = Vec::new();
    let mut outcomes = Vec::new();
    for experiment in prepared {
        match experiment.run(options, display) {
            Ok(summary) => {
                say(&describe(&summary));
                failed_cells.extend(summary.failed);
            }
            Err(failure) => outcomes.push(Err(failure)),
        }
    }
    if !failed_cells.is_empty() {
        outcomes.push(Err(cells_failure(failed_cells)));
    }
    first_failure(outcomes).err()
}

/// A few lines on an experiment.
fn describe(summary: &Summary) -> String {
    let Summary { experiment, cells, computed, reused, wall_seconds, .. } = summary;
    let counts = format!(
        "{experiment}: {computed} cells computed, {reused} taken from the store, {} failed, {wall_seconds:.1} s",
        summary.failed.len()
    );
    let table = match &summary.table {
        Table::Written(file) => format!("{counts}\n  wrote {}", file.display()),
        Table::Unchanged(file) => format!("{counts}\n  {} is up to date", file.display()),
        Table::Incomplete { missing } => format!(
            "{counts}\n  table not written: {missing} of {cells} cells have no result yet; an older table is kept. Run \
             without --only and --shard, or the other shards on the same results/cells"
        ),
    };
    summary.kept.as_ref().map_or(table.clone(), |kept| format!("{table}\n  {kept}"))
}

/// Sums up failed cells: storage problems first, because they explain the others.
fn cells_failure(failed: Vec<CellFailure>) -> Failure {
    const SHOWN: usize = 10;
    let problems: Vec<FileProblem> = failed
        .iter()
        .filter_map(|failure| match &failure.reason {
            CellError::Storage(problem) => Some(problem.clone()),
            CellError::Computation(_) => None,
        })
        .collect();
    if !problems.is_empty() {
        return Failure::Store(problems);
    }
    let mut text =
        format!("{} cells failed; all others are stored, and a second run computes only these:", failed.len());
    for failure in failed.iter().take(SHOWN) {
        text.push_str(&format!("\n  {failure}"));
    }
    if failed.len() > SHOWN {
        text.push_str(&format!("\n  … and {} more", failed.len() - SHOWN));
    }
    Failure::Cells(text)
}
