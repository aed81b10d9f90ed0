//! The result of a fit of any form.

use super::{Coefficients, StreamAssessment};
use crate::error::Result;
use crate::{Problem, Proof, Status};

/// The result of a fit.
pub(super) struct Fitted {
    pub(super) coefficients: Coefficients,
    /// The assessment for the problem of the fit, where the fit computes it.
    pub(super) assessment: Option<StreamAssessment>,
    pub(super) status: Status,
    pub(super) iterations: usize,
    /// A lower bound on the objective, the total for `mean`, where the fit finds one.
    pub(super) bound: Option<(f64, Option<Proof>)>,
}

impl Fitted {
    /// Returns the assessment for the problem of the fit.
    ///
    /// # Errors
    /// As [`Coefficients::assess`].
    pub(super) fn assess(&self, problem: &Problem<'_>) -> Result<StreamAssessment> {
        self.assessment.map_or_else(|| self.coefficients.assess(problem), Ok)
    }
}
