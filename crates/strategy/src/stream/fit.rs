//! The fit of streaming noise of any form.

use ndarray::Array2;

use super::assessment::StreamAssessment;
use super::coefficients::Coefficients;
use super::fitted::Fitted;
use super::form::{Form, StreamOptions};
use super::recurrence::{FitOptions, NoiseRecurrence, fit_recurrence};
use super::{chains, truncated};
use crate::allocated::{self, FitLimits, PrivacyLimit, Recurrent};
use crate::error::{Error, Result};
use crate::{
    Objective, Optimal, OptimalOptions, Participation, Problem, Proof, Status, StrategySelector,
    optimal, tridiagonal,
};

/// Largest number of steps for random allocation.
const MAX_ALLOCATED_STEPS: usize = 2048;

/// Limits of the fit of a recurrence to random allocation. It has many more local minima, and flatter
/// ones, than the fits of other forms: with their limits it stops up to 2 % above the minimum.
const ALLOCATED_LIMITS: FitLimits = FitLimits { rounds: None, steps: 300, tolerance: 1e-4 };

/// Fitted streaming noise with its assessment.
#[derive(Debug, Clone)]
pub struct Stream {
    /// The coefficients.
    pub coefficients: Coefficients,
    /// The sensitivity and the errors of the coefficients.
    pub assessment: StreamAssessment,
    /// A lower bound on the error of the assessment for any strategy, streaming or not; none for
    /// random allocation.
    pub lower_bound: Option<f64>,
    /// The weights that prove the lower bound.
    pub proof: Option<Proof>,
    /// The status of the fit. The assessment holds for every status.
    pub status: Status,
    /// The number of steps of the fit.
    pub iterations: usize,
}

impl Stream {
    /// Fits streaming noise with `buffers` exponentials or chains to a problem.
    ///
    /// With learning rates of 0, the fit is for small positive rates in their place, so the noise of
    /// gradients that reach no query is that of other gradients. The weights of the lower bound are
    /// also those of a near schedule where this is easier. Sensitivity, errors and the lower bound
    /// are those of the problem itself.
    ///
    /// # Errors
    /// The form does not support the participation, the objective or the workload; no buffer; too
    /// many steps.
    pub fn fit(
        problem: &Problem<'_>,
        form: Form,
        buffers: usize,
        options: &StreamOptions,
    ) -> Result<Self> {
        if let Participation::Random { .. } = problem.participation {
            let fitted = Fitted::new(problem, form, buffers, options)?;
            let assessment = fitted.assess(problem)?;
            let Fitted { coefficients, status, iterations, .. } = fitted;
            let (lower_bound, proof) = (None, None);
            return Ok(Stream { coefficients, assessment, lower_bound, proof, status, iterations });
        }
        let solver = OptimalOptions { tolerance: options.tolerance, ..OptimalOptions::default() };
        let positive = problem.workload.with_positive_rates();
        let near = Problem { workload: positive.as_ref().unwrap_or(problem.workload), ..*problem };
        let fitted = Fitted::new(&near, form, buffers, options)?;
        let large = problem.workload.without_small_rates();
        // The other schedule that has the weights, if there is one.
        let (other, lower_bound, proof) = match (fitted.bound, form) {
            (Some((bound, proof)), _) => (&positive, bound, proof),
            (None, Form::Truncated) => {
                let workload = large.as_ref().unwrap_or(problem.workload);
                let of_large = Problem { workload, ..*problem };
                let (bound, _, proof) = optimal::lower_bound_of_epochs(&of_large, &solver)?;
                (&large, bound, Some(proof))
            }
            (None, Form::Recurrence | Form::Chains) => {
                let optimum = Optimal::new(solver)?.select_for(&near)?;
                let Some(certificate) = optimum.certificate else {
                    return Err(Error::bug("optimal strategy", "a certificate", "none"));
                };
                (&positive, certificate.lower_bound, optimum.proof)
            }
        };
        let lower_bound = match (other, &proof) {
            (None, _) => lower_bound,
            (Some(_), Some(proof)) => proof.lower_bound(problem)?,
            (Some(_), None) => {
                return Err(Error::bug("lower bound of a schedule", "its weights", "none"));
            }
        };
        let assessment = fitted.coefficients.assess(problem)?;
        let lower_bound = match problem.objective {
            Objective::Mean => lower_bound / problem.workload.count().as_f64(),
            Objective::Max | Objective::Balanced(_) => lower_bound,
        };
        let Fitted { coefficients, status, iterations, .. } = fitted;
        let lower_bound = Some(lower_bound);
        Ok(Stream { coefficients, assessment, lower_bound, proof, status, iterations })
    }

    /// Returns `error / lower_bound − 1`, an upper bound on the relative excess over the optimum.
    pub fn excess(&self) -> Option<f64> {
        Some(self.assessment.error / self.lower_bound? - 1.0)
    }
}

impl Fitted {
    /// Fits streaming noise with `buffers` exponentials or chains.
    pub(super) fn new(
        problem: &Problem<'_>,
        form: Form,
        buffers: usize,
        options: &StreamOptions,
    ) -> Result<Self> {
        problem.check()?;
        if buffers == 0 {
            return Err(Error::bad_input(
                "streaming noise",
                "at least one buffer",
                "0",
                "write e.g. --buffers 4",
            ));
        }
        match form {
            Form::Chains => chains(problem, buffers, options.tolerance),
            Form::Recurrence => match problem.participation {
                Participation::Random { .. } => allocated(problem, buffers),
                _ => recurrence(problem, buffers, options),
            },
            Form::Truncated => truncated::fit(problem, buffers, options.max_iterations),
        }
    }
}

/// Fits one recurrence.
fn recurrence(problem: &Problem<'_>, buffers: usize, options: &StreamOptions) -> Result<Fitted> {
    let defaults = FitOptions::default();
    let max_iterations = options.max_iterations.unwrap_or(defaults.max_iterations);
    let fit = fit_recurrence(problem, buffers, &FitOptions { max_iterations, ..defaults })?;
    Ok(Fitted {
        coefficients: Coefficients::Recurrence(fit.recurrence),
        assessment: None,
        status: fit.status,
        iterations: fit.iterations,
        bound: None,
    })
}

/// Fits one recurrence to random allocation, and scales it to the noise of a Gaussian mechanism with
/// sensitivity 1 and the same (ε, δ).
fn allocated(problem: &Problem<'_>, buffers: usize) -> Result<Fitted> {
    let (epochs, target) = allocated::allocation_of(problem, MAX_ALLOCATED_STEPS)?;
    let steps = problem.workload.cells();
    let gram = problem.workload.gram()?.to_dense()?;
    let limit = PrivacyLimit::HockeyStick(target);
    let fitted = |memory: usize| {
        let form = Recurrent { steps, buffers, memory };
        let fit = allocated::fit(&form, gram.view(), epochs, limit, None, &ALLOCATED_LIMITS)?;
        Ok::<_, Error>((form, fit))
    };
    let (mut form, mut fit) = fitted(steps)?;
    // With several epochs there are local minima, and no start is always the best.
    if epochs > 1 {
        let count = steps / epochs;
        for memory in [2 * count, count] {
            let other = fitted(memory)?;
            if other.1.estimate < fit.estimate {
                (form, fit) = other;
            }
        }
    }
    let parts = form.parts(&fit.variables);
    let matrix =
        |values: &[f64]| Array2::from_shape_fn((steps, buffers), |(t, j)| values[t * buffers + j]);
    let mut recurrence = NoiseRecurrence {
        input: matrix(parts.input),
        output: matrix(parts.output),
        diagonal: parts.diagonal.to_vec(),
        rates: parts.rates,
        scale: vec![1.0; steps],
        taps: Array2::zeros((0, steps)),
        period: steps,
    };
    // The errors are at unit privacy cost, which the scale does not change.
    let mut assessment = Coefficients::Recurrence(recurrence.clone()).assess(problem)?;
    recurrence.scale.fill(assessment.sensitivity.squared.sqrt());
    assessment.sensitivity.squared = 1.0;
    assessment.sensitivity.attained = 1.0;
    Ok(Fitted {
        coefficients: Coefficients::Recurrence(recurrence),
        assessment: Some(assessment),
        status: fit.status,
        iterations: fit.rounds,
        bound: None,
    })
}

/// Fits chains to the certified optimum.
fn chains(problem: &Problem<'_>, buffers: usize, tolerance: f64) -> Result<Fitted> {
    let options = OptimalOptions { tolerance, ..OptimalOptions::default() };
    let optimum = tridiagonal::solve(problem, &options)?;
    let (Some(recurrence), Some(optimum)) = (problem.workload.recurrence(), optimum) else {
        return Err(Error::bad_input(
            "chains",
            "single participation and a workload of prefix sums, exponential decay or ranges (for \
             objective mean)",
            format!("`{}`, participation `{}`", problem.workload.name(), problem.participation),
            "use prefix:N and --participation single, or another form",
        ));
    };
    let chains = chains::fit(problem, &recurrence, &optimum, buffers)?;
    let certificate = optimum.certificate;
    Ok(Fitted {
        coefficients: Coefficients::Chains(chains),
        assessment: None,
        status: certificate.status,
        iterations: certificate.iterations,
        bound: Some((certificate.lower_bound, Some(optimum.proof))),
    })
}
