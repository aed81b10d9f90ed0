//! The law of the outputs tilted by a power of the likelihood ratio L.
//!
//! With `y_j = ⟨s_j, x⟩/σ²`, A = M/σ² and `v_j = y_j − A_jj/2`, L is the mean of the `e^{v_j}`. Its k-th
//! moment under Q is
//!
//! ```text
//! Z = E_Q[L^k] = b^{−k} Σ_{j_1 … j_k} exp(Σ_{a<c} A_{j_a j_c})
//! ```
//!
//! and Q tilted by L^k is the law of an output with mean s_{j_1} + … + s_{j_k}, for bins drawn with
//! probability `exp(Σ_{a<c} A_{j_a j_c})/(b^k Z)`. The bins are proposed one after the other, the first
//! uniformly, then
//!
//! ```text
//! p(j_{m+1} | j_1 … j_m) = Π_a E_{j_a j} / N_m,     E_ij = e^{A_ij},   N_m = Σ_j Π_a E_{j_a j}
//! ```
//!
//! and accepted with probability W/max W, `W = Π_{m<k} N_m/b`, whose mean is Z. By Hölder's inequality
//! N_m/b ≤ max_i mean_j E_ij^m, where all bins are equal. The factors of W are accepted one after the
//! other, so that most refused proposals end early.

use ndarray::{Array2, aview1};
use rand::RngExt;
use rand_chacha::ChaCha12Rng;

use super::confidence::Weights;
use super::outputs::{self, Scaled};

/// Largest k.
const MAX_POWER: usize = 400;

/// Largest logarithm of a product of entries of E, and of W.
const MAX_LN: f64 = 600.0;

/// Number of larger k that are tried after the best one.
const PATIENCE: usize = 3;

/// Largest number of proposals per accepted one.
const MAX_PROPOSALS: f64 = 30.0;

/// Proposals for the choice of k.
const PILOT: usize = 1000;

/// Entries whose sum is stored.
const BLOCK: usize = 32;

/// Q tilted by L^k.
#[derive(Debug)]
pub(super) struct Tilted {
    /// k.
    pub power: usize,
    /// ln Z: an estimate, or an upper bound after [`certify`](Self::certify).
    pub ln_moment: f64,
    /// Upper bounds on N_m/b for m = 1 … k − 1.
    largest: Vec<f64>,
    /// E.
    exponentials: Array2<f64>,
    /// W of the pilot.
    pilot: Weights,
}

/// Bins of a proposal.
#[derive(Debug, Clone)]
struct Proposal {
    /// Π_a E_{j_a j}.
    product: Vec<f64>,
    /// Sums of blocks of the product.
    sums: Vec<f64>,
    /// The bins.
    bins: Vec<usize>,
    /// W.
    weight: f64,
}

impl Proposal {
    fn new(count: usize) -> Self {
        Proposal { product: vec![0.0; count], sums: Vec::new(), bins: Vec::new(), weight: 1.0 }
    }

    /// Starts with the first bin.
    fn start(&mut self, random: &mut ChaCha12Rng) {
        self.bins.clear();
        self.bins.push(random.random_range(0..self.product.len()));
        self.product.fill(1.0);
        self.weight = 1.0;
    }

    /// Draws the next bin, and returns N_m/b. O(b).
    fn extend(&mut self, exponentials: &Array2<f64>, random: &mut ChaCha12Rng) -> f64 {
        let last = self.bins.last().map(|bin| exponentials.row(*bin));
        let factors = last.as_ref().and_then(|row| row.as_slice()).unwrap_or_default();
        self.sums.clear();
        for (product, factors) in self.product.chunks_mut(BLOCK).zip(factors.chunks(BLOCK)) {
            product.iter_mut().zip(factors).for_each(|(product, factor)| *product *= factor);
            self.sums.push(aview1(product).sum());
        }
        let total = aview1(&self.sums).sum();
        let factor = total / self.product.len() as f64;
        self.weight *= factor;
        let (block, left) = drawn(&self.sums, total * random.random::<f64>());
        let first = block * BLOCK;
        let within = &self.product[first..(first + BLOCK).min(self.product.len())];
        self.bins.push(first + drawn(within, left).0);
        factor
    }
}

impl Tilted {
    /// Creates the law for the k with the smallest product of the bound on the weights
    /// `(L − e^ε)₊ Z/L^k` and the time of a sample, with at most about 30 proposals per accepted one. O(k b²) for k up to a few above it.
    pub fn new(scaled: &Scaled, epsilon: f64, random: &mut ChaCha12Rng) -> Self {
        let mut best = Tilted::of_p(scaled);
        let count = scaled.count();
        let largest = scaled.half_diagonal.iter().fold(0.0, |most, x| f64::max(most, 2.0 * x));
        let mut proposals = vec![Proposal::new(count); PILOT];
        proposals.iter_mut().for_each(|proposal| proposal.start(random));
        let (mut least, mut ln_largest, mut power) = (cost(count, 1, 1.0).ln(), 0.0, 1);
        let mut factors = Vec::new();
        while power < MAX_POWER && power < best.power + PATIENCE && power as f64 * largest < MAX_LN
        {
            let ln_factor = ln_largest_mean(scaled, power);
            ln_largest += ln_factor;
            if ln_largest > MAX_LN {
                break;
            }
            factors.push(ln_factor.exp());
            power += 1;
            let mut pilot = Weights::below(f64::exp(ln_largest));
            for proposal in &mut proposals {
                proposal.extend(&best.exponentials, random);
                pilot.add(proposal.weight);
            }
            let ln_moment = pilot.mean().ln();
            let bound = ln_moment + ln_largest_of_ratio(power, epsilon);
            let proposals = (ln_largest - ln_moment).exp();
            let compared = bound + cost(count, power, proposals).ln();
            if compared < least && proposals < MAX_PROPOSALS {
                least = compared;
                best = Tilted { power, ln_moment, largest: factors.clone(), pilot, ..best };
            }
        }
        best
    }

    /// Creates P, the law with k = 1 and Z = 1.
    pub fn of_p(scaled: &Scaled) -> Self {
        Tilted {
            power: 1,
            ln_moment: 0.0,
            largest: Vec::new(),
            exponentials: scaled.gram.mapv(f64::exp),
            pilot: Weights::below(1.0),
        }
    }

    /// Replaces the estimate of Z by a bound that holds but with the failure probability.
    pub fn certify(&mut self, samples: usize, failure: f64, random: &mut ChaCha12Rng) {
        if self.power == 1 {
            return;
        }
        let bet = self.pilot.best_bet(samples, failure);
        let mut weights = Weights::below(self.largest.iter().product());
        let mut proposal = Proposal::new(self.exponentials.nrows());
        for _ in 0..samples {
            proposal.start(random);
            for _ in 1..self.power {
                proposal.extend(&self.exponentials, random);
            }
            weights.add(proposal.weight);
        }
        self.ln_moment = weights.upper(bet, samples, failure).ln();
    }

    /// Draws bins, and adds their rows of A to `shift`. O(k b) per proposal.
    pub fn draw(&self, scaled: &Scaled, random: &mut ChaCha12Rng, shift: &mut [f64]) {
        let mut proposal = Proposal::new(shift.len());
        loop {
            proposal.start(random);
            let mut accepted = self.largest.iter().map(|largest| {
                let factor = proposal.extend(&self.exponentials, random);
                random.random::<f64>() * largest < factor
            });
            if accepted.all(|x| x) {
                break;
            }
        }
        for bin in proposal.bins {
            shift.iter_mut().zip(scaled.gram.row(bin)).for_each(|(shift, x)| *shift += x);
        }
    }

    /// Returns the logarithm of the density relative to Q at ln L; or of a smaller number, if Z is a
    /// bound.
    pub fn ln_density(&self, ln_ratio: f64) -> f64 {
        self.power as f64 * ln_ratio - self.ln_moment
    }

    /// Returns the logarithm of an upper bound on `(L − e^ε)₊` over the density.
    pub fn ln_largest_weight(&self, epsilon: f64) -> f64 {
        self.ln_moment + ln_largest_of_ratio(self.power, epsilon)
    }
}

/// Returns the time of a sample, roughly: a unit is a product of a matrix and a vector per entry.
fn cost(count: usize, power: usize, proposals: f64) -> f64 {
    let b = count as f64;
    b * (b + 800.0) + proposals * power as f64 * (5.0 * b + 1200.0)
}

/// Returns ln max_i mean_j E_ij^m.
fn ln_largest_mean(scaled: &Scaled, m: usize) -> f64 {
    let mut largest = f64::NEG_INFINITY;
    for row in scaled.gram.rows() {
        let mut row: Vec<f64> = row.iter().map(|x| m as f64 * x).collect();
        largest = largest.max(outputs::exponentials(&mut row));
    }
    largest
}

/// Returns the logarithm of the largest `(L − e^ε) L^{−k}`, at L = e^ε k/(k − 1).
fn ln_largest_of_ratio(power: usize, epsilon: f64) -> f64 {
    let k = power as f64;
    match power {
        1 => 0.0,
        _ => (1.0 - k) * (epsilon + (k / (k - 1.0)).ln()) - k.ln(),
    }
}

/// Returns the first index up to which the weights exceed a number, and what is left of it there.
fn drawn(weights: &[f64], mut number: f64) -> (usize, f64) {
    for (i, weight) in weights.iter().enumerate() {
        if number < *weight {
            return (i, number);
        }
        number -= weight;
    }
    (weights.len() - 1, number)
}
