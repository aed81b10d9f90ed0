//! Truncated exponentials: streaming noise for min-separation.
//!
//! The strategy is exactly banded with b bands,
//!
//! ```text
//! C = C₀ diag(1/r),   (C₀)_ts = Σ_j H_tj e^{−λ_j (t−s)} B_sj  (0 < t − s < b),   (C₀)_tt = d_t
//! ```
//!
//! so its columns are orthogonal within every pattern of steps at least b apart, and the squared
//! sensitivity is the largest sum of X_ii over a pattern. The noise is `diag(r) C₀⁻¹ z`. The
//! truncation needs y = C₀⁻¹z of b steps before, which a delayed copy of the recurrence computes
//! again from its normals:
//!
//! ```text
//! for g = ⌈n/b⌉ − 1 … 0 with u = t − gb ≥ 0:
//!    if u ≥ b: x_gj −= e^{−λ_j b} B_{u−b,j} y_{g+1}
//!    y_g = (z_u − Σ_j H_uj x_gj)/d_u
//!    x_gj ← e^{−λ_j} (x_gj + B_uj y_g)
//! emit r_t y_0
//! ```
//!
//! This takes ⌈n/b⌉·N buffers. If b − 1 is at most that, the last b − 1 values of y are stored.

mod fit;

use ndarray::{Array1, Array2};

use crate::error::{Error, Result};
use crate::{Objective, Participation, Problem};
pub(super) use fit::fit;

/// Noise of truncated exponentials, over n steps with N exponentials.
#[derive(Debug, Clone, PartialEq)]
pub struct Truncated {
    /// λ, N.
    pub rates: Vec<f64>,
    /// B, n × N.
    pub input: Array2<f64>,
    /// H, n × N.
    pub output: Array2<f64>,
    /// d, n.
    pub diagonal: Vec<f64>,
    /// r, n.
    pub scale: Vec<f64>,
    /// b, the number of bands.
    pub bands: usize,
}

impl Truncated {
    /// Returns the number of steps.
    pub fn steps(&self) -> usize {
        self.input.nrows()
    }

    /// Returns the number of delayed copies of the recurrence.
    pub fn copies(&self) -> usize {
        self.steps().div_ceil(self.bands)
    }

    /// Returns whether the last b − 1 values are stored instead of delayed copies.
    pub fn keeps_history(&self) -> bool {
        self.bands - 1 <= self.copies() * self.rates.len()
    }

    /// Returns the number of numbers stored per coordinate.
    pub fn buffers(&self) -> usize {
        (self.bands - 1).min(self.copies() * self.rates.len())
    }

    /// Returns (C₀)_ts for s < t.
    pub(super) fn entry(&self, t: usize, s: usize) -> f64 {
        if t - s >= self.bands {
            return 0.0;
        }
        let lag = (t - s) as f64;
        let terms = self.output.row(t).into_iter().zip(self.input.row(s)).zip(&self.rates);
        terms.map(|((h, b), rate)| h * b * (-rate * lag).exp()).sum()
    }

    /// Returns the strategy C, n × n, lower triangular with b bands. O(n·b·N).
    pub fn strategy_matrix(&self) -> Array2<f64> {
        let n = self.steps();
        let mut matrix = Array2::zeros((n, n));
        for t in 0..n {
            for s in (t + 1).saturating_sub(self.bands)..t {
                matrix[[t, s]] = self.entry(t, s) / self.scale[s];
            }
            matrix[[t, t]] = self.diagonal[t] / self.scale[t];
        }
        matrix
    }

    /// Returns C⁻¹, the map from the normals to the noise, n × n. O(n²·b).
    pub fn noise_matrix(&self) -> Array2<f64> {
        let n = self.steps();
        let mut matrix: Array2<f64> = Array2::zeros((n, n));
        for t in 0..n {
            let mut row: Array1<f64> = Array1::zeros(n);
            row[t] = 1.0;
            for s in (t + 1).saturating_sub(self.bands)..t {
                row.scaled_add(-self.entry(t, s), &matrix.row(s));
            }
            row /= self.diagonal[t];
            matrix.row_mut(t).assign(&row);
        }
        for (mut row, scale) in matrix.rows_mut().into_iter().zip(&self.scale) {
            row *= *scale;
        }
        matrix
    }
}

/// Checks a problem and returns the separation, the number of participations and of steps.
fn check(problem: &Problem<'_>, max_steps: usize) -> Result<(usize, usize, usize)> {
    problem.check()?;
    let refuse = |expected: &str, found: String, remedy: &str| {
        Err(Error::bad_input("truncated exponentials", expected, found, remedy))
    };
    let steps = problem.workload.cells();
    let Participation::MinSeparation { separation, count } = problem.participation else {
        let found = format!("participation `{}`", problem.participation);
        return refuse("participation min-sep:B,K", found, "use another form of noise");
    };
    if problem.objective != Objective::Mean {
        let found = format!("`{}`", problem.objective);
        return refuse("objective mean", found, "use the objective mean");
    }
    if steps > max_steps {
        return Err(Error::too_large(
            "truncated exponentials",
            "steps",
            max_steps as f64,
            steps as f64,
            "use fewer steps",
        ));
    }
    Ok((separation, count, steps))
}

#[cfg(test)]
mod tests;
