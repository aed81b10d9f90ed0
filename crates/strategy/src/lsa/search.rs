//! The search of the Level Selection Algorithm, level by level, with its result and its selector.

use std::sync::Arc;

use ndarray::Array2;

use super::acceptance::{Acceptance, AcceptedLevel};
use super::boxes::BoxQueries;
use super::inverse::{Inverse, check_gram};
use super::options::{LsaOptions, Reading};
use super::sweep::Grower;
use crate::error::Result;
use crate::workload::Gram;
use crate::{Selection, Strategy, StrategyFactor, StrategySelector, evaluated};

/// Runs the Level Selection Algorithm on a workload. O(k n³) time, O(n²) memory.
///
/// # Errors
/// Invalid options, a workload without a query, a Gram matrix that is not positive semidefinite, or
/// too many cells.
pub fn run(gram: &Gram, reading: Reading, options: &LsaOptions) -> Result<LsaOutcome> {
    options.check()?;
    let dense = gram.to_dense()?;
    check_gram(reading.name(), &dense)?;
    run_dense(&gram.shape(), dense, reading, options)
}

/// Runs the algorithm on a checked Gram matrix.
pub(super) fn run_dense(
    shape: &[usize],
    gram: Array2<f64>,
    reading: Reading,
    options: &LsaOptions,
) -> Result<LsaOutcome> {
    let nothing = Given { v: Array2::zeros(gram.dim()), levels: 0 };
    run_given(shape, gram, &nothing, reading, options)
}

/// Queries that are measured in any case.
pub(super) struct Given {
    /// Their Gram matrix over the cells.
    pub(super) v: Array2<f64>,
    /// Their squared column norm, equal for all columns.
    pub(super) levels: usize,
}

/// Runs the algorithm on top of given queries.
///
/// The search starts from `V = I + V_given` with s = 1 + s_given levels. The errors of the outcome
/// are those of all queries together. Its queries, its levels and `max_levels` exclude the given
/// queries.
pub(super) fn run_given(
    shape: &[usize],
    gram: Array2<f64>,
    given: &Given,
    reading: Reading,
    options: &LsaOptions,
) -> Result<LsaOutcome> {
    let mut grower = Grower { reading, tolerance: options.tolerance, candidates: 0 };
    let cells = gram.nrows();
    let mut inverse = Inverse::new(gram, Array2::eye(cells) + &given.v)?;
    let error = (given.levels + 1) as f64 * inverse.trace();
    let mut acceptance = Acceptance::new(AcceptedLevel { queries: cells, error });
    let mut capped = true;
    while acceptance.count() < options.max_levels {
        let level = grower.grow(&inverse, shape)?;
        let error = (given.levels + acceptance.count() + 1) as f64 * level.trace();
        if !acceptance.accept(error, level.parts().iter().map(|part| part.query.clone()).collect())
        {
            capped = false;
            break;
        }
        inverse.accept(&level)?;
    }
    let mut queries = BoxQueries::identity(shape);
    let levels = acceptance.finish(&mut queries);
    Ok(LsaOutcome { levels, capped, candidates: grower.candidates, v: queries.gram(), queries })
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

/// Selects a strategy by the Level Selection Algorithm.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lsa {
    /// The evaluation of splits. Default [`Reading::JointSweep`].
    pub reading: Reading,
    /// The limits of the search. Default [`LsaOptions::default`].
    pub options: LsaOptions,
}

impl Lsa {
    /// Creates the selector for a reading, with default options.
    pub fn reading(reading: Reading) -> Self {
        Lsa { reading, options: LsaOptions::default() }
    }
}

impl StrategySelector for Lsa {
    fn name(&self) -> &str {
        self.reading.name()
    }

    fn summary(&self) -> &str {
        match self.reading {
            Reading::JointSweep => {
                "Level Selection Algorithm: levels of boxes, all splits of a sweep together"
            }
            Reading::Sequential => "Level Selection Algorithm, box after box",
            Reading::BestFirst => "Level Selection Algorithm, best split of the level first",
            Reading::Forced => "Level Selection Algorithm, every box split in every sweep",
        }
    }

    fn select(&self, gram: &Gram) -> Result<Selection> {
        let outcome = run(gram, self.reading, &self.options)?;
        let mut selection = evaluated(outcome.strategy(self.name()), gram)?;
        selection.details = details(outcome.levels.len(), &outcome.queries, outcome.candidates);
        Ok(selection)
    }
}
