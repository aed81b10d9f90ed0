//! Lower bounds on the error of all strategies with at most a chi-square divergence.

use ndarray::{Array2, ArrayView2};

use super::banded::Banded;
use super::chi_square::{derivative, variance_of};
use super::cost::PrivacyLimit;
use super::fixed_point::{FitLimits, fit};
use super::toeplitz::Toeplitz;
use crate::Status;
use crate::allocation::Bins;
use crate::error::{Error, Result};
use crate::optimal::root_of_gram;
use matmech_linalg::{self as linalg, matmul};

/// Relative amount by which the smallest eigenvalue of N is raised above zero.
const MARGIN: f64 = 1e-12;

/// Relative rounding error of a bound.
const ROUNDING: f64 = 1e-9;

/// Bounds on the smallest total squared error of strategies with at most a chi-square divergence.
#[derive(Debug, Clone)]
pub struct ChiSquareBounds {
    /// χ².
    pub divergence: f64,
    /// No strategy with at most this divergence, of any sign, has a lower total squared error.
    pub lower_bound: f64,
    /// The total squared error of the strategy found, at the noise with this divergence.
    pub upper_bound: f64,
    /// The number of rounds of the fit.
    pub rounds: usize,
    /// The status of the fit.
    pub status: Status,
}

impl ChiSquareBounds {
    /// Fits a strategy C ≥ 0 to `ln(1 + χ²)`, from a start or from the best Toeplitz matrix, and
    /// bounds the error of all others.
    ///
    /// `gram` is G, n×n; the start has nonnegative entries. O(n³) per step of the fit.
    ///
    /// # Errors
    /// As [`Bins::of_strategy`], or a decomposition fails.
    pub fn at(
        gram: ArrayView2<'_, f64>,
        epochs: usize,
        divergence: f64,
        start: Option<&Array2<f64>>,
    ) -> Result<Self> {
        let limit = PrivacyLimit::ChiSquare(divergence);
        let limits = FitLimits::of(limit);
        let steps = gram.nrows();
        let form = Banded { steps, bands: steps };
        let start = match start {
            Some(start) => form.variables(start),
            None => {
                let form_of_start = Toeplitz { steps, bands: steps };
                let found = fit(&form_of_start, gram, epochs, limit, None, &limits)?;
                form.variables(&found.strategy)
            }
        };
        let found = fit(&form, gram, epochs, limit, Some(start), &limits)?;
        let lower_bound = lower_bound(gram, epochs, &found.strategy, divergence)?;
        Ok(ChiSquareBounds {
            divergence: divergence.exp_m1(),
            // Rounding may put the bound slightly above an equal error.
            lower_bound: lower_bound.min(found.estimate),
            upper_bound: found.estimate,
            rounds: found.rounds,
            status: found.status,
        })
    }
}

/// Returns a lower bound on the total squared error of every strategy with at most `ln(1 + χ²)`, from
/// a strategy C that is scaled to this divergence at σ = 1.
///
/// Every other strategy has ⟨Λ, M'⟩ ≤ ⟨Λ, M⟩ by convexity. For N ⪰ 0 with |N_st| ≤ Λ of the bins of s
/// and t, ⟨N, X'⟩ ≤ ⟨Λ, M'⟩, so that `tr(G X'⁻¹) ≥ ‖W N^½‖_*²/⟨Λ, M⟩`. At the optimum
/// `N = X⁻¹ G X⁻¹ ⟨Λ, M⟩/tr(G X⁻¹)` where X > 0. This N is limited to ±Λ, and its smallest eigenvalue
/// relative to the diagonal of Λ is raised to 0. What rounding leaves above Λ counts with the largest
/// |X'_st|, which is at most `ln(b² (1 + χ²))`. O(n³).
///
/// # Errors
/// As [`Bins::of_strategy`], or a decomposition fails.
fn lower_bound(
    gram: ArrayView2<'_, f64>,
    epochs: usize,
    strategy: &Array2<f64>,
    divergence: f64,
) -> Result<f64> {
    let (n, count) = (strategy.nrows(), strategy.nrows() / epochs);
    let m = Bins::of_strategy(strategy.view(), epochs)?.gram().to_owned();
    let variance = variance_of(m.view(), divergence);
    let (strategy, m) = (strategy / variance.sqrt(), m / variance);
    let weights = derivative(m.view(), 1.0);
    let weight = |s: usize, t: usize| weights[[s % count, t % count]];
    let cost = weights.iter().zip(&m).map(|(a, b)| a * b).sum::<f64>();
    let inverse = linalg::inverse_of_lower(strategy.view());
    let images = matmul(matmul(inverse.t(), gram).view(), inverse.view());
    let factor = cost / images.diag().sum();
    let dual = matmul(matmul(inverse.view(), images.view()).view(), inverse.t());
    let scale: Vec<f64> = (0..n).map(|s| weight(s, s).sqrt()).collect();
    let limited = Array2::from_shape_fn((n, n), |(s, t)| {
        let entry = 0.5 * factor * (dual[[s, t]] + dual[[t, s]]);
        entry.clamp(-weight(s, t), weight(s, t)) / (scale[s] * scale[t])
    });
    let eigen = linalg::eigh(limited.view())?;
    let low = eigen.values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = eigen.values.iter().copied().fold(0.0, f64::max);
    let shift = (MARGIN * high - low).max(0.0);
    let mut root = eigen.vectors.t().as_standard_layout().into_owned();
    for (mut row, &value) in root.rows_mut().into_iter().zip(&eigen.values) {
        row *= ((value + shift).max(0.0) / (1.0 + shift)).sqrt();
    }
    for (mut column, &scale) in root.columns_mut().into_iter().zip(&scale) {
        column *= scale;
    }
    let above: f64 = linalg::gram_of(root.view())
        .indexed_iter()
        .map(|((s, t), x)| (x.abs() - weight(s, t)).max(0.0))
        .sum();
    let largest = divergence + 2.0 * (count as f64).ln();
    let product = matmul(root_of_gram(&gram.to_owned())?.view(), root.t());
    let norm = linalg::row_space(product.view())?.singular_values.sum();
    let bound = norm * norm / (cost + above * largest) * (1.0 - ROUNDING);
    if bound.is_finite() {
        return Ok(bound);
    }
    Err(Error::bug("chi-square bound", "a finite number", bound))
}
