//! What every adaptive iterative mechanism (AIM) shares, whatever estimator it uses: the
//! candidates, and what a round may spend.
//!
//! Selection itself is behind the door to private data ([`access`](crate::access)); it asks the
//! estimator for marginals and for how much they changed
//! ([`MarginalEstimates`](crate::estimation::MarginalEstimates)), so that another estimator is one
//! file beside [`aim_grem`](super::aim_grem).

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
#[cfg(test)]
pub(in crate::mechanism) mod witness;
