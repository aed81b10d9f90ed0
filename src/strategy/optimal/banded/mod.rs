//! The best banded strategy under min-separation.
//!
//! C is lower triangular with B bands, B at most the separation b, so its columns are orthogonal in
//! every pattern and the squared sensitivity is the largest `Σ_{i∈π} X_ii`. By linear programming
//! duality (the constraint matrix is an interval matrix) it is at most 1 exactly if
//!
//! ```text
//! X_ii ≤ z + Σ_{windows w of b steps with i} y_w,     y, z ≥ 0,     Σy + kz = 1
//! ```
//!
//! With *free norms* the band entries, y and z are optimised together; with *equal norms* (BandMF)
//! `X_ii = 1/k`. The certificate of the class is in [`certificate`].

mod certificate;
mod factor;
mod for_epochs;
mod quasi_newton;

use std::sync::Arc;

use super::{Optimal, OptimalOptions, ProblemDual, weighted};
use crate::error::{Error, Result};
use crate::progress::goes_on;
use crate::strategy::{
    Certificate, Objective, Participation, Problem, Selection, Status, StrategyFactor,
};
pub(crate) use factor::BandedFactor;
pub use for_epochs::BandedForEpochs;
pub(crate) use quasi_newton::{QuasiNewton, SmoothFunction};

/// Maximum number of steps of a workload.
const MAX_CELLS: usize = 2048;

/// Number of quasi-Newton steps between two certificates.
const STRIDE: usize = 25;

/// Relative decrease below which a step makes no progress.
const PROGRESS: f64 = 1e-15;

/// Number of successive steps without progress after which the solver stops.
const PATIENCE: usize = 4;

/// Number of quasi-Newton steps per permitted iteration.
const STEPS_PER_ITERATION: usize = 10;

/// Tolerance of the lower bound for any matrix.
const TOLERANCE_ANY: f64 = 1e-6;

/// Selects the best banded strategy.
///
/// The certificate's lower bound is for any matrix: the optimum of fixed epochs, whose patterns are
/// patterns of min-separation. The details have the bound of the class of banded strategies with
/// the same norms, `banded_lower_bound`. O(steps³) per step.
///
/// # Errors
/// The objective is not `mean`, more bands than the separation, or more than 2048 steps.
pub(super) fn select(optimal: &Optimal, problem: &Problem<'_>) -> Result<(Selection, ProblemDual)> {
    let Participation::MinSeparation { separation, count } = problem.participation else {
        return Err(Error::bug("banded strategy", "min-separation", "another participation"));
    };
    let steps = problem.workload.cells();
    let refuse = |expected: &str, found: String, remedy: &str| {
        Err(Error::bad_input("optimal strategy under min-separation", expected, found, remedy))
    };
    if problem.objective != Objective::Mean {
        return refuse(
            "objective mean",
            format!("`{}`", problem.objective),
            "minimise the mean and judge the strategy with `certify --objective max`, or use \
             participation=epochs:K",
        );
    }
    let bands = optimal.bands.unwrap_or(separation);
    if bands == 0 || bands > separation {
        return refuse(
            "between 1 band and as many as the separation",
            format!("{bands} bands and separation {separation}"),
            "choose fewer bands: more correlate the columns of a pattern",
        );
    }
    if steps > MAX_CELLS {
        return Err(Error::too_large(
            "banded strategy",
            "steps",
            MAX_CELLS as f64,
            steps as f64,
            "use fewer steps",
        ));
    }
    let gram = problem.workload.gram()?.to_dense()?;
    let form = BandedFactor::new(gram, bands, separation, count, !optimal.equal_norms);
    let mut state = QuasiNewton::from(&form, form.start(), form.entries())?;
    let (mut lower, mut still, mut quasi_newton_steps) = (0.0f64, 0, 0);
    let limit = STEPS_PER_ITERATION * optimal.options.max_iterations;
    let (mut stalled, mut interrupted) = (false, false);
    while quasi_newton_steps < limit && !stalled && !interrupted {
        for _ in 0..STRIDE {
            quasi_newton_steps += 1;
            let decrease = state.step(&form)?;
            still = if decrease.unwrap_or(0.0) <= PROGRESS { still + 1 } else { 0 };
            stalled = decrease.is_none() || still >= PATIENCE;
            interrupted = !goes_on(quasi_newton_steps, lower, state.value.exp());
            if stalled || interrupted {
                break;
            }
        }
        lower = lower.max(certificate::lower_bound(&form, &state.x)?);
        if state.value.exp() <= lower * (1.0 + optimal.options.tolerance) {
            break;
        }
    }
    let error = state.value.exp();
    let options = OptimalOptions { tolerance: TOLERANCE_ANY, ..optimal.options };
    let (any, dual, proof) = weighted::lower_bound_of_epochs(problem, &options)?;
    let gap = error / lower - 1.0;
    let certificate = Certificate {
        lower_bound: any.min(lower).min(error),
        upper_bound: error,
        iterations: quasi_newton_steps,
        status: if gap <= optimal.options.tolerance {
            Status::Converged
        } else if interrupted {
            Status::Interrupted
        } else if stalled {
            Status::Stalled
        } else {
            Status::IterationLimit
        },
    };
    let strategy = Arc::new(form.gram(&state.x)?);
    let factor = StrategyFactor::from_gram(problem.workload.shape(), strategy);
    let mut selection = optimal.selection(vec![factor], certificate)?;
    selection.proof = Some(proof);
    selection.details = vec![
        ("bands", bands as f64),
        ("banded_lower_bound", lower.min(error)),
        ("banded_gap", gap.max(0.0)),
    ];
    Ok((selection, dual))
}

#[cfg(test)]
mod tests;
