//! The autoregressions, and their fit to the optimum.

use ndarray::Array2;

use crate::error::{Error, Result};
use crate::tridiagonal::{InverseRoot, TridiagonalOptimum, interval, scaled};
use crate::workload::Recurrence;
use crate::{Objective, Problem};

/// First change of the logarithms of the ends of the interval.
const FIRST_STEP: f64 = 1.0;

/// Smallest change of the logarithms of the ends of the interval.
const LAST_STEP: f64 = 0.03;

/// Noise of the answers that is a sum of N first-order autoregressions, over n steps.
///
/// `z_tj = phi_tj z_{t−1,j} + sigma_tj ξ_tj` with independent standard normals ξ, the noise of
/// answer t is `y_t = Σ_j z_tj`, and step t gets the noise `scale_t (y_t − factors_t y_{t−1})`. For
/// prefix sums, factors (but the first) and scales are 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Chains {
    /// φ, n × N. The first row has no effect.
    pub phi: Array2<f64>,
    /// σ > 0, n × N.
    pub sigma: Array2<f64>,
    /// ρ, the factors of the workload's recurrence; the first has no effect.
    pub factors: Vec<f64>,
    /// 1/a, the inverse gains of the workload's recurrence.
    pub scale: Vec<f64>,
}

impl Chains {
    /// Returns the number of steps.
    pub fn steps(&self) -> usize {
        self.phi.nrows()
    }

    /// Returns N.
    pub fn chains(&self) -> usize {
        self.phi.ncols()
    }

    /// Returns the variances of the answers, `Σ_j Var z_tj`. O(n·N).
    pub fn answer_variances(&self) -> Vec<f64> {
        let mut variances = vec![0.0; self.chains()];
        (self.phi.rows().into_iter().zip(self.sigma.rows()))
            .map(|(phi, sigma)| {
                for ((v, phi), sigma) in variances.iter_mut().zip(phi).zip(sigma) {
                    *v = phi * phi * *v + sigma * sigma;
                }
                variances.iter().sum()
            })
            .collect()
    }

    /// Returns the linear map from the normals to the noise of the steps, n × nN: column `sN + j`
    /// belongs to ξ_sj. O(n²·N).
    pub fn noise_matrix(&self) -> Array2<f64> {
        let (n, chains) = self.phi.dim();
        let mut matrix = Array2::zeros((n, n * chains));
        for s in 0..n {
            for j in 0..chains {
                let (mut before, mut z) = (0.0, self.sigma[[s, j]]);
                for t in s..n {
                    if t > s {
                        (before, z) = (z, z * self.phi[[t, j]]);
                    }
                    matrix[[t, s * chains + j]] = self.scale[t] * (z - self.factors[t] * before);
                }
            }
        }
        matrix
    }

    /// Returns the covariance of the noise of the steps, n × n. O(n²·N).
    pub fn covariance(&self) -> Array2<f64> {
        let (n, chains) = self.phi.dim();
        let mut answers: Array2<f64> = Array2::zeros((n + 1, n + 1));
        let mut variances = vec![0.0; chains];
        for s in 0..n {
            for (j, variance) in variances.iter_mut().enumerate() {
                let (phi, sigma) = (self.phi[[s, j]], self.sigma[[s, j]]);
                *variance = phi * phi * *variance + sigma * sigma;
                let mut product = *variance;
                for t in s..n {
                    if t > s {
                        product *= self.phi[[t, j]];
                    }
                    answers[[s + 1, t + 1]] += product;
                }
            }
        }
        Array2::from_shape_fn((n, n), |(s, t)| {
            let (s, t) = (s.min(t), s.max(t));
            let (a, b) = (self.factors[s], self.factors[t]);
            let entry = |s: usize, t: usize| answers[[s.min(t), s.max(t)]];
            let inner = entry(s + 1, t + 1) - b * entry(s + 1, t);
            let outer = entry(s, t + 1) - b * entry(s, t);
            self.scale[s] * self.scale[t] * (inner - a * outer)
        })
    }

    /// Multiplies the noise by a factor.
    pub fn rescale(&mut self, factor: f64) {
        self.sigma *= factor;
    }
}

/// Returns the chains for an optimum, with squared sensitivity 1 up to rounding.
///
/// O(n·N²) for each of about 30 intervals of the approximation.
///
/// # Errors
/// The numbers overflow.
pub(in crate::stream) fn fit(
    problem: &Problem<'_>,
    recurrence: &Recurrence,
    optimum: &TridiagonalOptimum,
    chains: usize,
) -> Result<Chains> {
    let weights = optimum.strategy_weights();
    let cells = scaled(recurrence, &weights.cells);
    let (low, high) = interval(recurrence, &cells, &weights.queries);
    let at = |[a, b]: [f64; 2]| {
        let (low, high) = (low * a.exp(), high * b.exp());
        let mut found = streamed(
            recurrence,
            &cells,
            &weights.queries,
            &InverseRoot::with_nodes(low.min(0.5 * high), high, chains),
        );
        let largest = found.privacy_costs().into_iter().fold(0.0, f64::max);
        found.rescale(largest.sqrt());
        let error = objective_of(&found.answer_variances(), problem.objective);
        (error, found)
    };
    let mut point = [0.0; 2];
    let (mut error, mut best) = at(point);
    let mut step = FIRST_STEP;
    while step > LAST_STEP {
        let mut improved = false;
        for (index, sign) in [(0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)] {
            let mut moved = point;
            moved[index] += sign * step;
            let (candidate, found) = at(moved);
            if candidate < error {
                (error, best, point, improved) = (candidate, found, moved, true);
                break;
            }
        }
        if !improved {
            step *= 0.5;
        }
    }
    if error.is_finite() {
        return Ok(best);
    }
    Err(Error::DidNotConverge { what: "sum of chains".into(), order: recurrence.cells() })
}

/// Returns the objective of the variances of the answers of a recurrence.
fn objective_of(variances: &[f64], objective: Objective) -> f64 {
    let largest = variances.iter().copied().fold(0.0, f64::max);
    objective.of(variances.iter().sum(), largest, variances.len() as f64)
}

/// Returns the chains of a rational approximation, one per node. O(n·N).
fn streamed(recurrence: &Recurrence, cells: &[f64], queries: &[f64], root: &InverseRoot) -> Chains {
    let (n, chains) = (cells.len(), root.shifts.len());
    let squares = recurrence.squared_factors();
    let factors: Vec<f64> = squares.iter().map(|x| x.sqrt()).collect();
    let (mut phi, mut sigma) = (Array2::zeros((n, chains)), Array2::zeros((n, chains)));
    for (j, (&t, &w)) in root.shifts.iter().zip(&root.weights).enumerate() {
        let mut kappa = queries[n - 1];
        for i in (0..n).rev() {
            let pivot = 1.0 + t * cells[i] * kappa;
            phi[[i, j]] = factors[i] / pivot;
            sigma[[i, j]] = (w * cells[i] / pivot).sqrt();
            if i > 0 {
                kappa = queries[i - 1] + squares[i] * kappa / pivot;
            }
        }
    }
    let scale = recurrence.squared_gains().iter().map(|a| a.sqrt().recip()).collect();
    Chains { phi, sigma, factors, scale }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;
    use crate::{OptimalOptions, tridiagonal};
    use approx::assert_relative_eq;
    use matmech_linalg as linalg;

    fn fitted(workload: &Workload, objective: Objective, count: usize) -> (Chains, f64) {
        let problem = Problem { objective, ..Problem::new(workload) };
        let options = OptimalOptions { tolerance: 1e-8, ..OptimalOptions::default() };
        let optimum = tridiagonal::solve(&problem, &options).unwrap().unwrap();
        let recurrence = workload.recurrence().unwrap();
        let chains = fit(&problem, &recurrence, &optimum, count).unwrap();
        (chains, optimum.certificate.lower_bound)
    }

    /// Oracle: the inverse of the dense covariance.
    #[test]
    fn costs_covariances_and_variances_match_dense_algebra() {
        let decaying = "decay(rate=0.9):40";
        for (text, count) in [("prefix:1", 2), ("prefix:2", 3), (decaying, 4), ("prefix:512", 6)] {
            let workload = Workload::parse(text).unwrap();
            let (chains, _) = fitted(&workload, Objective::Max, count);
            let covariance = chains.covariance();
            let noise = chains.noise_matrix();
            let squares = linalg::matmul(noise.view(), noise.t());
            assert_relative_eq!(covariance, squares, max_relative = 1e-9, epsilon = 1e-12);
            let x = linalg::spd_inverse(covariance.view()).unwrap();
            let costs = chains.privacy_costs();
            for (cost, expected) in costs.iter().zip(x.diag()) {
                assert_relative_eq!(cost, expected, max_relative = 1e-9);
            }
            let rows: Vec<f64> = workload.rows().unwrap().flatten().collect();
            let rows = Array2::from_shape_vec((costs.len(), costs.len()), rows).unwrap();
            let images = linalg::matmul(rows.view(), covariance.view());
            for (q, variance) in chains.answer_variances().iter().enumerate() {
                assert_relative_eq!(images.row(q).dot(&rows.row(q)), variance, max_relative = 1e-9);
            }
        }
    }

    /// Upper limits of the excess over the certified optimum.
    #[test]
    fn a_few_chains_are_near_the_optimum() {
        let workload = Workload::parse("prefix:1024").unwrap();
        for (objective, count, percent) in [
            (Objective::Mean, 6, 0.17),
            (Objective::Max, 6, 0.26),
            (Objective::Max, 8, 0.03),
            (Objective::Balanced(0.9), 6, 0.26),
        ] {
            let (chains, lower_bound) = fitted(&workload, objective, count);
            let largest = chains.privacy_costs().into_iter().fold(0.0, f64::max);
            let error = objective_of(&chains.answer_variances(), objective);
            let excess = 100.0 * (largest * error / lower_bound - 1.0);
            assert!(excess > 0.0 && excess < percent, "{objective} {count}: {excess}");
            assert_relative_eq!(largest, 1.0, max_relative = 1e-12);
        }
    }

    /// Streams of ranges have the Gram matrix of a recurrence.
    #[test]
    fn chains_for_ranges_are_near_the_optimum() {
        let workload = Workload::parse("range:200").unwrap();
        let (chains, lower_bound) = fitted(&workload, Objective::Mean, 6);
        let gram = workload.gram().unwrap().to_dense().unwrap();
        let total = (&gram * &chains.covariance()).sum();
        assert_relative_eq!(
            total,
            chains.answer_variances().iter().sum::<f64>(),
            max_relative = 1e-9
        );
        assert!(total / lower_bound - 1.0 < 2e-3, "{}", total / lower_bound);
    }
}
