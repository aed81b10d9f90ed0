//! The optimum for random allocation, as a selection.

use super::banded::Banded;
use super::chi_square_optimum::{certified, fit_at_target};
use super::cost::{Divergence, PrivacyLimit};
use super::fixed_point::{self, AllocatedFit, FitLimits};
use super::form::AllocatedForm;
use super::inverse_toeplitz::InverseToeplitz;
use super::toeplitz::Toeplitz;
use crate::error::{Error, Result};
use crate::optimal::StrategyForm;
use crate::{
    Objective, Optimal, Participation, PrivacyTarget, Problem, Selection, Strategy, StrategyFactor,
    StrategySelector,
};

/// Largest number of steps: matrices of 8 MiB, and about 10 s per estimate of Λ.
pub(crate) const MAX_STEPS: usize = 2048;

/// Fits a strategy to random allocation: all lower triangular matrices, with the bands and of the
/// form of the options.
///
/// The error is at unit privacy cost, as for other participations: the error at (ε, δ), by the
/// accountant, divided by the variance of Gaussian noise for (ε, δ) without random allocation.
///
/// # Errors
/// Another participation or objective, too many steps or bands, or ε and δ are missing.
pub(crate) fn select(problem: &Problem<'_>, options: &Optimal) -> Result<Selection> {
    let (epochs, target) = allocation_of(problem, MAX_STEPS)?;
    let steps = problem.workload.cells();
    let bands = options.bands.unwrap_or(steps);
    if !(1..=steps).contains(&bands) {
        return Err(Error::bad_input(
            "bands of a strategy",
            format!("1 to {steps} bands"),
            bands.to_string(),
            "leave them out for all bands",
        ));
    }
    let gram = problem.workload.gram()?.to_dense()?;
    let toeplitz = Toeplitz { steps, bands };
    let banded = Banded { steps, bands };
    let fitted = |limit: PrivacyLimit, start: Option<AllocatedFit>| {
        let limits = FitLimits::of(limit);
        let variables = start.map(|start| start.variables);
        let fit = |form: &dyn AllocatedForm, start| {
            fixed_point::fit(form, gram.view(), epochs, limit, start, &limits)
        };
        match options.form {
            StrategyForm::Toeplitz => fit(&toeplitz, variables),
            StrategyForm::InverseToeplitz => fit(&InverseToeplitz { steps, bands }, variables),
            StrategyForm::Free => {
                let start = match variables {
                    Some(variables) => variables,
                    None => banded.variables(&fit(&toeplitz, None)?.strategy),
                };
                fit(&banded, Some(start))
            }
        }
    };
    let found = match options.divergence {
        Divergence::HockeyStick => fitted(PrivacyLimit::HockeyStick(target), None)?,
        Divergence::ChiSquare => {
            fit_at_target(&toeplitz.matrix(&toeplitz.start(bands)), epochs, target, fitted)?
        }
    };
    let mut details =
        vec![("rounds", found.rounds as f64), ("stationarity_residual", found.residual)];
    let factor = StrategyFactor::from_queries(problem.workload.shape(), found.strategy.clone())?;
    let strategy = Strategy::single(options.name(), factor);
    let squared = problem.sensitivity(&strategy)?.squared;
    let error = problem.error_at(&strategy, squared)?;
    let certificate = match options.divergence {
        Divergence::HockeyStick => None,
        Divergence::ChiSquare => {
            let tolerance = options.options.tolerance;
            let allocation = (epochs, target);
            Some(certified(problem, allocation, &found, (squared, error), tolerance, &mut details)?)
        }
    };
    Ok(Selection { strategy, error, certificate, proof: None, details })
}

/// Returns the epochs and (ε, δ) of a problem with random allocation.
///
/// # Errors
/// As [`select`].
pub(crate) fn allocation_of(problem: &Problem<'_>, most: usize) -> Result<(usize, PrivacyTarget)> {
    problem.check()?;
    let Participation::Random { epochs, target: Some(target) } = problem.participation else {
        return Err(problem.participation.without_target());
    };
    if problem.objective != Objective::Mean {
        return Err(Error::bad_input(
            "strategy for random allocation",
            "the objective mean",
            format!("`{}`", problem.objective),
            "leave the objective out",
        ));
    }
    let steps = problem.workload.cells();
    if steps > most {
        return Err(Error::too_large(
            "strategy for random allocation",
            "steps",
            most as f64,
            steps as f64,
            "use fewer steps, or a strategy without a fit, e.g. bsr(bands=32)",
        ));
    }
    Ok((epochs, target))
}
