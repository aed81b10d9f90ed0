//! The selection of the best banded strategy, and its lower bound.

use std::sync::Arc;

use ndarray::Array2;

use super::factor::BandedFactor;
use super::fit::BandedFit;
use crate::error::Result;
use crate::optimal::weighted;
use crate::{
    Certificate, DualWeights, Optimal, OptimalOptions, Problem, Selection, Status, StrategyFactor,
};
use matmech_linalg as linalg;

/// Number of quasi-Newton steps per permitted iteration.
const STEPS_PER_ITERATION: usize = 10;

/// Tolerance of the lower bound for any matrix.
const TOLERANCE_ANY: f64 = 1e-6;

/// Selects the best banded strategy.
///
/// The certificate's lower bound is for any matrix: the optimum of fixed epochs, whose patterns are
/// patterns of min-separation. The details have the bound of the class of banded strategies with
/// the same norms, `banded_lower_bound`. For b bands, O(nb²) per step for workloads that are a
/// recurrence, and O(n³) for others; O(n³) per lower bound.
///
/// # Errors
/// The objective is not `mean`, more bands than the separation, or more than 2048 steps.
pub(in crate::optimal) fn select(
    optimal: &Optimal,
    problem: &Problem<'_>,
) -> Result<(Selection, DualWeights)> {
    let tolerance = optimal.options.tolerance;
    let limit = STEPS_PER_ITERATION * optimal.options.max_iterations;
    let mut fit = BandedFit::new(problem, optimal.bands, optimal.equal_norms, limit)?;
    let (mut lower, mut next_bound) = (0.0f64, 0);
    while fit.ended.is_none() && fit.error() > lower * (1.0 + tolerance) {
        let decrease = fit.advance(lower)?;
        // A lower bound takes as long as many steps.
        if fit.ended.is_some() || decrease <= tolerance && fit.steps >= next_bound {
            lower = lower.max(lower_bound(&fit.form, fit.variables())?);
            next_bound = fit.steps + fit.steps / 4;
        }
    }
    let error = fit.error();
    let options = OptimalOptions { tolerance: TOLERANCE_ANY, ..optimal.options };
    let (any, dual, proof) = weighted::lower_bound_of_epochs(problem, &options)?;
    let gap = error / lower - 1.0;
    let certificate = Certificate {
        lower_bound: any.min(lower).min(error),
        upper_bound: error,
        iterations: fit.steps,
        status: match fit.ended {
            Some(status) if gap > tolerance => status,
            _ => Status::Converged,
        },
    };
    let strategy = Arc::new(fit.form.gram(fit.variables())?);
    let factor = StrategyFactor::from_gram(problem.workload.shape(), strategy);
    let mut selection = optimal.selection(vec![factor], certificate)?;
    selection.proof = Some(proof);
    selection.details = vec![
        ("bands", fit.form.bands() as f64),
        ("banded_lower_bound", lower.min(error)),
        ("banded_gap", gap.max(0.0)),
    ];
    Ok((selection, dual))
}

/// Relative amount by which the smallest eigenvalue of M is raised above zero.
const MARGIN: f64 = 1e-12;

/// Returns the lower bound for banded strategies from M at the variables, made feasible.
///
/// Let M ⪰ 0 with `M_ij = 0` for 0 < |i − j| < B, whose diagonal sums to at most 1 over every
/// window of b steps and to at most k in all. For a banded X of squared sensitivity at most 1,
/// `⟨M, X⟩ = Σ M_ii X_ii ≤ 1`, because the diagonal of M is in the pattern polytope. So
/// `‖W M^½‖_*² ≤ tr(W X⁻¹ Wᵀ) ⟨M, X⟩` is at most the error. For equal norms only the sum over all
/// steps is bounded. At the optimum `M = X⁻¹ G X⁻¹ / error`. O(steps³).
///
/// # Errors
/// The eigensolver fails.
fn lower_bound(form: &BandedFactor, x: &[f64]) -> Result<f64> {
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
