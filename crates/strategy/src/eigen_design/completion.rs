//! Column completion: steps 4 and 5 of Program 2.
//!
//! If a column norm of the strategy is below the sensitivity, measuring its cell as well, with
//! weight `d_j = 1 − (QᵀUQ)_jj` in V, has no privacy cost and cannot increase the error. The error
//! of `V = QᵀUQ + diag(d)` on the workload `G = QᵀΛQ`, for orthonormal eigen-queries Q, is computed
//! in the row space of Q. If Q has full rank, the measured cells E add the information
//! `Q_E d Q_Eᵀ`. Otherwise only their combinations in the row space do. With N a basis of the
//! vectors a for which `Qᵀa` is zero outside E,
//!
//! ```text
//! tr(G V⁺) = tr(ΛU⁻¹) − tr( (K + NᵀU⁻¹N)⁻¹ NᵀU⁻¹ΛU⁻¹N ),      K = Nᵀ Q_E d⁻¹ Q_Eᵀ N
//! ```
//!
//! O(rank² · cells) time.

use ndarray::{Array1, Array2, Axis};

use super::eigenbasis::EigenQueries;
use crate::error::Result;
use crate::symmetry::error_trace;
use matmech_linalg as linalg;

/// Smaller slack is rounding of the weights and is not used.
const MIN_SLACK: f64 = 1e-7;

/// A vector is zero outside the measured cells if at most this share of its square is there.
const VANISHING: f64 = 1e-9;

/// A strategy over orthonormal eigen-queries with its columns completed.
pub(super) struct Completed {
    /// V.
    pub gram: Array2<f64>,
    /// `tr(G V⁺)`.
    pub trace: f64,
    /// The number of cells that completion measures.
    pub cells: usize,
}

/// Returns the slack `1 − V_jj` of every column below a sensitivity of 1.
pub(super) fn slack(v: &Array2<f64>) -> Array1<f64> {
    v.diag().mapv(|x| if 1.0 - x > MIN_SLACK { 1.0 - x } else { 0.0 })
}

/// Completes the columns of any strategy, given by V = AᵀA with a largest diagonal entry of 1.
///
/// The cost is that of [`error_trace`].
///
/// # Errors
/// The strategy does not answer the workload, or the eigensolver fails.
pub(super) fn complete_dense(
    name: &str,
    shape: &[usize],
    g: &Array2<f64>,
    mut v: Array2<f64>,
) -> Result<Completed> {
    let slack = slack(&v);
    for (j, slack) in slack.iter().enumerate() {
        v[[j, j]] += slack;
    }
    let trace = error_trace(name, shape, g, &v)?;
    Ok(Completed { gram: v, trace, cells: slack.iter().filter(|&&slack| slack > 0.0).count() })
}

/// Completes the columns of `diag(√u) Q`, whose largest squared norm is 1.
///
/// # Errors
/// The eigensolver fails.
pub(super) fn complete(eigen: &EigenQueries, weights: &Array1<f64>) -> Result<Completed> {
    let scaled = &eigen.rows * &weights.mapv(f64::sqrt).insert_axis(Axis(1));
    let mut gram = linalg::gram_of(scaled.view());
    let slack = slack(&gram);
    let plain = (&eigen.values / weights).sum();
    let measured: Vec<usize> = (0..slack.len()).filter(|&j| slack[j] > 0.0).collect();
    for &j in &measured {
        gram[[j, j]] += slack[j];
    }
    let trace = plain - gain(eigen, weights, &measured, &slack)?;
    Ok(Completed { gram, trace, cells: measured.len() })
}

/// Returns the decrease of the trace due to the measured cells.
fn gain(
    eigen: &EigenQueries,
    weights: &Array1<f64>,
    measured: &[usize],
    slack: &Array1<f64>,
) -> Result<f64> {
    if measured.is_empty() {
        return Ok(0.0);
    }
    let on = eigen.rows.select(Axis(1), measured).as_standard_layout().into_owned();
    let directions = if eigen.rank() == slack.len() {
        on.clone()
    } else {
        // Vectors of eigenvalue 1 of Q_E Q_Eᵀ are zero outside E.
        let inside = linalg::eigh(linalg::matmul(on.view(), on.t()).view())?;
        let kept: Vec<usize> =
            (0..inside.values.len()).filter(|&k| inside.values[k] > 1.0 - VANISHING).collect();
        inside.vectors.select(Axis(1), &kept)
    };
    if directions.ncols() == 0 {
        return Ok(0.0);
    }
    let noisy = linalg::matmul(directions.t(), on.view());
    let spread = &noisy / &Array1::from_iter(measured.iter().map(|&j| slack[j]));
    let noise = linalg::matmul(spread.view(), noisy.t());
    let by_weight = &directions / &weights.mapv(f64::sqrt).insert_axis(Axis(1));
    let by_value = &directions * &(eigen.values.mapv(f64::sqrt) / weights).insert_axis(Axis(1));
    let system = noise + linalg::gram_of(by_weight.view());
    let solved = linalg::spd_solve(system.view(), linalg::gram_of(by_value.view()).view())?;
    Ok(solved.diag().sum())
}
