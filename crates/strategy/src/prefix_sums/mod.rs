//! Strategies for prefix sums, from continual counting and private training.
//!
//! | name | C | buffers |
//! |---|---|---|
//! | `toeplitz` | [`SquareRoot`]: the square root of the prefix sums | n − 1 |
//! | `bsr` | [`BandedSquareRoot`]: its first bands | bands − 1 |
//! | `bisr` | [`BandedInverseSquareRoot`]: the first bands of its inverse | bands − 1 |
//! | `blt` | [`BufferedToeplitz`]: a sum of exponentials | N |
//! | `circulant` | [`Circulant`]: the square root in a cyclic group | 2n |
//! | `binary-tree` | [`BinaryTree`]: counts of a binary tree | ⌊log₂ n⌋ + 1 |
//!
//! Each is a pair (B, C) with W = BC: the error of query q is `‖b_q‖²` times the squared sensitivity
//! of C. B is the published reconstruction, which can be worse than least squares.

mod banded_inverse_square_root;
mod banded_square_root;
mod binary_tree;
mod blt;
mod circulant;
mod toeplitz;

use ndarray::Array2;

use super::noise_cost::NoiseCost;
use super::{
    Participation, Problem, Selection, Strategy, StrategyFactor, StrategySelector, query_errors,
};
use crate::error::{Error, Result};
use crate::workload::{Family, Gram, Workload, check_dense_size};
pub use banded_inverse_square_root::BandedInverseSquareRoot;
pub use banded_square_root::BandedSquareRoot;
pub use binary_tree::BinaryTree;
pub use blt::BufferedToeplitz;
pub use circulant::Circulant;
pub use toeplitz::SquareRoot;

/// The strategies that are for prefix sums only or for repeated participation, by name.
#[cfg(test)]
pub(super) const NAMES: [&str; 10] = [
    "toeplitz",
    "bsr",
    "bisr",
    "bandmf",
    "blt",
    "circulant",
    "binary-tree",
    "recurrence",
    "chains",
    "truncated",
];

/// A factorisation W = BC of the prefix sums.
#[derive(Debug)]
struct Factorisation {
    /// C, or X = CᵀC.
    factor: StrategyFactor,
    /// `‖b_q‖²` of every query.
    variances: Vec<f64>,
    /// What its noise takes.
    cost: NoiseCost,
}

impl Factorisation {
    /// Returns the selection for a problem.
    fn selection(self, name: &str, problem: &Problem<'_>) -> Result<Selection> {
        let strategy = Strategy::single(name, self.factor);
        let squared = problem.sensitivity(&strategy)?.squared;
        let largest = self.variances.iter().copied().fold(0.0, f64::max);
        let (total, queries) = (self.variances.iter().sum(), self.variances.len() as f64);
        let error = squared * problem.objective.of(total, largest, queries);
        let details = self.cost.details();
        Ok(Selection { strategy, error, certificate: None, proof: None, details })
    }

    /// Returns the squared errors of the queries at unit privacy cost.
    fn query_errors(self, problem: &Problem<'_>) -> Result<Vec<f64>> {
        let squared = problem.sensitivity(&Strategy::single("C", self.factor))?.squared;
        Ok(self.variances.into_iter().map(|variance| squared * variance).collect())
    }
}

/// Returns the number of steps of a problem of prefix sums.
///
/// # Errors
/// Another workload, too many steps for a matrix, or a participation that does not fit.
fn steps(name: &str, problem: &Problem<'_>) -> Result<usize> {
    problem.check()?;
    let workload = problem.workload;
    match (workload.families(), workload.shape()) {
        (Some([(family, _)]), &[steps]) if *family == Family::PREFIX => {
            check_dense_size(&format!("strategy `{name}`"), steps)?;
            Ok(steps)
        }
        _ => Err(not_prefix(name, &format!("`{}`", workload.name()))),
    }
}

/// Returns the error of another workload than prefix sums.
fn not_prefix(name: &str, found: &str) -> Error {
    Error::bad_input(
        format!("strategy `{name}`"),
        "prefix sums over one attribute",
        found,
        "use prefix:N, or another strategy, e.g. optimal",
    )
}

/// Selects a strategy of prefix sums for a Gram matrix.
///
/// # Errors
/// The Gram matrix is not that of prefix sums, `G_ij = n − max(i, j)`; or as
/// [`StrategySelector::select_for`].
pub(super) fn select_gram(selector: &dyn StrategySelector, gram: &Gram) -> Result<Selection> {
    let found = match gram.factors() {
        [factor] if factor.shape.len() == 1 => {
            let n = factor.matrix.nrows();
            let entry = |((i, j), x): ((usize, usize), &f64)| *x == (n - i.max(j)) as f64;
            factor.matrix.indexed_iter().all(entry).then_some(n)
        }
        _ => None,
    };
    let Some(n) = found else {
        return Err(not_prefix(selector.name(), "the Gram matrix of another workload"));
    };
    selector.select_for(&Problem::new(&Workload::family(Family::PREFIX, &[n])?))
}

/// Returns the smallest distance of two steps of one person, and the largest number of them.
fn separation_and_count(steps: usize, participation: Participation) -> (usize, usize) {
    match participation {
        Participation::Single => (steps, 1),
        Participation::Epochs(count) => (steps / count, count),
        Participation::MinSeparation { separation, count } => (separation, count),
    }
}

/// Returns the errors of the queries of a strategy by least squares, at unit privacy cost.
pub(super) fn least_squares_errors(problem: &Problem<'_>, strategy: &Strategy) -> Result<Vec<f64>> {
    let squared = problem.sensitivity(strategy)?.squared;
    let mut errors = query_errors::all(problem.workload, strategy)?;
    errors.iter_mut().for_each(|error| *error *= squared);
    Ok(errors)
}

/// Returns the factor of a matrix C, one row per measurement.
fn factor(queries: Array2<f64>) -> Result<StrategyFactor> {
    StrategyFactor::from_queries(&[queries.ncols()], queries)
}

#[cfg(test)]
mod tests;
