//! The answers to a query.

use serde::Serialize;

use super::sum::Estimated;
use crate::workload::query::ResolvedQuery;

/// The answers to a query, one per combination of the values of `by`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryAnswers {
    /// The canonical text of the query.
    pub query: String,
    /// The names of the attributes and levels of the combinations.
    pub by: Vec<String>,
    /// The answers; the values of the last attribute of `by` vary fastest.
    pub answers: Vec<QueryAnswer>,
    /// What the answers mean, in sentences.
    pub notes: Vec<String>,
}

/// An answer with its interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueryAnswer {
    /// The values of `by`.
    pub by: Vec<String>,
    /// The estimate; absent if the published numbers have none, such as a ratio to a count that is
    /// not positive.
    pub estimate: Option<f64>,
    /// The exact standard error, of counts, sums and their differences from a plan.
    pub standard_error: Option<f64>,
    /// The lower end of the 95 % interval; absent without interval, or if it has no lower end.
    pub low_95: Option<f64>,
    /// The upper end of the 95 % interval.
    pub high_95: Option<f64>,
    /// How the interval is computed, or why there is none.
    pub interval: String,
    /// Whether the estimate is taken from a model, beyond the published marginals.
    pub extrapolated: bool,
}

impl QueryAnswers {
    /// Returns the answers of a query from its estimates, in order.
    pub(super) fn new(query: &ResolvedQuery, estimated: Vec<(Estimated, bool)>) -> Self {
        let answer = |(k, (estimated, extrapolated)): (usize, (Estimated, bool))| QueryAnswer {
            by: query.combination(k).into_iter().map(str::to_owned).collect(),
            estimate: estimated.estimate,
            standard_error: estimated.standard_error,
            low_95: estimated.low.filter(|low| low.is_finite()),
            high_95: estimated.high.filter(|high| high.is_finite()),
            interval: estimated.interval.to_owned(),
            extrapolated,
        };
        QueryAnswers {
            query: query.text.clone(),
            by: query.by.iter().map(|by| by.name.clone()).collect(),
            answers: estimated.into_iter().enumerate().map(answer).collect(),
            notes: query.notes.clone(),
        }
    }
}
