//! Common parts of the adaptive iterative mechanisms (AIM): candidates, budgets and rounds.
//!
//! Selection is part of the interface to private data ([`access`](crate::access)). It asks the
//! estimator for marginals and for bounds on their changes
//! ([`MarginalEstimates`](crate::estimation::MarginalEstimates)), so a mechanism with another
//! estimator is one file, such as [`aim_grem`](super::aim_grem).

mod annealing;
mod closure;
mod rounds;

pub use annealing::RoundBudget;
pub use closure::Closure;
pub use rounds::MeasuredRound;
pub(in crate::mechanism) use rounds::{
    AdaptiveEstimates, Schedule, measure_attributes, run_rounds,
};

#[cfg(test)]
mod tests;
