//! Samples of the outputs from a mixture of tilted and shifted laws.
//!
//! With the densities p_t of [`Tilted`] and p_s of [`Shifted`] relative to Q, outputs from ½p_t + ½p_s
//! with weight 1/(½p_t + ½p_s) have mean E_Q f. The shifts give a small variance, and the tilt a bound:
//! weights of `(L − e^ε)₊` are at most 2 max (L − e^ε)₊/p_t. With an upper bound in the place of Z in p_t the
//! mean is too large by at most the share of that bound above Z.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;

use super::bins::Bins;
use super::outputs::{self, Outputs, Scaled};
use super::shifted::Shifted;
use super::tilted::Tilted;

/// Outputs for noise σ, from both laws.
#[derive(Debug)]
pub(crate) struct Mixture {
    sigma: f64,
    scaled: Scaled,
    tilted: Tilted,
    shifted: Shifted,
}

/// A sample with its weight relative to Q.
#[derive(Debug)]
pub(crate) struct Sample<'a> {
    /// e^{v_j}, up to a factor for all j.
    pub ratios: &'a [f64],
    /// ln L.
    pub ln_ratio: f64,
    /// The logarithm of the weight.
    pub ln_weight: f64,
}

impl Mixture {
    /// Creates the mixture for L near e^ε, with an estimate of Z.
    pub fn new(bins: &Bins, (sigma, epsilon): (f64, f64), seed: u64) -> Self {
        let scaled = Scaled::new(bins, sigma);
        let mut random = ChaCha12Rng::seed_from_u64(seed);
        let tilted = Tilted::new(&scaled, epsilon, &mut random);
        let shifted = Shifted::new(&scaled, epsilon);
        Mixture { sigma, scaled, tilted, shifted }
    }

    /// Uses a bound on Z that holds but with the failure probability.
    pub fn certified(mut self, samples: usize, failure: f64, seed: u64) -> Self {
        self.tilted.certify(samples, failure, &mut ChaCha12Rng::seed_from_u64(seed));
        self
    }

    /// Returns the logarithm of an upper bound on the weights of `(L − e^ε)₊`.
    pub fn ln_largest_weight(&self, epsilon: f64) -> f64 {
        self.tilted.ln_largest_weight(epsilon) - self.ln_share()
    }

    /// Returns the logarithm of the share of the tilted law.
    fn ln_share(&self) -> f64 {
        if self.shifted.is_empty() { 0.0 } else { 0.5f64.ln() }
    }

    /// Moves outputs to the mixture's law, and visits those with a wanted ln L.
    pub fn sample(
        &self,
        outputs: &Outputs<'_>,
        wanted: impl Fn(f64) -> bool,
        mut visit: impl FnMut(&Sample<'_>),
    ) {
        let mut terms = Vec::new();
        let mut y = vec![0.0; self.scaled.count()];
        outputs.for_each(|random, v| {
            y.iter_mut().zip(v.iter()).for_each(|(y, x)| *y = x / self.sigma);
            if self.shifted.is_empty() || random.random::<bool>() {
                self.tilted.draw(&self.scaled, random, &mut y);
            } else {
                self.shifted.draw(random, &mut y);
            }
            let halves = &self.scaled.half_diagonal;
            v.iter_mut().zip(&y).zip(halves).for_each(|((v, y), half)| *v = y - half);
            let ln_ratio = outputs::exponentials(v);
            if !wanted(ln_ratio) {
                return;
            }
            let mut ln_density = self.tilted.ln_density(ln_ratio);
            if !self.shifted.is_empty() {
                let shifted = self.shifted.ln_density(&y, &mut terms);
                let (more, less) = (ln_density.max(shifted), ln_density.min(shifted));
                ln_density = self.ln_share() + more + (less - more).exp().ln_1p();
            }
            visit(&Sample { ratios: v, ln_ratio, ln_weight: -ln_density });
        });
    }
}
