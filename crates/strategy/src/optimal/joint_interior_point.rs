//! A primal–dual interior-point method for the weights of queries and of cells together.
//!
//! `ln F²` is concave in (p, μ) and grows by 1 if p or μ is scaled by e. For `x = (p, μ)` the method
//! maximises `ln F² − Σ p − Σ μ` over x ≥ 0. With the shares `g = (p ∘ e, μ ∘ v)/F` the residual is
//! `r = 1 − g/x`, and a Newton step `Δx = x ∘ z` on `x s = τ` solves
//!
//! ```text
//! (H + diag(x s)) z = τ − x ∘ r        H z = −(p ∘ Δe, μ ∘ Δv)/F + (Δ ln F) g
//! ```
//!
//! H is positive semidefinite, and about g/2 on its diagonal. The fixed point does not reach a small
//! gap if many weights vanish, because they shrink by a factor near 1 in every step.

use ndarray::Array1;

use super::interior_point::STEP_FRACTION;
use crate::error::Result;
use matmech_linalg::interior_point::advance;

/// Factor between the products of weights and slacks before a step and after it.
const CENTRING: f64 = 0.15;

/// The factor of other steps, which move towards the central path.
const RETRY: f64 = 0.9;

/// Maximum products with H in a step.
const MAX_PRODUCTS: usize = 200;

/// Share of the gap that the first slacks have at least.
const FIRST_SLACK: f64 = 0.1;

/// The dual function near weights of queries and cells.
pub(super) trait JointPoint {
    /// The relative residual of the linear systems, in the norm of the preconditioner.
    const PRECISION: f64;

    /// Maximum gap, as a multiple of `Σ x s`, for a step towards the optimum.
    const MAX_GAP_RATIO: f64;

    /// Returns `(p ∘ e, μ ∘ v)/F` at weights with sum 1 each; both parts have sum 1.
    fn shares(&self) -> &Array1<f64>;

    /// Returns the relative gap of the bounds at these weights.
    fn gap(&self) -> f64;

    /// Returns `(p ∘ Δe, μ ∘ Δv)/F`, with the derivatives of e and v if the logarithms of the weights
    /// change along z.
    fn coupling(&self, z: &Array1<f64>) -> Array1<f64>;

    /// Returns a function that approximately solves `(H + diag(barrier)) z = r`.
    ///
    /// # Errors
    /// A matrix is not positive definite.
    fn preconditioner(&self, barrier: &Array1<f64>) -> Result<Preconditioner> {
        let scale = (0.5 * self.shares() + barrier).mapv(f64::recip);
        Ok(Box::new(move |r| r * &scale))
    }
}

/// A linear map.
pub(super) type Preconditioner = Box<dyn Fn(&Array1<f64>) -> Array1<f64>>;

/// Runs from the weights `start` of `queries` queries and of the cells, for `max_steps` steps or until
/// `evaluate` returns `None`.
///
/// `evaluate` has weights with sum 1 per part, and records the bounds. At most 200 products with H per
/// step.
///
/// # Errors
/// An evaluation fails.
pub(super) fn run<P: JointPoint>(
    start: Vec<f64>,
    queries: usize,
    max_steps: usize,
    mut evaluate: impl FnMut(&[f64]) -> Result<Option<P>>,
) -> Result<()> {
    let mut x = Array1::from_vec(start);
    let mut slack: Option<Array1<f64>> = None;
    for _ in 0..max_steps {
        let mut weights = x.to_vec();
        let (first, second) = weights.split_at_mut(queries);
        for part in [first, second] {
            let sum: f64 = part.iter().sum();
            part.iter_mut().for_each(|w| *w /= sum);
        }
        let Some(point) = evaluate(&weights)? else { return Ok(()) };
        let g = point.shares();
        let residual = 1.0 - g / &x;
        let mut s = slack.take().unwrap_or_else(|| {
            let least = FIRST_SLACK * point.gap().min(1.0);
            residual.mapv(|r| r.max(least))
        });
        let complementarity = x.dot(&s);
        let centring =
            if point.gap() <= P::MAX_GAP_RATIO * complementarity { CENTRING } else { RETRY };
        let target = centring * complementarity / x.len() as f64;
        let barrier = &x * &s;
        // Δ ln F = Σ g z / 2.
        let curvature = |z: &Array1<f64>| 0.5 * g.dot(z) * g - point.coupling(z);
        let solved = conjugate_gradients(
            |z| curvature(z) + &barrier * z,
            point.preconditioner(&barrier)?,
            target - &x * &residual,
            P::PRECISION,
            MAX_PRODUCTS,
        );
        let Some(z) = solved else { return Ok(()) };
        let change = &x * &z;
        let slack_change = residual + curvature(&z) / &x - &s;
        if !change.iter().chain(&slack_change).all(|d| d.is_finite()) {
            return Ok(());
        }
        advance((&mut x, &mut s), &(change, slack_change), STEP_FRACTION);
        slack = Some(s);
    }
    Ok(())
}

/// Solves `A x = right` for a positive definite A, from zero, until the residual in the norm of the
/// preconditioner is at most `precision` times its first value, or for `max_steps` products.
///
/// Returns `None` if A is not positive definite along a direction.
pub(super) fn conjugate_gradients(
    product: impl Fn(&Array1<f64>) -> Array1<f64>,
    precondition: impl Fn(&Array1<f64>) -> Array1<f64>,
    right: Array1<f64>,
    precision: f64,
    max_steps: usize,
) -> Option<Array1<f64>> {
    let mut x = Array1::zeros(right.len());
    let mut r = right;
    let mut p = precondition(&r);
    let mut energy = r.dot(&p);
    let target = precision * precision * energy;
    for _ in 0..max_steps {
        let image = product(&p);
        let curvature = p.dot(&image);
        if !(curvature > 0.0 && curvature.is_finite()) {
            return (energy <= 0.0).then_some(x);
        }
        let step = energy / curvature;
        x.scaled_add(step, &p);
        r.scaled_add(-step, &image);
        let z = precondition(&r);
        let next = r.dot(&z);
        if next <= target {
            break;
        }
        p = z + (next / energy) * &p;
        energy = next;
    }
    Some(x)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    /// Asserts that `coupling` is `Δg − g ∘ z + (g·z/2) g`, with central differences for Δg.
    pub(in crate::optimal) fn assert_coupling_is_the_derivative<P: JointPoint>(
        at: impl Fn(&[f64]) -> P,
        x: &[f64],
    ) {
        const STEP: f64 = 1e-4;
        let mut rng = ChaCha20Rng::seed_from_u64(8);
        let z: Array1<f64> = x.iter().map(|_| rng.random_range(-1.0..1.0)).collect();
        let moved = |sign: f64| {
            let x: Vec<f64> = x.iter().zip(&z).map(|(x, z)| x * (sign * STEP * z).exp()).collect();
            at(&x).shares().clone()
        };
        let point = at(x);
        let g = point.shares();
        let change = (moved(1.0) - moved(-1.0)) / (2.0 * STEP);
        let expected = change - g * &z + 0.5 * g.dot(&z) * g;
        let found = point.coupling(&z);
        let scale = expected.iter().fold(0.0f64, |most, d| most.max(d.abs()));
        assert!(scale > 1e-3 / x.len() as f64, "the direction changes the shares: {scale}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_abs_diff_eq!(*found, *expected, epsilon = 1e-4 * scale);
        }
    }
}
