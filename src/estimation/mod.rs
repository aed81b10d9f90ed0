//! Estimation: consistent estimates of marginals from noisy measurements.
//!
//! Every estimator implements [`MarginalEstimates`]: the estimated marginal on a set of attributes,
//! and a bound on its change since the previous round. Adaptive selection needs no more.

pub mod graphical_model;
mod grem;
pub mod impossible;
mod independence;
pub mod soft_ipf;

pub use grem::{MarginalEstimates, ResidualEstimate, ResidualEstimates};
pub use independence::IndependentMarginals;
pub use soft_ipf::FittedModel;

#[cfg(test)]
mod tests;
