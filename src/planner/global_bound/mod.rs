//! A lower bound on the error of every matrix mechanism for a workload.
//!
//! For probabilities m on the cells of the full domain with Gram G, no strategy has a smaller total
//! error than `(tr √(D^½ G D^½))²`, D = diag(m). This matrix is too large to store. For a product
//! measure m = ⊗ m_i and queries on one and two attributes, it has few rows in a functional-ANOVA
//! basis of m ([`axis`]). There it consists of small blocks ([`exchangeable`]), or of a dense block
//! and a diagonal block ([`pairs`], [`schur`]). Small domains are solved explicitly ([`explicit`]).

mod axis;
mod bound;
mod by_structure;
mod exchangeable;
mod explicit;
mod method;
mod pairs;
mod schur;
mod structure;

pub use self::bound::{BoundMethod, BoundWeights, GlobalBound};
pub use self::method::MAX_EXPLICIT_CELLS;

#[cfg(test)]
mod tests;
