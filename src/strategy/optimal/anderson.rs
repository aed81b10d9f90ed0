//! Anderson acceleration (type II) of a fixed-point iteration.

use std::collections::VecDeque;

use ndarray::{Array1, Array2, Axis};

use matmech_linalg as linalg;

/// The treatment of accelerated steps that are too long.
#[derive(Debug, Clone, Copy)]
pub(super) enum StepLimit {
    /// The step is refused if an entry exceeds this multiple of the largest residual.
    Refuse(f64),
    /// Every entry is clipped to plus or minus this value.
    Clip(f64),
}

/// The past iterates of a fixed-point iteration `x ← x + f(x)`.
#[derive(Debug)]
pub(super) struct Anderson {
    /// Past (x, f) pairs, oldest first.
    history: VecDeque<(Vec<f64>, Vec<f64>)>,
    window: usize,
    limit: StepLimit,
}

impl Anderson {
    /// Starts without iterates; at most `window` are kept.
    pub fn new(window: usize, limit: StepLimit) -> Self {
        Anderson { history: VecDeque::new(), window, limit }
    }

    /// Returns the number of iterates kept.
    pub fn len(&self) -> usize {
        self.history.len()
    }

    /// Drops all iterates.
    pub fn clear(&mut self) {
        self.history.clear();
    }

    /// Adds an iterate with its residual.
    pub fn push(&mut self, x: Vec<f64>, residual: Vec<f64>) {
        self.history.push_back((x, residual));
        if self.history.len() > self.window {
            self.history.pop_front();
        }
    }

    /// Returns the next x, or `None` if there is nothing to combine or the step is refused.
    ///
    /// The step is `f − Σ_k γ_k (Δx_k + Δf_k)` with γ that minimises `‖f − Σ_k γ_k Δf_k‖` in the
    /// norm with the given weights. O(window² · dimension).
    pub fn step(&self, weights: &[f64]) -> Option<Vec<f64>> {
        let (x, f) = self.history.back()?;
        let columns = self.history.len() - 1;
        if columns == 0 {
            return None;
        }
        let differences: Vec<(Vec<f64>, Vec<f64>)> = self
            .history
            .iter()
            .zip(self.history.iter().skip(1))
            .map(|((x0, f0), (x1, f1))| {
                let df: Vec<f64> = f1.iter().zip(f0).map(|(a, b)| a - b).collect();
                let dg: Vec<f64> =
                    x1.iter().zip(x0).zip(&df).map(|((a, b), d)| a - b + d).collect();
                (df, dg)
            })
            .collect();
        let dot = |a: &[f64], b: &[f64]| {
            a.iter().zip(b).zip(weights).map(|((a, b), w)| w * a * b).sum::<f64>()
        };
        // The solver reads the lower triangle.
        let mut normal = Array2::from_shape_fn((columns, columns), |(i, j)| {
            if i < j { 0.0 } else { dot(&differences[i].0, &differences[j].0) }
        });
        let scale = normal.diag().sum();
        for i in 0..columns {
            normal[[i, i]] += 1e-14 * scale + f64::MIN_POSITIVE;
        }
        let right =
            Array1::from_shape_fn(columns, |i| dot(&differences[i].0, f)).insert_axis(Axis(1));
        let gamma = linalg::spd_solve(normal.view(), right.view()).ok()?;
        let mut step: Vec<f64> = (0..x.len())
            .map(|o| f[o] - (0..columns).map(|k| gamma[[k, 0]] * differences[k].1[o]).sum::<f64>())
            .collect();
        if step.iter().any(|s| !s.is_finite()) {
            return None;
        }
        match self.limit {
            StepLimit::Refuse(stretch) => {
                let limit = stretch * f.iter().fold(0.0f64, |m, r| m.max(r.abs()));
                if step.iter().any(|s| s.abs() > limit) {
                    return None;
                }
            }
            StepLimit::Clip(limit) => {
                step.iter_mut().for_each(|s| *s = s.clamp(-limit, limit));
            }
        }
        Some(x.iter().zip(step).map(|(x, s)| x + s).collect())
    }
}
