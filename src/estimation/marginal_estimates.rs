//! The trait of all estimators.

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
