//! Runs a plan: computes the missing cells in parallel, stores each at once, and assembles the
//! table.

use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use tracing::{error, warn};

use super::address::cell_rng;
use super::experiment_plan::{ExperimentPlan, PlannedCell};
use super::machine::{Code, peak_mb, reset_peak};
use super::part_lock::{PartLock, lock_part};
use super::progress::Display;
use super::publish::{self, TableOutcome, now};
use super::select::{Shard, select};
use super::store::{CellRecord, Store};
use super::validate;
use crate::atomic::check_writable;
use crate::error::{CellFailure, Error, FileRole, Result};
use crate::layout;

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
    /// Wall time of the run in seconds.
    pub wall_seconds: f64,
}

/// A plan that is ready to run: its folders are writable and its stored cells are read.
#[derive(Debug)]
pub struct Prepared<'a> {
    root: &'a Path,
    plan: ExperimentPlan<'a>,
    store: Store,
    code: Code,
    /// Cells to compute, in grid order.
    pending: Vec<usize>,
    /// Stored results, in grid order.
    records: Vec<Option<CellRecord>>,
    /// The lock of the shard; `None` for a selection of single cells.
    _lock: Option<PartLock>,
    /// Whether cells are computed one at a time.
    alone: bool,
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
        let table = plan.placement(root).local().table(&plan.config.experiment);
        let dir = table.parent().unwrap_or(root);
        check_writable(dir).map_err(|error| Error::unwritable(FileRole::Results, dir, &error))?;
        let mut records = Vec::with_capacity(plan.cells.len());
        for (cell, selected) in plan.cells.iter().zip(&selected) {
            let stored = match *selected && options.fresh {
                // A committed cell takes hours: only a name computes it again.
                true if options.only.is_empty() => store.read_once(cell),
                true => Ok(None),
                false => store.read(cell),
            };
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
        prepared.push(Prepared { root, plan, store, code, pending, records, alone: false, _lock });
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
    /// Returns the number of cells computed at the same time.
    fn workers(&self, options: &RunOptions) -> usize {
        if self.plan.config.one_at_a_time { 1 } else { options.jobs.get() }
    }

    /// Returns the experiment id.
    #[must_use]
    pub fn experiment(&self) -> &str {
        &self.plan.config.experiment
    }

    /// Returns the number of cells that this run will compute.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Computes the pending cells and writes the table if every cell of the grid has a result.
    ///
    /// # Errors
    /// Workers cannot be started, or the table cannot be written. Failed cells are in
    /// [`Summary::failed`].
    pub fn run(mut self, options: &RunOptions, display: &Display) -> Result<Summary> {
        let started = now();
        let clock = Instant::now();
        let reused = self.records.iter().flatten().count();
        self.warn_of_other_code();
        self.alone = self.workers(options) == 1;
        let mut failed = self.compute(options, display)?;
        failed.sort_by_key(|(index, _)| *index);
        let computed = self.pending.len() - failed.len();
        let records: Vec<&CellRecord> = self.records.iter().flatten().collect();
        let missing = self.records.len() - records.len();
        let wall_seconds = clock.elapsed().as_secs_f64();
        let table = if missing > 0 {
            TableOutcome::Incomplete { missing }
        } else {
            let run = publish::Run {
                code: &self.code,
                jobs: options.jobs.get(),
                started,
                wall_seconds,
                computed,
                reused,
            };
            publish::publish(self.root, &self.plan, &records, run)?
        };
        Ok(Summary {
            experiment: self.plan.config.experiment.clone(),
            cells: self.plan.cells.len(),
            computed,
            reused,
            failed: failed.into_iter().map(|(_, failure)| failure).collect(),
            table,
            wall_seconds,
        })
    }

    /// Computes and stores the pending cells; returns the failed cells with their indices.
    fn compute(
        &mut self,
        options: &RunOptions,
        display: &Display,
    ) -> Result<Vec<(usize, CellFailure)>> {
        if self.pending.is_empty() {
            return Ok(Vec::new());
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.workers(options))
            .build()
            .map_err(|error| Error::Computation {
                what: format!("{} workers", options.jobs),
                expected: "threads that can be started".to_owned(),
                found: error.to_string(),
                remedy: "use fewer workers: --jobs N".to_owned(),
            })?;
        let progress = display.start(&self.plan.config.experiment, self.pending.len());
        let outcomes = Mutex::new(Vec::with_capacity(self.pending.len()));
        let this = &*self;
        // First in, first out: cells start in grid order, whatever the number of workers.
        pool.scope_fifo(|scope| {
            for &index in &this.pending {
                let (progress, outcomes) = (&progress, &outcomes);
                scope.spawn_fifo(move |_| {
                    let cell = &this.plan.cells[index];
                    progress.begin(&cell.address);
                    let clock = Instant::now();
                    let outcome = this
                        .compute_one(cell)
                        .map_err(|reason| CellFailure { address: cell.address.clone(), reason })
                        .inspect_err(|failure| error!("cell {failure}"));
                    progress.end(&cell.address, clock.elapsed().as_secs_f64());
                    outcomes
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .push((index, outcome));
                });
            }
        });
        progress.finish();
        let mut failed = Vec::new();
        let outcomes = outcomes.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        for (index, outcome) in outcomes {
            match outcome {
                Ok(record) => self.records[index] = Some(record),
                Err(failure) => failed.push((index, failure)),
            }
        }
        Ok(failed)
    }

    fn compute_one(&self, cell: &PlannedCell) -> Result<CellRecord> {
        let config = self.plan.config;
        let mut rng = cell_rng(config.seed, &config.experiment, &cell.address);
        if self.alone {
            // The peak memory is then that of this cell plus memory that earlier cells retain.
            reset_peak();
        }
        let clock = Instant::now();
        // A panic in a dependency fails this cell, not the run.
        let rows =
            catch_unwind(AssertUnwindSafe(|| self.plan.experiment.run(&cell.cell, &mut rng)))
                .map_err(|payload| {
                    let found = format!("a panic: {}", panic_message(payload.as_ref()));
                    Error::bug("the computation", "a result or an error", found)
                })??;
        let seconds = clock.elapsed().as_secs_f64();
        validate::rows(&rows)?;
        let record = CellRecord {
            address: cell.address.clone(),
            inputs: cell.inputs.clone(),
            params: cell.cell.params.clone(),
            code: self.code.clone(),
            finished: now(),
            seconds,
            peak_mb: peak_mb(),
            rows,
            once: false,
        };
        self.store.write(cell, record.clone())?;
        Ok(record)
    }

    /// Warns of reused cells that other sources computed.
    fn warn_of_other_code(&self) {
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

fn panic_message(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "without a message".to_owned())
}
