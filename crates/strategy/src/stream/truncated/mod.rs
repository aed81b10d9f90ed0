//! Truncated exponentials: streaming noise for min-separation.
//!
//! The strategy is exactly banded with b bands,
//!
//! ```text
//! C = C₀ diag(1/r),   (C₀)_ts = Σ_j H_tj e^{−λ_j (t−s)} B_sj  (0 < t − s < b),   (C₀)_tt = d_t
//! ```
//!
//! so its columns are orthogonal within every pattern of steps at least b apart, and the squared
//! sensitivity is the largest sum of X_ii over a pattern. The noise is `diag(r) C₀⁻¹ z`. The
//! truncation needs y = C₀⁻¹z of b steps before, which a delayed copy of the recurrence computes
//! again from its normals:
//!
//! ```text
//! for g = ⌈n/b⌉ − 1 … 0 with u = t − gb ≥ 0:
//!    if u ≥ b: x_gj −= e^{−λ_j b} B_{u−b,j} y_{g+1}
//!    y_g = (z_u − Σ_j H_uj x_gj)/d_u
//!    x_gj ← e^{−λ_j} (x_gj + B_uj y_g)
//! emit r_t y_0
//! ```
//!
//! This takes ⌈n/b⌉·N buffers. If b − 1 is at most that, the last b − 1 values of y are stored.

mod exponentials;
mod fit;

pub use exponentials::Truncated;
pub(super) use fit::fit;
