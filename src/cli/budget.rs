//! The privacy budget on the command line.

use clap::Args;

use matmech::commands::budget::Budget;
use matmech::privacy::{PrivacyBudget, Rho};

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
    fn given(&self) -> Budget {
        let BudgetArguments { privacy_cost, epsilon, delta, rho, mu } = *self;
        Budget { privacy_cost, epsilon, delta, rho, mu }
    }

    /// Returns the budget for adding or removing one record.
    pub(super) fn budget(&self) -> matmech::Result<PrivacyBudget> {
        self.given().budget()
    }

    /// Returns ρ for a private release.
    pub(super) fn rho(&self) -> matmech::Result<Rho> {
        self.given().rho()
    }

    /// Returns δ if it was given.
    pub(super) fn delta(&self) -> Option<f64> {
        self.delta
    }
}
