//! Estimation: from noisy measurements to estimates of marginals that are consistent with each
//! other.
//!
//! Every estimator answers two questions, [`MarginalEstimates`]: what the marginal of a set of
//! attributes is, and how much it can have changed since it was last asked. That is all that
//! adaptive selection needs.

pub mod graphical_model;
mod grem;
mod independence;
mod lazy;
pub mod soft_ipf;

pub use grem::{ResidualEstimate, ResidualEstimates};
pub use independence::IndependentMarginals;
pub use lazy::LazyMarginals;

use crate::domain::AttributeSet;
use crate::error::Result;

/// Estimates of all marginals, as a mechanism has them at some moment. Nothing in them is private:
/// they were paid for.
pub trait MarginalEstimates {
    /// μ̂_γ, row-major.
    ///
    /// # Errors
    /// A set whose marginal the estimator does not have.
    fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>>;

    /// At least ‖μ̂_γ‖₁, for less than the marginal itself costs. By default nothing is known.
    fn norm_bound(&self, _gamma: AttributeSet) -> f64 {
        f64::INFINITY
    }

    /// At least ‖μ̂_γ − μ̂'_γ‖₁ with μ̂' the estimates of the round before. By default nothing is
    /// known, and every marginal has to be looked at again.
    fn change_bound(&self, _gamma: AttributeSet) -> f64 {
        f64::INFINITY
    }
}

impl MarginalEstimates for ResidualEstimates {
    fn marginal(&self, gamma: AttributeSet) -> Result<Vec<f64>> {
        ResidualEstimates::marginal(self, gamma)
    }

    /// The sum over the residuals of γ.
    fn norm_bound(&self, gamma: AttributeSet) -> f64 {
        gamma.subsets().map(|tau| self.get(tau).map_or(0.0, |estimate| estimate.norm())).sum()
    }
}

#[cfg(test)]
mod tests;
