//! The certified optimum in linear time, for first-order recurrences.
//!
//! If a workload W, or a matrix with its Gram matrix, is a [first-order recurrence](crate::workload::Recurrence)
//! (prefix sums, exponential decay, learning-rate schedules; all ranges), the dual function costs
//! O(n) per node of a rational approximation with a known error. For weights μ on cells and p on
//! queries, each with sum 1, let `D_p^½ W D_μ^½ = U S Vᵀ`, `F = tr S`, `e = diag(U S Uᵀ)/p` and
//! `v = diag(V S Vᵀ)/μ`. Then
//!
//! ```text
//! mean:       F²                       ≤ optimum ≤  mean e · max v             p = 1/n
//! max:        F²                       ≤ optimum ≤  max e · max v
//! balanced:η  F², if every p_q ≥ η/n,  ≤ optimum ≤ ((1−η) max e + η mean e) · max v
//! ```
//!
//! and `X = D_μ^-½ V S Vᵀ D_μ^-½ / max v` attains the upper bound. *Proof*: `(1−η) max e + η mean e`
//! is at least the p-weighted mean of e for p = (1−η)p' + η/n and any p' ≥ 0 with sum 1. The
//! largest X_ii is at least the μ-weighted mean. With W = BC, `‖D_p^½ B‖_F ‖C D_μ^½‖_F ≥ F`. ∎
//!
//! If e and v have relative errors of at most ε, the lower bound is multiplied by (1−ε)² and the
//! upper bound divided by it; ε includes rounding.
//!
//! *Requirements*: one attribute, one participation. *Cost*: O(cells · nodes) per iteration with 8
//! to about 60 nodes, and 300 to 600 bytes per cell. *Reference*: Hale, Higham & Trefethen (2008)
//! for the approximation; Parlett & Dhillon, Relatively robust representations of symmetric
//! tridiagonals (2000), for the recurrences.

mod evaluation;
mod grids;
mod interior;
mod iteration;
mod optimum;
mod strategy_gram;
mod tangent;
mod zolotarev;

pub(crate) use evaluation::{interval, scaled};
pub(super) use optimum::bounds;
pub use optimum::{TridiagonalOptimum, solve};
pub(crate) use zolotarev::InverseRoot;

#[cfg(test)]
mod tests;
