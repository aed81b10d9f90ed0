//! Estimation: consistent estimates of marginals from noisy measurements.
//!
//! Every estimator implements [`MarginalEstimates`]: the estimated marginal on a set of attributes,
//! and a bound on its change since the previous round. Adaptive selection needs no more.

mod fitted_model;
pub mod graphical_model;
mod grem;
mod independence;
pub mod soft_ipf;

pub use fitted_model::FittedModel;
pub use grem::{ResidualEstimate, ResidualEstimates};
pub use independence::IndependentMarginals;

use crate::domain::AttributeSet;
use crate::error::Result;

/// The current estimates of all marginals.
///
/// They are post-processing of measurements that were paid for, so nothing in them is private.
pub trait MarginalEstimates {
    /// Returns the estimated marginal μ̂_γ, row-major.
    ///
    /// # Errors
    /// A set whose marginal the estimator does not have.
    fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>>;

    /// Returns an upper bound on ‖μ̂_γ‖₁ that is cheaper than the marginal; infinite by default.
    fn norm_bound(&self, _gamma: AttributeSet) -> f64 {
        f64::INFINITY
    }

    /// Returns an upper bound on the change ‖μ̂_γ − μ̂'_γ‖₁ since the estimates μ̂' of the previous
    /// round.
    ///
    /// Infinite by default: selection then reads every marginal again.
    fn change_bound(&self, _gamma: AttributeSet) -> f64 {
        f64::INFINITY
    }
}

impl MarginalEstimates for ResidualEstimates {
    fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>> {
        ResidualEstimates::marginal(self, gamma)
    }

    /// Returns Σ_{τ⊆γ} ‖c_τ‖₁ over the measured residuals of γ.
    fn norm_bound(&self, gamma: AttributeSet) -> f64 {
        gamma.subsets().map(|tau| self.get(tau).map_or(0.0, |estimate| estimate.norm())).sum()
    }
}

#[cfg(test)]
mod tests;
