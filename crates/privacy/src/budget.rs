//! Privacy budgets, in four notions of differential privacy for Gaussian noise.

use std::fmt;

use super::error::PrivacyError;
use super::neighbours::Neighbours;
use super::parameters::{budget_delta, budget_epsilon};
use super::privacy_cost::PrivacyCost;
use super::zcdp::Rho;
use super::{gaussian, gaussian_dp};

/// A total privacy budget: a guarantee and its neighbour relation.
///
/// Every notion is converted to the privacy cost β, the maximum total cost of all Gaussian
/// measurements:
///
/// | notion | β |
/// |---|---|
/// | ρ-zCDP | 2ρ |
/// | μ-Gaussian DP | μ² |
/// | (ε, δ), classical | ε²/(2 ln(2/δ)) = 1/P(ε, δ) |
/// | (ε, δ), analytic | μ², μ the largest with δ(μ, ε) <= δ |
///
/// where β = Σ Δᵢ²/σᵢ², and β = max_i (BᵀΣ⁻¹B)ᵢᵢ for a strategy B measured with noise covariance Σ.
/// Planning needs only β.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrivacyBudget {
    /// The guarantee.
    pub guarantee: Guarantee,
    /// The neighbour relation.
    pub neighbours: Neighbours,
}

/// A notion of differential privacy with its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Guarantee {
    /// ρ-zero-concentrated differential privacy.
    ZeroConcentrated {
        /// The zCDP parameter ρ.
        rho: f64,
    },
    /// (ε, δ)-differential privacy by the classical calibration of S1 and S2.
    ApproximateClassical {
        /// The privacy-loss bound ε.
        epsilon: f64,
        /// The failure probability δ.
        delta: f64,
    },
    /// (ε, δ)-differential privacy by the exact privacy curve of Gaussian noise.
    ApproximateAnalytic {
        /// The privacy-loss bound ε.
        epsilon: f64,
        /// The failure probability δ.
        delta: f64,
    },
    /// μ-Gaussian differential privacy.
    GaussianDp {
        /// The Gaussian-DP parameter μ.
        mu: f64,
    },
}

impl From<Guarantee> for PrivacyBudget {
    /// Returns the guarantee between tables that differ by adding or removing one record.
    fn from(guarantee: Guarantee) -> Self {
        PrivacyBudget { guarantee, neighbours: Neighbours::default() }
    }
}

impl PrivacyBudget {
    /// Returns the privacy cost β = Σ Δᵢ²/σᵢ² = 2ρ = μ² that this budget allows.
    ///
    /// Rounded down, except for the classical calibration: its formula is evaluated as printed in
    /// the papers.
    ///
    /// # Errors
    /// [`PrivacyError::InvalidParameter`] unless the parameters are finite and positive, δ < 1, and
    /// the result is in the range of [`PrivacyCost`];
    /// [`PrivacyError::ClassicalCalibrationFails`] for a classical budget whose noise does not
    /// provide its δ (possible only for ε > 1); [`PrivacyError::NoSolution`] if μ of an analytic
    /// budget would exceed the range of `f64`.
    pub fn privacy_cost(&self) -> Result<PrivacyCost, PrivacyError> {
        match self.guarantee {
            Guarantee::ZeroConcentrated { rho } => Ok(Rho::new(rho)?.privacy_cost()),
            Guarantee::ApproximateClassical { epsilon, delta } => {
                let delivered = gaussian::classical_delivered_delta(epsilon, delta)?;
                if delivered > delta {
                    return Err(PrivacyError::ClassicalCalibrationFails {
                        epsilon,
                        delta,
                        delivered,
                    });
                }
                PrivacyCost::new(gaussian::classical_variance_factor(epsilon, delta)?.recip())
            }
            Guarantee::ApproximateAnalytic { epsilon, delta } => {
                let (epsilon, delta) = (budget_epsilon(epsilon)?, budget_delta(delta)?);
                PrivacyCost::of_mu_rounded_down(gaussian_dp::mu_of_approximate_rounded_down(
                    epsilon, delta,
                )?)
            }
            Guarantee::GaussianDp { mu } => PrivacyCost::of_mu_rounded_down(mu),
        }
    }

    /// Returns ρ, rounded down, for mechanisms that are accounted for in zCDP because they also
    /// select.
    ///
    /// (ε, δ) is converted by the conversion that holds for every ρ-zCDP mechanism, for either
    /// calibration; the other notions by ρ = β/2.
    ///
    /// # Errors
    /// As [`PrivacyBudget::privacy_cost`].
    pub fn rho(&self) -> Result<Rho, PrivacyError> {
        match self.guarantee {
            Guarantee::ApproximateClassical { epsilon, delta }
            | Guarantee::ApproximateAnalytic { epsilon, delta } => {
                Rho::of_approximate_rounded_down(epsilon, delta)
            }
            Guarantee::ZeroConcentrated { .. } | Guarantee::GaussianDp { .. } => {
                Ok(self.privacy_cost()?.rho())
            }
        }
    }

    /// Returns σ = Δ/√β, rounded up: the noise standard deviation if the whole budget is spent on
    /// queries of joint L2 sensitivity Δ.
    ///
    /// # Errors
    /// As [`privacy_cost`](Self::privacy_cost), and [`PrivacyError::InvalidParameter`] unless Δ is
    /// finite and positive.
    pub fn noise_deviation_rounded_up(&self, l2_sensitivity: f64) -> Result<f64, PrivacyError> {
        self.privacy_cost()?.noise_deviation_rounded_up(l2_sensitivity)
    }
}

impl fmt::Display for PrivacyBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.guarantee {
            Guarantee::ZeroConcentrated { rho } => write!(f, "rho-zCDP with rho = {rho}")?,
            Guarantee::ApproximateClassical { epsilon, delta } => {
                write!(
                    f,
                    "(epsilon, delta)-DP, classical calibration, \
                     epsilon = {epsilon}, delta = {delta:e}"
                )?;
            }
            Guarantee::ApproximateAnalytic { epsilon, delta } => {
                write!(
                    f,
                    "(epsilon, delta)-DP, analytic calibration, \
                     epsilon = {epsilon}, delta = {delta:e}"
                )?;
            }
            Guarantee::GaussianDp { mu } => write!(f, "mu-Gaussian DP with mu = {mu}")?,
        }
        write!(f, "; neighbours: {}", self.neighbours)
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    fn budget(guarantee: Guarantee) -> PrivacyBudget {
        guarantee.into()
    }

    #[test]
    fn the_four_notions_agree_on_the_privacy_cost() {
        let (epsilon, delta) = (1.0, 1e-5);
        let sigma = gaussian::analytic_sigma_rounded_up(1.0, epsilon, delta).unwrap();
        let cost =
            budget(Guarantee::ApproximateAnalytic { epsilon, delta }).privacy_cost().unwrap();
        assert_relative_eq!(cost.get(), 1.0 / (sigma * sigma), max_relative = 1e-14);
        let (mu, rho) = (cost.mu_rounded_up(), cost.rho().get());
        for same in [Guarantee::GaussianDp { mu }, Guarantee::ZeroConcentrated { rho }].map(budget)
        {
            assert_relative_eq!(
                same.privacy_cost().unwrap().get(),
                cost.get(),
                max_relative = 1e-15
            );
            assert_relative_eq!(
                same.noise_deviation_rounded_up(7.0).unwrap(),
                7.0 * sigma,
                max_relative = 1e-14
            );
        }
        let classical = budget(Guarantee::ApproximateClassical { epsilon, delta });
        assert_relative_eq!(
            classical.noise_deviation_rounded_up(2.0).unwrap(),
            gaussian::classical_sigma(2.0, epsilon, delta).unwrap(),
            max_relative = 1e-14
        );
        assert!(classical.privacy_cost().unwrap() < cost);
        // Selection is accounted for in zCDP, where the same (ε, δ) allows a slightly smaller ρ.
        let rho = budget(Guarantee::ApproximateAnalytic { epsilon, delta }).rho().unwrap();
        assert_eq!(rho, Rho::of_approximate_rounded_down(epsilon, delta).unwrap());
        assert!(rho < cost.rho());
    }

    #[test]
    fn display_names_the_neighbour_relation() {
        let text = budget(Guarantee::GaussianDp { mu: 0.5 }).to_string();
        assert_eq!(text, "mu-Gaussian DP with mu = 0.5; neighbours: add or remove one record");
    }

    #[test]
    fn classical_budget_with_too_little_noise_is_refused() {
        let classical = |epsilon| {
            budget(Guarantee::ApproximateClassical { epsilon, delta: 1e-5 }).privacy_cost()
        };
        assert!(classical(9.39).is_ok());
        let refused = classical(9.4).unwrap_err();
        assert!(matches!(refused, PrivacyError::ClassicalCalibrationFails { .. }));
        assert!(refused.to_string().contains("analytic"), "{refused}");
    }

    #[test]
    fn invalid_budgets_are_refused() {
        for bad in [0.0, -2.0, f64::NAN, f64::INFINITY] {
            for guarantee in [
                Guarantee::ZeroConcentrated { rho: bad },
                Guarantee::GaussianDp { mu: bad },
                Guarantee::ApproximateClassical { epsilon: bad, delta: 1e-9 },
                Guarantee::ApproximateAnalytic { epsilon: bad, delta: 1e-9 },
                Guarantee::ApproximateAnalytic { epsilon: 1.0, delta: bad },
            ] {
                assert!(budget(guarantee).privacy_cost().is_err(), "{guarantee:?}");
                assert!(budget(guarantee).rho().is_err(), "{guarantee:?}");
            }
            assert!(
                budget(Guarantee::GaussianDp { mu: 1.0 }).noise_deviation_rounded_up(bad).is_err()
            );
        }
        // The square of μ underflows: refused, not returned as a cost of 0.
        assert!(budget(Guarantee::GaussianDp { mu: 1e-200 }).privacy_cost().is_err());
    }
}
