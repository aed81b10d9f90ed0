//! Soft iterative proportional fitting: nonnegative estimates from noisy marginals.
//!
//! It fits a junction tree of bounded size and corrects for the measured sets outside it.
//!
//! Every measured marginal is stored as residuals. The evidence of a set c is therefore
//! `y_c = Σ_{τ⊆c} Recon(z_τ)` with cell variance `s² = Σ v_τ/λ_τ`, for any number of measurements.
//! A set becomes a factor of the [`SoftModel`] if the junction tree stays within the size limit.
//! Other sets are *outside the tree*, and [`SoftIpf`] blends them into the marginals:
//!
//! - a pair outside the tree: the [`Update`] with the model's marginal as q, three shifts;
//! - a larger set that contains such a pair: the model's marginal, fitted by five sweeps of
//!   iterative proportional fitting to the estimates of all its pairs (and of larger subsets
//!   outside the tree), then the update if the set itself is outside the tree.
//!
//! Estimates are nonnegative and sum to N̂ = max(1, z_∅) up to a small error. Marginals of the
//! model are consistent; with sets outside the tree they need not be. They are shrunk towards the
//! model and therefore biased. *Source*: ours; it replaces the convex fit of AIM+PGM.

mod estimates;
mod evidence;
mod learned;
mod model;
mod record_fit;
mod records;
mod update;

pub use estimates::SoftIpf;
pub use evidence::{BINS, Histogram, LogLikelihoods, WIDTHS, Width, WidthPrior, Widths, width};
pub use learned::{LearnedFit, SetEvidence};
pub use model::SoftModel;
pub use records::FittedModel;
pub use update::{Evidence, Update};

#[cfg(test)]
mod tests;
