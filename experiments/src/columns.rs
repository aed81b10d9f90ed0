//! The columns of result tables: the only file that spells their names.
//!
//! A table has the columns `experiment` and `cell`, then those that fill the cells' keys
//! ([`crate::experiment::Kind::KEYS`]), then the others in the order of [`AFTER_KEYS`].

/// The id of the experiment.
pub const EXPERIMENT: &str = "experiment";
/// The address of the cell.
pub const CELL: &str = "cell";
/// Strategy, planner, mechanism or bound.
pub const METHOD: &str = "method";
/// What the row is about.
pub const METRIC: &str = "metric";
/// The result, if it is a number.
pub const VALUE: &str = "value";
/// A certified lower bound on the value.
pub const LOWER_BOUND: &str = "lower_bound";
/// The relative gap between value and lower bound.
pub const GAP: &str = "gap";
/// The result, if it is not a number.
pub const TEXT: &str = "text";
/// Wall time in seconds, of the row's own phase or of the cell.
pub const SECONDS: &str = "seconds";
/// The largest memory of the process so far, in MB of 10⁶ bytes.
pub const PEAK_MB: &str = "peak_mb";
/// The seed of the config.
pub const SEED: &str = "seed";

/// The metric that is a number of queries.
pub const QUERIES: &str = "queries";

/// The key column of experiments on tables of records: whether the table is real or a stand-in.
pub const DATA: &str = "data";

/// What stands before the key columns.
pub const BEFORE_KEYS: [&str; 2] = [EXPERIMENT, CELL];
/// What stands after the key columns.
pub const AFTER_KEYS: [&str; 9] =
    [METHOD, METRIC, VALUE, LOWER_BOUND, GAP, TEXT, SECONDS, PEAK_MB, SEED];
/// What a cell costs. These columns differ from run to run; all others are a function of config and
/// seed.
pub const COSTS: [&str; 2] = [SECONDS, PEAK_MB];

/// Whether a column is one that every table has.
#[must_use]
pub fn is_fixed(column: &str) -> bool {
    BEFORE_KEYS.contains(&column) || AFTER_KEYS.contains(&column)
}
