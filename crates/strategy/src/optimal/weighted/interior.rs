//! The interior-point method for the largest error of one participation, for weights that vanish.
//!
//! With `D_p^½ W D_μ^½ = U S Vᵀ`, `Z_p = diag(Δ ln p)` and `Z_μ = diag(Δ ln μ)`,
//!
//! ```text
//! p ∘ Δe = diag(U C Uᵀ)    μ ∘ Δv = −diag(V C Vᵀ)
//! C_ab = (Vᵀ Z_μ V − Uᵀ Z_p U)_ab s_a s_b/(s_a + s_b)
//! ```

use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::point::WeightedPoint;
use super::search::Search;
use super::step_weights::StepWeights;
use super::weighted_queries::WeightedQueries;
use crate::error::Result;
use crate::optimal::joint_interior_point::{JointPoint, Preconditioner, run};
use crate::optimal::newton::{FINE_STEP, nearly_inverse, nodes};
use matmech_linalg as linalg;

/// Smallest weight of the start, relative to the mean weight.
const MIN_START: f64 = 1e-2;

/// The barrier of the evaluations, so that they use singular values.
const BARRIER: f64 = 1e-14;

/// Number of steps without a tenth less gap after which the method stops.
const PATIENCE: usize = 20;

/// The dual function near weights.
struct Factor {
    /// S.
    singular_values: Array1<f64>,
    /// U, queries × rank.
    left: Array2<f64>,
    /// V, cells × rank.
    right: Array2<f64>,
    /// `s_a s_b/(s_a + s_b)`.
    means: Array2<f64>,
    /// F.
    value: f64,
    shares: Array1<f64>,
    gap: f64,
}

impl Factor {
    /// Decomposes `D_p^½ W D_μ^½`, queries × cells.
    fn of(weighted: ArrayView2<'_, f64>, gap: f64) -> Result<Self> {
        let space = linalg::row_space(weighted)?;
        let s = space.singular_values;
        let means = Array2::from_shape_fn((s.len(), s.len()), |(a, b)| {
            let sum = s[a] + s[b];
            if sum > 0.0 { s[a] * s[b] / sum } else { 0.0 }
        });
        let (left, right) = (space.left, space.basis.reversed_axes());
        let value = s.sum();
        let share = |rows: &Array2<f64>| (rows * rows).dot(&s) / value;
        let shares = ndarray::concatenate![Axis(0), share(&left), share(&right)];
        Ok(Factor { singular_values: s, left, right, means, value, shares, gap })
    }
}

impl JointPoint for Factor {
    const PRECISION: f64 = 1e-8;
    const MAX_GAP_RATIO: f64 = 6.0;

    fn shares(&self) -> &Array1<f64> {
        &self.shares
    }

    fn gap(&self) -> f64 {
        self.gap
    }

    /// O((queries + cells) · rank²).
    fn coupling(&self, z: &Array1<f64>) -> Array1<f64> {
        let (first, second) = z.view().split_at(Axis(0), self.left.nrows());
        let inner = |rows: &Array2<f64>, z: ndarray::ArrayView1<'_, f64>| {
            let scaled = rows * &z.insert_axis(Axis(1));
            linalg::matmul(rows.t(), scaled.view())
        };
        let c = (inner(&self.right, second) - inner(&self.left, first)) * &self.means / self.value;
        let diagonal =
            |rows: &Array2<f64>| (linalg::matmul(rows.view(), c.view()) * rows).sum_axis(Axis(1));
        ndarray::concatenate![Axis(0), diagonal(&self.left), -diagonal(&self.right)]
    }

    /// The inverse of the matrix with H up to a thousandth.
    ///
    /// With `1/(s_a + s_b) ≈ Σ_k w_k e^{−x_k (s_a + s_b)}` the part of C is `±Σ_k w_k Z_k ∘ Z_k`
    /// for `Z_k = B diag(s e^{−x_k s}) Bᵀ` and B = (U, V). About 20 Gram matrices of the order of
    /// all weights.
    fn preconditioner(&self, barrier: &Array1<f64>) -> Result<Preconditioner> {
        let s = &self.singular_values;
        let positive = || s.iter().copied().filter(|&s| s > 0.0);
        let low = positive().fold(f64::INFINITY, f64::min);
        let high = positive().fold(0.0, f64::max);
        let rows = ndarray::concatenate![Axis(0), self.left, self.right];
        let (queries, all) = (self.left.nrows(), rows.nrows());
        let mut matrix: Array2<f64> = Array2::zeros((all, all));
        for (x, weight) in nodes(2.0 * low, 2.0 * high, FINE_STEP) {
            let factors = s.mapv(|s| (s * (-s * x).exp()).sqrt());
            let product = linalg::gram_of((&rows * &factors).t());
            matrix.zip_mut_with(&product, |sum, z| *sum += weight / self.value * z * z);
        }
        let scale = (0.5 * &self.shares + barrier).mapv(|h| h.sqrt().recip());
        for ((i, j), h) in matrix.indexed_iter_mut() {
            if (i < queries) != (j < queries) {
                *h = -*h;
            }
            *h += 0.5 * self.shares[i] * self.shares[j];
            if i == j {
                *h += barrier[i];
            }
            *h *= scale[i] * scale[j];
        }
        let inverse = nearly_inverse(matrix)?;
        Ok(Box::new(move |r| inverse.dot(&(r * &scale)) * &scale))
    }
}

impl Search<'_> {
    /// Runs the interior-point method from weights until the search ends or the gap stalls.
    ///
    /// # Errors
    /// As the evaluation of a point.
    pub(super) fn interior_point(
        &mut self,
        queries: &mut WeightedQueries<'_>,
        (weights, steps): (Vec<f64>, StepWeights),
    ) -> Result<()> {
        queries.set_barrier(BARRIER);
        let count = weights.len();
        let raised = |weights: &[f64]| {
            let least = MIN_START / weights.len() as f64;
            weights.iter().map(|w| w.max(least)).collect::<Vec<_>>()
        };
        let start = [raised(&weights), raised(&steps.masses)].concat();
        let (mut smallest, mut since) = (f64::INFINITY, 0);
        let limit = self.options.max_iterations.saturating_sub(self.iterations);
        run(start, count, limit, |x| {
            let (p, mu) = x.split_at(count);
            let blocks = mu.iter().map(|&m| Array2::from_elem((1, 1), m)).collect();
            let steps = StepWeights::normalised(blocks, 0.0)?;
            let point = WeightedPoint::at(queries, p.to_vec(), steps)?;
            self.evaluated(queries, &point)?;
            if self.best.gap() < 0.9 * smallest {
                (smallest, since) = (self.best.gap(), 0);
            }
            since += 1;
            if self.ended() || since > PATIENCE {
                return Ok(None);
            }
            let gap = point.plain_upper_bound(queries) / point.lower_bound - 1.0;
            let rows = queries.weighted_rows(p);
            rows.map(|rows| Factor::of(point.steps.times_factor(&rows).view(), gap)).transpose()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimal::joint_interior_point::tests::assert_coupling_is_the_derivative;

    fn at(x: &[f64]) -> Factor {
        let weighted = Array2::from_shape_fn((9, 7), |(q, i)| {
            (x[q] * x[9 + i]).sqrt() * (1.0 + q as f64 - i as f64).cos()
        });
        Factor::of(weighted.view(), 0.0).unwrap()
    }

    fn weights() -> Vec<f64> {
        (0..16).map(|i| 0.5f64.powi(i % 5)).collect()
    }

    #[test]
    fn the_coupling_is_the_derivative_of_the_shares() {
        let regular = |x: &[f64]| {
            let weighted = Array2::from_shape_fn((9, 7), |(q, i)| {
                let diagonal = if q == i { 2.0 } else { 0.0 };
                (x[q] * x[9 + i]).sqrt() * (diagonal + (1.0 + (q * i) as f64).cos())
            });
            Factor::of(weighted.view(), 0.0).unwrap()
        };
        assert_coupling_is_the_derivative(regular, &weights());
    }

    /// The workload has rank 2.
    #[test]
    fn the_coupling_of_a_singular_workload_is_the_derivative() {
        assert_coupling_is_the_derivative(at, &weights());
    }

    #[test]
    fn the_preconditioner_is_nearly_the_inverse() {
        let point = at(&weights());
        let barrier = Array1::from_elem(16, 0.05);
        let precondition = point.preconditioner(&barrier).unwrap();
        let z: Array1<f64> = (0..16).map(|i| (3.0 * i as f64).sin()).collect();
        let g = point.shares();
        let image = 0.5 * g.dot(&z) * g - point.coupling(&z) + &barrier * &z;
        let difference = precondition(&image) - &z;
        assert!(difference.dot(&difference) < 1e-4 * z.dot(&z), "{difference}");
    }
}
