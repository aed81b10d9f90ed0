//! The one door to private data.
//!
//! **Where can privacy be lost?** In this folder, and nowhere else. [`PrivateTable`] is the only
//! type that holds private counts and hands anything out that was made from them; a mechanism holds
//! a [`PaidAccess`] and sees no record. What may be asked is a [`Question`] or a
//! [`CandidateSelection`], each with its cost; the table pays the cost from its accountant *before*
//! it looks at a count, and the noise is drawn in one function of [`privacy`](crate::privacy).
//! Planners, estimators and the loops of adaptive mechanisms work on the schema, the budget and
//! answers that were paid for; two runs on neighbouring tables that got the same answers cannot
//! differ in anything.
//!
//! There are two leaves to the door. [`PrivateTable`] is for experiments: its noise is seeded
//! ([`SeededNoise`](crate::privacy::SeededNoise)) and **not for releases**. [`ReleaseTable`] is for
//! releases: it answers an [`IntegerQuestion`] only, whose cost it computes itself from the
//! integers that it multiplies with, pays first as the other does, and adds noise of
//! [`OperatingSystemNoise`](crate::privacy::OperatingSystemNoise), a type that no generator can be
//! put into. It does not select, and makes no question up on the way, so everything that it will be
//! asked can be paid for and written down before it is opened.

mod candidates;
mod counts;
#[cfg(test)]
pub(crate) mod impulse;
mod interval;
mod private_table;
mod question;
mod release_table;
mod selection;

pub use candidates::{Candidate, Candidates};
pub use private_table::PrivateTable;
pub use question::Question;
pub use release_table::{IntegerQuestion, ReleaseTable};
pub use selection::CandidateSelection;

use crate::error::Result;
use crate::estimation::MarginalEstimates;
use crate::privacy::{NoiseStream, Rho};

/// What a mechanism may do with private data: ask, and pay for it.
pub trait PaidAccess {
    /// The sizes of the attributes, which are public.
    fn sizes(&self) -> &[usize];

    /// The total budget.
    fn total(&self) -> Rho;

    /// What is left of it, a part that is reserved not counted; `None` if nothing is.
    fn remaining(&self) -> Option<Rho>;

    /// Pays for several measurements together: what `measure` asks is paid from ρ and may cost no
    /// more than it, but for the rounding of the sum (1e-9 of it). What it leaves is lost.
    ///
    /// # Errors
    /// [`Error::BudgetExhausted`](crate::Error::BudgetExhausted): more than is left; nothing was
    /// paid and nothing asked. And what `measure` returns.
    fn reserved(
        &mut self,
        what: &str,
        rho: Rho,
        measure: &mut dyn FnMut(&mut dyn PaidAccess) -> Result<()>,
    ) -> Result<()>;

    /// The answer to a question, with the noise that its cost pays for.
    ///
    /// # Errors
    /// [`Error::BudgetExhausted`](crate::Error::BudgetExhausted): the question costs more than is
    /// reserved, or left without a reservation; nothing was looked at. Attributes that the table
    /// lacks, or a marginal of 2³² cells or more.
    fn measure(&mut self, question: &Question<'_>, stream: NoiseStream) -> Result<Vec<f64>>;

    /// The place of a candidate, chosen by the exponential mechanism for the given estimates.
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
