//! Random allocation with exchangeable bins.

use super::calibrate::{smallest_epsilon, smallest_sigma};
use super::ratio_law::RatioLaw;
use crate::error::PrivacyError;
use crate::parameters::{curve_epsilon, noise_scale, non_negative, positive};

/// Points of the grid of one summand.
const POINTS: f64 = 6000.0;

/// Points with smaller logarithms are merged: their squares are below 1e-12.
const LOW: f64 = -14.0;

/// A record in one of b bins, drawn uniformly, whose contributions s_j have the inner products
/// `⟨s_i, s_j⟩ = a δ_ij + c`.
///
/// This is the composition of one Gaussian mechanism with μ² = c/σ² and random allocation of a
/// Gaussian with deviation σ/√a. DP-SGD with K epochs of b batches has a = K and c = 0. For other
/// contributions with `⟨s_i, s_j⟩ ≤ a δ_ij + c` for all i and j, δ is at most this one
/// ([`RandomAllocation::dominating`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomAllocation {
    bins: usize,
    own: f64,
    common: f64,
}

impl RandomAllocation {
    /// Creates an allocation to b bins with a (`own`) and c (`common`), both at least 0.
    ///
    /// # Errors
    /// No bin, a negative number, or a + c = 0.
    pub fn new(bins: usize, own: f64, common: f64) -> Result<Self, PrivacyError> {
        let remedy = "the inner products of contributions are a on the diagonal and c everywhere";
        positive("number of bins", bins as f64, "give at least one bin")?;
        non_negative("own part a", own, remedy)?;
        non_negative("common part c", common, remedy)?;
        positive("a + c", own + common, "a record without contribution needs no noise")?;
        Ok(RandomAllocation { bins, own, common })
    }

    /// Returns the allocation with the smallest c, and then the smallest a, that dominates inner
    /// products with this largest diagonal entry and largest other entry.
    ///
    /// # Errors
    /// As [`RandomAllocation::new`].
    pub fn dominating(bins: usize, diagonal: f64, other: f64) -> Result<Self, PrivacyError> {
        let common = other.max(0.0);
        RandomAllocation::new(bins, (diagonal - common).max(0.0), common)
    }

    /// Returns an upper bound on δ at ε, the larger of both directions. About 1 s.
    ///
    /// For δ from 1e-8 to 1e-6 a grid four times as fine has at most 0.05 % less.
    ///
    /// # Errors
    /// σ is not positive, or ε is negative.
    pub fn delta(&self, sigma: f64, epsilon: f64) -> Result<f64, PrivacyError> {
        Ok(self.curve(noise_scale(sigma)?, POINTS)(curve_epsilon(epsilon)?))
    }

    /// Returns the smallest σ that provides (ε, δ), rounded up by at most 2e-5.
    ///
    /// # Errors
    /// ε or δ is invalid.
    pub fn sigma(&self, epsilon: f64, delta: f64) -> Result<f64, PrivacyError> {
        // Without the common part and with all of it: between the two.
        let start = (self.own + self.common).sqrt();
        smallest_sigma(start, epsilon, delta, |sigma, fine| {
            let points = if fine { POINTS } else { 0.2 * POINTS };
            Ok(self.curve(sigma, points)(epsilon))
        })
    }

    /// Returns the smallest ε that σ provides with δ, rounded up.
    ///
    /// # Errors
    /// σ or δ is invalid; or no ε up to 1e4 has this δ.
    pub fn epsilon(&self, sigma: f64, delta: f64) -> Result<f64, PrivacyError> {
        smallest_epsilon(delta, self.curve(noise_scale(sigma)?, POINTS))
    }

    /// Returns δ as a function of ε.
    fn curve(&self, sigma: f64, points: f64) -> impl Fn(f64) -> f64 {
        let (bins, common) = (self.bins, self.common / (sigma * sigma));
        let deviation = self.own.sqrt() / sigma;
        let law = (deviation > 0.0).then(|| {
            let top = 0.5 * deviation * deviation + 9.6 * deviation;
            let low = LOW.max(-top - 2.0 * deviation);
            let step = (top - low) / points;
            RatioLaw::shifted_lognormal(deviation, 1.0, 0.0, step, low)
                .repeated(bins, RatioLaw::sum)
        });
        move |epsilon| match &law {
            Some(law) => law.delta(bins, common, epsilon),
            // One Gaussian mechanism.
            None => crate::gaussian_dp::delta(common.sqrt(), epsilon).unwrap_or(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bound decreases to a limit as the grid gets finer.
    #[test]
    fn finer_grids_have_smaller_bounds_with_one_limit() {
        for (bins, sigma, epsilon) in
            [(64, 1.04, 1.0), (256, 0.8, 2.0), (64, 0.7, 4.0), (3, 1.0, 0.5)]
        {
            let allocation = RandomAllocation::new(bins, 1.0, 0.0).unwrap();
            let bounds =
                [1500.0, 6000.0, 24_000.0].map(|points| allocation.curve(sigma, points)(epsilon));
            println!("{bins} {sigma} {epsilon}: {bounds:?}");
            assert!(bounds[0] >= bounds[1] && bounds[1] >= bounds[2]);
            assert!(bounds[1] <= 1.002 * bounds[2]);
        }
    }
}
