//! Cells, and the rows of their results.

use serde::{Deserialize, Serialize};

use super::certificate::CellCertificate;
use crate::datasets::DataUse;

/// One point of grid × method.
///
/// Its address is `<experiment>/<column>=<value>/…/method=<method>`, which must be unique within
/// the experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Column and value, for each of [`Experiment::key_columns`](super::Experiment::key_columns) in
    /// order.
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
    pub certificate: Option<CellCertificate>,
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

    /// Creates a row that [`Experiment::prove`](super::Experiment::prove) returns: a lower bound on
    /// the value of a metric, and the value of a strategy, if one is proved.
    pub fn proved(metric: impl Into<String>, lower_bound: f64, value: Option<f64>) -> Self {
        let metric = metric.into();
        Self { metric, value, lower_bound: Some(lower_bound), ..Self::default() }
    }

    /// Creates a row with a result that is not a number.
    pub fn text(metric: impl Into<String>, text: impl Into<String>) -> Self {
        Self { metric: metric.into(), text: Some(text.into()), ..Self::default() }
    }
}
