//! A privacy budget as users give it, in exactly one notion.

use serde::Serialize;

use matmech::error::{Error, Result};
use matmech::privacy::{Guarantee, PrivacyBudget, PrivacyCost, Rho, fine_noise};

/// The parameters of a budget; those of one notion are given.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Budget {
    /// β = Σ (sensitivity/σ)² = 2ρ = μ².
    #[serde(skip_serializing_if = "Option::is_none")]
    pub privacy_cost: Option<f64>,
    /// ε of (ε, δ)-differential privacy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// δ of (ε, δ)-differential privacy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
    /// ρ of zero-concentrated differential privacy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rho: Option<f64>,
    /// μ of Gaussian differential privacy.
    #[serde(skip_serializing_if = "Option::is_none")]
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
    /// Checks that the budget is given in exactly one notion.
    ///
    /// # Errors
    /// None or several, or one of ε and δ without the other.
    fn check(&self, rest: bool) -> Result<()> {
        let refuse = |found: String| {
            Err(Error::bad_input(
                "privacy budget",
                "one of rho, epsilon with delta, mu and privacy-cost",
                found,
                "write e.g. --epsilon 1 --delta 1e-9, with delta far below 1 divided by the number \
                 of people",
            ))
        };
        if self.epsilon.is_some() != self.delta.is_some() {
            let found = if self.delta.is_some() {
                "delta without epsilon"
            } else {
                "epsilon without delta"
            };
            return refuse(found.to_owned());
        }
        let notions = [
            ("rho", self.rho.is_some() || rest),
            ("epsilon with delta", self.epsilon.is_some()),
            ("mu", self.mu.is_some()),
            ("privacy-cost", self.privacy_cost.is_some()),
        ];
        let given: Vec<&str> =
            notions.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
        match given.as_slice() {
            [_] => Ok(()),
            [] => refuse("none".to_owned()),
            several => refuse(several.join(" and ")),
        }
    }

    /// Returns the budget for adding or removing one record.
    ///
    /// # Errors
    /// It is not given in exactly one notion, or a number is invalid.
    pub fn budget(&self) -> Result<PrivacyBudget> {
        self.check(false)?;
        let guarantee = match (self.privacy_cost, self.epsilon.zip(self.delta), self.rho, self.mu) {
            (Some(cost), ..) => {
                Guarantee::ZeroConcentrated { rho: PrivacyCost::new(cost)?.rho().get() }
            }
            (None, Some((epsilon, delta)), ..) => Guarantee::ApproximateAnalytic { epsilon, delta },
            (None, None, Some(rho), _) => Guarantee::ZeroConcentrated { rho },
            (None, None, None, Some(mu)) => Guarantee::GaussianDp { mu },
            (None, None, None, None) => {
                return Err(Error::bug("privacy budget", "one notion", "none"));
            }
        };
        Ok(guarantee.into())
    }

    /// Returns ρ of a release; with `rest`, what is left in its ledger.
    ///
    /// # Errors
    /// As [`Budget::rho`], or another budget next to `rest`.
    pub fn release_rho(&self, rest: bool) -> Result<ReleaseRho> {
        self.check(rest)?;
        if rest { Ok(ReleaseRho::Rest) } else { Ok(ReleaseRho::Given(self.rho()?)) }
    }

    /// Returns ρ for a private release. (ε, δ) is converted for fine discrete Gaussian noise.
    ///
    /// # Errors
    /// Invalid parameters, or `--mu`: discrete noise has no accounting in Gaussian DP.
    pub fn rho(&self) -> Result<Rho> {
        self.check(false)?;
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
