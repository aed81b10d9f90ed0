//! Which tables count as neighbours: what a privacy guarantee is about.

use std::fmt;

/// The neighbour relation that a guarantee holds for. Sensitivities are differences between neighbours, so a budget means
/// nothing without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Neighbours {
    /// One record more or less: a query matrix changes its answers by one of its columns, so its sensitivity is the
    /// largest column norm.
    #[default]
    AddOrRemoveOneRecord,
}

impl fmt::Display for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddOrRemoveOneRecord => f.write_str("add or remove one record"),
        }
    }
}
