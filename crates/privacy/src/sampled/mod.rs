//! Privacy of Gaussian noise with random batches: random allocation and Poisson sampling.
//!
//! Nobody but the trainer knows in which steps a record takes part. The outputs with and without a
//! record are then distinguished best by (Feldman and Shenfeld, Privacy amplification by random
//! allocation, 2025; Choquette-Choo et al., Near exact privacy amplification for matrix mechanisms,
//! 2024)
//!
//! ```text
//! P = (1/b) Σ_j N(s_j, σ²I)      against      Q = N(0, σ²I)
//! ```
//!
//! Both directions are expectations of convex functions of the likelihood ratio L = dP/dQ under Q:
//! E (L − e^ε)₊ and E (1 − e^ε L)₊. [`RatioLaw`] replaces the law of L by one on a grid that is
//! larger in convex order, so that every δ is an upper bound, up to rounding.
//!
//! | item | purpose |
//! |---|---|
//! | [`RandomAllocation`] | δ and σ for s_j with ⟨s_i, s_j⟩ = aδ_ij + c |
//! | [`PoissonSampling`] | δ and σ of independent Gaussian noise on Poisson-sampled batches |
//! | [`RatioLaw`] | laws of likelihood ratios, their means and products |

mod calibrate;
mod poisson_sampling;
mod random_allocation;
mod ratio_law;
#[cfg(test)]
mod tests;

pub use calibrate::{smallest_epsilon, smallest_sigma};
pub use poisson_sampling::PoissonSampling;
pub use random_allocation::RandomAllocation;
pub use ratio_law::{RatioLaw, normal_below, normal_quantile};
