//! Experiments: they expand a grid into cells and compute one cell at a time.
//!
//! A kind of experiment implements [`Kind`], with typed grid and params. The engine uses every kind
//! as an [`Experiment`].

mod certificate;
mod kind;
mod knots;

use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

pub use certificate::{Certificate, unfit};
pub use kind::{CellOf, Kind};

use crate::config::Config;
use crate::datasets::DataUse;
use crate::error::{Error, Result};

/// One point of grid × method.
///
/// Its address is `<experiment>/<column>=<value>/…/method=<method>`, which must be unique within
/// the experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Column and value, for each of [`Experiment::key_columns`] in order.
    pub key: Vec<(String, String)>,
    /// The method: strategy, planner, mechanism or bound.
    pub method: String,
    /// Everything that determines the result, except the method and the seed.
    ///
    /// A stored cell with different params is not reused. If the cell runs on a table of the
    /// [`Catalogue`](crate::datasets::Catalogue), `data` is its [`DataUse`], and the key column
    /// `data` is [`DataUse::label`].
    pub params: serde_json::Value,
}

impl Cell {
    /// Returns the table of the cell, which is `data` of its params.
    ///
    /// # Errors
    /// Returns an error if `data` is not a [`DataUse`].
    pub fn data(&self) -> serde_json::Result<Option<DataUse>> {
        self.params.get("data").map(DataUse::deserialize).transpose()
    }
}

/// One metric of a finished cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The name of the metric, unique within the cell.
    pub metric: String,
    /// The value; numbers must be finite.
    pub value: Option<f64>,
    /// The certified lower bound on the value.
    pub lower_bound: Option<f64>,
    /// The relative gap between the value and its lower bound.
    pub gap: Option<f64>,
    /// A result that is not a number, such as a formula.
    pub text: Option<String>,
    /// The time of this metric in seconds; if `None`, the table has the wall time of the cell.
    pub seconds: Option<f64>,
    /// The arrays that prove the bounds of the cell; at most one row has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Certificate>,
}

impl Row {
    /// Creates a row with a number.
    pub fn new(metric: impl Into<String>, value: f64) -> Self {
        Self { metric: metric.into(), value: Some(value), ..Self::default() }
    }

    /// Creates a row with a number and its certificate: lower bound and relative gap.
    pub fn certified(metric: impl Into<String>, value: f64, lower_bound: f64, gap: f64) -> Self {
        Self { lower_bound: Some(lower_bound), gap: Some(gap), ..Self::new(metric, value) }
    }

    /// Creates a row that [`Experiment::prove`] returns: a lower bound on the value of a metric, and
    /// the value of a strategy, if one is proved.
    pub fn proved(metric: impl Into<String>, lower_bound: f64, value: Option<f64>) -> Self {
        let metric = metric.into();
        Self { metric, value, lower_bound: Some(lower_bound), ..Self::default() }
    }

    /// Creates a row with a result that is not a number.
    pub fn text(metric: impl Into<String>, text: impl Into<String>) -> Self {
        Self { metric: metric.into(), text: Some(text.into()), ..Self::default() }
    }
}

/// A kind of experiment as the engine runs it, without its types. Every [`Kind`] implements it.
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
    fn prove(&self, _cell: &Cell, _certificate: &Certificate) -> Result<Vec<Row>> {
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
