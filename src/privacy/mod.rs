//! Privacy accounting for Gaussian noise, and the pure-ε comparison of S1, App. B.
//!
//! One number runs through the whole crate: the **privacy cost** β = Σ Δᵢ²/σᵢ² of Gaussian
//! measurements with L2 sensitivities Δᵢ and standard deviations σᵢ. It adds up, also under
//! adaptive composition, and it is β = 2ρ in zero-concentrated DP and β = μ² in Gaussian DP. A
//! [`PrivacyBudget`] in any of the usual notions says how much of it may be spent.
//!
//! [`PrivacyCost`] (β) and [`Rho`] are types, so that the one is not taken for the other; a
//! conversion that may round says in its name to which side, and a budget is rounded down, what was
//! spent up. A guarantee is between [`Neighbours`].
//!
//! | what | |
//! |---|---|
//! | [`PrivacyBudget`] | a total, in any notion, with its neighbour relation |
//! | [`Rho`] | ρ and (ε, δ), by the conversion that S4 uses |
//! | [`PrivacyCost`] | β, ρ, μ and σ |
//! | [`gaussian_dp`] | μ and (ε, δ): the exact curve of Gaussian noise |
//! | [`fine_noise`] | ρ and (ε, δ) of integer answers with fine discrete Gaussian noise |
//! | [`gaussian`] | (ε, δ) and σ: the classical formula of S1 and S2, and the exact (analytic) calibration |
//! | [`laplace`] | Laplace against Gaussian noise for one strategy |
//! | [`ZcdpAccountant`] | the budget that every access to private data is paid from |
//! | [`SeededNoise`] | repeatable noise, for experiments |
//! | [`OperatingSystemNoise`], [`RationalDeviation`] | exact discrete Gaussian noise, for releases |
//! | [`ExactRho`] | the cost of integer answers with that noise, in integers |
//!
//! ```
//! use matmech::privacy::{Guarantee, PrivacyBudget, gaussian};
//!
//! # fn main() -> Result<(), matmech::privacy::PrivacyError> {
//! let budget: PrivacyBudget = Guarantee::ApproximateAnalytic { epsilon: 1.0, delta: 1e-9 }.into();
//! let sigma = budget.noise_deviation_rounded_up(1.0)?;
//! assert!(gaussian::analytic_delta(1.0, sigma, 1.0)? <= 1.000_001e-9);
//! // Through zCDP, as S4 does it, the same (epsilon, delta) buys a little less.
//! assert!(budget.rho()?.privacy_cost() < budget.privacy_cost()?);
//! # Ok(())
//! # }
//! ```

mod accountant;
mod bisection;
mod budget;
mod discrete_gaussian;
mod error;
mod exact_rho;
pub mod fine_noise;
pub mod gaussian;
pub mod gaussian_dp;
pub mod laplace;
mod neighbours;
mod noise;
mod normal_tail;
mod operating_system_noise;
mod parameters;
mod privacy_cost;
mod rational_deviation;
mod rounding;
mod zcdp;

pub use accountant::{LedgerEntry, ZcdpAccountant};
pub use budget::{Guarantee, PrivacyBudget};
pub use error::PrivacyError;
pub use exact_rho::ExactRho;
pub use neighbours::{Neighbours, PrivacyUnit};
pub use noise::{NoiseStream, SeededNoise};
pub use operating_system_noise::OperatingSystemNoise;
pub use privacy_cost::PrivacyCost;
pub use rational_deviation::RationalDeviation;
pub use zcdp::Rho;
