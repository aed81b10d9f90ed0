//! Column completion: steps 4 and 5 of Program 2.
//!
//! A column of the strategy whose norm is below the sensitivity leaves room: measuring its cell
//! too, with weight `d_j = 1 − (QᵀUQ)_jj` in V, costs nothing and can only help. The error of
//! `V = QᵀUQ + diag(d)` on the workload `G = QᵀΛQ`, for orthonormal eigen-queries Q, follows in the
//! row space of Q. Where Q has full rank the cells E that are measured add the information
//! `Q_E d Q_Eᵀ`; else only combinations of them that lie in the row space do: with N a basis of the
//! vectors a whose `Qᵀa` vanishes outside E,
//!
//! ```text
//! tr(G V⁺) = tr(ΛU⁻¹) − tr( (K + NᵀU⁻¹N)⁻¹ NᵀU⁻¹ΛU⁻¹N ),      K = Nᵀ Q_E d⁻¹ Q_Eᵀ N
//! ```
//!
//! O(rank² · cells) time.

use ndarray::{Array1, Array2, Axis};

use super::eigenbasis::EigenQueries;
use crate::error::Result;
use crate::linalg;
use crate::strategy::symmetry::error_trace;

/// Room below this is not used: it is within what the weights leave on columns that should be full.
const ROOM: f64 = 1e-7;

/// Vectors of the row space that keep more than this share of their square outside the measured
/// cells do not vanish there.
const VANISHES: f64 = 1e-9;

/// A strategy over orthonormal eigen-queries with its columns completed.
pub(super) struct Completed {
    /// V.
    pub gram: Array2<f64>,
    /// `tr(G V⁺)`.
    pub trace: f64,
    /// The number of cells that are measured on top.
    pub cells: usize,
}

/// The room that the columns of a strategy with Gram `v` leave below a sensitivity of 1.
pub(super) fn room(v: &Array2<f64>) -> Array1<f64> {
    v.diag().mapv(|x| if 1.0 - x > ROOM { 1.0 - x } else { 0.0 })
}

/// Completes the columns of any strategy, given by V = AᵀA with a largest diagonal entry of 1. Cost
/// as of [`error_trace`].
///
/// # Errors
/// A strategy that does not answer the workload, or the eigensolver fails.
pub(super) fn complete_dense(
    name: &str,
    shape: &[usize],
    g: &Array2<f64>,
    mut v: Array2<f64>,
) -> Result<Completed> {
    let room = room(&v);
    for (j, room) in room.iter().enumerate() {
        v[[j, j]] += room;
    }
    let trace = error_trace(name, shape, g, &v)?;
    Ok(Completed { gram: v, trace, cells: room.iter().filter(|&&room| room > 0.0).count() })
}

/// Completes the columns of `diag(√u) Q`, whose largest squared norm is 1.
///
/// # Errors
/// The eigensolver fails.
pub(super) fn complete(eigen: &EigenQueries, weights: &Array1<f64>) -> Result<Completed> {
    let scaled = &eigen.rows * &weights.mapv(f64::sqrt).insert_axis(Axis(1));
    let mut gram = linalg::gram_of(scaled.view());
    let room = room(&gram);
    let plain = (&eigen.values / weights).sum();
    let measured: Vec<usize> = (0..room.len()).filter(|&j| room[j] > 0.0).collect();
    for &j in &measured {
        gram[[j, j]] += room[j];
    }
    let trace = plain - gain(eigen, weights, &measured, &room)?;
    Ok(Completed { gram, trace, cells: measured.len() })
}

/// By how much the measured cells lower the trace.
fn gain(
    eigen: &EigenQueries,
    weights: &Array1<f64>,
    measured: &[usize],
    room: &Array1<f64>,
) -> Result<f64> {
    if measured.is_empty() {
        return Ok(0.0);
    }
    let on = eigen.rows.select(Axis(1), measured).as_standard_layout().into_owned();
    let directions = if eigen.rank() == room.len() {
        on.clone()
    } else {
        // Eigenvalue 1 of Q_E Q_Eᵀ: nothing outside E.
        let inside = linalg::eigh(linalg::matmul(on.view(), on.t()).view())?;
        let kept: Vec<usize> =
            (0..inside.values.len()).filter(|&k| inside.values[k] > 1.0 - VANISHES).collect();
        inside.vectors.select(Axis(1), &kept)
    };
    if directions.ncols() == 0 {
        return Ok(0.0);
    }
    let noisy = linalg::matmul(directions.t(), on.view());
    let spread = &noisy / &Array1::from_iter(measured.iter().map(|&j| room[j]));
    let noise = linalg::matmul(spread.view(), noisy.t());
    let by_weight = &directions / &weights.mapv(f64::sqrt).insert_axis(Axis(1));
    let by_value = &directions * &(eigen.values.mapv(f64::sqrt) / weights).insert_axis(Axis(1));
    let system = noise + linalg::gram_of(by_weight.view());
    let solved = linalg::spd_solve(system.view(), linalg::gram_of(by_value.view()).view())?;
    Ok(solved.diag().sum())
}
