//! Residuals: the decomposition of marginals into disjoint parts, and its inverse (S4, Sec. 3).
//!
//! Let γ be a set of attributes with marginal μ_γ, and τ ⊆ γ. The residual ζ_τ = Decomp(μ_γ, γ, τ)
//! is μ_γ summed over the axes of γ∖τ and differenced along those of τ. Recon is the pseudoinverse
//! of Decomp, and μ_γ = Σ_{τ⊆γ} Recon(ζ_τ, τ, γ).
//!
//! Arrays are row-major over γ (the last attribute fastest); their sizes are a separate argument.
//! An [`AxisSet`] holds the axes of γ that are in τ. Recon ∘ Decomp on τ subtracts the mean along
//! every axis ([`centre_in_place`]). So a residual can be stored *centred*, with Π n_i cells
//! instead of Π (n_i − 1) and the same information. [`add_spread`] then adds its part to a
//! marginal.
//!
//! An attribute can be averaged by any [`Measure`] on its values; [`ReferenceMeasure`] has one per
//! attribute. The functions here use the uniform measure, the mean.
//!
//! ```
//! use matmech_core::domain::AxisSet;
//! use matmech_core::residual::{decomp, recon};
//! // Age × education (S4, Fig. 1).
//! let marginal = [7.0, 5.0, 2.0, 3.0, 5.0, 11.0, 10.0, 2.0, 11.0, 9.0, 18.0, 17.0];
//! let first = AxisSet::from_number(0b01);
//! let age = decomp(&marginal, &[4, 3], first)?;
//! assert_eq!(age, [5.0, 9.0, 30.0]);
//! let part = recon(&age, &[4, 3], first)?;
//! assert_eq!(part[9], 76.0 / 12.0);
//! # Ok::<(), matmech_core::Error>(())
//! ```
//!
//! [`AxisSet`]: crate::domain::AxisSet

mod array_shape;
mod axis;
mod centring;
mod decomposition;
pub mod kronecker;
mod measure;
mod measure_file;
mod projection;
mod reconstruction;
mod slices;
mod spread;
mod three_axes;

pub use array_shape::runs;
pub use axis::AxisView;
pub use centring::centre_box;
pub use centring::centre_in_place;
pub use decomposition::{
    averaged, cells_summed_out, decomp, decomp_into, marginalised, privacy_coefficient, summed,
    variance_coefficient,
};
pub use measure::{Measure, ReferenceMeasure};
pub use projection::{centre_for, contracted, contraction, product, project_for, spread_for};
pub use reconstruction::{recon, recon_into};
pub use spread::add_spread;
pub use spread::spread_onto;

#[cfg(test)]
mod tests;
