//! Proofs of optima: weights from which both bounds are computed again, without a search.

use std::sync::Arc;

use crate::error::{Error, Result};

/// Weights of the dual problem.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProofWeights {
    /// Weights of the cells, one vector per Kronecker factor.
    ///
    /// For fixed epochs and min-separation instead one vector with the rows of the lower
    /// triangular L of every pattern, `M_π = L Lᵀ`.
    pub cells: Vec<Arc<Vec<f64>>>,
    /// Weights of the queries. Empty if the objective, or the cells' weights, determine them.
    pub queries: Vec<f64>,
    /// The barrier τ of the point of the central path at which the strategy was found, or 0.
    pub barrier: f64,
}

/// Weights that prove the bounds of an optimum.
///
/// The bounds are those at the weights, whatever the weights are: wrong weights prove less. Weights
/// are scaled to sum 1. Both bounds are computed by one evaluation of the dual function.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Proof {
    /// The weights of the lower bound.
    pub dual: ProofWeights,
    /// The weights of the strategy; `None` if they are those of the lower bound.
    pub strategy: Option<ProofWeights>,
}

/// The bounds that a [`Proof`] gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProvedBounds {
    /// A lower bound on the error of any strategy.
    pub lower_bound: f64,
    /// The error of a strategy. `None` under min-separation, where only the bound is proved.
    pub error: Option<f64>,
}

/// Returns weights of sum 1 for `count` cells or queries.
///
/// # Errors
/// Another number of weights, a negative one, or no positive one.
pub fn normalised(weights: &[f64], count: usize) -> Result<Vec<f64>> {
    let sum: f64 = weights.iter().sum();
    if weights.len() != count || weights.iter().any(|w| w.is_nan() || *w < 0.0) || sum <= 0.0 {
        return Err(refused(
            format!("{count} nonnegative weights with a positive sum"),
            format!("{} with the sum {sum}", weights.len()),
        ));
    }
    if !sum.is_finite() {
        return Err(refused("finite weights", "an infinite one"));
    }
    Ok(weights.iter().map(|w| w / sum).collect())
}

/// Returns the error of weights that do not fit a problem.
pub(super) fn refused(expected: impl Into<String>, found: impl Into<String>) -> Error {
    Error::bad_input("weights of a proof", expected, found, "use the proof of this problem")
}

impl ProofWeights {
    /// Creates weights of cells, one vector per Kronecker factor.
    pub fn of_cells(cells: Vec<Arc<Vec<f64>>>) -> Self {
        ProofWeights { cells, ..ProofWeights::default() }
    }

    /// Returns the only vector of cells.
    pub(super) fn single(&self) -> Result<&[f64]> {
        match self.cells.as_slice() {
            [cells] => Ok(cells),
            other => Err(refused("one vector of weights", other.len().to_string())),
        }
    }
}

impl Proof {
    /// Creates a proof from the weights of both bounds.
    pub fn new(dual: ProofWeights, strategy: ProofWeights) -> Self {
        let strategy = (strategy != dual).then_some(strategy);
        Proof { dual, strategy }
    }

    /// Returns the weights of the strategy.
    pub fn strategy(&self) -> &ProofWeights {
        self.strategy.as_ref().unwrap_or(&self.dual)
    }
}
