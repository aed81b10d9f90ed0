//! The privacy budget on the command line.

use clap::Args;

use matmech::Error;
use matmech::privacy::{Guarantee, PrivacyBudget, PrivacyCost, Rho, fine_noise};

/// The total privacy budget, in exactly one notion.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(super) struct BudgetArguments {
    /// Privacy cost β = Σ (sensitivity/σ)² = 2ρ = μ²
    #[arg(
        long,
        value_name = "BETA",
        allow_negative_numbers = true,
        conflicts_with_all = ["epsilon", "rho", "mu"]
    )]
    privacy_cost: Option<f64>,
    /// ε of (ε, δ)-differential privacy
    ///
    /// Converted by the analytic Gaussian calibration (plan), by that of fine discrete Gaussian
    /// noise (release, ledger), or through zCDP (simulate).
    #[arg(
        long,
        allow_negative_numbers = true,
        requires = "delta",
        conflicts_with_all = ["rho", "mu"]
    )]
    epsilon: Option<f64>,
    /// δ of (ε, δ)-differential privacy
    #[arg(
        long,
        allow_negative_numbers = true,
        requires = "epsilon",
        conflicts_with_all = ["privacy_cost", "rho", "mu"]
    )]
    delta: Option<f64>,
    /// ρ of ρ-zero-concentrated differential privacy
    #[arg(long, allow_negative_numbers = true, conflicts_with = "mu")]
    rho: Option<f64>,
    /// μ of μ-Gaussian differential privacy
    #[arg(long, allow_negative_numbers = true)]
    mu: Option<f64>,
}

impl BudgetArguments {
    /// Returns the budget for adding or removing one record.
    pub(super) fn budget(&self) -> anyhow::Result<PrivacyBudget> {
        let guarantee = match (self.privacy_cost, self.epsilon.zip(self.delta), self.rho, self.mu) {
            (Some(cost), ..) => {
                Guarantee::ZeroConcentrated { rho: PrivacyCost::new(cost)?.rho().get() }
            }
            (None, Some((epsilon, delta)), ..) => Guarantee::ApproximateAnalytic { epsilon, delta },
            (None, None, Some(rho), _) => Guarantee::ZeroConcentrated { rho },
            (None, None, None, Some(mu)) => Guarantee::GaussianDp { mu },
            (None, None, None, None) => {
                anyhow::bail!(
                    "no budget given; use --rho, --epsilon with --delta, --mu or --privacy-cost"
                )
            }
        };
        Ok(guarantee.into())
    }

    /// Returns ρ for a private release. (ε, δ) is converted for fine discrete Gaussian noise.
    ///
    /// # Errors
    /// Invalid parameters, or `--mu`: discrete noise has no accounting in Gaussian DP.
    pub(super) fn rho(&self) -> anyhow::Result<Rho> {
        if let Some(mu) = self.mu {
            let remedy = "use --rho, or --epsilon and --delta";
            let expected = "a budget of zero-concentrated or (epsilon, delta)-differential privacy";
            return Err(Error::bad_input(
                "option --mu of a release",
                expected,
                mu.to_string(),
                remedy,
            )
            .into());
        }
        match self.epsilon.zip(self.delta) {
            Some((epsilon, delta)) => {
                Ok(fine_noise::rho_of_approximate_rounded_down(epsilon, delta)?)
            }
            None => Ok(self.budget()?.rho()?),
        }
    }

    /// Returns δ if it was given.
    pub(super) fn delta(&self) -> Option<f64> {
        self.delta
    }
}
