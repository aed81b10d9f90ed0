//! Estimation: consistent estimates of marginals from noisy measurements.
//!
//! Every estimator implements [`MarginalEstimates`]: the estimated marginal on a set of attributes,
//! and a bound on its change since the previous round. Adaptive selection needs no more.

mod fitted_model;
pub mod graphical_model;
mod grem;
pub mod impossible;
mod independence;
pub mod soft_ipf;

pub use fitted_model::FittedModel;
pub use grem::{MarginalEstimates, ResidualEstimate, ResidualEstimates};
pub use independence::IndependentMarginals;

#[cfg(test)]
mod tests;
