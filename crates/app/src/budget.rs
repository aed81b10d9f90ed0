//! A privacy budget as users give it, in exactly one notion.

use matmech::error::{Error, Result};
use matmech::privacy::{Guarantee, PrivacyBudget, PrivacyCost, Rho, fine_noise};

/// The parameters of a budget; those of one notion are given.
#[derive(Debug, Clone, Copy, Default)]
pub struct Budget {
    /// β = Σ (sensitivity/σ)² = 2ρ = μ².
    pub privacy_cost: Option<f64>,
    /// ε of (ε, δ)-differential privacy.
    pub epsilon: Option<f64>,
    /// δ of (ε, δ)-differential privacy.
    pub delta: Option<f64>,
    /// ρ of zero-concentrated differential privacy.
    pub rho: Option<f64>,
    /// μ of Gaussian differential privacy.
    pub mu: Option<f64>,
}

/// ρ of a release.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReleaseRho {
    /// This number.
    Given(Rho),
    /// What is left in the ledger.
    Rest,
}

impl Budget {
    /// Returns the budget for adding or removing one record.
    pub fn budget(&self) -> Result<PrivacyBudget> {
        let guarantee = match (self.privacy_cost, self.epsilon.zip(self.delta), self.rho, self.mu) {
            (Some(cost), ..) => {
                Guarantee::ZeroConcentrated { rho: PrivacyCost::new(cost)?.rho().get() }
            }
            (None, Some((epsilon, delta)), ..) => Guarantee::ApproximateAnalytic { epsilon, delta },
            (None, None, Some(rho), _) => Guarantee::ZeroConcentrated { rho },
            (None, None, None, Some(mu)) => Guarantee::GaussianDp { mu },
            (None, None, None, None) => {
                return Err(Error::bad_input(
                    "privacy budget",
                    "one of --rho, --epsilon with --delta, --mu and --privacy-cost",
                    "none",
                    "write e.g. --epsilon 1 --delta 1e-9",
                ));
            }
        };
        Ok(guarantee.into())
    }

    /// Returns ρ for a private release. (ε, δ) is converted for fine discrete Gaussian noise.
    ///
    /// # Errors
    /// Invalid parameters, or `--mu`: discrete noise has no accounting in Gaussian DP.
    pub fn rho(&self) -> Result<Rho> {
        if let Some(mu) = self.mu {
            let remedy = "use --rho, or --epsilon and --delta";
            let expected = "a budget of zero-concentrated or (epsilon, delta)-differential privacy";
            return Err(Error::bad_input(
                "option --mu of a release",
                expected,
                mu.to_string(),
                remedy,
            ));
        }
        match self.epsilon.zip(self.delta) {
            Some((epsilon, delta)) => {
                Ok(fine_noise::rho_of_approximate_rounded_down(epsilon, delta)?)
            }
            None => Ok(self.budget()?.rho()?),
        }
    }
}
