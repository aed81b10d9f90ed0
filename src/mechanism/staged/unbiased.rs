//! The alternative of unbiased answers: ResidualPlanner's measurements, given the first ones.

use std::f64::consts::PI;

use super::scouts::ClosureResidual;
use crate::domain::{AttributeSet, AxisSet};
use crate::error::Result;
use crate::estimation::ResidualEstimates;
use crate::residual::variance_coefficient;

/// Number of bisection steps.
const STEPS: usize = 100;

/// A plan that minimises the total variance of unbiased answers.
///
/// `minimise Σ_τ V_τ/λ_τ over λ_τ ≥ present, Σ_τ p_τ (λ_τ − present)/2 = B`, with V_τ = Σ_γ n_γ
/// v_τ(γ) over the marginals of the workload. The solution is λ_τ = max(present, s √(V_τ/p_τ)).
#[derive(Debug)]
pub(super) struct UnbiasedPlan {
    /// The residuals to measure, with the precisions Δλ of the new measurements.
    pub(super) measurements: Vec<(AttributeSet, f64)>,
    /// The expected L1 error of a marginal, averaged over the workload.
    pub(super) mean_l1: f64,
}

impl UnbiasedPlan {
    /// Plans all residuals of the closure.
    ///
    /// # Errors
    /// Attributes that the estimates lack.
    pub(super) fn new(
        known: &ResidualEstimates,
        residuals: &[ClosureResidual],
        workload: &[AttributeSet],
        budget: f64,
    ) -> Result<Self> {
        let mut variances = std::collections::HashMap::<AttributeSet, f64>::new();
        for gamma in workload {
            let sizes = known.shape_of(*gamma)?;
            let cells: f64 = sizes.iter().map(|&n| n as f64).product();
            for (axes, tau) in AxisSet::subsets(sizes.len()).zip(gamma.subsets()) {
                *variances.entry(tau).or_default() += cells * variance_coefficient(&sizes, axes);
            }
        }
        let ratio = |residual: &ClosureResidual| {
            (variances.get(&residual.set).copied().unwrap_or(0.0) / residual.price).sqrt()
        };
        let present: Vec<f64> = residuals.iter().map(|r| known.precision(r.set)).collect();
        let at = |scale: f64| -> Vec<f64> {
            let precision = |(r, p): (&ClosureResidual, &f64)| (scale * ratio(r)).max(*p);
            residuals.iter().zip(&present).map(precision).collect()
        };
        let cost = |precisions: &[f64]| -> f64 {
            let term =
                |((r, new), old): ((&ClosureResidual, &f64), &f64)| r.price * (new - old) / 2.0;
            residuals.iter().zip(precisions).zip(&present).map(term).sum()
        };
        let (mut low, mut high) = (0.0, 1.0);
        while cost(&at(high)) < budget {
            (low, high) = (high, 2.0 * high);
        }
        for _ in 0..STEPS {
            let middle = 0.5 * (low + high);
            if cost(&at(middle)) < budget { low = middle } else { high = middle }
        }
        let precisions = at(low);
        let by_set: std::collections::HashMap<AttributeSet, f64> =
            residuals.iter().map(|r| r.set).zip(precisions.iter().copied()).collect();
        let mut total = 0.0;
        for gamma in workload {
            let sizes = known.shape_of(*gamma)?;
            let cells: f64 = sizes.iter().map(|&n| n as f64).product();
            let term = |(axes, tau): (AxisSet, AttributeSet)| match by_set.get(&tau) {
                Some(precision) => variance_coefficient(&sizes, axes) / precision,
                None => 0.0,
            };
            let variance: f64 = AxisSet::subsets(sizes.len()).zip(gamma.subsets()).map(term).sum();
            total += cells * (2.0 / PI * variance).sqrt();
        }
        let measurements = (residuals.iter().zip(&precisions).zip(&present))
            .filter(|((_, new), old)| **new > **old * (1.0 + 1e-12))
            .map(|((residual, new), old)| (residual.set, new - old))
            .collect();
        Ok(UnbiasedPlan { measurements, mean_l1: total / workload.len() as f64 })
    }
}
