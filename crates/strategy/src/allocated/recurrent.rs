//! Strategies of streaming noise with N buffers.

use ndarray::Array2;

use super::form::{AllocatedForm, banded_square_root};

/// Largest rate of the start, and the smallest times its memory.
const RATES: (f64, f64) = (1.0, 1.5);

/// Sweeps of the nonnegative least squares of the start.
const SWEEPS: usize = 300;

/// Smallest weight of the start. At zero both derivatives vanish.
const MIN_WEIGHT: f64 = 1e-4;

/// `C_tt = d_t` and `C_ts = Σ_j H_tj e^{−λ_j (t − s)} B_sj` for s < t, with d ≥ 0.
///
/// H and B have any sign: entries of C for later epochs nearly vanish at the optimum, and sums of
/// positive exponentials cannot fall so fast.
///
/// The variables are ln λ, and then H, B (n×N, by rows) and d.
#[derive(Debug, Clone, Copy)]
pub struct Recurrent {
    /// n.
    pub steps: usize,
    /// N.
    pub buffers: usize,
    /// The memory of the slowest exponential of the start, in steps.
    pub memory: usize,
}

/// The coefficients of the variables: `e^{−λ}`, H, B and d.
#[derive(Debug)]
pub struct RecurrentParts<'x> {
    /// λ.
    pub rates: Vec<f64>,
    /// H, n×N by rows.
    pub output: &'x [f64],
    /// B, n×N by rows.
    pub input: &'x [f64],
    /// d.
    pub diagonal: &'x [f64],
}

impl Recurrent {
    /// Returns the coefficients of variables.
    pub fn parts<'x>(&self, x: &'x [f64]) -> RecurrentParts<'x> {
        let size = self.steps * self.buffers;
        let (rates, x) = x.split_at(self.buffers);
        let (output, x) = x.split_at(size);
        let (input, diagonal) = x.split_at(size);
        RecurrentParts { rates: rates.iter().map(|x| x.exp()).collect(), output, input, diagonal }
    }
}

impl AllocatedForm for Recurrent {
    /// Exponentials that fit the bands.
    fn start(&self, bands: usize) -> Vec<f64> {
        let (n, count) = (self.steps, self.buffers);
        let least = RATES.1 / self.memory.max(2) as f64;
        let share = |j: usize| j as f64 / (count.max(2) - 1) as f64;
        let rates: Vec<f64> =
            (0..count).map(|j| RATES.0 * (least / RATES.0).powf(share(j))).collect();
        let mut residual = banded_square_root(bands.max(2), n.max(2));
        residual.remove(0);
        let curves: Vec<Vec<f64>> = rates
            .iter()
            .map(|rate| (1..=residual.len()).map(|lag| (-rate * lag as f64).exp()).collect())
            .collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut weights = vec![0.0; count];
        for _ in 0..SWEEPS {
            for (weight, curve) in weights.iter_mut().zip(&curves) {
                let change = dot(curve, &residual) / dot(curve, curve);
                let change = change.max(MIN_WEIGHT - *weight);
                *weight += change;
                residual.iter_mut().zip(curve).for_each(|(r, c)| *r -= change * c);
            }
        }
        let roots: Vec<f64> = weights.into_iter().map(f64::sqrt).collect();
        let repeated = || roots.iter().copied().cycle().take(n * count);
        let logarithms = rates.into_iter().map(f64::ln);
        logarithms.chain(repeated()).chain(repeated()).chain((0..n).map(|_| 1.0)).collect()
    }

    fn first_bounded(&self) -> usize {
        self.buffers * (1 + 2 * self.steps)
    }

    fn matrix(&self, x: &[f64]) -> Array2<f64> {
        let (n, count) = (self.steps, self.buffers);
        let parts = self.parts(x);
        let decay: Vec<f64> = parts.rates.iter().map(|rate| (-rate).exp()).collect();
        let mut matrix = Array2::zeros((n, n));
        for s in 0..n {
            matrix[[s, s]] = parts.diagonal[s];
            let mut state = parts.input[s * count..][..count].to_vec();
            for t in s + 1..n {
                state.iter_mut().zip(&decay).for_each(|(x, decay)| *x *= decay);
                let output = &parts.output[t * count..][..count];
                matrix[[t, s]] = state.iter().zip(output).map(|(x, h)| x * h).sum();
            }
        }
        matrix
    }

    /// O(n²N): by the lag recursion of the sums over one index.
    fn gradient(&self, x: &[f64], of_matrix: &Array2<f64>) -> Vec<f64> {
        let (n, count) = (self.steps, self.buffers);
        let parts = self.parts(x);
        let mut gradient = vec![0.0; x.len()];
        let (of_rates, rest) = gradient.split_at_mut(count);
        let (of_output, rest) = rest.split_at_mut(n * count);
        let (of_input, of_diagonal) = rest.split_at_mut(n * count);
        for t in 0..n {
            of_diagonal[t] = of_matrix[[t, t]];
        }
        for j in 0..count {
            let rate = parts.rates[j];
            let powers: Vec<f64> = (0..n).map(|lag| (-rate * lag as f64).exp()).collect();
            let mut of_rate = 0.0;
            for t in 1..n {
                let h = parts.output[t * count + j];
                let (mut sum, mut weighted) = (0.0, 0.0);
                for s in 0..t {
                    let x = of_matrix[[t, s]] * powers[t - s];
                    let product = x * parts.input[s * count + j];
                    sum += product;
                    weighted += product * (t - s) as f64;
                    of_input[s * count + j] += h * x;
                }
                of_output[t * count + j] = sum;
                of_rate -= h * weighted;
            }
            of_rates[j] = rate * of_rate;
        }
        gradient
    }
}
