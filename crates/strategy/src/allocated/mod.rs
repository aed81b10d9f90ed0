//! Strategies fitted to random allocation.
//!
//! The mean squared error `tr(G (CᵀC)⁻¹)/m` is minimised subject to δ(M(C)) ≤ δ at σ = 1, C lower
//! triangular. By Price's theorem the derivative of δ with respect to M is proportional to
//!
//! ```text
//! Λ_ij = E_P[π_i π_j | ln L = ε],      π the posterior probabilities of the bins
//! ```
//!
//! A fixed point: for a Λ minimise `tr(G (CᵀC)⁻¹) · ⟨Λ, M(C)⟩`, which does not depend on the scale of C;
//! estimate Λ at the scale that has δ; average it with the old one. The fit is a search: the privacy
//! of its result is that of the [accountant](crate::allocation), with other samples.
//!
//! The chi-square divergence is convex in M. The optimum for it has a lower bound
//! ([`ChiSquareBounds`]).
//!
//! | form | strategies |
//! |---|---|
//! | [`Banded`] | lower triangular with p bands, all of them for p = n |
//! | [`Toeplitz`] | lower triangular Toeplitz with p bands |
//! | [`InverseToeplitz`] | lower triangular Toeplitz whose inverse has p bands |
//! | [`Recurrent`] | streaming noise with N buffers |

mod banded;
pub mod chi_square;
mod chi_square_bound;
mod chi_square_optimum;
#[cfg(test)]
mod chi_square_tests;
mod cost;
mod fixed_point;
mod form;
mod inverse_toeplitz;
mod loss;
mod optimum;
mod posterior;
mod recurrent;
#[cfg(test)]
mod tests;
mod toeplitz;

pub use banded::Banded;
pub use chi_square_bound::ChiSquareBounds;
pub(crate) use chi_square_optimum::chi_square_bounds;
pub use cost::{Divergence, PrivacyLimit};
pub use fixed_point::{AllocatedFit, FitLimits, fit};
pub use form::AllocatedForm;
pub use inverse_toeplitz::InverseToeplitz;
pub(crate) use optimum::{MAX_STEPS, allocation_of, select};
pub use recurrent::Recurrent;
pub use toeplitz::Toeplitz;
