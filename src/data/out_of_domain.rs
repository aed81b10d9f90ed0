//! How records with values outside the schema are handled.

/// How a record with a value outside the schema is handled, where the attribute has no cell for
/// other values.
///
/// Every record is handled separately, so one record more or less in the file is at most one record
/// more or less in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum OutOfDomain {
    /// Leave the record out
    Drop,
    /// Move numbers of numeric attributes to the nearest cell; leave the record out where there is
    /// none
    Clamp,
}
