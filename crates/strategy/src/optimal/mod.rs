//! The certified optimal strategy.
//!
//! Minimise `tr(G V⁻¹)` over `V ⪰ 0` with `V_ii ≤ 1` (V = AᵀA of a strategy with sensitivity 1).
//! The dual has one weight per cell: for μ on the simplex and M = diag(μ),
//!
//! ```text
//! LB(μ) = (tr (M^½ G M^½)^½)²              uniform μ: the SVD bound of S1, Thm 3.3
//! V(μ)  ∝ M^(−½) (M^½ G M^½)^½ M^(−½)      rescaled to max V_ii = 1
//! UB(μ) = LB(μ) · max V_ii / Σ μ_i V_ii    the error of the strategy V(μ)
//! ```
//!
//! Every iterate has a lower bound and a strategy. The gap between the bounds does not depend on
//! how μ was found. An accelerated multiplicative fixed point finds μ; an interior-point method
//! takes over if the rank is low. Kronecker products are solved factor by factor (the product of
//! optima is optimal), identical cells are merged, leaves of a hierarchy get one weight per type, and
//! symmetries of the workload split the eigenproblems.
//!
//! *Requirements*: a Gram matrix whose dense factors fit into memory. *Cost*: O(cells³) per
//! iteration and O(cells²) memory for the largest factor. *Reference*: S1, Thm 3.3, and S3,
//! Sec. 6.3; Yuan et al., Convex optimization for linear query processing under approximate
//! differential privacy (2016), for the problem.

mod active_set;
pub(super) mod banded;
mod bounds;
mod dual;
mod dual_weights;
mod factors;
mod fixed_point;
mod identical_cells;
mod interior_point;
mod joint_interior_point;
mod low_rank;
mod nested;
mod newton;
mod proof;
mod proof_bounds;
mod rows;
mod saddle;
mod search;
mod selector;
pub mod tridiagonal;
mod weighted;
mod weighting;
mod weights;

pub use banded::BandedFactor;
pub use bounds::{Optimal, OptimalOptions, StrategyForm};
pub(crate) use dual_weights::root_of_gram;
pub use dual_weights::{DualWeights, weights_over_cells};
pub use fixed_point::{EXPONENT, MAX_STRETCH, WINDOW, normalised};
pub use proof::{Proof, ProofWeights, ProvedBounds};
pub use rows::RowSelection;
pub use saddle::{Linearised, MovingRows, PathPoint, Spectra};
pub(super) use weighted::lower_bound_of_epochs;

#[cfg(test)]
mod tests;
