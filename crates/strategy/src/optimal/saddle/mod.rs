//! Central paths of problems whose rows depend on measures, for a search over both.
//!
//! The rows are `R = W (⊗ P_i)` with `P_i = I − ν_i 1ᵀ`: the rows W over a box, centred along every
//! axis by a measure ν_i. With a barrier τ the optimum over the weights μ of the cells is
//!
//! ```text
//! φ(ν) = max { 2 tr (R diag(μ) Rᵀ)^½ − Σ μ + τ Σ ln μ : μ > 0 },
//! ```
//!
//! and a measure for several problems minimises a sum of such maxima: a saddle point in ν and all
//! μ. Newton's method takes one step in all of them at once ([`Linearised`]). As a function of ν
//! alone the sum has kinks in the limit τ → 0, where the set of the cells with weight changes.
//!
//! For slacks z with `μ z = τ`, `v_c = r_cᵀ K^(−½) r_c` and `K = R diag(μ) Rᵀ`, the step satisfies
//!
//! ```text
//! (H + diag(z/μ)) dμ = τ/μ − (1 − v) + C dν,        H = −∂v/∂μ, C = ∂v/∂ν,
//! z + dz = 1 − v + H dμ − C dν.
//! ```
//!
//! Without dμ, the optimality in ν has the matrix `∂²/∂ν² 2 tr K^½ + Cᵀ (H + diag(z/μ))⁻¹ C`.

mod coupling;
mod linearised;
mod moving_rows;

pub use linearised::Linearised;
pub use moving_rows::{MovingRows, PathPoint, Spectra};

#[cfg(test)]
mod tests;
