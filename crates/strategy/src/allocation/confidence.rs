//! Upper confidence bounds on the means of bounded weights.

/// Sums of weights from 0 to a bound.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moments {
    samples: usize,
    sum: f64,
    squares: f64,
    /// The bound on the weights.
    pub largest: f64,
}

impl Moments {
    /// Adds a weight.
    pub fn add(&mut self, weight: f64) {
        self.samples += 1;
        self.sum += weight;
        self.squares += weight * weight;
    }

    /// Returns the mean.
    pub fn mean(&self) -> f64 {
        self.sum / self.samples as f64
    }

    /// Returns the sample variance.
    fn variance(&self) -> f64 {
        let count = self.samples as f64;
        ((self.squares - self.sum * self.sum / count) / (count - 1.0)).max(0.0)
    }

    /// Returns the standard error of the mean.
    pub fn standard_error(&self) -> f64 {
        (self.variance() / self.samples as f64).sqrt()
    }

    /// Returns the upper bound on the expectation that holds but with the failure probability β, of
    /// `samples` samples with these moments.
    ///
    /// The empirical Bernstein inequality: `mean + √(2V ln(2/β)/n) + 7B ln(2/β)/(3(n − 1))` for weights
    /// from 0 to B. *Source*: Maurer and Pontil, Empirical Bernstein bounds and sample variance
    /// penalization (2009), Theorem 4.
    ///
    /// Infinite if a weight is not finite.
    pub fn upper(&self, samples: usize, failure_probability: f64) -> f64 {
        let (ln, count) = ((2.0 / failure_probability).ln(), samples as f64);
        let bound = self.mean()
            + (2.0 * self.variance() * ln / count).sqrt()
            + 7.0 * self.largest * ln / (3.0 * (count - 1.0));
        if bound.is_nan() { f64::INFINITY } else { bound }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    /// Of 1000 bounds with failure probability 0.05 on the mean of rare weights, at most 5 % fail.
    #[test]
    fn bounds_hold_with_their_probability() {
        let mut random = rand_chacha::ChaCha12Rng::seed_from_u64(3);
        let mut failures = 0;
        for _ in 0..1000 {
            let mut moments = Moments { largest: 2.0, ..Moments::default() };
            for _ in 0..400 {
                moments.add(if random.random::<f64>() < 0.05 { 2.0 } else { 0.01 });
            }
            failures += usize::from(moments.upper(400, 0.05) < 0.05 * 2.0 + 0.95 * 0.01);
        }
        assert!(failures <= 50, "{failures}");
    }
}
