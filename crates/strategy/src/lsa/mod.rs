//! The Level Selection Algorithm (S1, Sec. 4.1).
//!
//! Builds a strategy level by level. A level is a partition of the cells into boxes; each box is a
//! query that sums its cells. A level therefore adds exactly 1 to every squared column norm, and
//! the strategy stays column-uniform, hence minimal (S1, Thm 3.1). Let `V = AᵀA` for the current
//! strategy of s levels, starting with the identity (V = I, s = 1). A level L is kept if it lowers
//! the error:
//!
//! ```text
//! err = s · tr(G V⁻¹)  →  (s+1) · tr(G (V + L)⁻¹)
//! ```
//!
//! A level starts as the whole domain and is refined by splitting boxes in two along one attribute.
//! The paper does not say against which strategy a split is evaluated. [`Reading`] lists the
//! variants; [`Reading::JointSweep`] reproduces the paper's numbers.
//!
//! *Requirements*: a workload whose Gram matrix is dense over the whole domain
//! ([`Gram::to_dense`]; Kronecker factors are multiplied out). *Cost*: O(k n³) time for k levels
//! and O(n²) memory. A level takes at most O(d n³); in practice the update of the n×n matrices
//! dominates, O(n² b) in matrix products for a level of b boxes. The paper's analysis gives O(k n⁴)
//! because it evaluates a candidate split in O(n²); this implementation takes O(1) with cumulative
//! sums. *Reference*: S1, Sec. 4.1, 4.2 and App. D.2.
//!
//! ```
//! use matmech_strategy::lsa::{self, LsaOptions, Reading};
//! use matmech::workload::Workload;
//! let gram = Workload::parse("range:64")?.gram()?;
//! let outcome = lsa::run(&gram, Reading::JointSweep, &LsaOptions::default())?;
//! assert_eq!(outcome.levels.len(), 16);
//! # Ok::<(), matmech::Error>(())
//! ```

mod acceptance;
mod boxes;
pub mod generalized;
mod inverse;
mod level;
mod merge;
mod profile;
pub mod separated;
mod split_search;
mod square;
mod sweep;
mod update;

pub use boxes::{BoxQueries, GridBox};
pub use generalized::LsaGeneralized;
pub use separated::LsaSeparated;

use acceptance::Acceptance;
use inverse::{Inverse, check_gram};
use sweep::Grower;

use std::sync::Arc;

use ndarray::Array2;

use super::{Selection, Strategy, StrategyFactor, StrategySelector};
use crate::error::{Error, Result};
use crate::workload::Gram;

/// The strategy against which the splits of a level are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// The paper's variant. In a sweep every box finds its best split against the same strategy,
    /// and all boxes with a gain are split together. A sweep that does not lower the error is
    /// undone and ends the level.
    #[default]
    JointSweep,
    /// One box after another, each evaluated with all previous splits in effect. Sweeps continue
    /// until no box is split.
    Sequential,
    /// Repeatedly only the split of the whole level with the largest gain.
    BestFirst,
    /// As [`Reading::Sequential`], but every box is split at its best position, even without a
    /// gain. A sweep that does not lower the total error is undone and ends the level.
    Forced,
}

impl Reading {
    /// All variants.
    pub const ALL: [Reading; 4] =
        [Reading::JointSweep, Reading::Sequential, Reading::BestFirst, Reading::Forced];

    /// Returns the name of the strategy.
    pub fn name(self) -> &'static str {
        match self {
            Reading::JointSweep => "lsa",
            Reading::Sequential => "lsa-sequential",
            Reading::BestFirst => "lsa-best-first",
            Reading::Forced => "lsa-forced",
        }
    }
}

/// The stopping criteria of the search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LsaOptions {
    /// Maximum number of levels, the identity included; k in the paper. Default
    /// [`LsaOptions::MAX_LEVELS`].
    pub max_levels: usize,
    /// Relative tolerance: gains up to this share of the trace are ignored, and gains that differ
    /// by no more are equal. Default 1e-10.
    pub tolerance: f64,
}

impl LsaOptions {
    /// The default maximum number of levels.
    pub const MAX_LEVELS: usize = 4096;

    /// Checks the options.
    ///
    /// # Errors
    /// `max_levels` is 0, or the tolerance is outside [0, 1).
    pub fn check(&self) -> Result<()> {
        if self.max_levels == 0 {
            return Err(Error::bad_input(
                "options of the Level Selection Algorithm: max_levels",
                "at least 1, the identity level",
                "0",
                "use e.g. max_levels = 32, or leave it out to continue while the error decreases",
            ));
        }
        if !(0.0..1.0).contains(&self.tolerance) {
            return Err(Error::bad_input(
                "options of the Level Selection Algorithm: tolerance",
                "a number from 0 to below 1",
                self.tolerance.to_string(),
                "use e.g. 1e-10",
            ));
        }
        Ok(())
    }
}

impl Default for LsaOptions {
    fn default() -> Self {
        LsaOptions { max_levels: Self::MAX_LEVELS, tolerance: 1e-10 }
    }
}

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
        let mut selection = super::evaluated(outcome.strategy(self.name()), gram)?;
        selection.details = details(outcome.levels.len(), &outcome.queries, outcome.candidates);
        Ok(selection)
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

#[cfg(test)]
pub(in crate::lsa) mod tests;
