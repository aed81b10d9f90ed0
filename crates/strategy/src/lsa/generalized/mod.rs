//! Workload generalization: the Level Selection Algorithm in two phases (S1, Sec. 4.3.2).
//!
//! Phase 1 merges runs of neighbouring cells along every attribute of size n into about n^⅓ groups.
//! It runs LSA on the workload over the groups, `G̃ = D⁻¹ Eᵀ G E D⁻¹`, where E maps cells to groups
//! and D has the group sizes (answers are spread evenly over a group). Its s₁ levels add s₁ to the
//! squared sensitivity of every cell. Phase 2 refines inside the groups. Group b uses its diagonal
//! block of G and starts from `V_b = I + s₁ 11ᵀ`. All groups build one level each, simultaneously.
//! The level is kept if `(s+1)·Σ_b tr_b' ≤ s·Σ_b tr_b`, so that the strategy stays column-uniform.
//!
//! The algorithm is designed for one attribute, as in the paper. With several attributes the groups
//! are boxes. For workloads far from a product, such as sums over marginals, the diagonal blocks
//! are a poor guide: use [`separated`](super::separated) instead.
//!
//! *Requirements*: none on the shape; an attribute of n cells has 2^round(log₂(n)/3) groups.
//! *Cost*: O(k m³ + Σ_b k |b|³) for m merged cells, i.e. about O(k n^(7/3)) for one attribute, plus
//! O(n³) for the error of the result; O(n²) memory. *Reference*: S1, Sec. 4.3.2, Fig. 3(d).

mod two_phases;

pub use two_phases::{GeneralizedOutcome, LsaGeneralized, run};

#[cfg(test)]
mod tests;
