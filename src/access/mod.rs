//! The only interface to private data.
//!
//! **Where can privacy be lost?** Only in this module. No types but [`PrivateTable`] and
//! [`ReleaseTable`] hold private counts and return values computed from them. A mechanism holds a
//! [`PaidAccess`] and sees no record. It asks a [`Question`] or a [`CandidateSelection`], each with
//! a privacy cost. The table pays the cost from its accountant *before* it reads a count, and the
//! noise is drawn in one function of [`privacy`](crate::privacy). Planners, estimators and the
//! loops of adaptive mechanisms use only the schema, the budget and answers that were paid for: two
//! runs on neighbouring tables that get the same answers do not differ in anything.
//!
//! - [`PrivateTable`] is for experiments. Its noise is seeded
//!   ([`SeededNoise`](crate::privacy::SeededNoise)) and **not for releases**.
//! - [`ReleaseTable`] is for releases. It answers only an [`IntegerQuestion`] or a
//!   [`DistanceQuestion`], computes the cost from the integers of the question, pays first, and
//!   adds noise of [`ReleaseNoise`](ReleaseNoise), a type that
//!   takes no random number generator from its caller. It neither selects nor generates questions.
//!   Later questions may depend on earlier answers: the sum of all costs never exceeds the total.

mod candidates;
mod counts;
mod distance;
mod interval;
mod private_table;
mod question;
mod release_noise;
mod release_table;
mod selection;

pub use candidates::{Candidate, Candidates};
pub use distance::DistanceQuestion;
pub use private_table::PrivateTable;
pub use question::Question;
pub use release_noise::ReleaseNoise;
pub use release_table::{IntegerQuestion, ReleaseTable};
pub use selection::CandidateSelection;

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

#[cfg(test)]
mod tests;
