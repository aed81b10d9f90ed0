//! Samples of the outputs under a law tilted by a power of the likelihood ratio L.
//!
//! With `y_j = ⟨s_j, x⟩/σ²`, A = M/σ² and `v_j = y_j − A_jj/2`, L is the mean of the `e^{v_j}`. The tilted
//! law first draws k bins one after the other, the first uniformly, then
//!
//! ```text
//! p(j_{m+1} | j_1 … j_m) = Π_a E_{j_a j} / N_m,     E_ij = e^{A_ij},   N_m = Σ_j Π_a E_{j_a j}
//! ```
//!
//! and then the output with mean s_{j_1} + … + s_{j_k}. Let `π(j_1 … j_k | y) = Π_a e^{v_{j_a}}/(bL)`. The
//! density of Q(dy) π relative to the tilted law is
//!
//! ```text
//! w = L^{−k} Π_{m=1}^{k−1} N_m/b
//! ```
//!
//! since the density of the output relative to Q is `e^{Σ_a v_{j_a} − Σ_{a<c} A_{j_a j_c}}`. So E_Q f(y) is
//! the mean of w f(y), and Q tilted by L^k is the law without the variation of the N_m. By Hölder's
//! inequality N_m/b ≤ max_i mean_j E_ij^m.

use ndarray::{Array1, Array2};
use rand::RngExt;

use super::bins::Bins;
use super::outputs;

/// Largest k.
const MAX_POWER: usize = 400;

/// Largest logarithm of a product of entries of E.
const MAX_LN: f64 = 600.0;

/// Number of larger k that are tried after the best one.
const PATIENCE: usize = 3;

/// Outputs for noise σ, tilted by L^k.
#[derive(Debug)]
pub(crate) struct Tilted<'a> {
    bins: &'a Bins,
    sigma: f64,
    /// k.
    power: usize,
    /// Σ_{m<k} ln max_i mean_j E_ij^m.
    ln_largest_factor: f64,
    /// E.
    exponentials: Array2<f64>,
    /// Half of the diagonal of A.
    half_diagonal: Array1<f64>,
}

/// A sample with its weight relative to Q.
#[derive(Debug)]
pub(crate) struct Sample<'a> {
    /// e^{v_j}, up to a factor for all j.
    pub ratios: &'a [f64],
    /// ln L.
    pub ln_ratio: f64,
    /// ln w.
    pub ln_weight: f64,
}

impl<'a> Tilted<'a> {
    /// Creates the law with the k whose bound on the weights `w (L − e^ε)₊` is smallest.
    ///
    /// O(k b²) for the normalisers of all k up to a few above it.
    pub fn new(bins: &'a Bins, sigma: f64, epsilon: f64) -> Self {
        let mut found = Tilted::of_p(bins, sigma);
        let mut least = found.ln_largest_weight(epsilon);
        let largest = bins.largest().0 / (sigma * sigma);
        let (mut sum, mut power) = (0.0, 1);
        while power < MAX_POWER && power < found.power + PATIENCE && power as f64 * largest < MAX_LN
        {
            sum += found.ln_largest_mean(power);
            power += 1;
            let bound = sum + ln_largest_of_ratio(power, epsilon);
            if bound < least {
                least = bound;
                (found.power, found.ln_largest_factor) = (power, sum);
            }
        }
        found
    }

    /// Creates P, the law with k = 1.
    pub fn of_p(bins: &'a Bins, sigma: f64) -> Self {
        let square = sigma * sigma;
        Tilted {
            bins,
            sigma,
            power: 1,
            ln_largest_factor: 0.0,
            exponentials: bins.gram().mapv(|x| (x / square).exp()),
            half_diagonal: bins.gram().diag().mapv(|x| 0.5 * x / square),
        }
    }

    /// Returns k.
    pub fn power(&self) -> usize {
        self.power
    }

    /// Returns an upper bound on the logarithm of the weights `w (L − e^ε)₊`.
    pub fn ln_largest_weight(&self, epsilon: f64) -> f64 {
        self.ln_largest_factor + ln_largest_of_ratio(self.power, epsilon)
    }

    /// Returns ln max_i mean_j E_ij^m.
    fn ln_largest_mean(&self, m: usize) -> f64 {
        let scale = m as f64 / (self.sigma * self.sigma);
        let mut largest = f64::NEG_INFINITY;
        for row in self.bins.gram().rows() {
            let mut row: Vec<f64> = row.iter().map(|x| scale * x).collect();
            largest = largest.max(outputs::exponentials(&mut row));
        }
        largest
    }

    /// Draws samples, the same ones for the same seed. O(samples · b (b + k)).
    pub fn sample(&self, samples: usize, seed: u64, mut visit: impl FnMut(&Sample<'_>)) {
        let count = self.bins.count();
        let square = self.sigma * self.sigma;
        let gram: Vec<f64> = self.bins.gram().iter().copied().collect();
        let exponentials: Vec<f64> = self.exponentials.iter().copied().collect();
        let mut product = vec![1.0; count];
        let mut shift = vec![0.0; count];
        outputs::for_each(self.bins, samples, seed, |random, v| {
            product.fill(1.0);
            shift.fill(0.0);
            let mut ln_factor = 0.0;
            for m in 0..self.power {
                let total: f64 = product.iter().sum();
                if m > 0 {
                    ln_factor += (total / count as f64).ln();
                }
                let drawn = drawn(&product, total * random.random::<f64>());
                let towards = &gram[drawn * count..][..count];
                shift.iter_mut().zip(towards).for_each(|(shift, x)| *shift += x);
                if m + 1 < self.power {
                    let factors = &exponentials[drawn * count..][..count];
                    product.iter_mut().zip(factors).for_each(|(product, x)| *product *= x);
                }
            }
            for ((x, shift), half) in v.iter_mut().zip(&shift).zip(&self.half_diagonal) {
                *x = *x / self.sigma + shift / square - half;
            }
            let ln_ratio = outputs::exponentials(v);
            let ln_weight = ln_factor - self.power as f64 * ln_ratio;
            visit(&Sample { ratios: v, ln_ratio, ln_weight });
        });
    }
}

/// Returns the logarithm of the largest `(L − e^ε) L^{−k}`, at L = e^ε k/(k − 1).
fn ln_largest_of_ratio(power: usize, epsilon: f64) -> f64 {
    let k = power as f64;
    match power {
        1 => 0.0,
        _ => (1.0 - k) * (epsilon + (k / (k - 1.0)).ln()) - k.ln(),
    }
}

/// Returns the first index whose sum of weights exceeds a number.
fn drawn(weights: &[f64], mut number: f64) -> usize {
    let found = weights.iter().position(|weight| {
        number -= weight;
        number < 0.0
    });
    found.unwrap_or(weights.len() - 1)
}
