//! Errors of the answers by least squares.

use crate::error::Result;
use crate::problem::Problem;
use crate::query_errors;
use crate::strategy::Strategy;

/// Returns the errors of the queries of a strategy by least squares, at unit privacy cost.
pub(crate) fn least_squares_errors(problem: &Problem<'_>, strategy: &Strategy) -> Result<Vec<f64>> {
    let squared = problem.sensitivity(strategy)?.squared;
    let mut errors = query_errors::all(problem.workload, strategy)?;
    errors.iter_mut().for_each(|error| *error *= squared);
    Ok(errors)
}
