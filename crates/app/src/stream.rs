//! Streaming noise for one workload.

use std::path::PathBuf;
use std::time::Instant;

use serde::Serialize;

use matmech::error::Result;
use matmech::strategy::stream::{Form, Stream, StreamAssessment, StreamOptions};
use matmech::strategy::{Problem, Status};
use matmech::workload::QueryCount;

/// The output of `stream --json`. Errors are squared errors of a query at unit privacy cost.
#[derive(Debug, Serialize)]
pub struct StreamReport {
    /// The workload string, or a description of a workload without one.
    pub workload: String,
    /// The number of steps.
    pub steps: usize,
    /// The number of queries.
    pub queries: QueryCount,
    /// The form of the noise.
    pub form: Form,
    /// The objective: `mean`, `max` or `balanced:SHARE`.
    pub objective: String,
    /// The participation: `single`, `epochs:K`, `min-sep:B,K` or `random:K`.
    pub participation: String,
    /// The largest change of the measured values, for noise from standard normals.
    pub sensitivity: f64,
    /// `exact`, or the name of the upper bound.
    pub sensitivity_kind: &'static str,
    /// The mean squared error of a query at unit privacy cost.
    pub mean_error: f64,
    /// Omitted if it would take a matrix of too many steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_error: Option<f64>,
    /// The objective: `mean_error`, `max_error`, or their combination.
    pub error: f64,
    /// Certified: the error of every strategy, streaming or not, is at least this. Omitted for random
    /// allocation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower_bound: Option<f64>,
    /// error / lower_bound − 1
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excess: Option<f64>,
    /// Numbers stored per coordinate.
    pub buffers: usize,
    /// Independent normals per coordinate and step.
    pub normals_per_step: usize,
    /// Normals per coordinate and step, including those of earlier steps that are drawn again.
    pub draws_per_step: usize,
    /// The number of iterations of the fit.
    pub iterations: usize,
    /// The status of the fit.
    pub status: Status,
    /// The time of the fit in seconds, with its errors and the lower bound.
    pub seconds: f64,
    /// The file of the coefficients, if it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out: Option<PathBuf>,
    /// The file of the strategy matrix, if it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matrix: Option<PathBuf>,
}

/// Fits streaming noise; the default form depends on the problem.
///
/// # Errors
/// As [`Stream::fit`].
pub fn stream(
    problem: &Problem<'_>,
    form: Option<Form>,
    buffers: usize,
    options: &StreamOptions,
) -> Result<(StreamReport, Stream)> {
    let started = Instant::now();
    let form = form.unwrap_or_else(|| Form::of(problem));
    let stream = Stream::fit(problem, form, buffers, options)?;
    let seconds = started.elapsed().as_secs_f64();
    let StreamAssessment { sensitivity, mean_error, max_error, error } = stream.assessment;
    let report = StreamReport {
        workload: problem.workload.name().to_string(),
        steps: stream.coefficients.steps(),
        queries: problem.workload.count(),
        form: stream.coefficients.form(),
        objective: problem.objective.to_string(),
        participation: problem.participation.to_string(),
        sensitivity: sensitivity.squared.sqrt(),
        sensitivity_kind: sensitivity.bound.unwrap_or("exact"),
        mean_error,
        max_error,
        error,
        lower_bound: stream.lower_bound,
        excess: stream.excess(),
        buffers: stream.coefficients.buffers(),
        normals_per_step: stream.coefficients.normals_per_step(),
        draws_per_step: stream.coefficients.draws_per_step(),
        iterations: stream.iterations,
        status: stream.status,
        seconds,
        out: None,
        matrix: None,
    };
    Ok((report, stream))
}
