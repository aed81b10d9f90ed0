//! Filters of rows in configs and pages.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use crate::columns;

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
    columns::VALUE.to_owned()
}
