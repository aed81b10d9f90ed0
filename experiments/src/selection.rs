//! Rows and values that the `[[derive]]` tables of configs and the tables of pages select.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use crate::columns::{CELL, METRIC};
use crate::table::Table;

/// Column → allowed values of the selected rows.
pub type Filter = BTreeMap<String, Vec<String>>;

/// The allowed values of a column in TOML.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a string or a list of strings")]
enum Allowed {
    One(String),
    Several(Vec<String>),
}

/// Reads a filter, in which one value can be written without brackets.
///
/// # Errors
/// A value that is neither a string nor a list of strings.
pub fn filter<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Filter, D::Error> {
    let values = |allowed| match allowed {
        Allowed::One(value) => vec![value],
        Allowed::Several(values) => values,
    };
    let columns = BTreeMap::<String, Allowed>::deserialize(deserializer)?;
    Ok(columns.into_iter().map(|(column, allowed)| (column, values(allowed))).collect())
}

/// The value that is kept of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Take {
    /// The smallest.
    Smallest,
    /// The largest.
    Largest,
    /// The share of values below 1, with the first row.
    Share,
}

impl Take {
    /// Returns the kept value with its row; `None` without values.
    #[must_use]
    pub fn of<R: Copy>(self, values: &[(R, f64)]) -> Option<(R, f64)> {
        let by_value = |a: &&(R, f64), b: &&(R, f64)| a.1.total_cmp(&b.1);
        match self {
            Self::Smallest => values.iter().min_by(by_value).copied(),
            Self::Largest => values.iter().max_by(by_value).copied(),
            Self::Share => {
                let below = values.iter().filter(|(_, value)| *value < 1.0).count();
                values.first().map(|&(row, _)| (row, below as f64 / values.len() as f64))
            }
        }
    }

    /// Returns the words before the values in a formula.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Smallest => "smallest of ",
            Self::Largest => "largest of ",
            Self::Share => "share below 1 of ",
        }
    }
}

/// The suffix of the metric of a standard error.
pub const STANDARD_ERROR: &str = "_se";

/// Returns the standard error of a mean: the metric `…_se` of the same cell; `None` for one trial.
#[must_use]
pub fn standard_error(table: &Table, row: usize, column: &str) -> Option<f64> {
    let metric = format!("{}{STANDARD_ERROR}", table.field(METRIC, row));
    let of_cell = |other: &usize| {
        table.field(CELL, *other) == table.field(CELL, row) && table.field(METRIC, *other) == metric
    };
    (0..table.len()).find(of_cell).and_then(|other| table.number(column, other))
}
