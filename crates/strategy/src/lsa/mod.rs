//! The Level Selection Algorithm (S1, Sec. 4.1).
//!
//! Builds a strategy level by level. A level is a partition of the cells into boxes; each box is a
//! query that sums its cells. A level therefore adds exactly 1 to every squared column norm, and
//! the strategy stays column-uniform, hence minimal (S1, Thm 3.1). Let `V = AᵀA` for the current
//! strategy of s levels, starting with the identity (V = I, s = 1). A level L is kept if it lowers
//! the error:
//!
//! ```text
//! err = s · tr(G V⁻¹)  →  (s+1) · tr(G (V + L)⁻¹)
//! ```
//!
//! A level starts as the whole domain and is refined by splitting boxes in two along one attribute.
//! The paper does not say against which strategy a split is evaluated. [`Reading`] lists the
//! variants; [`Reading::JointSweep`] reproduces the paper's numbers.
//!
//! *Requirements*: a workload whose Gram matrix is dense over the whole domain
//! ([`Gram::to_dense`]; Kronecker factors are multiplied out). *Cost*: O(k n³) time for k levels
//! and O(n²) memory. A level takes at most O(d n³); in practice the update of the n×n matrices
//! dominates, O(n² b) in matrix products for a level of b boxes. The paper's analysis gives O(k n⁴)
//! because it evaluates a candidate split in O(n²); this implementation takes O(1) with cumulative
//! sums. *Reference*: S1, Sec. 4.1, 4.2 and App. D.2.
//!
//! ```
//! use matmech_strategy::lsa::{self, LsaOptions, Reading};
//! use matmech_core::workload::Workload;
//! let gram = Workload::parse("range:64")?.gram()?;
//! let outcome = lsa::run(&gram, Reading::JointSweep, &LsaOptions::default())?;
//! assert_eq!(outcome.levels.len(), 16);
//! # Ok::<(), matmech_core::Error>(())
//! ```
//!
//! [`Gram::to_dense`]: crate::workload::Gram::to_dense

mod acceptance;
mod boxes;
pub mod generalized;
mod inverse;
mod level;
mod options;
mod profile;
mod search;
pub mod separated;
mod split_search;
mod square;
mod sweep;
mod update;

pub use acceptance::AcceptedLevel;
pub use boxes::{BoxQueries, GridBox};
pub use generalized::LsaGeneralized;
pub use options::{LsaOptions, Reading};
pub use search::{Lsa, LsaOutcome, run};
pub use separated::LsaSeparated;

#[cfg(test)]
pub(in crate::lsa) mod tests;
