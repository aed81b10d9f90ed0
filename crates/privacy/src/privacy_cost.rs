//! The privacy cost β of Gaussian measurements.

use std::fmt;

use super::error::PrivacyError;
use super::parameters::{noise_scale, ordinary, sensitivity};
use super::rounding::{product_down, product_up, quotient_up, root_up};

/// The privacy cost β = Σ Δᵢ²/σᵢ² of Gaussian measurements; β = 2ρ = μ².
///
/// For a strategy B measured with noise covariance Σ, β = max_i (BᵀΣ⁻¹B)ᵢᵢ. It adds up over
/// measurements, also adaptive ones. A number from 1e-300 to 1e300. A budget may be rounded down
/// and an amount spent rounded up; the name of every conversion says which.
///
/// ```
/// use matmech_privacy::PrivacyCost;
/// let cost = PrivacyCost::new(0.25)?;
/// assert_eq!(cost.rho().get(), 0.125);
/// assert_eq!(cost.mu_rounded_up(), 0.5);
/// # Ok::<(), matmech_privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, serde::Serialize)]
#[serde(transparent)]
pub struct PrivacyCost(f64);

impl PrivacyCost {
    /// β = 1, the reference cost of reported errors.
    pub const UNIT: Self = PrivacyCost(1.0);

    /// Returns a privacy cost.
    ///
    /// # Errors
    /// [`PrivacyError::InvalidParameter`] unless it is a number from 1e-300 to 1e300.
    pub fn new(cost: f64) -> Result<Self, PrivacyError> {
        ordinary("privacy cost", cost, "use e.g. 1, or derive it from a budget").map(PrivacyCost)
    }

    /// Returns β = Δ²/σ² of N(0, σ²) noise on a query of L2 sensitivity Δ, rounded up.
    ///
    /// # Errors
    /// [`PrivacyError::InvalidParameter`] unless Δ and σ are finite and positive and β is in range.
    pub fn of_gaussian_rounded_up(l2_sensitivity: f64, sigma: f64) -> Result<Self, PrivacyError> {
        Self::new(square_up(quotient_up(sensitivity(l2_sensitivity)?, noise_scale(sigma)?)))
    }

    /// Returns β = μ² of a budget of μ-Gaussian DP, rounded down.
    ///
    /// # Errors
    /// [`PrivacyError::InvalidParameter`] unless μ is finite and positive and β is in range.
    pub fn of_mu_rounded_down(mu: f64) -> Result<Self, PrivacyError> {
        let remedy = "give mu as a positive number, e.g. 0.5";
        let mu = ordinary("Gaussian-DP parameter mu", mu, remedy)?;
        Self::new(product_down(mu, mu))
    }

    /// Returns a cost that is known to be in range.
    pub(super) fn of_ordinary(cost: f64) -> Self {
        PrivacyCost(cost)
    }

    /// Returns the number.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Returns μ = √β of the Gaussian-DP guarantee of measurements of this cost, rounded up.
    pub fn mu_rounded_up(self) -> f64 {
        root_up(self.0)
    }

    /// Returns σ = Δ/√β, rounded up: the noise standard deviation if all of β is spent on queries
    /// of joint L2 sensitivity Δ.
    ///
    /// # Errors
    /// [`PrivacyError::InvalidParameter`] unless Δ is finite and positive.
    pub fn noise_deviation_rounded_up(self, l2_sensitivity: f64) -> Result<f64, PrivacyError> {
        let mut sigma =
            quotient_up(sensitivity(l2_sensitivity)?, super::rounding::root_down(self.0));
        // After both roundings, Δ²/σ² can still exceed β by one unit in the last place.
        while square_up(quotient_up(l2_sensitivity, sigma)) > self.0 {
            sigma = sigma.next_up();
        }
        Ok(sigma)
    }
}

fn square_up(x: f64) -> f64 {
    product_up(x, x)
}

impl fmt::Display for PrivacyCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn invalid_costs_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-301, 1e301] {
            assert!(PrivacyCost::new(bad).unwrap_err().to_string().contains("privacy cost"));
            assert!(PrivacyCost::of_mu_rounded_down(bad).is_err());
            assert!(PrivacyCost::of_gaussian_rounded_up(bad, 1.0).is_err());
            assert!(PrivacyCost::of_gaussian_rounded_up(1.0, bad).is_err());
        }
        assert!(PrivacyCost::of_mu_rounded_down(1e-200).is_err());
        assert!(PrivacyCost::UNIT.noise_deviation_rounded_up(0.0).is_err());
    }

    proptest! {
        /// Round trips never gain: what a budget allows costs no more than the budget.
        #[test]
        fn roundings_are_to_the_safe_side(
            ln_mu in -30.0..30.0_f64,
            ln_sensitivity in -20.0..20.0_f64,
        ) {
            let (mu, sensitivity) = (ln_mu.exp(), ln_sensitivity.exp());
            let cost = PrivacyCost::of_mu_rounded_down(mu).unwrap();
            let back = cost.mu_rounded_up();
            prop_assert!(back <= mu && back >= mu * (1.0 - 4.0 * f64::EPSILON));
            let sigma = cost.noise_deviation_rounded_up(sensitivity).unwrap();
            prop_assert!(PrivacyCost::of_gaussian_rounded_up(sensitivity, sigma).unwrap() <= cost);
            prop_assert!(sigma * mu <= sensitivity * (1.0 + 8.0 * f64::EPSILON));
            prop_assert_eq!(cost.rho().privacy_cost(), cost);
        }
    }
}
