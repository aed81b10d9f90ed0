//! The trait by which mechanisms ask questions.

use super::candidates::Candidates;
use super::question::Question;
use super::selection::CandidateSelection;
use crate::error::Result;
use crate::estimation::MarginalEstimates;
use crate::privacy::{NoiseStream, Rho};

/// Paid access of a mechanism to private data.
pub trait PaidAccess {
    /// Returns the public sizes of the attributes.
    fn sizes(&self) -> &[usize];

    /// Returns the total budget.
    fn total(&self) -> Rho;

    /// Returns the remaining budget without the reserved part; `None` if it is zero.
    fn remaining(&self) -> Option<Rho>;

    /// Pays for several measurements together.
    ///
    /// The questions of `measure` are paid from ρ and cost at most ρ, up to the rounding of the sum
    /// (a relative 1e-9). The unused part is lost.
    ///
    /// # Errors
    /// [`Error::BudgetExhausted`](crate::Error::BudgetExhausted): ρ exceeds the remaining budget;
    /// nothing was paid or asked. Errors of `measure`.
    fn reserved(
        &mut self,
        what: &str,
        rho: Rho,
        measure: &mut dyn FnMut(&mut dyn PaidAccess) -> Result<()>,
    ) -> Result<()>;

    /// Returns the noisy answer to a question.
    ///
    /// # Errors
    /// [`Error::BudgetExhausted`](crate::Error::BudgetExhausted): the question costs more than the
    /// rest of the reservation, or than the remaining budget if there is no reservation; no count
    /// was read. Attributes that the table lacks, or a marginal of 2³² cells or more.
    fn measure(&mut self, question: &Question<'_>, stream: NoiseStream) -> Result<Vec<f64>>;

    /// Returns the index of the candidate that the exponential mechanism selects.
    ///
    /// # Errors
    /// As [`PaidAccess::measure`].
    fn select(
        &mut self,
        selection: &CandidateSelection,
        candidates: &Candidates,
        estimates: &dyn MarginalEstimates,
    ) -> Result<usize>;
}
