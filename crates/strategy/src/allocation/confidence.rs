//! Upper confidence bounds on the means of bounded weights.

/// Shares of the largest λ that are tried.
const SHARES: [f64; 10] = [0.95, 0.8, 0.6, 0.4, 0.25, 0.12, 0.06, 0.03, 0.01, 0.003];

/// Maximum number of Newton steps.
const MAX_STEPS: usize = 200;

/// Weights from 0 to a bound B.
#[derive(Debug, Clone)]
pub(super) struct Weights {
    /// The number of weights.
    samples: usize,
    /// Those above 0, with the number of times that they occur.
    positive: Vec<(f64, usize)>,
    /// B.
    largest: f64,
}

/// λB of a confidence bound, between 0 and 1. It must not depend on the weights of the bound.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bet(f64);

impl Weights {
    /// Creates an empty list of weights from 0 to B.
    pub fn below(largest: f64) -> Self {
        Weights { samples: 0, positive: Vec::new(), largest }
    }

    /// Adds a weight.
    pub fn add(&mut self, weight: f64) {
        self.add_equal(weight, 1);
    }

    /// Adds equal weights.
    pub fn add_equal(&mut self, weight: f64, count: usize) {
        self.samples += count;
        if weight != 0.0 && count > 0 {
            self.positive.push((weight, count));
        }
    }

    /// Returns the sum of a function of the weights above 0.
    fn sum(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.positive.iter().map(|(x, count)| of(*x) * *count as f64).sum()
    }

    /// Returns the mean.
    pub fn mean(&self) -> f64 {
        self.sum(|x| x) / self.samples as f64
    }

    /// Returns the standard error of the mean.
    pub fn standard_error(&self) -> f64 {
        let (count, mean) = (self.samples as f64, self.mean());
        let squares = self.sum(|x| x * x);
        ((squares / count - mean * mean).max(0.0) / (count - 1.0)).sqrt()
    }

    /// Returns the λ with the smallest bound for `samples` weights like these.
    pub fn best_bet(&self, samples: usize, failure_probability: f64) -> Bet {
        let bound = |share: &f64| self.upper(Bet(*share), samples, failure_probability);
        let best = SHARES.iter().min_by(|a, b| bound(a).total_cmp(&bound(b)));
        Bet(best.copied().unwrap_or(SHARES[0]))
    }

    /// Returns the upper bound on the expectation that holds but with the failure probability β; of
    /// `samples` weights like these, if that is not their number.
    ///
    /// The m with `Π_i (1 + λ(m − X_i)) = 1/β`. At m = E X the product has mean 1 and is not negative,
    /// so that it reaches 1/β with at most the probability β (Markov's inequality); it increases
    /// with m. *Source*: Waudby-Smith and Ramdas, Estimating means of bounded random variables by
    /// betting (2024), here with one bet for all samples.
    ///
    /// Infinite if a weight is not finite.
    pub fn upper(&self, bet: Bet, samples: usize, failure_probability: f64) -> f64 {
        if self.samples == 0 || !self.positive.iter().all(|(x, _)| x.is_finite()) {
            return f64::INFINITY;
        }
        if self.largest <= 0.0 {
            return 0.0;
        }
        let lambda = bet.0 / self.largest;
        let target = -failure_probability.ln() * self.samples as f64 / samples as f64;
        let positive: usize = self.positive.iter().map(|(_, count)| count).sum();
        let zeros = (self.samples - positive) as f64;
        // The logarithm of the product, and its derivative. It is concave, so that Newton's steps
        // from a smaller value of m never pass the solution.
        let product = |m: f64| {
            let start = (zeros * (lambda * m).ln_1p(), zeros * lambda / (1.0 + lambda * m));
            self.positive.iter().fold(start, |(ln, derivative), (x, count)| {
                let (change, count) = (lambda * (m - x), *count as f64);
                (ln + count * change.ln_1p(), derivative + count * lambda / (1.0 + change))
            })
        };
        let mut m = self.mean();
        for _ in 0..MAX_STEPS {
            let (ln, derivative) = product(m);
            let step = (target - ln) / derivative;
            m += step;
            if step <= 1e-9 * m {
                return m * (1.0 + 1e-9);
            }
        }
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    /// Of 2000 bounds with failure probability 0.05 on the mean of rare weights, at most 5 % fail,
    /// with a λ from other samples.
    #[test]
    fn bounds_hold_with_their_probability() {
        let mut random = rand_chacha::ChaCha12Rng::seed_from_u64(3);
        let mut drawn = || {
            let mut weights = Weights::below(2.0);
            for _ in 0..400 {
                weights.add(if random.random::<f64>() < 0.05 { 2.0 } else { 0.01 });
            }
            weights
        };
        let bet = drawn().best_bet(400, 0.05);
        let mean = 0.05 * 2.0 + 0.95 * 0.01;
        let failures = (0..2000).filter(|_| drawn().upper(bet, 400, 0.05) < mean).count();
        assert!((1..=100).contains(&failures), "{failures}");
    }

    /// The bound is the solution of its equation, also of more samples than there are.
    #[test]
    fn bounds_solve_their_equation() {
        let mut weights = Weights::below(3.0);
        weights.add_equal(0.0, 50);
        (0..50).for_each(|i| weights.add(f64::from(i) * 0.05));
        let bound = weights.upper(Bet(0.6), 200, 1e-6);
        let each = |x: f64| (1.0 + 0.2 * (bound - x)).ln();
        let half: f64 = 50.0 * each(0.0) + (0..50).map(|i| each(f64::from(i) * 0.05)).sum::<f64>();
        assert!((2.0 * half + 1e-6f64.ln()).abs() < 1e-6, "{half}");
        let mut none = Weights::below(1.0);
        none.add_equal(0.0, 1000);
        let expected = (1e-6f64.ln() / -1000.0).exp_m1() / 0.95;
        assert!((none.upper(Bet(0.95), 1000, 1e-6) / expected - 1.0).abs() < 1e-6);
    }
}
