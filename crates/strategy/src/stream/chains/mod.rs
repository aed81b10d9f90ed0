//! A sum of chains: streaming noise in linear time for one participation.
//!
//! The noise of the answers at the optimum has the covariance `D_p^-½ K'^½ D_p^-½` (see
//! [`tridiagonal`](crate::tridiagonal)). A rational approximation `x^-½ ≈ Σ_j w_j/(x +
//! t_j)` with N nodes replaces it by a sum of inverses of tridiagonal matrices,
//!
//! ```text
//! Σ_j w_j (W⁻ᵀ D_μ⁻¹ W⁻¹ + t_j D_p)⁻¹,
//! ```
//!
//! each of which is the covariance of a first-order autoregression. With m_i = a_i² μ_i and the
//! workload's recurrence `y_i = ρ_i y_{i−1} + a_i x_i`, the pivots give
//!
//! ```text
//! κ_{n−1} = p_{n−1},   κ_{i−1} = p_{i−1} + ρ_i² κ_i/(1 + t m_i κ_i)
//! φ_i = ρ_i/(1 + t m_i κ_i),   σ_i² = w m_i/(1 + t m_i κ_i)
//! z_i = φ_i z_{i−1} + σ_i ξ_i
//! ```
//!
//! with positive terms only. The ends of the interval of the approximation are chosen to minimise
//! the error of the streamed noise itself.

mod autoregressions;
mod cost;

pub use autoregressions::Chains;
pub(super) use autoregressions::fit;
