//! The result of the Level Selection Algorithm.

use std::sync::Arc;

use ndarray::Array2;

use super::boxes::BoxQueries;
use crate::{Strategy, StrategyFactor};

/// One level of an [`LsaOutcome`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AcceptedLevel {
    /// The number of boxes of the level.
    pub queries: usize,
    /// The error of the strategy up to and including this level, at unit privacy cost.
    pub error: f64,
}

/// The result of the Level Selection Algorithm.
#[derive(Debug, Clone)]
pub struct LsaOutcome {
    /// The accepted levels in order, the identity first, with the decreasing error (S1, Fig. 1).
    pub levels: Vec<AcceptedLevel>,
    /// Whether `max_levels` ended the search; otherwise a further level would not lower the error.
    pub capped: bool,
    /// The number of candidate splits evaluated.
    pub candidates: usize,
    /// The queries, with equal queries merged.
    pub queries: BoxQueries,
    /// `AᵀA` of the strategy; entries are exact integers.
    pub v: Array2<f64>,
}

impl LsaOutcome {
    /// Returns the error as computed by the search.
    pub fn error(&self) -> f64 {
        self.levels.last().map_or(f64::INFINITY, |level| level.error)
    }

    /// Returns the strategy: `√multiplicity` times the indicator of every distinct box.
    pub fn strategy(&self, name: &str) -> Strategy {
        let (queries, gram) = (Arc::new(self.queries.clone()), Arc::new(self.v.clone()));
        Strategy::single(name, StrategyFactor::from_source(self.queries.shape(), queries, gram))
    }
}

/// Returns the counts that every variant reports.
pub(super) fn details(
    levels: usize,
    queries: &BoxQueries,
    candidates: usize,
) -> Vec<(&'static str, f64)> {
    vec![
        ("levels", levels as f64),
        ("queries_in_strategy", queries.total() as f64),
        ("distinct_queries", queries.distinct().len() as f64),
        ("candidates", candidates as f64),
    ]
}
