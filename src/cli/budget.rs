//! The privacy budget on the command line.

use clap::Args;

use crate::privacy::{PrivacyBudget, zcdp};

/// The total budget, in exactly one notion.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(super) struct Budget {
    /// Privacy cost β = Σ (sensitivity/σ)² = 2ρ = μ²
    #[arg(long, value_name = "BETA", allow_negative_numbers = true, conflicts_with_all = ["epsilon", "rho", "mu"])]
    privacy_cost: Option<f64>,
    /// ε of (ε, δ)-differential privacy (plan: analytic Gaussian calibration; simulate: through zCDP, as S4 does it)
    #[arg(long, allow_negative_numbers = true, requires = "delta", conflicts_with_all = ["rho", "mu"])]
    epsilon: Option<f64>,
    /// δ of (ε, δ)-differential privacy
    #[arg(long, allow_negative_numbers = true, requires = "epsilon", conflicts_with_all = ["privacy_cost", "rho", "mu"])]
    delta: Option<f64>,
    /// ρ of ρ-zero-concentrated differential privacy
    #[arg(long, allow_negative_numbers = true, conflicts_with = "mu")]
    rho: Option<f64>,
    /// μ of μ-Gaussian differential privacy
    #[arg(long, allow_negative_numbers = true)]
    mu: Option<f64>,
}

impl Budget {
    /// β for mechanisms that add Gaussian noise only; ε and δ by the exact curve of such noise.
    pub(super) fn privacy_cost(&self) -> anyhow::Result<f64> {
        let budget = match (self.privacy_cost, self.epsilon.zip(self.delta), self.rho, self.mu) {
            (Some(cost), ..) => return Ok(cost),
            (None, Some((epsilon, delta)), ..) => PrivacyBudget::ApproximateAnalytic { epsilon, delta },
            (None, None, Some(rho), _) => PrivacyBudget::ZeroConcentrated { rho },
            (None, None, None, Some(mu)) => PrivacyBudget::GaussianDp { mu },
            (None, None, None, None) => {
                anyhow::bail!("no budget; give --privacy-cost, --epsilon and --delta, --rho or --mu")
            }
        };
        Ok(budget.privacy_cost()?)
    }

    /// ρ for mechanisms that are accounted for in zCDP because they also select: ε and δ by the conversion that holds for
    /// every ρ-zCDP mechanism, the other notions as ρ = β/2.
    pub(super) fn rho(&self) -> anyhow::Result<f64> {
        Ok(match self.epsilon.zip(self.delta) {
            Some((epsilon, delta)) => zcdp::rho_from_approximate(epsilon, delta)?,
            None => zcdp::rho_of_privacy_cost(self.privacy_cost()?)?,
        })
    }
}
