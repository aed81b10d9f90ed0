//! The `[[derive]]` table of a config: rows that are made of the rows of the result table.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::columns;
use crate::error::{Error, Result};

/// Which of several ratios is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Take {
    /// The smallest.
    Smallest,
    /// The largest.
    Largest,
    /// The geometric mean of all.
    Mean,
}

/// One `[[derive]]` entry of a config: ratios of values of one run, for the comparison and the
/// figures.
///
/// Each row of the metric `from` that `where` selects is divided by the row that has other values
/// in the columns of `over`, and the same ones in all other key columns. A row without such a
/// partner has no ratio.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeriveSpec {
    /// Metric of the rows that are made.
    pub metric: String,
    /// Metric of the rows that they are made of.
    pub from: String,
    /// Column of those rows that is divided (default `value`; `seconds` for ratios of times).
    #[serde(default = "default_column")]
    pub column: String,
    /// Column → allowed values: the rows that are divided.
    #[serde(default, rename = "where")]
    pub filter: BTreeMap<String, Vec<String>>,
    /// Key column → its value in the row that a row is divided by; `*` is whatever value has the
    /// smallest number, `a|b` that of the two.
    pub over: BTreeMap<String, String>,
    /// Which of the ratios is kept; without it all of them are.
    #[serde(default)]
    pub take: Option<Take>,
    /// Whether the ratio is turned over: partner over row, as a speed-up is stated.
    #[serde(default)]
    pub inverse: bool,
    /// Whether the saving is made instead of the ratio, in percent: 100·(1 − row/partner).
    #[serde(default)]
    pub saving: bool,
    /// A column of numbers x among those of `over`: made is the exponent of growth in it,
    /// ln(row/partner)/ln(x/x of the partner).
    #[serde(default)]
    pub exponent_of: Option<String>,
    /// Metric of the standard errors of `from`: each ratio r = a/b then has its own beside it, in
    /// the metric `<metric>_se`: to first order r·√((s_a/a)² + (s_b/b)²), the two means being of
    /// independent runs.
    #[serde(default)]
    pub error: Option<String>,
    /// Column → value that the rows that are made have there. A column that the table does not have
    /// is added, empty elsewhere.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
}

fn default_column() -> String {
    columns::VALUE.to_owned()
}

impl DeriveSpec {
    /// Checks what the types alone cannot.
    ///
    /// # Errors
    /// The key, relative to the `[[derive]]` table, and what was expected there.
    pub fn validate(&self) -> Result<()> {
        if self.over.is_empty() {
            let expected = "the key columns in which the row to divide by differs";
            return Err(Error::config(
                "over",
                expected,
                "none",
                "write e.g. over = { method = \"identity\" }",
            ));
        }
        let fixed = self
            .over
            .keys()
            .chain(self.set.keys())
            .find(|column| columns::is_fixed(column) && column.as_str() != columns::METHOD);
        if let Some(column) = fixed {
            let expected = "key columns of the experiment, or `method`";
            return Err(Error::config(
                "over",
                expected,
                format!("\"{column}\""),
                "name a key column",
            ));
        }
        if let Some(column) = &self.exponent_of
            && self
                .over
                .get(column)
                .is_none_or(|value| !value.parse::<f64>().is_ok_and(|x| x > 0.0))
        {
            let expected = "a column that `over` gives a positive number";
            return Err(Error::config(
                "exponent_of",
                expected,
                format!("\"{column}\""),
                "name it in `over` too",
            ));
        }
        if self.set.contains_key(columns::DATA) {
            let expected = "other columns than data: whether a table is real or a stand-in is what the rows say";
            return Err(Error::config("set.data", expected, "it", "leave it out"));
        }
        let ways = [self.inverse, self.saving, self.exponent_of.is_some()];
        if ways.iter().filter(|way| **way).count() > 1 {
            let found = "several of them";
            return Err(Error::config(
                "inverse",
                "one of inverse, saving, exponent_of",
                found,
                "write two [[derive]]",
            ));
        }
        let plain =
            ways.iter().all(|way| !way) && self.take.is_none() && self.column == columns::VALUE;
        if self.error.is_some() && !plain {
            let expected = "to stand without take, column, inverse, saving and exponent_of";
            return Err(Error::config(
                "error",
                expected,
                "it beside one of them",
                "leave one of them out",
            ));
        }
        if self.metric == self.from {
            let found = format!("\"{}\" twice", self.metric);
            return Err(Error::config(
                "metric",
                "another name than `from`",
                found,
                "give the ratio a name of its own",
            ));
        }
        Ok(())
    }
}
