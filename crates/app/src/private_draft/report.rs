//! The output of a private draft.

use serde::Serialize;

/// The output of a private draft. It depends on the records through paid noise only.
#[derive(Debug, Serialize)]
pub struct PrivateDraftReport {
    /// The number of releases: two per column of numbers, one per column of texts.
    pub releases: usize,
    /// ρ of each release.
    pub rho_of_release: f64,
    /// ρ of all releases, at most what was asked for.
    pub rho: f64,
    /// ε of all releases, rounded up.
    pub epsilon: f64,
    /// δ for which ε is stated; `new_delta` is a part of it.
    pub delta: f64,
    /// δ′ of all columns of texts: for values that only one person's records have.
    pub new_delta: f64,
    /// The columns, in the order of the schema; empty in a dry run.
    pub columns: Vec<DraftedColumn>,
    /// The file with the schema; null in a dry run.
    pub schema: Option<String>,
}

/// A column of a private draft.
#[derive(Debug, Serialize)]
pub struct DraftedColumn {
    /// The name of the column.
    pub name: String,
    /// `bins` of numbers, or `values`.
    pub cells: &'static str,
    /// The number of bins between edges, or of values; 0 if the column is left out.
    pub count: usize,
    /// The folders of its releases.
    pub releases: Vec<String>,
}
