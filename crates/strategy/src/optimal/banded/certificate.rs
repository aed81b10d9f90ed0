//! The lower bound for banded strategies.
//!
//! Let M ⪰ 0 with `M_ij = 0` for 0 < |i − j| < B, whose diagonal sums to at most 1 over every
//! window of b steps and to at most k in all. For a banded X of squared sensitivity at most 1,
//! `⟨M, X⟩ = Σ M_ii X_ii ≤ 1`, because the diagonal of M is in the pattern polytope. So
//! `‖W M^½‖_*² ≤ tr(W X⁻¹ Wᵀ) ⟨M, X⟩` is at most the error. For equal norms only the sum over all
//! steps is bounded. At the optimum `M = X⁻¹ G X⁻¹ / error`.

use ndarray::Array2;

use super::factor::BandedFactor;
use crate::error::Result;
use matmech_linalg as linalg;

/// Relative amount by which the smallest eigenvalue of M is raised above zero.
const MARGIN: f64 = 1e-12;

/// Returns the lower bound from M at the variables, made feasible. O(steps³).
///
/// # Errors
/// The eigensolver fails.
pub(super) fn lower_bound(form: &BandedFactor, x: &[f64]) -> Result<f64> {
    let (inverse, images) = form.inverse_and_images(x);
    let half = linalg::matmul(inverse.view(), images.view());
    let mut m = linalg::matmul(half.view(), inverse.t());
    m /= images.diag().sum();
    for ((i, j), entry) in m.indexed_iter_mut() {
        if i != j && i.abs_diff(j) < form.bands() {
            *entry = 0.0;
        }
    }
    let m = (&m + &m.t()) / 2.0;
    let eigen = linalg::eigh(m.view())?;
    let smallest = eigen.values.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = eigen.values.iter().copied().fold(0.0, f64::max);
    let shift = (MARGIN * largest - smallest).max(0.0);
    let share = form.share((m.diag().to_owned() + shift).view());
    // M^½, symmetric.
    let mut scaled = eigen.vectors.t().as_standard_layout().into_owned();
    for (mut row, &value) in scaled.rows_mut().into_iter().zip(&eigen.values) {
        row *= ((value + shift).max(0.0) / share).sqrt().sqrt();
    }
    let root: Array2<f64> = linalg::gram_of(scaled.view());
    let images = linalg::matmul(form.workload().view(), root.view());
    let product = linalg::matmul(root.view(), images.view());
    let values = linalg::eigvalsh(product.view())?;
    let top = values.iter().copied().fold(0.0, f64::max);
    // Rounding makes an eigenvalue wrong by a few ε times the largest one.
    let rounding = 4.0 * f64::EPSILON * top;
    let norm: f64 = values
        .iter()
        .map(|&value| value.max(0.0).sqrt())
        .map(|root| root - rounding / (root + rounding.sqrt()))
        .sum();
    Ok(norm.max(0.0).powi(2))
}
