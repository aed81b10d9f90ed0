//! Eigen-Design: strategies that weight fixed design queries (S2, Programs 1 and 2).
//!
//! Program 2 takes the eigenvectors of `G = WᵀW` with non-zero eigenvalues as design queries Q,
//! weights them by Program 1 ([`weighting`]) and completes the columns:
//!
//! ```text
//! A = diag(√u) Q,   V = AᵀA + diag(d),   d_j = max_i (AᵀA)_ii − (AᵀA)_jj
//! ```
//!
//! The error is at most `√(n λ₁/svdb)` times the SVD bound (Thm 3, [`ratio_bound`]). It does not
//! change if cells are renamed (Prop. 5) or the workload is replaced by one with the same Gram
//! matrix (Prop. 6), up to the choice of a basis for equal eigenvalues (see [`EigenQueries`]).
//!
//! *Kronecker products*: for `G = ⊗G_i` and `Q = ⊗Q_i` the weights `⊗u_i` are optimal, so every
//! factor is solved separately. Completing the columns of the whole domain, as in Program 2, loses
//! the product structure. Completing those of every factor keeps it and works on domains of any
//! size ([`Completion`]).
//!
//! *Cost*: an eigendecomposition and Program 1 of the largest factor; `O(cells³ / blocks²)` for
//! completion over the whole domain, where the workload's symmetries give the blocks.
//! *Reference*: S2, Programs 1 and 2, Thms 1 to 3, Props 5 and 6.

mod completion;
mod design;
mod design_set;
mod eigenbasis;
mod principal;
mod program2;
mod selection;
mod separation;
#[cfg(test)]
mod tests;
pub mod weighting;

pub use design::Design;
pub use design_set::{EigenDesign, Options, ratio_bound};
pub use eigenbasis::EigenQueries;
pub use principal::{PrincipalCount, PrincipalVectors};
pub use program2::Completion;
pub use separation::EigenSeparation;
