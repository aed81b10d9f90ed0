//! What an experiment is: it expands a grid into cells and computes one cell at a time.
//!
//! A kind implements [`Kind`], with its own types for grid and params; the engine sees every kind
//! as an [`Experiment`].

mod kind;

use rand_chacha::ChaCha20Rng;
use serde::{Deserialize, Serialize};

pub use kind::{CellOf, Kind};

use crate::config::Config;
use crate::datasets::DataUse;
use crate::error::{Error, Result};

/// One point of the grid × method × trial.
///
/// Its address is `<experiment>/<column>=<value>/…/method=<method>` and must be unique within the
/// experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Column and value, for each of [`Experiment::key_columns`], in their order.
    pub key: Vec<(String, String)>,
    /// The method: strategy, planner, mechanism or bound.
    pub method: String,
    /// Everything that determines the result besides the seed. A stored cell with other params is
    /// not reused. A cell that runs on a table of the [`Catalogue`](crate::datasets::Catalogue) has
    /// its [`DataUse`] here, as `data`, and [`DataUse::label`] in the key column `data`.
    pub params: serde_json::Value,
}

impl Cell {
    /// The table that the cell runs on: `data` of its params.
    ///
    /// # Errors
    /// A `data` that is not a [`DataUse`].
    pub fn data(&self) -> serde_json::Result<Option<DataUse>> {
        self.params.get("data").map(DataUse::deserialize).transpose()
    }
}

/// One metric of a finished cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the metric, unique within the cell.
    pub metric: String,
    /// The value; numbers must be finite.
    pub value: Option<f64>,
    /// Certified lower bound on the value.
    pub lower_bound: Option<f64>,
    /// Relative gap between value and lower bound.
    pub gap: Option<f64>,
    /// A result that is not a number, such as a formula.
    pub text: Option<String>,
    /// Time of this metric in seconds. `None`: the table shows the wall time of the cell.
    pub seconds: Option<f64>,
}

impl Row {
    /// A plain number.
    pub fn new(metric: impl Into<String>, value: f64) -> Self {
        Self { metric: metric.into(), value: Some(value), ..Self::default() }
    }

    /// A number with its certificate: lower bound and relative gap.
    pub fn certified(metric: impl Into<String>, value: f64, lower_bound: f64, gap: f64) -> Self {
        Self { lower_bound: Some(lower_bound), gap: Some(gap), ..Self::new(metric, value) }
    }

    /// A result that is not a number.
    pub fn text(metric: impl Into<String>, text: impl Into<String>) -> Self {
        Self { metric: metric.into(), text: Some(text.into()), ..Self::default() }
    }
}

/// A kind of experiment, whatever its types: what the engine runs. Every [`Kind`] is one.
///
/// # Requirements
/// - [`cells`](Experiment::cells) is cheap and deterministic: it is called before anything runs,
///   for every profile.
/// - [`run`](Experiment::run) depends on the cell, the random stream and nothing else (no clock, no
///   global state, no other cell), and is sequential inside: then results do not depend on jobs,
///   order or what else ran.
pub trait Experiment: std::fmt::Debug + Send + Sync {
    /// The name in configs.
    fn kind(&self) -> &'static str;

    /// One line for people.
    fn summary(&self) -> &'static str;

    /// To be raised when the computation changes: cells that were stored under another revision are
    /// computed anew.
    fn revision(&self) -> u32;

    /// Columns of the result table that the cells' keys fill, in order.
    fn key_columns(&self) -> &'static [&'static str];

    /// The metrics that are errors: of which less is better, so that a certified lower value
    /// improves on a published one.
    fn errors(&self) -> &'static [&'static str];

    /// The metrics that are made of times: their values differ from run to run.
    fn timed(&self) -> &'static [&'static str] {
        &[]
    }

    /// Expands a grid.
    ///
    /// # Errors
    /// An unknown or missing key or an impossible value, with the key relative to the grid.
    fn cells(&self, grid: &toml::Table) -> Result<Vec<Cell>>;

    /// The method whose certified lower bound on an error also holds for that error of `method`, in
    /// the cell that differs by the method only: result tables then show it beside errors that have
    /// no bound of their own.
    fn bounded_by(&self, method: &str) -> Option<&'static str>;

    /// The method whose values are lower bounds on those of every other method, in the cell that
    /// differs by the method only: the comparison shows them in a column of their own. `None` if
    /// there is no such method.
    fn bound_on_all(&self) -> Option<&'static str>;

    /// Computes one cell. `rng` is seeded from the config's seed, the experiment and the cell's
    /// address.
    ///
    /// # Errors
    /// Whatever keeps the cell from being computed; the other cells still run.
    fn run(&self, cell: &Cell, rng: &mut ChaCha20Rng) -> Result<Vec<Row>>;
}

/// The kind that a config names.
///
/// # Errors
/// None of them has that name.
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
