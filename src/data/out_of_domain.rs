//! Rules for records with values outside the schema.

/// The rule for a record with a value outside the schema, if the attribute has no cell for other
/// values.
///
/// Every record is handled separately, so adding or removing one record of the file adds or removes
/// at most one record of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutOfDomain {
    /// The record is dropped.
    Drop,
    /// Numbers of numeric attributes get the nearest cell; the record is dropped if there is none.
    Clamp,
}
