//! The multiplicative fixed point `μ_i ← μ_i v_i^p`, accelerated.
//!
//! In x = ln μ the update is `x ← x + p ln(v/t)`. Its fixed points with v ≤ t are the optima.
//! Anderson acceleration (type II, residuals weighted by μ) combines the last updates. A step that
//! lowers the lower bound is undone and replaced by a plain step.

use std::collections::VecDeque;

use ndarray::{Array1, Array2};

use super::dual::{Dual, Point};
use super::{Bounds, OptimalOptions};
use crate::error::Result;
use matmech_linalg as linalg;

/// The exponent p of the plain update. Locally stable below 4.
pub(crate) const EXPONENT: f64 = 2.0;

/// Number of past updates that Anderson acceleration combines.
pub(crate) const WINDOW: usize = 6;

/// Maximum change of one ln μ in an accelerated step, relative to the largest change of the plain
/// step.
const MAX_STRETCH: f64 = 30.0;

/// The state of the iteration, which can be interrupted and continued.
pub(super) struct FixedPoint {
    /// Past (ln μ, residual) pairs, oldest first.
    history: VecDeque<(Vec<f64>, Vec<f64>)>,
    /// The weights to evaluate next.
    mu: Vec<f64>,
    /// The last evaluated point, unless it was undone.
    last: Option<Point>,
}

impl FixedPoint {
    /// Starts at the given weights.
    pub fn from(mu: Vec<f64>) -> Self {
        FixedPoint { history: VecDeque::new(), mu, last: None }
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
            if bounds.gap() <= options.tolerance {
                return Ok(());
            }
            if let Some(previous) = self.last.take()
                && point.lower_bound() < previous.lower_bound() * (1.0 - 1e-13)
                && self.history.len() > 1
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
            self.history.push_back((x, residual));
            if self.history.len() > WINDOW {
                self.history.pop_front();
            }
            let weights: Vec<f64> =
                point.mu.iter().zip(&dual.orbit_sizes).map(|(m, size)| m * size).collect();
            self.mu = accelerated_step(&self.history, &weights)
                .unwrap_or_else(|| plain_step(dual, &point));
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
pub(crate) fn normalised(orbits: usize, ln_mu: impl Fn(usize) -> f64) -> Vec<f64> {
    let values: Vec<f64> = (0..orbits).map(ln_mu).collect();
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    values.iter().map(|x| (x - max).exp()).collect()
}

/// Returns the Anderson step from the newest entry of the history, or `None` if there is nothing to
/// combine.
///
/// The entries are pairs of logarithms and residuals. The step is returned as in [`normalised`].
pub(crate) fn accelerated_step(
    history: &VecDeque<(Vec<f64>, Vec<f64>)>,
    weights: &[f64],
) -> Option<Vec<f64>> {
    let (x, f) = history.back()?;
    let columns = history.len() - 1;
    if columns == 0 {
        return None;
    }
    let differences: Vec<(Vec<f64>, Vec<f64>)> = history
        .iter()
        .zip(history.iter().skip(1))
        .map(|((x0, f0), (x1, f1))| {
            let df: Vec<f64> = f1.iter().zip(f0).map(|(a, b)| a - b).collect();
            let dg: Vec<f64> = x1.iter().zip(x0).zip(&df).map(|((a, b), d)| a - b + d).collect();
            (df, dg)
        })
        .collect();
    let dot = |a: &[f64], b: &[f64]| {
        a.iter().zip(b).zip(weights).map(|((a, b), w)| w * a * b).sum::<f64>()
    };
    let mut normal = Array2::from_shape_fn((columns, columns), |(i, j)| {
        dot(&differences[i].0, &differences[j].0)
    });
    let scale = normal.diag().sum();
    for i in 0..columns {
        normal[[i, i]] += 1e-14 * scale + f64::MIN_POSITIVE;
    }
    let right =
        Array1::from_shape_fn(columns, |i| dot(&differences[i].0, f)).insert_axis(ndarray::Axis(1));
    let gamma = linalg::spd_solve(normal.view(), right.view()).ok()?;
    let step: Vec<f64> = (0..x.len())
        .map(|o| f[o] - (0..columns).map(|k| gamma[[k, 0]] * differences[k].1[o]).sum::<f64>())
        .collect();
    let limit = MAX_STRETCH * f.iter().fold(0.0f64, |m, r| m.max(r.abs()));
    if step.iter().any(|s| !s.is_finite() || s.abs() > limit) {
        return None;
    }
    Some(normalised(x.len(), |o| x[o] + step[o]))
}
