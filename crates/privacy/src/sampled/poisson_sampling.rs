//! Poisson sampling with independent Gaussian noise: DP-SGD.

use super::calibrate::{smallest_epsilon, smallest_sigma};
use super::ratio_law::RatioLaw;
use crate::error::PrivacyError;
use crate::parameters::{curve_epsilon, noise_scale, positive};

/// The variance that the grid adds, as a share of the variance of L.
const ADDED_VARIANCE: f64 = 4e-4;

/// Steps of the grid of logarithms.
const STEPS: std::ops::RangeInclusive<f64> = 2e-4..=1e-2;

/// Gaussian noise of `steps` sums, each over a batch that has every record with the same
/// probability, independently. Contributions have norm at most 1; neighbours add or remove a record.
///
/// The likelihood ratio is the product of independent ratios `1 − q + q e^{ξ/σ − 1/2σ²}`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoissonSampling {
    rate: f64,
    steps: usize,
}

impl PoissonSampling {
    /// Creates a mechanism with a probability q from above 0 to 1.
    ///
    /// # Errors
    /// Another probability, or no step.
    pub fn new(rate: f64, steps: usize) -> Result<Self, PrivacyError> {
        positive("sampling probability", rate, "give a probability, e.g. 0.01")?;
        if rate > 1.0 {
            return Err(PrivacyError::InvalidParameter {
                quantity: "sampling probability",
                expected: "a number above 0 and at most 1",
                found: rate,
                remedy: "divide the number of epochs by the number of steps",
            });
        }
        positive("number of steps", steps as f64, "give at least one step")?;
        Ok(PoissonSampling { rate, steps })
    }

    /// Returns an upper bound on δ at ε; the larger of both directions.
    ///
    /// # Errors
    /// σ is not positive, or ε is negative.
    pub fn delta(&self, sigma: f64, epsilon: f64) -> Result<f64, PrivacyError> {
        Ok(self.curve(noise_scale(sigma)?, 1.0)(curve_epsilon(epsilon)?))
    }

    /// Returns the smallest σ that provides (ε, δ), rounded up by at most 2e-5.
    ///
    /// # Errors
    /// ε or δ is invalid.
    pub fn sigma(&self, epsilon: f64, delta: f64) -> Result<f64, PrivacyError> {
        smallest_sigma(1.0, epsilon, delta, |sigma, fine| {
            Ok(self.curve(sigma, if fine { 1.0 } else { 4.0 })(epsilon))
        })
    }

    /// Returns the smallest ε that σ provides with δ, rounded up.
    ///
    /// # Errors
    /// σ or δ is invalid; or no ε up to 1e4 has this δ.
    pub fn epsilon(&self, sigma: f64, delta: f64) -> Result<f64, PrivacyError> {
        smallest_epsilon(delta, self.curve(noise_scale(sigma)?, 1.0))
    }

    /// Returns δ as a function of ε, with the step of the grid times `coarse`.
    fn curve(&self, sigma: f64, coarse: f64) -> impl Fn(f64) -> f64 {
        let (q, s) = (self.rate, 1.0 / sigma);
        // A point between two of the grid adds a variance of at most h²/4 per step.
        let variance = q * q * (s * s).exp_m1();
        let step = (4.0 * ADDED_VARIANCE * variance).sqrt().clamp(*STEPS.start(), *STEPS.end());
        let low = -0.5 * s * s - 10.0 * s;
        let law = RatioLaw::shifted_lognormal(s, q, 1.0 - q, coarse * step, low);
        let law = law.repeated(self.steps, RatioLaw::product);
        move |epsilon| law.delta(1, 0.0, epsilon)
    }
}
