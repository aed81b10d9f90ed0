//! Runs prepared experiments: computes the missing cells in parallel, the longest first across
//! experiments, stores each at once, and writes each table when its last cell is finished.

use std::any::Any;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::time::Instant;

use matmech::named_file::relative_to;
use tracing::error;

use super::address::cell_rng;
use super::experiment_plan::PlannedCell;
use super::machine::{peak_mb, reset_peak};
use super::prepare::{Prepared, RunOptions};
use super::progress::Display;
use super::publish::{self, TableOutcome, now};
use super::store::CellRecord;
use crate::columns::{GAP, LOWER_BOUND, SECONDS, VALUE};
use crate::error::{CellFailure, Error, Result};
use crate::experiment::Row;
use crate::remembered::locked;

/// The outcome of a run.
#[derive(Debug)]
pub struct Summary {
    /// Experiment id.
    pub experiment: String,
    /// Number of cells of the full grid.
    pub cells: usize,
    /// Number of cells computed and stored by this run.
    pub computed: usize,
    /// Number of cells found in the store.
    pub reused: usize,
    /// Failed cells, in grid order.
    pub failed: Vec<CellFailure>,
    /// The result table.
    pub table: TableOutcome,
    /// Names of the data sets that stand-ins replace.
    pub stand_ins: Vec<String>,
    /// Wall time in seconds from the start of its first cell. Cells of other experiments run in
    /// between.
    pub wall_seconds: f64,
}

/// Expected time in seconds above which cells start first.
///
/// The others start in the order of the experiments and grids, because neighbouring cells share
/// cached results. At the end of a run a core is idle for about this time at most.
const LONG_SECONDS: f64 = 30.0;

/// Runs experiments and passes the outcome of each to `finished` as soon as it is known.
///
/// Experiments with `one_at_a_time` come first, on one worker. Then the cells of all others start
/// together: those above 30 s in decreasing order of their expected time, then the rest.
///
/// # Errors
/// Workers cannot be started. Failed cells are in [`Summary::failed`].
pub fn run_all(
    prepared: Vec<Prepared<'_>>,
    options: &RunOptions,
    display: &Display,
    finished: impl FnMut(Result<Summary>) + Send,
) -> Result<()> {
    let finished = Mutex::new(finished);
    let (alone, together): (Vec<_>, Vec<_>) =
        prepared.into_iter().partition(|experiment| experiment.plan.config.one_at_a_time);
    for (experiments, workers) in [(alone, 1), (together, options.jobs.get())] {
        let runs: Vec<Run<'_>> =
            experiments.into_iter().map(|prepared| Run::new(prepared, options, workers)).collect();
        for run in &runs {
            run.prepared.warn_of_other_code();
            if run.prepared.pending.is_empty() {
                locked(&finished)(run.finish());
            }
        }
        compute(&runs, workers, display, &finished)?;
    }
    Ok(())
}

/// Computes the pending cells of all runs.
fn compute<'a>(
    runs: &[Run<'a>],
    workers: usize,
    display: &Display,
    finished: &Mutex<impl FnMut(Result<Summary>) + Send>,
) -> Result<()> {
    let order = order(runs);
    if order.is_empty() {
        return Ok(());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().map_err(|error| {
        Error::Computation {
            what: format!("{workers} workers"),
            expected: "threads that can be started".to_owned(),
            found: error.to_string(),
            remedy: "use fewer workers: --jobs N".to_owned(),
        }
    })?;
    let cost = order.iter().map(|&(run, cell)| run.prepared.costs[cell]).sum();
    let progress = display.start(&label(runs), order.len(), cost);
    // First in, first out: cells start in this order, whatever the number of workers.
    pool.scope_fifo(|scope| {
        for (run, index) in order {
            let progress = &progress;
            scope.spawn_fifo(move |_| {
                let cell = &run.prepared.plan.cells[index];
                progress.begin(&cell.address);
                let clock = Instant::now();
                let last = run.compute(index);
                let seconds = clock.elapsed().as_secs_f64();
                progress.end(&cell.address, seconds, run.prepared.costs[index]);
                if last {
                    let outcome = run.finish();
                    locked(finished)(outcome);
                }
            });
        }
    });
    progress.finish();
    Ok(())
}

/// Returns the pending cells of all runs in the order in which they start.
fn order<'r, 'a>(runs: &'r [Run<'a>]) -> Vec<(&'r Run<'a>, usize)> {
    let mut order: Vec<(&Run<'_>, usize)> = runs
        .iter()
        .flat_map(|run| run.prepared.pending.iter().map(move |&index| (run, index)))
        .collect();
    // A stable sort: equal keys keep the order of the grids. Positive numbers are ordered as their
    // bits.
    order.sort_by_key(|&(run, index)| {
        let cost = run.prepared.costs[index];
        Reverse(if cost >= LONG_SECONDS { cost.to_bits() } else { 0 })
    });
    order
}

/// Returns the name of the progress: the experiment, or the number of experiments.
fn label(runs: &[Run<'_>]) -> String {
    let pending: Vec<&str> = runs
        .iter()
        .filter(|run| !run.prepared.pending.is_empty())
        .map(|run| run.prepared.plan.config.experiment.as_str())
        .collect();
    match pending.as_slice() {
        [experiment] => (*experiment).to_owned(),
        several => format!("{} experiments", several.len()),
    }
}

/// An experiment during the run.
struct Run<'a> {
    prepared: Prepared<'a>,
    jobs: usize,
    /// Whether cells are computed one at a time.
    alone: bool,
    state: Mutex<State>,
}

struct State {
    /// Results, in grid order.
    records: Vec<Option<CellRecord>>,
    /// Number of results found in the store.
    reused: usize,
    failed: Vec<(usize, CellFailure)>,
    /// Number of cells that are not finished.
    left: usize,
    /// The start of the first cell.
    started: Option<(String, Instant)>,
}

impl<'a> Run<'a> {
    fn new(mut prepared: Prepared<'a>, options: &RunOptions, workers: usize) -> Self {
        let records = std::mem::take(&mut prepared.records);
        let state = State {
            reused: records.iter().flatten().count(),
            records,
            failed: Vec::new(),
            left: prepared.pending.len(),
            started: None,
        };
        let (jobs, alone) = (options.jobs.get(), workers == 1);
        Self { prepared, jobs, alone, state: Mutex::new(state) }
    }

    /// Computes and stores a cell; returns whether it was the last one.
    fn compute(&self, index: usize) -> bool {
        locked(&self.state).started.get_or_insert_with(|| (now(), Instant::now()));
        let cell = &self.prepared.plan.cells[index];
        let outcome = self
            .compute_one(cell)
            .map_err(|reason| CellFailure { address: cell.address.clone(), reason })
            .inspect_err(|failure| error!("cell {failure}"));
        let mut state = locked(&self.state);
        match outcome {
            Ok(record) => state.records[index] = Some(record),
            Err(failure) => state.failed.push((index, failure)),
        }
        state.left -= 1;
        state.left == 0
    }

    fn compute_one(&self, cell: &PlannedCell) -> Result<CellRecord> {
        let Prepared { plan, code, store, .. } = &self.prepared;
        let config = plan.config;
        let mut rng = cell_rng(config.seed, &config.experiment, &cell.address);
        if self.alone {
            // The peak memory is then that of this cell plus memory that earlier cells retain.
            reset_peak();
        }
        let clock = Instant::now();
        // A panic in a dependency fails this cell, not the run.
        let run = || relative_to(config.folder(), || plan.experiment.run(&cell.cell, &mut rng));
        let rows = catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
            let found = format!("a panic: {}", panic_message(payload.as_ref()));
            Error::bug("the computation", "a result or an error", found)
        })??;
        let seconds = clock.elapsed().as_secs_f64();
        check_rows(&rows)?;
        let record = CellRecord {
            address: cell.address.clone(),
            inputs: cell.inputs.clone(),
            params: cell.cell.params.clone(),
            code: code.clone(),
            finished: now(),
            seconds,
            peak_mb: peak_mb(),
            rows,
        };
        store.write(cell, record.clone())?;
        Ok(record)
    }

    /// Writes the table if every cell of the grid has a result.
    fn finish(&self) -> Result<Summary> {
        let Prepared { root, plan, code, pending, .. } = &self.prepared;
        let mut state = locked(&self.state);
        let mut failed = std::mem::take(&mut state.failed);
        failed.sort_by_key(|(index, _)| *index);
        let (started, clock) = state.started.take().unwrap_or_else(|| (now(), Instant::now()));
        let computed = pending.len() - failed.len();
        let wall_seconds = clock.elapsed().as_secs_f64();
        let records: Vec<&CellRecord> = state.records.iter().flatten().collect();
        let missing = state.records.len() - records.len();
        let table = if missing > 0 {
            TableOutcome::Incomplete { missing }
        } else {
            let (jobs, reused) = (self.jobs, state.reused);
            let run = publish::Run { code, jobs, started, wall_seconds, computed, reused };
            publish::publish(root, plan, &records, run)?
        };
        Ok(Summary {
            experiment: plan.config.experiment.clone(),
            cells: plan.cells.len(),
            computed,
            reused: state.reused,
            failed: failed.into_iter().map(|(_, failure)| failure).collect(),
            table,
            stand_ins: plan.stand_ins().map(|data| data.name.clone()).collect(),
            wall_seconds,
        })
    }
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "without a message".to_owned())
}

/// Checks the rows of a cell.
///
/// # Errors
/// No row, an empty or duplicate metric, a row without value and text, or a number that is not
/// finite.
fn check_rows(rows: &[Row]) -> Result<()> {
    let refuse =
        |what: String, expected: &str, found: String| Err(Error::bug(what, expected, found));
    if rows.is_empty() {
        return refuse("a cell of this kind".to_owned(), "at least one row", "none".to_owned());
    }
    let mut metrics = HashSet::new();
    for row in rows {
        let metric = &row.metric;
        if metric.is_empty() || !metrics.insert(metric) {
            let found = format!("metric \"{metric}\", empty or duplicate");
            return refuse("a cell of this kind".to_owned(), "one row per metric", found);
        }
        if row.value.is_none() && row.text.is_none() {
            return refuse(format!("metric {metric}"), "a value or a text", "neither".to_owned());
        }
        let numbers = [
            (VALUE, row.value),
            (LOWER_BOUND, row.lower_bound),
            (GAP, row.gap),
            (SECONDS, row.seconds),
        ];
        for (name, number) in numbers {
            if let Some(number) = number
                && !number.is_finite()
            {
                return Err(Error::Computation {
                    what: format!("metric {metric}"),
                    expected: format!("a finite {name}"),
                    found: number.to_string(),
                    remedy:
                        "omit undefined values; otherwise look for an overflow or a singular matrix"
                            .to_owned(),
                });
            }
        }
    }
    Ok(())
}
