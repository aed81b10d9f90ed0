//! `reproduce run` and `reproduce all`.

use std::path::Path;

use super::steps::{report_error, say};
use super::{show, steps};
use crate::config::{Config, Part, Profile};
use crate::datasets::Catalogue;
use crate::engine::{Display, Prepared, RunOptions, Summary, TableOutcome, prepare, run_all};
use crate::error::{CellFailure, Error, Result};
use crate::layout::Results;
use crate::registry::Kinds;

/// The inputs of a run.
#[derive(Clone, Copy)]
pub(super) struct Setting<'s> {
    pub(super) root: &'s Path,
    pub(super) kinds: &'s Kinds,
    pub(super) catalogue: &'s Catalogue,
    pub(super) profile: Profile,
    pub(super) options: &'s RunOptions,
    pub(super) display: &'s Display,
    /// Whether stand-ins may replace tables that are not available.
    pub(super) stand_ins: bool,
}

impl<'s> Setting<'s> {
    /// Returns the experiments that can run, and why the others are refused.
    fn prepared(self, configs: &'s [Config]) -> Result<(Vec<Prepared<'s>>, Result<()>)> {
        let plans =
            steps::plans_with_data(configs, &self.kinds.experiments, self.catalogue, self.profile)?;
        let (plans, refused) = if self.stand_ins {
            (plans, Ok(()))
        } else {
            steps::on_real_tables(plans, self.catalogue)
        };
        Ok((prepare(self.root, plans, self.options)?, refused))
    }
}

/// Runs the named configs.
pub(super) fn run(names: &[String], with: Setting<'_>) -> Result<()> {
    let mut configs: Vec<Config> = Vec::with_capacity(names.len());
    for name in names {
        let config = steps::config(with.root, name, with.kinds)?;
        if !configs.iter().any(|earlier| earlier.experiment == config.experiment) {
            configs.push(config);
        }
    }
    let (prepared, refused) = with.prepared(&configs)?;
    let ran = run_each(prepared, with);
    let only = &with.options.only;
    let shown = if only.is_empty() {
        Ok(())
    } else {
        show::cells(with.root, with.kinds, with.catalogue, with.profile, &configs, only)
    };
    first_error([refused, ran, shown])
}

/// Runs every config of a part, draws the figures and compares, also with earlier results of the
/// other part.
///
/// Later steps run even if an earlier one fails.
pub(super) fn all(part: Option<Part>, with: Setting<'_>) -> Result<()> {
    let Setting { root, kinds, profile, .. } = with;
    let configs = steps::configs(root, kinds)?;
    let of_part = |config: &&Config| part.is_none_or(|part| config.part() == part);
    let selected: Vec<Config> = configs.iter().filter(of_part).cloned().collect();
    let (prepared, refused) = with.prepared(&selected)?;
    let ran = run_each(prepared, with);
    let configs = steps::with_results(root, configs, profile);
    // Drawing without a table would only repeat the error of the experiment.
    let results = Results::new(root, profile);
    let has_table = |config: &&Config| {
        [results, results.on_stand_ins()].iter().any(|r| r.table(&config.experiment).is_file())
    };
    let with_table: Vec<Config> = configs.iter().filter(has_table).cloned().collect();
    let derived = steps::derive(root, &with_table, profile);
    let drawn = steps::figures(root, &with_table, kinds, profile);
    let compared = steps::compare(root, &configs, kinds, profile);
    first_error([refused, ran, derived, drawn, compared])
}

/// Returns the first error and prints the others.
pub(super) fn first_error(outcomes: impl IntoIterator<Item = Result<()>>) -> Result<()> {
    let mut errors = outcomes.into_iter().filter_map(Result::err);
    let Some(first) = errors.next() else {
        return Ok(());
    };
    errors.for_each(|error| report_error(&error));
    Err(first)
}

/// Runs the experiments, prints the outcome of each and summarises the failures.
fn run_each(prepared: Vec<Prepared<'_>>, with: Setting<'_>) -> Result<()> {
    let mut failed = Vec::new();
    let mut outcomes = Vec::new();
    let ran = run_all(prepared, with.options, with.display, |outcome| match outcome {
        Ok(summary) => {
            say(&describe(&summary));
            failed.extend(summary.failed);
        }
        Err(error) => outcomes.push(Err(error)),
    });
    outcomes.push(ran);
    outcomes.push(cell_failures(failed));
    first_error(outcomes)
}

/// Returns the printed lines about an experiment.
fn describe(summary: &Summary) -> String {
    let Summary { experiment, cells, computed, reused, wall_seconds, .. } = summary;
    let counts = format!(
        "{experiment}: {computed} cells computed, {reused} read from the store, {} failed, \
         {wall_seconds:.1} s",
        summary.failed.len()
    );
    let table = match &summary.table {
        TableOutcome::Written { file } => format!("wrote {}", file.display()),
        TableOutcome::Unchanged { file } => format!("{} is up to date", file.display()),
        TableOutcome::Incomplete { missing } => format!(
            "table not written: {missing} of {cells} cells have no result yet; an older table is \
             kept. Run without --only and --shard, or run the other shards on the same \
             results/cells"
        ),
    };
    let stand_ins = match summary.stand_ins.join(", ") {
        names if names.is_empty() => String::new(),
        names => format!("\n  stand-ins, not the real data: {names}"),
    };
    format!("{counts}\n  {table}{stand_ins}")
}

/// Summarises failed cells.
///
/// Errors of the store are returned alone, because they explain the others.
fn cell_failures(failed: Vec<CellFailure>) -> Result<()> {
    let (unstored, failed): (Vec<_>, Vec<_>) =
        failed.into_iter().partition(|failure| failure.reason.is_storage_error());
    if !unstored.is_empty() {
        return Err(Error::Several(unstored.into_iter().map(|failure| failure.reason).collect()));
    }
    if failed.is_empty() { Ok(()) } else { Err(Error::Cells(failed)) }
}
