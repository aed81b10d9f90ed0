//! Prepares plans: selects cells, checks folders and reads the store.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;

use tracing::warn;

use super::experiment_plan::ExperimentPlan;
use super::machine::Code;
use super::part_lock::{PartLock, lock_part};
use super::select::{Shard, select};
use super::store::{CellRecord, Store};
use crate::columns;
use crate::config::Profile;
use crate::error::{Error, FileRole, Result};
use crate::files::check_writable;
use crate::layout::{self, Results};
use crate::table::Table;

/// The options of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Number of cells computed at the same time; linear algebra in a cell uses one thread.
    pub jobs: NonZeroUsize,
    /// Substrings of addresses; empty selects every cell.
    pub only: Vec<String>,
    /// The shard to compute; `None` computes the full grid.
    pub shard: Option<Shard>,
    /// Compute selected cells even if stored.
    pub fresh: bool,
    /// Refuse stored cells from other sources than this program's, instead of only warning.
    pub same_code: bool,
}

impl Default for RunOptions {
    /// All cells, on all cores, reusing stored cells.
    fn default() -> Self {
        let jobs = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self { jobs, only: Vec::new(), shard: None, fresh: false, same_code: false }
    }
}

/// A plan that is ready to run: its folders are writable and its stored cells are read.
#[derive(Debug)]
pub struct Prepared<'a> {
    pub(super) root: &'a Path,
    pub(super) plan: ExperimentPlan<'a>,
    pub(super) store: Store,
    pub(super) code: Code,
    /// Cells to compute, in grid order.
    pub(super) pending: Vec<usize>,
    /// Expected times of all cells in seconds, in grid order.
    pub(super) costs: Vec<f64>,
    /// Stored results, in grid order.
    pub(super) records: Vec<Option<CellRecord>>,
    /// The lock of the shard; `None` for a selection of single cells.
    _lock: Option<PartLock>,
}

/// Prepares all plans: selects cells, checks that results can be written, and reads the store.
///
/// Cells selected with `fresh` are not read, so `fresh` with `only` replaces a damaged cell.
///
/// # Errors
/// A key of `only` without a cell; folders that cannot be written; damaged stored cells (all of
/// them are reported).
pub fn prepare<'a>(
    root: &'a Path,
    plans: Vec<ExperimentPlan<'a>>,
    options: &RunOptions,
) -> Result<Vec<Prepared<'a>>> {
    let selection = select(&plans, &options.only, options.shard)?;
    let code = Code::detect(root);
    let mut damaged = Vec::new();
    let mut prepared = Vec::with_capacity(plans.len());
    for (plan, selected) in plans.into_iter().zip(selection) {
        if !selected.contains(&true) {
            continue;
        }
        let store = Store::new(root, &plan.config.experiment);
        store.check_writable()?;
        let table = plan.results(root).table(&plan.config.experiment);
        let dir = table.parent().unwrap_or(root);
        check_writable(dir).map_err(|error| Error::unwritable(FileRole::Results, dir, &error))?;
        let mut records = Vec::with_capacity(plan.cells.len());
        for (cell, selected) in plan.cells.iter().zip(&selected) {
            let stored = if *selected && options.fresh { Ok(None) } else { store.read(cell) };
            records.push(stored.unwrap_or_else(|problem| {
                damaged.push(problem);
                None
            }));
        }
        if options.same_code {
            damaged.extend(of_other_code(root, &plan.config.experiment, &records, &code));
        }
        let pending = (0..records.len())
            .filter(|&index| selected[index] && records[index].is_none())
            .collect();
        let code = code.clone();
        let named = !options.only.is_empty() && options.shard.is_none();
        let _lock = if named {
            None
        } else {
            lock_part(root, &plan.config.experiment, plan.profile, options.shard)?
        };
        let costs = cell_costs(root, &plan);
        prepared.push(Prepared { root, plan, store, code, pending, costs, records, _lock });
    }
    Error::all(damaged)?;
    Ok(prepared)
}

/// Returns an error if stored cells were computed by other sources than this program's.
fn of_other_code(
    root: &Path,
    experiment: &str,
    records: &[Option<CellRecord>],
    code: &Code,
) -> Option<Error> {
    let other: Vec<&CellRecord> =
        records.iter().flatten().filter(|record| record.is_of_other(code)).collect();
    let first = other.first()?;
    let of = |code: &Code| {
        let commit = code.commit.as_deref().map_or_else(String::new, |commit| {
            format!(" (commit {})", &commit[..commit.len().min(12)])
        });
        format!("{}{commit}", &code.source[..code.source.len().min(12)])
    };
    Some(Error::file(
        FileRole::StoredCells,
        layout::cells_dir(root, experiment),
        format!("cells computed by the sources of this program, {}", of(code)),
        format!(
            "{} of {} computed by other sources; {} by {}",
            other.len(),
            records.iter().flatten().count(),
            first.address,
            of(&first.code)
        ),
        "compute them again with --fresh, or use the program that computed them",
    ))
}

impl Prepared<'_> {
    /// Warns of reused cells that other sources computed.
    pub(super) fn warn_of_other_code(&self) {
        let other =
            self.records.iter().flatten().filter(|record| record.is_of_other(&self.code)).count();
        if other > 0 {
            warn!(
                "{}: {other} reused cells were computed by other sources than this program's; \
                 `--fresh` computes them again",
                self.plan.config.experiment
            );
        }
    }
}

/// Number of cores for which configs state their expected time.
const CORES: f64 = 2.0;

/// Returns the expected time of every cell in seconds, in grid order.
///
/// It is the largest time in the rows of the cell in the result table of the last run, the mean of
/// that table for a new cell, and without a table an equal share of the expected time of the config.
fn cell_costs(root: &Path, plan: &ExperimentPlan<'_>) -> Vec<f64> {
    let experiment = &plan.config.experiment;
    let mut known: HashMap<String, f64> = HashMap::new();
    let files = [Results::new(root, Profile::Standard), plan.results(root)]
        .map(|folder| folder.table(experiment));
    for file in files {
        let Ok(table) = Table::read(&file, experiment, "run the experiment") else { continue };
        let mut of_table: HashMap<String, f64> = HashMap::new();
        for row in 0..table.len() {
            if let Some(seconds) = table.number(columns::SECONDS, row) {
                let cost = of_table.entry(table.field(columns::CELL, row).to_owned()).or_default();
                *cost = cost.max(seconds);
            }
        }
        known.extend(of_table);
    }
    let other = if known.is_empty() {
        CORES * plan.config.expected(plan.profile).0 / plan.cells.len().max(1) as f64
    } else {
        known.values().sum::<f64>() / known.len() as f64
    };
    plan.cells.iter().map(|cell| known.get(&cell.address).copied().unwrap_or(other)).collect()
}
