//! Private data behind an accountant.

use std::fmt;

use rand::Rng;

use super::PaidAccess;
use super::counts::{CountedRecords, Counts, DataVector, Zeros};
use super::question::Question;
use super::selection::{CandidateSelection, Candidates, Selector};
use crate::data::Records;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::estimation::MarginalEstimates;
use crate::privacy::{NoiseStream, Rho, SeededNoise, ZcdpAccountant};
use crate::residual::{centre_box, summed};

/// Relative tolerance for the rounding of the sum of costs within a reservation.
const ROUNDING: f64 = 1e-9;

/// Private data that answers only questions that the accountant pays for.
///
/// The noise is seeded: answers are repeatable and therefore **not private**.
pub struct PrivateTable<'a> {
    counts: Box<dyn Counts + 'a>,
    accountant: ZcdpAccountant,
    reserved: Option<Reserved>,
    noise: SeededNoise<'a>,
    selector: Selector,
}

/// Shows public values only: the sizes of the attributes and the ledger.
///
/// It shows no record, no count, no state of the noise, and not the number of marginals that
/// selection read, which depends on the counts.
impl fmt::Debug for PrivateTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateTable")
            .field("sizes", &self.counts.sizes())
            .field("accountant", &self.accountant)
            .field("reserved", &self.reserved)
            .finish_non_exhaustive()
    }
}

/// A prepaid budget for several measurements.
struct Reserved {
    total: Rho,
    left: f64,
    /// The last counted marginal, from which marginals on subsets of its attributes are summed.
    counted: Option<(AttributeSet, Vec<f64>)>,
}

/// Omits the counts.
impl fmt::Debug for Reserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reserved")
            .field("total", &self.total)
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

impl<'a> PrivateTable<'a> {
    /// Opens records for a total of ρ-zCDP; the noise is seeded from `rng`.
    ///
    /// # Errors
    /// No records, or 2³² or more.
    pub fn of_records(records: &'a Records, rho: Rho, rng: &'a mut dyn Rng) -> Result<Self> {
        Ok(Self::new(Box::new(CountedRecords::new(records)?), rho, rng))
    }

    /// Opens the counts of all cells of a domain for a total of ρ-zCDP.
    ///
    /// # Errors
    /// A vector whose length is not the number of cells, or with entries that are not finite.
    pub fn of_vector(
        shape: &[usize],
        cells: &'a [f64],
        rho: Rho,
        rng: &'a mut dyn Rng,
    ) -> Result<Self> {
        Ok(Self::new(Box::new(DataVector::new(shape, cells)?), rho, rng))
    }

    /// Opens a table of zeros over attributes of these sizes.
    ///
    /// A mechanism that only measures adds the same noise to every table, so its answers here are
    /// its errors. Experiments use it to save the counting.
    pub fn of_zeros(sizes: &[usize], rho: Rho, rng: &'a mut dyn Rng) -> Self {
        Self::new(Box::new(Zeros(sizes.to_vec())), rho, rng)
    }

    fn new(counts: Box<dyn Counts + 'a>, rho: Rho, rng: &'a mut dyn Rng) -> Self {
        PrivateTable {
            counts,
            accountant: ZcdpAccountant::new(rho),
            reserved: None,
            noise: SeededNoise::new(rng),
            selector: Selector::default(),
        }
    }

    /// Returns the accountant, with every payment and its purpose.
    pub fn accountant(&self) -> &ZcdpAccountant {
        &self.accountant
    }

    /// Returns the number of comparisons of a candidate's marginal with its estimate in all
    /// selections.
    pub fn looks(&self) -> usize {
        self.selector.looks()
    }

    /// Pays from the reservation if there is one, else from the budget.
    fn pay(&mut self, what: &str, cost: Rho) -> Result<()> {
        let Some(reserved) = &mut self.reserved else {
            return Ok(self.accountant.spend(what, cost)?);
        };
        let left = reserved.left - cost.get();
        if left < -ROUNDING * reserved.total.get() {
            let (left, total) = (reserved.left, reserved.total);
            return Err(Error::BudgetExhausted {
                what: what.to_owned(),
                asked: cost.get(),
                left,
                total: total.get(),
            });
        }
        reserved.left = left.max(0.0);
        Ok(())
    }
}

impl PrivateTable<'_> {
    /// Counts a marginal, or sums it from a larger one counted for the same reservation.
    fn count(&mut self, attributes: AttributeSet) -> Result<Vec<f64>> {
        let mut values = Vec::new();
        let known = self.reserved.as_ref().and_then(|reserved| reserved.counted.as_ref());
        if let Some((larger, counts)) = known.filter(|(larger, _)| attributes.is_subset(*larger)) {
            return Ok(summed(
                &larger.select(self.counts.sizes()),
                larger.axes_in(attributes),
                counts,
            ));
        }
        self.counts.count_into(attributes, &mut values)?;
        if let Some(reserved) = self.reserved.as_mut().filter(|_| self.counts.are_whole()) {
            reserved.counted = Some((attributes, values.clone()));
        }
        Ok(values)
    }
}

impl PaidAccess for PrivateTable<'_> {
    fn sizes(&self) -> &[usize] {
        self.counts.sizes()
    }

    fn total(&self) -> Rho {
        self.accountant.total()
    }

    fn remaining(&self) -> Option<Rho> {
        self.accountant.remaining()
    }

    fn reserved(
        &mut self,
        what: &str,
        rho: Rho,
        measure: &mut dyn FnMut(&mut dyn PaidAccess) -> Result<()>,
    ) -> Result<()> {
        if self.reserved.is_some() {
            return Err(Error::bug("reservation", "no reservation within a reservation", what));
        }
        self.accountant.spend(what, rho)?;
        self.reserved = Some(Reserved { total: rho, left: rho.get(), counted: None });
        let outcome = measure(self);
        self.reserved = None;
        outcome
    }

    fn measure(&mut self, question: &Question<'_>, stream: NoiseStream) -> Result<Vec<f64>> {
        self.pay(&question.to_string(), question.cost(self.counts.sizes())?)?;
        let attributes = question.attributes();
        let mut values = self.count(attributes)?;
        let deviation = match *question {
            Question::Marginal { variance, .. } | Question::Residual { variance, .. } => {
                variance.sqrt()
            }
            Question::Strategy { strategy, privacy_cost, .. } => {
                values = strategy.answers(&values)?;
                privacy_cost.get().sqrt().recip()
            }
        };
        self.noise.add_gaussian(&mut values, deviation, stream, attributes.bits())?;
        if let Question::Residual { .. } = question {
            centre_box(&attributes.select(self.counts.sizes()), &mut values);
        }
        Ok(values)
    }

    fn select(
        &mut self,
        selection: &CandidateSelection,
        candidates: &Candidates,
        estimates: &dyn MarginalEstimates,
    ) -> Result<usize> {
        candidates.check(self.counts.sizes())?;
        self.pay("selection", selection.cost()?)?;
        self.selector.select(
            self.counts.as_ref(),
            &mut self.noise,
            selection,
            candidates,
            estimates,
        )
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::access::{Candidate, Question};
    use crate::estimation::ResidualEstimates;
    use crate::schema::Schema;
    use crate::test_support::{rho, rng};

    /// After the same questions, tables with different records, numbers of records and noise have
    /// the same debug output.
    #[test]
    fn debug_output_shows_what_was_paid_and_no_data() {
        let schema = Schema::uniform(4, 3).unwrap();
        let attributes = AttributeSet::first(2);
        let shown = |count, seed| {
            let mut rng = rng(seed);
            let records = Records::uniform(&schema, count, &mut rng).unwrap();
            let mut table = PrivateTable::of_records(&records, rho(0.5), &mut rng).unwrap();
            table
                .measure(&Question::Marginal { attributes, variance: 4.0 }, NoiseStream::Shared)
                .unwrap();
            let candidates = [attributes, AttributeSet::first(1)].map(|attributes| {
                let cells = attributes.select(&schema.sizes()).iter().product();
                Candidate { attributes, cells, weight: 1.0 }
            });
            let selection = CandidateSelection { epsilon: 0.1, penalty_per_cell: 0.0 };
            let estimates = ResidualEstimates::new(&schema);
            table.select(&selection, &Candidates::new(candidates.to_vec()), &estimates).unwrap();
            format!("{table:?}")
        };
        let output = shown(1, 1);
        assert!(output.starts_with("PrivateTable { sizes: [4, 4, 4], accountant: "), "{output}");
        assert!(
            output.contains("measurement of the marginal on [0, 1]")
                && output.ends_with("reserved: None, .. }"),
            "{output}"
        );
        assert_eq!(output, shown(300, 2));
        let cells = [7.25; 64];
        let mut rng = rng(3);
        let vector = PrivateTable::of_vector(&[64], &cells, rho(0.5), &mut rng).unwrap();
        assert!(!format!("{vector:?}").contains("7.25"));
    }
}
