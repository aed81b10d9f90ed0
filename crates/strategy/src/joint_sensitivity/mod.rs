//! The privacy cost of several integer strategies that are measured on the same records.
//!
//! Let x and x' be neighbouring tables, B_A the strategy of the marginal on A, and σ_A the standard
//! deviation of its independent discrete Gaussian noise. All measurements together are ρ-zCDP with
//!
//! ```text
//! ρ = max over neighbours of Σ_A k² |B_A (x_A − x'_A)|² / (2σ_A²),       k records per person
//! ```
//!
//! This is at most the sum of the largest terms, and less if the terms are largest at different
//! records. One added or removed record at cell a has the terms `|B_A e_a|²`. A record replaced by
//! one at b has
//!
//! ```text
//! |B_A (e_a − e_b)|² = G(a, a) + G(b, b) − 2 G(a, b),       G = B_Aᵀ B_A = ⊗ G_f
//! ```
//!
//! where f ranges over the Kronecker factors.
//!
//! For an added or removed record, ρ is the sum of the largest terms if one record attains all of
//! them. Otherwise ρ is the maximum over all cells if there are few (`cells`), or else the sum as
//! an upper bound. For a replaced record the first method that applies is used:
//!
//! 1. *Products*, if every attribute belongs to one factor and all diagonals are constant. Let D_f
//!    be the largest diagonal entry of G_f and m_f its smallest entry. Every G_f(a, b) is between
//!    m_f and D_f. The bound `Σ_A c_A (2 Π D_f − 2 Π r_f)` is affine in every r_f, so its maximum
//!    is at a corner, r_f ∈ {m_f, D_f}, found by a search over the factors (`corners`). It is
//!    attained if the search completes.
//! 2. *Pairs of cells*, if there are few: all are enumerated (`cells`), and the maximum is
//!    attained.
//! 3. The bound of method 1, or the sum of the largest terms if that is smaller, as an upper bound.
//!
//! If the records of a person have different values of an attribute, the change is a sum of such
//! records, whose terms without the attribute can coincide (`distinct`): ρ is the maximum over all
//! sets of records if there are few (`distinct_sets`), or else an upper bound from pairs of records.
//!
//! Every term is rounded up to a multiple of 2⁻²⁵⁶, and in the search to 120 bits of the sum.

mod cells;
mod corners;
mod distinct;
mod distinct_sets;
mod measurement;
mod measurements_cost;

pub use measurements_cost::{JointCost, JointSensitivity};

#[cfg(test)]
mod distinct_tests;
#[cfg(test)]
mod tests;
