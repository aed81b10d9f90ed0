//! Workloads as first-order recurrences.

use crate::error::{Error, Result};
use crate::workload::Workload;

/// Returns ρ and a of a workload `y_t = ρ_t y_{t−1} + a_t x_t`.
///
/// # Errors
/// The workload has other queries.
pub(super) fn factors_and_gains(workload: &Workload) -> Result<(Vec<f64>, Vec<f64>)> {
    match workload.recurrence().filter(|recurrence| recurrence.answers_queries()) {
        Some(recurrence) => {
            let roots = |squares: &[f64]| squares.iter().map(|x| x.sqrt()).collect();
            Ok((roots(recurrence.squared_factors()), roots(recurrence.squared_gains())))
        }
        None => Err(Error::bad_input(
            "streaming recurrence",
            "prefix sums over one attribute, with or without decay or learning rates",
            format!("the workload `{}`", workload.name()),
            "use e.g. prefix:1024",
        )),
    }
}
