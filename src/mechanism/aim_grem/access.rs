//! What the adaptive loop may ask of private data: each question is paid for.

use super::candidates::Candidates;
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::estimation::ResidualEstimates;

/// A choice by the exponential mechanism among all candidates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Selection {
    /// ε of the mechanism, Pr ∝ exp(ε score / (2 max w)): costs ε²/8.
    pub epsilon: f64,
    /// Taken off the L1 error for every cell of a candidate: score = w_γ (‖μ_γ − μ̂_γ‖₁ − penalty · n_γ).
    pub penalty_per_cell: f64,
}

/// The only way from an adaptive mechanism to the data. Whatever the mechanism does between two calls depends on the schema,
/// the workload, the budget and earlier answers alone.
pub trait PaidAccess {
    /// The total budget ρ.
    fn rho(&self) -> f64;

    /// What is left of it.
    fn remaining(&self) -> f64;

    /// The place of a candidate, chosen by the exponential mechanism for the given estimates.
    ///
    /// # Errors
    /// The budget does not allow it.
    fn select(
        &mut self,
        selection: &Selection,
        candidates: &Candidates,
        estimates: &ResidualEstimates,
    ) -> Result<usize>;

    /// The residual of τ in centred form, measured from μ_τ + N(0, σ²): costs p_τ/(2σ²).
    ///
    /// # Errors
    /// The budget does not allow it, or a marginal that does not fit.
    fn measure(&mut self, attributes: AttributeSet, variance: f64) -> Result<Vec<f64>>;

    /// Says how the estimates changed since the last selection: for every subset β of `measured` (in the order of
    /// [`AttributeSet::subsets`]) the L1 norm of the change of μ̂_β. Public knowledge, which spares looking at candidates
    /// that cannot win.
    fn estimates_changed(&mut self, _measured: AttributeSet, _norms: &[f64], _candidates: &Candidates) {}
}
