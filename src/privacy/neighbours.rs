//! Which tables count as neighbours: what a privacy guarantee is about.

use std::fmt;

/// The neighbour relation that a guarantee holds for. Sensitivities are differences between
/// neighbours, so a budget means nothing without it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Neighbours {
    /// One record more or less: a query matrix changes its answers by one of its columns, so its
    /// sensitivity is the largest column norm.
    #[default]
    AddOrRemoveOneRecord,
    /// One record with other values: a query matrix changes its answers by the difference of two of
    /// its columns, and the number of records is public.
    ReplaceOneRecord,
    /// Either of the two: a record may have other values, be there or not. A query matrix changes
    /// its answers by a column or by the difference of two.
    ReplaceAddOrRemoveOneRecord,
}

impl fmt::Display for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddOrRemoveOneRecord => f.write_str("add or remove one record"),
            Self::ReplaceOneRecord => f.write_str("replace one record"),
            Self::ReplaceAddOrRemoveOneRecord => f.write_str("replace, add or remove one record"),
        }
    }
}

/// Whom a guarantee protects: everybody who has at most so many records, each of which may be there
/// or not, or have other values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivacyUnit {
    /// What happens to one record.
    pub neighbours: Neighbours,
    /// Records per person: zCDP's ρ grows with their square.
    pub rows: u32,
}

impl Default for PrivacyUnit {
    /// One record more or less.
    fn default() -> Self {
        PrivacyUnit { neighbours: Neighbours::default(), rows: 1 }
    }
}

impl fmt::Display for PrivacyUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rows {
            1 => write!(f, "{}", self.neighbours),
            rows => write!(f, "{}, up to {rows} times", self.neighbours),
        }
    }
}
