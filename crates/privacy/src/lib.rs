//! Privacy accounting for Gaussian noise, and exact noise for releases.
//!
//! The crate accounts in the **privacy cost** β = Σ Δᵢ²/σᵢ² of Gaussian measurements with L2
//! sensitivities Δᵢ and standard deviations σᵢ. β adds up, also under adaptive composition; it is
//! 2ρ in zero-concentrated DP and μ² in Gaussian DP. A [`PrivacyBudget`] in any of the usual
//! notions limits it.
//!
//! [`PrivacyCost`] (β) and [`Rho`] are separate types, so that they cannot be confused. The name of
//! a conversion that may round says in which direction: budgets are rounded down, amounts spent are
//! rounded up. Every guarantee is for a neighbour relation, [`Neighbours`].
//!
//! | item | purpose |
//! |---|---|
//! | [`PrivacyBudget`] | a total budget in any notion, with its neighbour relation |
//! | [`Rho`] | ρ and (ε, δ), by the conversion that S4 uses |
//! | [`PrivacyCost`] | β, ρ, μ and σ |
//! | [`gaussian_dp`] | μ and (ε, δ): the exact curve of Gaussian noise |
//! | [`fine_noise`] | ρ and (ε, δ) of integer answers with fine discrete Gaussian noise |
//! | [`gaussian`] | (ε, δ) and σ: classical (S1, S2) and analytic (exact) calibration |
//! | [`ZcdpAccountant`] | accountant that pays for every access to private data |
//! | [`SeededNoise`] | repeatable noise, for experiments |
//! | [`OperatingSystemNoise`] | exact discrete Gaussian noise, for releases |
//! | [`RationalDeviation`] | standard deviations of that noise |
//! | [`NewValues`] | thresholds for values that are not public |
//! | [`ExactRho`] | the cost of integer answers with that noise, in integers |
//!
//! ```
//! use matmech_privacy::{Guarantee, PrivacyBudget, gaussian};
//!
//! # fn main() -> Result<(), matmech_privacy::PrivacyError> {
//! let budget: PrivacyBudget = Guarantee::ApproximateAnalytic { epsilon: 1.0, delta: 1e-9 }.into();
//! let sigma = budget.noise_deviation_rounded_up(1.0)?;
//! assert!(gaussian::analytic_delta(1.0, sigma, 1.0)? <= 1.000_001e-9);
//! // Through zCDP, as in S4, the same (epsilon, delta) allows a slightly smaller cost.
//! assert!(budget.rho()?.privacy_cost() < budget.privacy_cost()?);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod accountant;
mod bisection;
mod budget;
pub mod decimal;
mod discrete_gaussian;
mod error;
mod exact_rho;
pub mod fine_noise;
pub mod gaussian;
pub mod gaussian_dp;
mod neighbours;
mod new_values;
mod noise;
mod normal_tail;
mod operating_system_noise;
mod parameters;
mod privacy_cost;
mod rational_deviation;
mod rounding;
pub mod sampled;
#[cfg(test)]
mod test_support;
mod zcdp;

pub use accountant::{LedgerEntry, ZcdpAccountant};
pub use budget::{Guarantee, PrivacyBudget};
pub use error::PrivacyError;
pub use exact_rho::ExactRho;
pub use neighbours::{Neighbours, PrivacyUnit};
pub use new_values::NewValues;
pub use noise::{NoiseStream, SeededNoise};
pub use operating_system_noise::{OperatingSystemNoise, add_repeatable_noise};
pub use privacy_cost::PrivacyCost;
pub use rational_deviation::RationalDeviation;
pub use zcdp::Rho;
