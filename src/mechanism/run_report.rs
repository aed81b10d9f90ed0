//! Reports of runs, and expected errors.

use crate::estimation::FittedModel;

/// The report of a run; it costs no privacy beyond the run itself.
#[derive(Debug, Default)]
pub struct RunReport {
    /// Details specific to the mechanism, by name.
    pub details: Vec<(&'static str, f64)>,
    /// The last fitted model, if any, from which synthetic records can be drawn.
    pub model: Option<FittedModel>,
}

/// Expected errors in closed form, in counts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ExpectedErrors {
    /// The total expected squared error of all answers.
    pub squared_error: Option<f64>,
    /// The expected L1 error of a group's answers, averaged over the groups.
    pub mean_l1: Option<f64>,
}
