//! The selection of the best banded strategy.

use std::sync::Arc;

use super::certificate;
use super::fit::BandedFit;
use crate::error::Result;
use crate::optimal::weighted;
use crate::{
    Certificate, DualWeights, Optimal, OptimalOptions, Problem, Selection, Status, StrategyFactor,
};

/// Number of quasi-Newton steps per permitted iteration.
const STEPS_PER_ITERATION: usize = 10;

/// Tolerance of the lower bound for any matrix.
const TOLERANCE_ANY: f64 = 1e-6;

/// Selects the best banded strategy.
///
/// The certificate's lower bound is for any matrix: the optimum of fixed epochs, whose patterns are
/// patterns of min-separation. The details have the bound of the class of banded strategies with
/// the same norms, `banded_lower_bound`. For b bands, O(nb²) per step for workloads that are a
/// recurrence, and O(n³) for others; O(n³) per lower bound.
///
/// # Errors
/// The objective is not `mean`, more bands than the separation, or more than 2048 steps.
pub(in crate::optimal) fn select(
    optimal: &Optimal,
    problem: &Problem<'_>,
) -> Result<(Selection, DualWeights)> {
    let tolerance = optimal.options.tolerance;
    let limit = STEPS_PER_ITERATION * optimal.options.max_iterations;
    let mut fit = BandedFit::new(problem, optimal.bands, optimal.equal_norms, limit)?;
    let (mut lower, mut next_bound) = (0.0f64, 0);
    while fit.ended.is_none() && fit.error() > lower * (1.0 + tolerance) {
        let decrease = fit.advance(lower)?;
        // A lower bound takes as long as many steps.
        if fit.ended.is_some() || decrease <= tolerance && fit.steps >= next_bound {
            lower = lower.max(certificate::lower_bound(&fit.form, fit.variables())?);
            next_bound = fit.steps + fit.steps / 4;
        }
    }
    let error = fit.error();
    let options = OptimalOptions { tolerance: TOLERANCE_ANY, ..optimal.options };
    let (any, dual, proof) = weighted::lower_bound_of_epochs(problem, &options)?;
    let gap = error / lower - 1.0;
    let certificate = Certificate {
        lower_bound: any.min(lower).min(error),
        upper_bound: error,
        iterations: fit.steps,
        status: match fit.ended {
            Some(status) if gap > tolerance => status,
            _ => Status::Converged,
        },
    };
    let strategy = Arc::new(fit.form.gram(fit.variables())?);
    let factor = StrategyFactor::from_gram(problem.workload.shape(), strategy);
    let mut selection = optimal.selection(vec![factor], certificate)?;
    selection.proof = Some(proof);
    selection.details = vec![
        ("bands", fit.form.bands() as f64),
        ("banded_lower_bound", lower.min(error)),
        ("banded_gap", gap.max(0.0)),
    ];
    Ok((selection, dual))
}
