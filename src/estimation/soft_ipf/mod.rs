//! Soft iterative proportional fitting: nonnegative estimates from noisy marginals, by a bounded
//! junction tree and what stands beside it.
//!
//! Every measured marginal is kept as residuals, so that the evidence of a set c is
//! `y_c = Σ_{τ⊆c} Recon(z_τ)` with cell variance `s² = Σ v_τ/λ_τ`, whatever was measured of it and
//! how often. A set whose junction tree fits the size limit becomes a factor of the [`SoftModel`];
//! others stand *beside* it, and [`SoftIpf`] blends them into the model's marginals when these are
//! asked for:
//!
//! - a pair beside: the [`Update`] with the model's marginal as q, three shifts;
//! - a larger set with such a pair: the model's marginal, fitted in five sweeps of iterative
//!   proportional fitting to the estimates of all its pairs (and of larger sets beside that it
//!   contains), then the update if the set itself is beside.
//!
//! Answers are nonnegative and add up to N̂ = max(1, z_∅) or nearly so. Marginals of the model
//! agree with each other; with sets beside it they need not. They are shrunk towards the model, so
//! they are biased. *Source*: ours; it takes the place of the convex fit in AIM+PGM.

mod beside;
mod model;
mod update;

pub use beside::SoftIpf;
pub use model::{SoftModel, Widths};
pub use update::{Evidence, Update};

#[cfg(test)]
mod tests;
