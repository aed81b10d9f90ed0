//! The chi-square divergence of random allocation.
//!
//! With P = (1/b) Σ_j N(s_j, σ²I), Q = N(0, σ²I) and M_ij = ⟨s_i, s_j⟩,
//!
//! ```text
//! 1 + χ²(P‖Q) = E_Q[L²] = (1/b²) Σ_ij exp(M_ij/σ²)
//! ```
//!
//! It is convex in M and increases with every entry. Its logarithm is the Rényi divergence of order 2,
//! in which everything is computed.

use ndarray::{Array2, ArrayView2};

use matmech_linalg::exponentials;

/// Relative precision of a variance.
const PRECISION: f64 = 1e-14;

/// Maximum number of Newton steps.
const MAX_STEPS: usize = 100;

/// Returns `ln(1 + χ²)` of M at the noise variance σ². O(b²).
pub fn order_two_divergence(gram: ArrayView2<'_, f64>, variance: f64) -> f64 {
    value_and_slope(gram, 1.0 / variance).0
}

/// Returns the noise variance at which `ln(1 + χ²)` of M is `divergence`, positive. O(b²) per step.
///
/// `ln(1 + χ²)` is convex and increasing in t = 1/σ², so that Newton's method from above decreases to
/// the zero. It starts where the largest entry alone has the divergence.
pub fn variance_of(gram: ArrayView2<'_, f64>, divergence: f64) -> f64 {
    let largest = gram.iter().copied().fold(0.0, f64::max);
    let mut t = (divergence + 2.0 * (gram.nrows() as f64).ln()) / largest;
    for _ in 0..MAX_STEPS {
        let (value, slope) = value_and_slope(gram, t);
        let next = t - (value - divergence) / slope;
        let near = (next - t).abs() <= PRECISION * t;
        t = next.max(0.5 * PRECISION * t);
        if near {
            break;
        }
    }
    1.0 / t
}

/// Returns `Λ_ij = exp(M_ij/σ²)`, the derivative of χ² by M, divided by its largest entry.
pub fn derivative(gram: ArrayView2<'_, f64>, variance: f64) -> Array2<f64> {
    let largest = gram.iter().copied().fold(0.0, f64::max);
    let mut weights: Vec<f64> = gram.iter().map(|x| (x - largest) / variance).collect();
    exponentials(&mut weights);
    let mut weights = weights.into_iter();
    gram.map(|_| weights.next().unwrap_or(0.0))
}

/// Returns `ln((1/b²) Σ exp(t M_ij))` and its derivative by t.
fn value_and_slope(gram: ArrayView2<'_, f64>, t: f64) -> (f64, f64) {
    let largest = gram.iter().copied().fold(0.0, f64::max);
    let weights = derivative(gram, 1.0 / t);
    let sum: f64 = weights.sum();
    let slope = weights.iter().zip(gram).map(|(w, x)| w * x).sum::<f64>() / sum;
    let count = gram.len() as f64;
    let value = if t * largest < 1.0 {
        // Without cancellation for small divergences.
        (gram.iter().map(|x| (t * x).exp_m1()).sum::<f64>() / count).ln_1p()
    } else {
        t * largest + (sum / count).ln()
    };
    (value, slope)
}
