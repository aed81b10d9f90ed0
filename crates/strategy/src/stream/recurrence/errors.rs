//! The workload whose errors are fitted.

use std::cell::RefCell;

use crate::error::{Error, Result};
use crate::workload::Workload;

/// The workload `y_t = ρ_t y_{t−1} + a_t x_t`, for the patterns of k epochs of b steps.
#[derive(Debug)]
pub(super) struct Errors {
    /// k.
    pub count: usize,
    /// b.
    pub period: usize,
    /// ρ, with ρ_0 = 0.
    pub factors: Vec<f64>,
    /// a.
    pub gains: Vec<f64>,
    /// The solutions of the last two linear systems, where the next ones start.
    pub last: RefCell<(Vec<f64>, Vec<f64>)>,
}

impl Errors {
    /// Creates the workload from ρ and a.
    pub fn new(count: usize, period: usize, factors: Vec<f64>, gains: Vec<f64>) -> Self {
        let unknowns = count * (count - 1) / 2 * period;
        let last = RefCell::new((vec![0.0; unknowns], vec![0.0; unknowns]));
        Errors { count, period, factors, gains, last }
    }
}

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
