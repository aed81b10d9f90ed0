//! Privacy accounting for Gaussian noise, and the pure-ε comparison of S1, App. B.
//!
//! One number runs through the whole crate: the **privacy cost** β = Σ Δᵢ²/σᵢ² of Gaussian measurements with L2
//! sensitivities Δᵢ and standard deviations σᵢ. It adds up, also under adaptive composition, and it is β = 2ρ in
//! zero-concentrated DP and β = μ² in Gaussian DP. A [`PrivacyBudget`] in any of the usual notions says how much of it
//! may be spent.
//!
//! | module | what it converts |
//! |---|---|
//! | [`gaussian`] | (ε, δ) and σ: the classical formula of S1 and S2, and the exact (analytic) calibration |
//! | [`zcdp`] | ρ and (ε, δ), the conversion that S4 uses |
//! | [`gaussian_dp`] | μ and (ε, δ): the exact curve of Gaussian noise |
//! | [`laplace`] | Laplace against Gaussian noise for one strategy |
//!
//! Neighbouring data sets differ by adding or removing one record, so the sensitivity of a query matrix is its largest
//! column norm.
//!
//! ```
//! use matmech::privacy::{PrivacyBudget, gaussian, zcdp};
//!
//! # fn main() -> Result<(), matmech::privacy::PrivacyError> {
//! let budget = PrivacyBudget::ApproximateAnalytic { epsilon: 1.0, delta: 1e-9 };
//! let sigma = budget.noise_standard_deviation(1.0)?;
//! assert!(gaussian::analytic_delta(1.0, sigma, 1.0)? <= 1.000_001e-9);
//! // Through zCDP, as S4 does it, the same (epsilon, delta) buys a little less.
//! let rho = zcdp::rho_from_approximate(1.0, 1e-9)?;
//! assert!(zcdp::privacy_cost(rho)? < budget.privacy_cost()?);
//! # Ok(())
//! # }
//! ```

mod accountant;
mod bisection;
mod budget;
mod error;
pub mod gaussian;
pub mod gaussian_dp;
pub mod laplace;
mod normal_tail;
pub mod zcdp;

pub use accountant::{LedgerEntry, ZcdpAccountant};
pub use budget::PrivacyBudget;
pub use error::PrivacyError;
