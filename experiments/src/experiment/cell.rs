//! Cells.

use serde::Deserialize;

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
