//! The multiplicative fixed point `μ_i ← μ_i v_i^p`, accelerated.
//!
//! In x = ln μ the update is `x ← x + p ln(v/t)`. Its fixed points with v ≤ t are the optima.
//! Anderson acceleration (type II, residuals weighted by μ) combines the last updates. A step that
//! lowers the lower bound is undone and replaced by a plain step.

use super::bounds::{Bounds, OptimalOptions};
use super::dual::Dual;
use crate::error::Result;
use matmech_linalg::{Anderson, StepLimit};

/// The exponent p of the plain update. Locally stable below 4.
pub const EXPONENT: f64 = 2.0;

/// Number of past updates that Anderson acceleration combines.
pub const WINDOW: usize = 6;

/// Relative error of a lower bound.
const ACCURACY: f64 = 0.5e-13;

/// Maximum change of one ln μ in an accelerated step, relative to the largest change of the plain
/// step.
pub const MAX_STRETCH: f64 = 30.0;

/// The state of the iteration, which can be interrupted and continued.
pub(super) struct FixedPoint {
    /// Past ln μ with their residuals.
    history: Anderson,
    /// The weights to evaluate next.
    mu: Vec<f64>,
}

impl FixedPoint {
    /// Starts at the given weights.
    pub fn from(mu: Vec<f64>) -> Self {
        let history = Anderson::new(WINDOW, StepLimit::Refuse(MAX_STRETCH));
        FixedPoint { history, mu }
    }

    /// Iterates until the gap reaches the tolerance or `steps` evaluations are used.
    ///
    /// # Errors
    /// The eigensolver fails.
    pub fn advance(
        &mut self,
        dual: &Dual,
        bounds: &mut Bounds,
        options: &OptimalOptions,
        steps: usize,
    ) -> Result<()> {
        for _ in 0..steps {
            let point = dual.evaluate(&self.mu)?;
            bounds.record(&point);
            if bounds.ended(options) {
                return Ok(());
            }
            let bound = point.lower_bound();
            let x = self.history.undone(bound, ACCURACY).unwrap_or_else(|| {
                let x = point.mu.iter().map(|m| m.ln()).collect();
                let residual = point.v.iter().map(|v| EXPONENT * (v / point.t).ln()).collect();
                let sizes = point.mu.iter().zip(&dual.orbit_sizes);
                let weights: Vec<f64> = sizes.map(|(m, size)| m * size).collect();
                self.history.next(x, residual, &weights, (bound, ACCURACY))
            });
            self.mu = normalised(&x);
        }
        Ok(())
    }
}

/// Returns exp of the logarithms, scaled to a largest weight of 1.
pub fn normalised(logarithms: &[f64]) -> Vec<f64> {
    let max = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logarithms.iter().map(|x| (x - max).exp()).collect()
}
