//! Buffered linear Toeplitz strategies.

use std::f64::consts::PI;

use crate::Problem;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::prefix_sums::banded_square_root::positive;
use crate::prefix_sums::factorisation::{Factorisation, Factorised, separation_and_count};
use crate::prefix_sums::toeplitz::{of_coefficients, sum_of_columns};
use matmech_linalg::{QuasiNewton, SmoothFunction};

/// A buffered linear Toeplitz strategy (BLT) with N buffers, optimised for its problem.
///
/// C is the lower triangular Toeplitz matrix of `c_0 = 1`, `c_i = Σ_j ω_j θ_j^(i−1)` with ω > 0 and
/// 0 < θ < 1; its noise takes N numbers of memory per coordinate. ω and θ minimise the objective of
/// the problem at the exact sensitivity of the participation, by a quasi-Newton method from several
/// starts: a local optimum. O(nN) per step. *Source*: McMahan, Xu and Zhang, A hassle-free algorithm
/// for strong differential privacy in federated learning systems (2024), Equations 4 and 5.
#[derive(Debug, Clone, Copy)]
pub struct BufferedToeplitz {
    /// N.
    pub buffers: usize,
}

impl Default for BufferedToeplitz {
    fn default() -> Self {
        BufferedToeplitz { buffers: 4 }
    }
}

impl Factorised for BufferedToeplitz {
    const NAME: &'static str = "blt";
    const SUMMARY: &'static str = "buffered linear Toeplitz strategy of prefix sums";
    const OPTIONS: &'static [&'static str] = &["buffers"];

    fn factorise(&self, problem: &Problem<'_>, _n: usize) -> Result<Factorisation> {
        let coefficients = coefficients(problem, self.buffers)?;
        of_coefficients(&coefficients, self.buffers, 2 * self.buffers)
    }

    fn configured(&self, call: &Call<'_>) -> Result<Self> {
        let buffers = positive(call, "buffers")?.unwrap_or(Self::default().buffers);
        Ok(BufferedToeplitz { buffers })
    }
}

/// Smallest rates of the starts, times the separation.
const SLOWEST: [f64; 3] = [0.3, 1.5, 6.0];

/// Largest rates of the starts.
const FASTEST: [f64; 2] = [0.3, 1.5];

/// Maximum number of quasi-Newton steps per start.
const MAX_STEPS: usize = 1000;

/// Decrease of the logarithm of the error below which a step makes no progress.
const PROGRESS: f64 = 1e-13;

/// Number of successive steps without progress after which a start ends.
const PATIENCE: usize = 4;

/// The logarithm of the error in the variables ln λ_j, then ln ω_j, with θ_j = e^{−λ_j}.
#[derive(Debug)]
struct LogError {
    /// The weight of `s_i²` in the objective, s the partial sums of the coefficients of C⁻¹.
    weights: Vec<f64>,
    separation: usize,
    count: usize,
}

impl LogError {
    fn new(problem: &Problem<'_>) -> Self {
        let n = problem.workload.cells();
        let (separation, count) = separation_and_count(n, problem.participation);
        let of_step = |i: usize| problem.objective.of((n - i) as f64, 1.0, n as f64);
        LogError { weights: (0..n).map(of_step).collect(), separation, count }
    }

    /// Returns rates from `slowest` to `fastest`, with the quadrature of
    /// `c_i ≈ (1/π) ∫ λ^(−½) e^{−λi} dλ`, the square root of the prefix sums.
    fn start(&self, buffers: usize, slowest: f64, fastest: f64) -> Vec<f64> {
        let slowest = (slowest / self.separation as f64).min(0.5 * fastest);
        let ratio = (fastest / slowest).ln() / buffers as f64;
        let rates: Vec<f64> =
            (0..buffers).map(|j| slowest.ln() + (j as f64 + 0.5) * ratio).collect();
        let weight = |rate: &f64| 0.5 * rate + (ratio / PI).ln();
        let weights: Vec<f64> = rates.iter().map(weight).collect();
        [rates, weights].concat()
    }
}

/// Returns the coefficients c of the best start. O(nN) per step.
///
/// # Errors
/// The objective fails.
fn coefficients(problem: &Problem<'_>, buffers: usize) -> Result<Vec<f64>> {
    let function = LogError::new(problem);
    let mut best: Option<(f64, Vec<f64>)> = None;
    for slowest in SLOWEST {
        for fastest in FASTEST {
            let x = function.start(buffers, slowest, fastest);
            let mut state = QuasiNewton::from(&function, x, 2 * buffers)?;
            let mut still = 0;
            for _ in 0..MAX_STEPS {
                let Some(decrease) = state.step(&function)? else { break };
                still = if decrease <= PROGRESS { still + 1 } else { 0 };
                if still >= PATIENCE {
                    break;
                }
            }
            if best.as_ref().is_none_or(|(value, _)| state.value < *value) {
                best = Some((state.value, state.x));
            }
        }
    }
    let (_, x) = best.ok_or_else(|| crate::error::Error::bug("BLT", "a start", "none"))?;
    Ok(exponentials(&x, function.weights.len()))
}

/// Returns c.
fn exponentials(x: &[f64], n: usize) -> Vec<f64> {
    let (rates, weights) = x.split_at(x.len() / 2);
    let mut c = vec![0.0; n];
    for (rate, weight) in rates.iter().zip(weights) {
        let (theta, mut term) = ((-rate.exp()).exp(), weight.exp());
        for c in &mut c[1..] {
            *c += term;
            term *= theta;
        }
    }
    c[0] = 1.0;
    c
}

/// Returns h with `h_t + Σ_{i≥1} c_i h_{t−i} = r_t`, for r in the order of its iterator. O(nN).
fn solved(x: &[f64], r: impl Iterator<Item = f64>) -> Vec<f64> {
    let (rates, weights) = x.split_at(x.len() / 2);
    let thetas: Vec<f64> = rates.iter().map(|rate| (-rate.exp()).exp()).collect();
    let weights: Vec<f64> = weights.iter().map(|weight| weight.exp()).collect();
    let mut state = vec![0.0; thetas.len()];
    r.map(|r| {
        let h = r - state.iter().zip(&weights).map(|(a, w)| a * w).sum::<f64>();
        state.iter_mut().zip(&thetas).for_each(|(a, theta)| *a = theta * *a + h);
        h
    })
    .collect()
}

impl SmoothFunction for LogError {
    type Error = Error;

    /// `ln S + ln E` with the squared sensitivity `S = Σ_t (Σ_g c_{t−gb})²` and
    /// `E = Σ_i weight_i s_i²`. With `r_i = ∂E/∂(C⁻¹)_i` the derivative by c is `−C⁻ᵀC⁻ᵀr`.
    fn evaluate(&self, x: &[f64]) -> Result<(f64, Vec<f64>)> {
        let n = self.weights.len();
        let c = exponentials(x, n);
        let columns = sum_of_columns(&c, self.separation, self.count);
        let squared: f64 = columns.iter().map(|v| v * v).sum();
        let impulse = std::iter::once(1.0).chain(std::iter::repeat_n(0.0, n - 1));
        let mut sums = solved(x, impulse);
        (1..n).for_each(|i| sums[i] += sums[i - 1]);
        let error: f64 = sums.iter().zip(&self.weights).map(|(s, w)| w * s * s).sum();
        let value = squared.ln() + error.ln();
        if !value.is_finite() {
            return Ok((f64::INFINITY, vec![0.0; x.len()]));
        }
        let mut by_inverse = 0.0;
        let reversed = sums.iter().zip(&self.weights).rev().map(|(s, w)| {
            by_inverse += 2.0 * w * s;
            by_inverse
        });
        let once = solved(x, reversed);
        let twice = solved(x, once.into_iter());
        // In the order of the coefficients again.
        let by_coefficient: Vec<f64> = (twice.iter().rev().enumerate())
            .map(|(i, h)| {
                let copies = (0..self.count).filter_map(|g| columns.get(i + g * self.separation));
                2.0 * copies.sum::<f64>() / squared - h / error
            })
            .collect();
        let (rates, weights) = x.split_at(x.len() / 2);
        let mut gradient = vec![0.0; x.len()];
        let (by_rates, by_weights) = gradient.split_at_mut(rates.len());
        for (j, (rate, weight)) in rates.iter().zip(weights).enumerate() {
            let lambda = rate.exp();
            let (theta, mut term) = ((-lambda).exp(), weight.exp());
            for (i, g) in by_coefficient[1..].iter().enumerate() {
                by_weights[j] += g * term;
                by_rates[j] -= g * term * lambda * i as f64;
                term *= theta;
            }
        }
        Ok((value, gradient))
    }
}

/// Tests against finite differences, random search and dense algebra.
#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha20Rng;

    use super::*;
    use crate::prefix_sums::toeplitz::{error, series_inverse};
    use crate::workload::Workload;
    use crate::{Request, StrategySelector};

    fn problem<'a>(workload: &'a Workload, objective: &str, participation: &str) -> Problem<'a> {
        let (objective, participation) =
            (objective.parse().unwrap(), participation.parse().unwrap());
        Problem { workload, objective, participation }
    }

    /// Oracle: central differences, and the error by the inverse of the series.
    #[test]
    fn value_and_derivative_match_the_series_and_central_differences() {
        let workload = Workload::parse("prefix:24").unwrap();
        for (objective, participation) in
            [("mean", "single"), ("max", "epochs:4"), ("balanced:0.3", "min-sep:5,3")]
        {
            let problem = problem(&workload, objective, participation);
            let function = LogError::new(&problem);
            let x = function.start(3, 1.5, 1.5);
            let (value, gradient) = function.evaluate(&x).unwrap();
            let c = exponentials(&x, 24);
            let expected = error(&problem, &c, &series_inverse(&c)).ln();
            assert!((value - expected).abs() < 1e-12, "{value} {expected}");
            for i in 0..x.len() {
                let at = |change: f64| {
                    let mut moved = x.clone();
                    moved[i] += change;
                    function.evaluate(&moved).unwrap().0
                };
                let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((difference - gradient[i]).abs() < 1e-8, "{i}: {difference} {gradient:?}");
            }
        }
    }

    /// Oracle: 20,000 random parameters.
    #[test]
    fn fits_are_not_worse_than_a_random_search() {
        let mut rng = ChaCha20Rng::seed_from_u64(11);
        let workload = Workload::parse("prefix:32").unwrap();
        for (objective, participation) in [("mean", "single"), ("max", "epochs:4")] {
            let problem = problem(&workload, objective, participation);
            let function = LogError::new(&problem);
            let fitted = BufferedToeplitz { buffers: 2 }.select_for(&problem).unwrap().error.ln();
            let best = (0..20_000)
                .map(|_| {
                    let x: Vec<f64> = (0..4).map(|_| rng.random_range(-6.0f64..1.5)).collect();
                    function.evaluate(&x).unwrap().0
                })
                .fold(f64::INFINITY, f64::min);
            assert!(fitted <= best && best < fitted + 0.1, "{fitted} {best}");
        }
    }

    /// More buffers are not worse, and no Toeplitz strategy is below the certified optimum.
    #[test]
    fn errors_decrease_with_the_buffers_above_the_optimum() {
        let workload = Workload::parse("prefix:64").unwrap();
        for participation in ["single", "epochs:4"] {
            let problem = problem(&workload, "mean", participation);
            let optimum = Request::parse("optimal").unwrap().selector.select_for(&problem).unwrap();
            let mut previous = f64::INFINITY;
            for buffers in 1..5 {
                let error = BufferedToeplitz { buffers }.select_for(&problem).unwrap().error;
                assert!(error <= previous * (1.0 + 1e-9), "{buffers}: {error} {previous}");
                previous = error;
            }
            assert!(previous > optimum.certificate.unwrap().lower_bound, "{previous}");
        }
    }
}
