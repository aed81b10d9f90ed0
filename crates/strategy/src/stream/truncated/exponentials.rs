//! The coefficients of truncated exponentials.

use ndarray::{Array1, Array2};

use crate::error::{Error, Result};
use crate::{Objective, Participation, Problem};

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
    pub(in crate::stream) fn entry(&self, t: usize, s: usize) -> f64 {
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
pub(super) fn check(problem: &Problem<'_>, max_steps: usize) -> Result<(usize, usize, usize)> {
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
mod tests {
    use ndarray::Array2;

    use super::*;
    use approx::assert_abs_diff_eq;
    use matmech_linalg as linalg;

    fn coefficients(steps: usize, bands: usize, buffers: usize) -> Truncated {
        let wave = |phase: f64| {
            Array2::from_shape_fn((steps, buffers), |(t, j)| {
                0.3 + 0.1 * (phase + 1.3 * t as f64 + 2.1 * j as f64).sin()
            })
        };
        Truncated {
            rates: (0..buffers).map(|j| 0.1 + 0.4 * j as f64).collect(),
            input: wave(0.0),
            output: wave(1.0),
            diagonal: (0..steps).map(|t| 1.0 + 0.2 * (t as f64).cos()).collect(),
            scale: (0..steps).map(|t| 1.0 + 0.1 * (t as f64).sin()).collect(),
            bands,
        }
    }

    /// Oracle: the product with the strategy matrix.
    #[test]
    fn the_noise_matrix_is_the_inverse_of_the_banded_strategy() {
        for (steps, bands, buffers) in [(1, 1, 1), (7, 1, 2), (23, 5, 2), (30, 10, 3), (12, 12, 2)]
        {
            let form = coefficients(steps, bands, buffers);
            let strategy = form.strategy_matrix();
            for ((t, s), entry) in strategy.indexed_iter() {
                assert_eq!(*entry != 0.0, s <= t && t - s < bands, "{t} {s}");
            }
            let product = linalg::matmul(strategy.view(), form.noise_matrix().view());
            assert_abs_diff_eq!(product, Array2::eye(steps), epsilon = 1e-12);
        }
    }
}
