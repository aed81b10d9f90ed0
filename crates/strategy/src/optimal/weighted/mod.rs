//! The certified optimum for every objective, for one participation and for fixed epochs.
//!
//! For weights p on the queries and M on the steps ([`StepWeights`]), both with sum 1,
//!
//! ```text
//! F = tr (M^½ Wᵀdiag(p)W M^½)^½      F² is a lower bound on the error of any strategy
//! X = M^(−½) (M^½ Wᵀdiag(p)W M^½)^½ M^(−½)
//! ```
//!
//! A fixed point raises the weights of the queries with large errors and of the patterns with large
//! costs, with Anderson acceleration in the logarithms. A step that lowers F is undone. If weights
//! vanish, an interior-point method or a central path continues. The theorem and its proof are in
//! docs/participation.md.
//!
//! [`StepWeights`]: step_weights::StepWeights

mod grids;
mod interior;
mod optimum;
mod point;
mod proof;
mod search;
mod spectrum;
mod step_weights;
mod weighted_queries;

pub(crate) use optimum::lower_bound_of_epochs;
pub(super) use optimum::{is_multiplicative, solve};
pub(super) use proof::{bounds, lower_bound};

#[cfg(test)]
mod tests;
