//! Coefficients of a fit, before their assessment.

use super::coefficients::Coefficients;
use crate::{Proof, Status};

/// Coefficients of a fit, before their assessment.
pub(super) struct Fitted {
    pub(super) coefficients: Coefficients,
    pub(super) status: Status,
    pub(super) iterations: usize,
    /// A lower bound on the objective, the total for `mean`, where the fit finds one.
    pub(super) bound: Option<(f64, Option<Proof>)>,
}
