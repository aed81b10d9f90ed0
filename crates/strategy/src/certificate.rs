//! Bounds on the smallest error of any strategy.

use crate::error::Result;
use crate::workload::Gram;
use matmech_linalg as linalg;

/// Bounds on the smallest error of any strategy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// A lower bound on the error of any strategy.
    pub lower_bound: f64,
    /// The error of the strategy found.
    pub upper_bound: f64,
    /// The number of eigendecompositions.
    pub iterations: usize,
    /// The status of the solver.
    pub status: Status,
}

impl Certificate {
    /// Returns `upper/lower − 1`, an upper bound on the relative excess over the optimum.
    pub fn gap(&self) -> f64 {
        self.upper_bound / self.lower_bound - 1.0
    }
}

/// The status of an iterative solver. The bounds are valid for every status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The gap reached the tolerance.
    Converged,
    /// The maximum number of iterations was reached first.
    IterationLimit,
    /// The iteration made no further progress.
    Stalled,
    /// The observer ended the iteration ([`progress`](crate::progress)).
    Interrupted,
}

impl Status {
    /// Returns the status of a solver that ended with a relative gap.
    pub(crate) fn of(gap: f64, tolerance: f64, interrupted: bool, limit_reached: bool) -> Self {
        if gap <= tolerance {
            Status::Converged
        } else if interrupted {
            Status::Interrupted
        } else if limit_reached {
            Status::IterationLimit
        } else {
            Status::Stalled
        }
    }
}

/// Returns the SVD bound `svdb(G) = (Σ_i √λ_i(G))² / n`.
///
/// It is a lower bound on the error of any strategy at unit privacy cost (S1, Thm 3.3 and Cor.
/// 3.1), and the product of the bounds of Kronecker factors. O(n³) for the largest factor.
///
/// # Errors
/// The eigensolver fails.
pub fn svd_bound(gram: &Gram) -> Result<f64> {
    let mut bound = 1.0;
    let mut known: Vec<(&ndarray::Array2<f64>, f64)> = Vec::new();
    for factor in gram.factors() {
        let matrix = factor.matrix.as_ref();
        let factor_bound = match known.iter().find(|(m, _)| *m == matrix) {
            Some(&(_, factor_bound)) => factor_bound,
            None => {
                let values = linalg::eigvalsh(matrix.view())?;
                let kept = linalg::nonzero_eigenvalues(&values);
                kept.iter().map(|&k| values[k].sqrt()).sum::<f64>().powi(2) / matrix.nrows() as f64
            }
        };
        known.push((matrix, factor_bound));
        bound *= factor_bound;
    }
    Ok(bound)
}
