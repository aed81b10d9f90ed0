//! Streaming noise: correlated noise for prefix sums, step by step, with few buffers.
//!
//! A strategy C for training needs the noise `C⁻¹z` of its steps in order. For these forms it takes
//! a few numbers of memory per coordinate, and the error is close to the certified optimum:
//!
//! | form | participation | steps |
//! |---|---|---|
//! | [`Recurrence`] | single, fixed epochs | at most 4096 |
//! | [`Chains`] | single | any number, in linear time |
//! | [`Truncated`] | min-separation | at most 2048 |
//!
//! Sensitivity and errors are recomputed from the coefficients that are used and written
//! ([`Coefficients::assess`]), whatever the fit did. With adaptive inputs, such as gradients, noise
//! of a lower triangular factor has the same privacy cost (Denisov et al., Improved differential
//! privacy for SGD via optimal private linear operators on adaptive streams, 2022, Theorem 2.1).
//! See docs/streams.md.

mod assessment;
mod chains;
mod coefficients;
mod file;
mod noise;
pub mod recurrence;
mod selectors;
mod truncated;

use std::fmt;
use std::str::FromStr;

use super::{
    Objective, Optimal, OptimalOptions, Participation, Problem, Proof, Status, StrategySelector,
    optimal, tridiagonal,
};
use crate::error::{Error, Result};
pub use assessment::StreamAssessment;
pub use chains::Chains;
pub use coefficients::Coefficients;
pub use noise::StreamedNoise;
pub use recurrence::Recurrence;
use recurrence::{FitOptions, fit_recurrence};
pub use selectors::Streamed;
pub use truncated::Truncated;

/// Maximum number of steps for which the recurrence is the default.
const MAX_RECURRENCE_STEPS: usize = 2048;

/// The form of streaming noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// [`Recurrence`].
    Recurrence,
    /// [`Chains`].
    Chains,
    /// [`Truncated`].
    Truncated,
}

impl Form {
    /// Returns the default for a problem: the recurrence for single participation and fixed epochs,
    /// chains for single participation in more than 2048 steps, truncated exponentials for
    /// min-separation.
    pub fn of(problem: &Problem<'_>) -> Self {
        match problem.participation {
            Participation::MinSeparation { .. } => Form::Truncated,
            Participation::Single if problem.workload.cells() > MAX_RECURRENCE_STEPS => {
                Form::Chains
            }
            Participation::Single | Participation::Epochs(_) => Form::Recurrence,
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Form::Recurrence => "recurrence",
            Form::Chains => "chains",
            Form::Truncated => "truncated",
        })
    }
}

impl FromStr for Form {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        [Form::Recurrence, Form::Chains, Form::Truncated]
            .into_iter()
            .find(|form| form.to_string() == text)
            .ok_or_else(|| {
                Error::bad_input(
                    "form of streaming noise",
                    "recurrence, chains or truncated",
                    format!("`{text}`"),
                    "leave it out for the default of the participation",
                )
            })
    }
}

/// The limits of a fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StreamOptions {
    /// Relative gap of the certified optimum. Default 1e-7.
    pub tolerance: f64,
    /// Maximum number of steps of the fit. By default the limit of the form.
    pub max_iterations: Option<usize>,
}

impl Default for StreamOptions {
    fn default() -> Self {
        StreamOptions { tolerance: 1e-7, max_iterations: None }
    }
}

/// Fitted streaming noise with its assessment.
#[derive(Debug, Clone)]
pub struct Stream {
    /// The coefficients.
    pub coefficients: Coefficients,
    /// The sensitivity and the errors of the coefficients.
    pub assessment: StreamAssessment,
    /// A lower bound on the error of the assessment for any strategy, streaming or not.
    pub lower_bound: f64,
    /// The weights that prove the lower bound.
    pub proof: Option<Proof>,
    /// The status of the fit. The assessment holds for every status.
    pub status: Status,
    /// The number of steps of the fit.
    pub iterations: usize,
}

/// Coefficients of a fit, before their assessment.
struct Fitted {
    coefficients: Coefficients,
    status: Status,
    iterations: usize,
    /// A lower bound on the objective, the total for `mean`, where the fit finds one.
    bound: Option<(f64, Option<Proof>)>,
}

impl Stream {
    /// Fits streaming noise with `buffers` exponentials or chains to a problem.
    ///
    /// With learning rates of 0, the fit is for small positive rates in their place, so the noise of
    /// gradients that reach no query is that of other gradients. Sensitivity, errors and the lower
    /// bound are those of the problem itself.
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
        let solver = OptimalOptions { tolerance: options.tolerance, ..OptimalOptions::default() };
        let positive = problem.workload.with_positive_rates();
        let near = Problem { workload: positive.as_ref().unwrap_or(problem.workload), ..*problem };
        let fitted = Fitted::new(&near, form, buffers, options)?;
        let (lower_bound, proof) = match (fitted.bound, form) {
            (Some(bound), _) => bound,
            (None, Form::Truncated) => {
                let (bound, _, proof) = optimal::lower_bound_of_epochs(&near, &solver)?;
                (bound, Some(proof))
            }
            (None, Form::Recurrence | Form::Chains) => {
                let optimum = Optimal::new(solver)?.select_for(&near)?;
                let Some(certificate) = optimum.certificate else {
                    return Err(Error::bug("optimal strategy", "a certificate", "none"));
                };
                (certificate.lower_bound, optimum.proof)
            }
        };
        let lower_bound = match (&positive, &proof) {
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
        Ok(Stream { coefficients, assessment, lower_bound, proof, status, iterations })
    }

    /// Returns `error / lower_bound − 1`, an upper bound on the relative excess over the optimum.
    pub fn excess(&self) -> f64 {
        self.assessment.error / self.lower_bound - 1.0
    }
}

impl Fitted {
    /// Fits streaming noise with `buffers` exponentials or chains.
    fn new(
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
            Form::Recurrence => recurrence(problem, buffers, options),
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
        status: fit.status,
        iterations: fit.iterations,
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
        status: certificate.status,
        iterations: certificate.iterations,
        bound: Some((certificate.lower_bound, Some(optimum.proof))),
    })
}

#[cfg(test)]
mod tests;
