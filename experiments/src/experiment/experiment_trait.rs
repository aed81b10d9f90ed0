//! The trait by which the engine runs experiments.

use rand_chacha::ChaCha20Rng;

use super::cell::{Cell, Row};
use super::certificate::CellCertificate;
use crate::config::Config;
use crate::error::{Error, Result};

/// A kind of experiment as the engine runs it, without its types. Every [`Kind`](super::Kind)
/// implements it.
///
/// # Requirements
/// - [`cells`](Experiment::cells) is cheap and deterministic, since it is called before anything
///   runs, for every profile.
/// - [`run`](Experiment::run) depends only on the cell and the random stream (no clock, no global
///   state, no other cell) and is single-threaded. Then results do not depend on the number of jobs
///   or on the order of the cells.
pub trait Experiment: std::fmt::Debug + Send + Sync {
    /// Returns the name in configs.
    fn kind(&self) -> &'static str;

    /// Returns a description in one line.
    fn summary(&self) -> &'static str;

    /// Returns the revision of the computation.
    ///
    /// Raise it when the computation changes: cells of another revision are recomputed.
    fn revision(&self) -> u32;

    /// Returns the key columns of the result table, in order.
    fn key_columns(&self) -> &'static [&'static str];

    /// Returns the metrics that are errors.
    ///
    /// Lower is better: a certified lower value improves on a published one.
    fn error_metrics(&self) -> &'static [&'static str];

    /// Returns the metrics that are computed from times. Their values differ from run to run.
    fn cost_metrics(&self) -> &'static [&'static str] {
        &[]
    }

    /// Expands a grid into cells.
    ///
    /// # Errors
    /// Returns an error if a key is unknown or missing, or a value is invalid. The key is relative
    /// to the grid.
    fn cells(&self, grid: &toml::Table) -> Result<Vec<Cell>>;

    /// Returns the method whose certified lower bounds also hold for the errors of `method`.
    ///
    /// The two cells differ in the method only. Result tables use this bound for errors without a
    /// bound.
    fn bounded_by(&self, method: &str) -> Option<&'static str>;

    /// Returns the method whose values are lower bounds on those of every other method.
    ///
    /// The two cells differ in the method only. The comparison has a column for these bounds.
    fn lower_bound_method(&self) -> Option<&'static str>;

    /// Computes one cell.
    ///
    /// `rng` is seeded from the seed of the config, the experiment and the address of the cell.
    ///
    /// # Errors
    /// Returns an error if the cell cannot be computed; the other cells still run.
    fn run(&self, cell: &Cell, rng: &mut ChaCha20Rng) -> Result<Vec<Row>>;

    /// Recomputes the lower bounds of a cell from its certificate, without a search.
    ///
    /// A row has the metric, the lower bound and, if the certificate has a strategy, its value. Cells
    /// without lower bounds, and those bounded by another method, have no rows. Bounds in closed form
    /// need no arrays: then the certificate is empty.
    ///
    /// # Errors
    /// Returns an error if the certificate does not fit the cell.
    fn prove(&self, _cell: &Cell, _certificate: &CellCertificate) -> Result<Vec<Row>> {
        Ok(Vec::new())
    }
}

/// Returns the kind that a config names.
///
/// # Errors
/// Returns an error if no kind has that name.
pub fn kind_of<'e>(
    config: &Config,
    experiments: &'e [Box<dyn Experiment>],
) -> Result<&'e dyn Experiment> {
    experiments
        .iter()
        .find(|experiment| experiment.kind() == config.kind)
        .map(AsRef::as_ref)
        .ok_or_else(|| {
            let known: Vec<&str> = experiments.iter().map(|experiment| experiment.kind()).collect();
            config.located(Error::unknown_name("kind", "kind", &config.kind, &known))
        })
}
