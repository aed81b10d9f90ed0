//! The privacy budget on the command line.

use std::str::FromStr;

use clap::Args;

use matmech::Error;
use matmech::privacy::{PrivacyBudget, Rho};
use matmech_app::budget::{Budget, ReleaseRho};

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
        conflicts_with_all = ["rho", "mu"]
    )]
    epsilon: Option<f64>,
    /// δ of (ε, δ)-differential privacy
    #[arg(
        long,
        allow_negative_numbers = true,
        conflicts_with_all = ["privacy_cost", "rho", "mu"]
    )]
    delta: Option<f64>,
    /// ρ of ρ-zero-concentrated differential privacy; `rest` for a release that spends what is left
    /// in its ledger
    #[arg(long, allow_negative_numbers = true, conflicts_with = "mu")]
    rho: Option<RhoArgument>,
    /// μ of μ-Gaussian differential privacy
    #[arg(long, allow_negative_numbers = true)]
    mu: Option<f64>,
}

/// A number, or what is left in a ledger.
#[derive(Debug, Clone, Copy)]
enum RhoArgument {
    Number(f64),
    Rest,
}

impl FromStr for RhoArgument {
    type Err = std::num::ParseFloatError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "rest" => Ok(RhoArgument::Rest),
            number => number.parse().map(RhoArgument::Number),
        }
    }
}

impl BudgetArguments {
    /// Returns the parameters as given.
    pub(super) fn given(&self) -> matmech::Result<Budget> {
        let BudgetArguments { privacy_cost, epsilon, delta, rho, mu } = *self;
        let rho = match rho {
            None => None,
            Some(RhoArgument::Number(rho)) => Some(rho),
            Some(RhoArgument::Rest) => {
                let remedy = "give a number; only a release has a ledger with a rest";
                return Err(Error::bad_input("option --rho", "a number", "`rest`", remedy));
            }
        };
        Ok(Budget { privacy_cost, epsilon, delta, rho, mu })
    }

    /// Returns the budget for adding or removing one record.
    pub(super) fn budget(&self) -> matmech::Result<PrivacyBudget> {
        self.given()?.budget()
    }

    /// Returns ρ of a ledger.
    pub(super) fn rho(&self) -> matmech::Result<Rho> {
        self.given()?.rho()
    }

    /// Returns ρ of a release.
    pub(super) fn release_rho(&self) -> matmech::Result<ReleaseRho> {
        match self.rho {
            Some(RhoArgument::Rest) => Ok(ReleaseRho::Rest),
            _ => self.rho().map(ReleaseRho::Given),
        }
    }

    /// Returns δ if it was given.
    pub(super) fn delta(&self) -> Option<f64> {
        self.delta
    }
}
