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
    pub workload: String,
    pub steps: usize,
    pub queries: QueryCount,
    pub form: Form,
    pub objective: String,
    pub participation: String,
    /// The largest change of the measured values, for noise from standard normals.
    pub sensitivity: f64,
    /// `exact`, or the name of the upper bound.
    pub sensitivity_kind: &'static str,
    pub mean_error: f64,
    /// Omitted if it would take a matrix of too many steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_error: Option<f64>,
    /// The objective: `mean_error`, `max_error`, or their combination.
    pub error: f64,
    /// Certified: the error of every strategy, streaming or not, is at least this.
    pub lower_bound: f64,
    /// error / lower_bound − 1
    pub excess: f64,
    /// Numbers stored per coordinate.
    pub buffers: usize,
    /// Independent normals per coordinate and step.
    pub normals_per_step: usize,
    /// Normals per coordinate and step, including those of earlier steps that are drawn again.
    pub draws_per_step: usize,
    pub iterations: usize,
    pub status: Status,
    pub seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out: Option<PathBuf>,
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
