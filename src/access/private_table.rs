//! Private data behind an accountant.

use rand::Rng;

use super::PaidAccess;
use super::candidates::Candidates;
use super::counts::{CountedRecords, Counts, DataVector, Zeros};
use super::question::Question;
use super::selection::{Selection, Selector};
use crate::data::Records;
use crate::error::{Error, Result};
use crate::estimation::MarginalEstimates;
use crate::privacy::{NoiseStream, Rho, SeededNoise, ZcdpAccountant};
use crate::residual::centre_box;

/// Measurements may exceed what was reserved for them by this share: the rounding of a sum of their costs.
const ROUNDING: f64 = 1e-9;

/// Private data that can be asked only what the accountant pays for. The seeded noise makes its answers repeatable and so
/// **not private**.
pub struct PrivateTable<'a> {
    counts: Box<dyn Counts + 'a>,
    accountant: ZcdpAccountant,
    reserved: Option<Reserved>,
    noise: SeededNoise<'a>,
    selector: Selector,
}

/// What was paid for measurements to come.
struct Reserved {
    total: Rho,
    left: f64,
}

impl<'a> PrivateTable<'a> {
    /// Opens records for a total of ρ-zCDP; the noise is seeded from `rng`.
    ///
    /// # Errors
    /// No record, or more of them than 32 bits count.
    pub fn of_records(records: &'a Records, rho: Rho, rng: &'a mut dyn Rng) -> Result<Self> {
        Ok(Self::new(Box::new(CountedRecords::new(records)?), rho, rng))
    }

    /// Opens the counts of all cells of a domain for a total of ρ-zCDP.
    ///
    /// # Errors
    /// A vector of another length than the cells of the shape, or with entries that are not finite.
    pub fn of_vector(shape: &[usize], cells: &'a [f64], rho: Rho, rng: &'a mut dyn Rng) -> Result<Self> {
        Ok(Self::new(Box::new(DataVector::new(shape, cells)?), rho, rng))
    }

    /// A table of zeros over attributes of these sizes. A mechanism that only measures adds the same noise to every table, so
    /// what it answers here are its errors: for experiments, which save the counting.
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

    /// What was paid, and for what.
    pub fn accountant(&self) -> &ZcdpAccountant {
        &self.accountant
    }

    /// How often a candidate's marginal was compared with its estimate, over all selections.
    pub fn looks(&self) -> usize {
        self.selector.looks()
    }

    /// Pays from the reservation if there is one, else from the budget.
    fn pay(&mut self, what: &str, cost: Rho) -> Result<()> {
        let Some(reserved) = &mut self.reserved else { return self.accountant.spend(what, cost) };
        let left = reserved.left - cost.get();
        if left < -ROUNDING * reserved.total.get() {
            let (left, total) = (reserved.left, reserved.total);
            return Err(Error::BudgetExhausted { what: what.to_owned(), asked: cost, left, total });
        }
        reserved.left = left.max(0.0);
        Ok(())
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
            return Err(Error::bug("reservation", "no reservation inside another one", what));
        }
        self.accountant.spend(what, rho)?;
        self.reserved = Some(Reserved { total: rho, left: rho.get() });
        let outcome = measure(self);
        self.reserved = None;
        outcome
    }

    fn measure(&mut self, question: &Question<'_>, stream: NoiseStream) -> Result<Vec<f64>> {
        self.pay(&question.to_string(), question.cost(self.counts.sizes())?)?;
        let attributes = question.attributes();
        let mut values = Vec::new();
        self.counts.count_into(attributes, &mut values)?;
        let deviation = match *question {
            Question::Marginal { variance, .. } | Question::Residual { variance, .. } => variance.sqrt(),
            Question::Strategy { strategy, privacy_cost, .. } => {
                values = strategy.answers(&values)?;
                privacy_cost.get().sqrt().recip()
            }
        };
        self.noise.add_gaussian(&mut values, deviation, stream, attributes.bits())?;
        if let Question::Residual { .. } = question {
            centre_box(&attributes.items(self.counts.sizes()), &mut values);
        }
        Ok(values)
    }

    fn select(
        &mut self,
        selection: &Selection,
        candidates: &Candidates,
        estimates: &dyn MarginalEstimates,
    ) -> Result<usize> {
        self.pay("selection", selection.cost()?)?;
        self.selector.select(self.counts.as_ref(), &mut self.noise, selection, candidates, estimates)
    }
}
