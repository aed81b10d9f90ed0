//! Names of the columns of result tables, and filters of rows.
//!
//! A table has the columns `experiment` and `cell`, then the key columns
//! ([`crate::experiment::Kind::KEYS`]), then those of [`AFTER_KEYS`] in that order.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

/// The id of the experiment.
pub const EXPERIMENT: &str = "experiment";
/// The address of the cell.
pub const CELL: &str = "cell";
/// Strategy, planner, mechanism or bound.
pub const METHOD: &str = "method";
/// The name of the result.
pub const METRIC: &str = "metric";
/// The result, if it is a number.
pub const VALUE: &str = "value";
/// A certified lower bound on the value.
pub const LOWER_BOUND: &str = "lower_bound";
/// The relative gap between the value and its lower bound.
pub const GAP: &str = "gap";
/// The result, if it is not a number.
pub const TEXT: &str = "text";
/// Wall time in seconds, of the row's phase or of the cell.
pub const SECONDS: &str = "seconds";
/// Peak memory of the process so far, in MB of 10⁶ bytes.
pub const PEAK_MB: &str = "peak_mb";
/// The seed of the config.
pub const SEED: &str = "seed";

/// The metrics that are numbers of queries or views.
pub const COUNTS: [&str; 2] = ["queries", "views"];

/// The key column of experiments on tables of records: whether the table is real or a stand-in.
pub const DATA: &str = "data";

/// The columns before the key columns.
pub const BEFORE_KEYS: [&str; 2] = [EXPERIMENT, CELL];
/// The columns after the key columns.
pub const AFTER_KEYS: [&str; 9] =
    [METHOD, METRIC, VALUE, LOWER_BOUND, GAP, TEXT, SECONDS, PEAK_MB, SEED];
/// The key column of kinds on workload strings.
pub const WORKLOAD: &str = "workload";
/// The column with the number of cells. Figures compute it from [`WORKLOAD`] in tables without it.
pub const CELLS: &str = "n";
/// The column with the part of a workload before its first `:` or `(`; as [`CELLS`].
pub const FAMILY: &str = "family";
/// The cost of a cell.
///
/// These columns differ from run to run. All others are determined by config and seed.
pub const COSTS: [&str; 2] = [SECONDS, PEAK_MB];

/// The metric of the rows from which a derived row is computed.
pub const FROM: &str = "from";
/// The divided column of those rows.
pub const COLUMN: &str = "column";
/// The formula of a derived row.
pub const FORMULA: &str = "formula";
/// The cell of the row by which the row of `cell` is divided.
pub const PARTNER: &str = "partner";
/// The columns that only derived rows have.
pub const OF_DERIVED: [&str; 4] = [FROM, COLUMN, FORMULA, PARTNER];

/// Returns whether every table has this column.
#[must_use]
pub fn is_fixed(column: &str) -> bool {
    BEFORE_KEYS.contains(&column) || AFTER_KEYS.contains(&column)
}

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

/// Returns the default of keys that name a column of values.
pub(crate) fn value_column() -> String {
    VALUE.to_owned()
}
