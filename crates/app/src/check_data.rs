//! How a release would handle the records of a table. **Not private.**

use serde::Serialize;

use super::data::Data;
use matmech::data::table::FieldCounts;
use matmech::data::{DataCheck, OpenTable, OutOfDomain, PersonLimit, check};
use matmech::error::Result;
use matmech::schema::Schema;

/// The output of `check-data --json`.
#[derive(Debug, Serialize)]
pub struct CheckReport {
    /// Always false: every count is exact.
    pub is_private: bool,
    /// The exact counts, and the first invalid values.
    #[serde(flatten)]
    pub check: DataCheck,
}

/// Checks how a release would handle a table.
///
/// # Errors
/// A table that cannot be read, or has not one column of a suitable type for every attribute.
pub fn check_data(
    data: &Data,
    schema: &Schema,
    rule: OutOfDomain,
    person: Option<PersonLimit>,
) -> Result<CheckReport> {
    let table = OpenTable::new(data.open(FieldCounts::Any)?, schema, person)?;
    Ok(CheckReport { is_private: false, check: check(table, schema, rule)? })
}
