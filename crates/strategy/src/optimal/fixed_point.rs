//! The multiplicative fixed point `μ_i ← μ_i v_i^p`, accelerated.
//!
//! In x = ln μ the update is `x ← x + p ln(v/t)`. Its fixed points with v ≤ t are the optima.
//! Anderson acceleration (type II, residuals weighted by μ) combines the last updates. A step that
//! lowers the lower bound is undone and replaced by a plain step.

use super::anderson::{Anderson, StepLimit};
use super::bounds::Bounds;
use super::dual::{Dual, Point};
use super::options::OptimalOptions;
use crate::error::Result;

/// The exponent p of the plain update. Locally stable below 4.
pub const EXPONENT: f64 = 2.0;

/// Number of past updates that Anderson acceleration combines.
pub const WINDOW: usize = 6;

/// Maximum change of one ln μ in an accelerated step, relative to the largest change of the plain
/// step.
pub const MAX_STRETCH: f64 = 30.0;

/// The state of the iteration, which can be interrupted and continued.
pub(super) struct FixedPoint {
    /// Past ln μ with their residuals.
    history: Anderson,
    /// The weights to evaluate next.
    mu: Vec<f64>,
    /// The last evaluated point, unless it was undone.
    last: Option<Point>,
}

impl FixedPoint {
    /// Starts at the given weights.
    pub fn from(mu: Vec<f64>) -> Self {
        let history = Anderson::new(WINDOW, StepLimit::Refuse(MAX_STRETCH));
        FixedPoint { history, mu, last: None }
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
            if let Some(previous) = self.last.take()
                && point.lower_bound() < previous.lower_bound() * (1.0 - 1e-13)
                && self.history.kept() > 1
            {
                // The accelerated step overshot: clear the history and take the plain step from the
                // last good point.
                self.history.clear();
                self.mu = plain_step(dual, &previous);
                continue;
            }
            let x: Vec<f64> = point.mu.iter().map(|m| m.ln()).collect();
            let residual: Vec<f64> =
                point.v.iter().map(|v| EXPONENT * (v / point.t).ln()).collect();
            self.history.push(x, residual);
            let weights: Vec<f64> =
                point.mu.iter().zip(&dual.orbit_sizes).map(|(m, size)| m * size).collect();
            self.mu = match self.history.step(&weights) {
                Some(x) => normalised(x.len(), |o| x[o]),
                None => plain_step(dual, &point),
            };
            self.last = Some(point);
        }
        Ok(())
    }
}

/// Returns the plain update of the weights.
fn plain_step(dual: &Dual, point: &Point) -> Vec<f64> {
    normalised(dual.orbit_sizes.len(), |o| {
        point.mu[o].ln() + EXPONENT * (point.v[o] / point.t).ln()
    })
}

/// Returns exp of the logarithms, scaled to a largest weight of 1.
pub fn normalised(orbits: usize, ln_mu: impl Fn(usize) -> f64) -> Vec<f64> {
    let values: Vec<f64> = (0..orbits).map(ln_mu).collect();
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    values.iter().map(|x| (x - max).exp()).collect()
}
