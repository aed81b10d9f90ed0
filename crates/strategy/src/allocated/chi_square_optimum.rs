//! The optimum for the chi-square divergence that a strategy has with the noise for (ε, δ).

use ndarray::Array2;

use super::chi_square::order_two_divergence;
use super::chi_square_bound::ChiSquareBounds;
use super::cost::PrivacyLimit;
use super::fixed_point::{AllocatedFit, estimated_noise};
use crate::allocation::Bins;
use crate::error::{Error, Result};
use crate::{Certificate, PrivacyTarget, Problem, Status};
use matmech_privacy::gaussian::analytic_sigma_rounded_up;

/// Maximum number of chi-square divergences that are tried for (ε, δ).
const MAX_DIVERGENCES: usize = 6;

/// Relative change of a chi-square divergence at which the search ends.
const NEAR: f64 = 1e-3;

/// The gap of a certificate at which a fit has converged.
const CERTIFIED: f64 = 1e-3;

/// Fits a strategy to the chi-square divergence that it has with an estimate of the noise for (ε, δ).
///
/// `fitted` fits to a divergence, from the last fit if there is one. The first divergence is that of
/// `start`.
///
/// # Errors
/// As [`fit`](super::fit).
pub(super) fn fit_at_target(
    start: &Array2<f64>,
    epochs: usize,
    target: PrivacyTarget,
    fitted: impl Fn(PrivacyLimit, Option<AllocatedFit>) -> Result<AllocatedFit>,
) -> Result<AllocatedFit> {
    let (mut divergence, mut near) = divergence_of(start, epochs, target, 1.0)?;
    let mut found = None;
    for _ in 0..MAX_DIVERGENCES {
        let fit = fitted(PrivacyLimit::ChiSquare(divergence), found.take())?;
        let next;
        (next, near) = divergence_of(&fit.strategy, epochs, target, near)?;
        let interrupted = fit.status == Status::Interrupted;
        found = Some(fit);
        if interrupted || (next / divergence - 1.0).abs() <= NEAR {
            break;
        }
        divergence = next;
    }
    found.ok_or_else(|| Error::bug("fit to the chi-square divergence", "a fit", "none"))
}

/// Returns the certificate of a fit with a squared sensitivity for (ε, δ) and an error at unit privacy
/// cost, and adds the divergence and the lower bound as a mean squared error to the details.
///
/// # Errors
/// As [`chi_square_bounds`].
pub(super) fn certified(
    problem: &Problem<'_>,
    (epochs, target): (usize, PrivacyTarget),
    found: &AllocatedFit,
    (squared, error): (f64, f64),
    tolerance: f64,
    details: &mut Vec<(&'static str, f64)>,
) -> Result<Certificate> {
    let start = Some(&found.strategy);
    let bounds = chi_square_bounds(problem, (epochs, target), &found.strategy, squared, start)?;
    let lower_bound = bounds.lower_bound.min(error);
    let sigma = analytic_sigma_rounded_up(1.0, target.epsilon, target.delta)?;
    let queries = problem.workload.count().as_f64();
    details.push(("chi_square_divergence", bounds.divergence));
    details.push(("chi_square_lower_bound", sigma * sigma * lower_bound / queries));
    let interrupted = found.status == Status::Interrupted;
    Ok(Certificate {
        lower_bound,
        upper_bound: error,
        iterations: found.rounds + bounds.rounds,
        status: Status::of(
            error / lower_bound - 1.0,
            tolerance.max(CERTIFIED),
            interrupted,
            found.status == Status::IterationLimit,
        ),
    })
}

/// Bounds the errors at unit privacy cost of strategies with at most the chi-square divergence of a
/// strategy C with a squared sensitivity for (ε, δ).
///
/// The fit begins at `start`, if it is given.
///
/// # Errors
/// As [`ChiSquareBounds::at`], or the workload has no dense Gram matrix.
pub(crate) fn chi_square_bounds(
    problem: &Problem<'_>,
    (epochs, PrivacyTarget { epsilon, delta }): (usize, PrivacyTarget),
    strategy: &Array2<f64>,
    squared: f64,
    start: Option<&Array2<f64>>,
) -> Result<ChiSquareBounds> {
    let unit = analytic_sigma_rounded_up(1.0, epsilon, delta)?.powi(2);
    let bins = Bins::of_strategy(strategy.view(), epochs)?;
    let divergence = order_two_divergence(bins.gram(), squared * unit);
    let gram = problem.workload.gram()?.to_dense()?;
    let found = ChiSquareBounds::at(gram.view(), epochs, divergence, start)?;
    let (lower_bound, upper_bound) = (found.lower_bound / unit, found.upper_bound / unit);
    Ok(ChiSquareBounds { lower_bound, upper_bound, ..found })
}

/// Returns `ln(1 + χ²)` of C at an estimate of the noise that (ε, δ) needs, and this σ relative to the
/// norm of the largest bin.
fn divergence_of(
    strategy: &Array2<f64>,
    epochs: usize,
    target: PrivacyTarget,
    near: f64,
) -> Result<(f64, f64)> {
    let bins = Bins::of_strategy(strategy.view(), epochs)?;
    let norm = bins.largest().0.sqrt();
    let sigma = estimated_noise(&bins, target, near * norm)?;
    Ok((order_two_divergence(bins.gram(), sigma * sigma), sigma / norm))
}
