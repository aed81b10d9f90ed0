//! Workload separation: the Level Selection Algorithm on marginals instead of the whole domain (S1,
//! Sec. 4.3.1, Thm 4.2).
//!
//! For a workload over marginals γ ∈ Γ, `G = Σ_γ G_γ ⊗ J` (J is all ones over the attributes
//! outside γ). LSA runs on the cells of one marginal at a time. The strategies are added, together
//! with the total query at squared weight w₀:
//!
//! ```text
//! V = w₀ J + Σ_τ V_τ ⊗ J,     ‖A‖₂² = w₀ + Σ_τ s_τ,     err = ‖A‖₂² · tr(G V⁺)
//! ```
//!
//! *One-way marginals.* The total is the theorem's separating query: given its answer, the estimate
//! of a query on one marginal does not depend on queries on another. So LSA runs on every G_γ
//! separately. Every V_γ already contains the total (the sum of its identity level). The default
//! w₀ = 0 has the smallest error on range queries.
//!
//! *Marginals of several attributes.* Two marginals share the functions of their common attributes,
//! so the marginal of the intersection separates them. The paper only says that separation can "be
//! applied recursively". [`Separation::Recursive`] takes Γ and all intersections, smaller ones
//! first, and runs LSA on each such marginal τ,
//!
//! ```text
//! on     G_τ + Σ_{γ ∈ Γ, γ ⊃ τ} EᵀG_γE/m²                  with m cells of γ in a cell of τ
//! from   V = I + Σ_{σ ⊂ τ} V_σ ⊗ J,  s = 1 + Σ_{σ ⊂ τ} s_σ
//! ```
//!
//! The workload on τ is G_τ and the marginals that contain τ, restricted to the cells of τ. The
//! starting strategy contains the queries of the marginals below τ. So a query of a lower marginal
//! is measured once and used by all marginals that contain it. A marginal of Γ that is contained in
//! another is a lower one.
//!
//! [`Separation::Merged`] measures no separating marginal. LSA runs on every maximal marginal
//! separately, with the queries of the marginals it contains merged into its G_γ. Neither always
//! has the smaller error. Both errors are known exactly, and the default, [`Separation::Best`],
//! keeps the strategy with the smaller one. For disjoint marginals, such as one-way marginals, all
//! three are the same. Errors over the SVD bound:
//!
//! | workload | every marginal separately | merged | recursive |
//! |---|---|---|---|
//! | `range-marginals(ways=2):8x8x8` | 1.0678 | 1.0678 | 1.0385 |
//! | `range-marginals(ways=1+2):8x8x8` | 1.1710 | 1.0656 | 1.0325 |
//! | `range-marginals(ways=2):4^5` | 1.2102 | 1.2102 | 1.0892 |
//! | `identity-marginals(ways=2):4^5` | 1.1181 | 1.1181 | 1.1188 |
//!
//! The rank of V is far below the number of cells. The error is computed in the orthonormal basis
//! ⊗ᵢ {1/√nᵢ, the rest}, on the vectors that are constant outside some γ.
//!
//! *Requirements*: a workload constructed over marginals ([`Gram::marginals`],
//! `range-marginals:32x32`), or over a single attribute, where separation has no effect. *Limits*:
//! the weights of the V_τ are all 1; a marginal is separated only from others, not into its slices;
//! the recursion takes at most 512 levels per marginal. *Cost*: LSA on every marginal of Γ and, for
//! the recursion, of its closure; O(r³) for the error, r = rank V (one-way: 1 + Σ (nᵢ−1)). Memory
//! O(r²): [`run`] forms no matrix over the cells of the domain. *Reference*: S1, Sec. 4.3.1,
//! App. D.2.
//!
//! [`Gram::marginals`]: crate::workload::Gram::marginals

mod active_basis;
mod recursion;
mod separation;

pub use separation::{LsaSeparated, SeparatedOptions, SeparatedOutcome, Separation, run};

#[cfg(test)]
mod tests;
