//! Private records for a release: integer questions, exact costs, random numbers of the system.

use std::fmt;

use super::count_source::CountSource;
use super::distance::DistanceQuestion;
use crate::access::ReleaseNoise;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::privacy::{ExactRho, Neighbours, PrivacyUnit, RationalDeviation, Rho};
use crate::schema::CellBox;
use crate::strategy::{IntegerStrategy, JointCost, JointSensitivity};

/// A question for `B x_A` in integers, with discrete Gaussian noise.
#[derive(Debug, Clone, Copy)]
pub struct IntegerQuestion<'a> {
    /// The attributes A of the marginal x_A.
    pub attributes: AttributeSet,
    /// The integer strategy matrix B.
    pub strategy: &'a IntegerStrategy,
    /// The standard deviation σ of the noise, a rational number.
    pub deviation: RationalDeviation,
}

impl IntegerQuestion<'_> {
    /// Returns the privacy cost of this question alone, from the integers, rounded up.
    ///
    /// It is ρ = k²Δ²/(2σ²), or less if the records of a person have different values.
    ///
    /// # Errors
    /// σ = 0 for answers that differ between neighbours.
    pub fn cost(&self, unit: PrivacyUnit) -> Result<ExactRho> {
        if unit.distinct.is_some() {
            return Ok(Self::joint_cost(&[*self], unit)?.rho);
        }
        let sensitivity = self.strategy.squared_sensitivity(unit.neighbours);
        Ok(ExactRho::of_discrete_gaussian(&sensitivity.value, self.deviation, unit.rows)?)
    }

    /// Returns the privacy cost of several questions, from the maximum joint change between
    /// neighbours.
    ///
    /// # Errors
    /// As [`IntegerQuestion::cost`].
    pub fn joint_cost(questions: &[Self], unit: PrivacyUnit) -> Result<JointCost> {
        let strategies = questions.iter().map(|question| (question.attributes, question.strategy));
        let deviations: Vec<RationalDeviation> =
            questions.iter().map(|question| question.deviation).collect();
        JointSensitivity::of(strategies, unit).cost(&deviations)
    }
}

/// Private records for a release.
///
/// The table is opened with a ρ that is recorded as spent. Questions are paid from it before a
/// record is counted; unpaid questions are not answered.
pub struct ReleaseTable<'a> {
    records: &'a dyn CountSource,
    unit: PrivacyUnit,
    total: ExactRho,
    spent: ExactRho,
    noise: ReleaseNoise,
}

/// Shows public values only: the sizes of the attributes and the privacy unit.
impl fmt::Debug for ReleaseTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReleaseTable")
            .field("sizes", &self.records.sizes())
            .field("unit", &self.unit)
            .finish_non_exhaustive()
    }
}

impl<'a> ReleaseTable<'a> {
    /// Opens records for a total of ρ-zCDP for the given unit.
    pub fn open(
        records: &'a dyn CountSource,
        total: Rho,
        unit: PrivacyUnit,
        noise: ReleaseNoise,
    ) -> Self {
        let (total, spent) = (ExactRho::of_rounded_down(total), ExactRho::zero());
        ReleaseTable { records, unit, total, spent, noise }
    }

    /// Returns the privacy cost paid so far.
    pub fn spent(&self) -> &ExactRho {
        &self.spent
    }

    /// Returns the noisy answers to questions that are paid for together.
    ///
    /// # Errors
    /// [`Error::BudgetExhausted`]: they cost more than the remaining budget; no count was read.
    /// Coarse noise, for which (ε, δ) would not hold; attributes that the table lacks; no random
    /// numbers from the operating system.
    pub fn answer(&mut self, questions: &[IntegerQuestion<'_>]) -> Result<Vec<Vec<i128>>> {
        let sizes = self.records.sizes();
        for question in questions {
            let attributes = question.attributes;
            if attributes.end() > sizes.len()
                || attributes.select(sizes) != question.strategy.shape()
            {
                let expected = format!("a strategy over attributes {attributes:?}");
                let found = format!("a strategy of shape {:?}", question.strategy.shape());
                return Err(Error::bug("integer question", expected, found));
            }
        }
        check_fine(questions.iter().map(|question| question.deviation))?;
        let cost = IntegerQuestion::joint_cost(questions, self.unit)?.rho;
        self.pay(&cost, || format!("integer answers to {} questions", questions.len()))?;
        let sets: Vec<AttributeSet> = questions.iter().map(|q| q.attributes).collect();
        let mut remaining = questions.iter();
        let mut answers = Vec::with_capacity(questions.len());
        self.records.count_each(&sets, &mut |counts| {
            if let Some(question) = remaining.next() {
                // Counts of at most 2³² − 1 records are integers, exact as doubles.
                let counts: Vec<u32> = counts.iter().map(|count| *count as u32).collect();
                let mut noisy = question.strategy.answers(&counts)?;
                self.noise.add(&mut noisy, question.deviation)?;
                answers.push(noisy);
            }
            Ok(())
        })?;
        Ok(answers)
    }

    /// Returns the noisy distances of marginals to public numbers, and their noisy sum.
    ///
    /// # Errors
    /// As [`ReleaseTable::answer`].
    pub fn distances(&mut self, question: &DistanceQuestion<'_>) -> Result<(Vec<i128>, i128)> {
        question.check(self.records.sizes())?;
        check_fine([question.each, question.sum].into_iter())?;
        let cost = question.cost(self.unit)?;
        self.pay(&cost, || format!("distances of {} marginals", question.marginals.len()))?;
        let sets: Vec<AttributeSet> = question.marginals.iter().map(|(set, _)| *set).collect();
        let mut targets = question.marginals.iter().map(|(_, targets)| targets);
        let mut distances = Vec::with_capacity(question.marginals.len());
        self.records.count_each(&sets, &mut |counts| {
            distances.extend(targets.next().map(|targets| question.distance(counts, targets)));
            Ok(())
        })?;
        let mut sum = [distances.iter().sum()];
        self.noise.add(&mut distances, question.each)?;
        self.noise.add(&mut sum, question.sum)?;
        Ok((distances, sum[0]))
    }

    /// Returns counts that the schema declares public, without noise and at no cost.
    ///
    /// They are outside the guarantee: neighbouring tables have equal public counts. So neighbours
    /// replace records; adding a record to the cells of a count would change it.
    ///
    /// # Errors
    /// A unit whose neighbours add or remove records only; attributes that the table lacks.
    pub fn public_counts(&self, boxes: &[CellBox]) -> Result<Vec<u64>> {
        if !boxes.is_empty() && self.unit.neighbours == Neighbours::AddOrRemoveOneRecord {
            let expected = "neighbours with equal public counts";
            return Err(Error::bug("public counts", expected, self.unit.to_string()));
        }
        let sizes = self.records.sizes();
        let sets: Vec<AttributeSet> = boxes.iter().map(CellBox::attributes).collect();
        let mut counts = Vec::with_capacity(boxes.len());
        let mut remaining = boxes.iter();
        self.records.count_each(&sets, &mut |marginal| {
            if let Some(cells) = remaining.next() {
                let in_box = cells.cells(cells.attributes(), &cells.attributes().select(sizes));
                let counted = in_box.iter().zip(marginal).filter(|(in_box, _)| **in_box);
                // Sums of at most 2³² − 1 records are exact as doubles.
                counts.push(counted.map(|(_, count)| count).sum::<f64>() as u64);
            }
            Ok(())
        })?;
        Ok(counts)
    }

    /// Returns the rest of the total.
    fn left(&self) -> ExactRho {
        self.total.minus(&self.spent).unwrap_or_default()
    }

    /// Pays a cost, or refuses it.
    fn pay(&mut self, cost: &ExactRho, what: impl FnOnce() -> String) -> Result<()> {
        let spent = self.spent.plus(cost);
        if self.total.minus(&spent).is_none() {
            return Err(Error::BudgetExhausted {
                what: what(),
                asked: cost.rounded_up()?.get(),
                left: self.left().to_f64_rounded_up(),
                total: self.total.rounded_up()?.get(),
            });
        }
        self.spent = spent;
        Ok(())
    }
}

/// Refuses coarse noise.
fn check_fine(mut deviations: impl Iterator<Item = RationalDeviation>) -> Result<()> {
    let is_coarse = |deviation: &RationalDeviation| {
        *deviation != RationalDeviation::ZERO && !deviation.is_fine()
    };
    match deviations.find(is_coarse) {
        None => Ok(()),
        Some(deviation) => Err(Error::bug(
            "integer question",
            "noise of standard deviation at least 2^16",
            deviation.to_string(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::{Column, Records};

    use crate::strategy::IntegerFactor;
    use crate::test_support::{rho, schema};

    #[test]
    fn questions_are_paid_before_they_are_answered() {
        let schema = schema(&[3, 2]);
        let columns = vec![Column::from_iter([0, 1, 1]), Column::from_iter([0, 0, 1])];
        let records = Records::new(&schema, columns).unwrap();
        let factors = [IntegerFactor::scalar(1 << 16), IntegerFactor::centred_identity(3)];
        let strategy =
            IntegerStrategy::new(factors.map(|factor| Arc::new(factor.unwrap())).to_vec()).unwrap();
        let attributes = AttributeSet::single(0);
        let deviation = RationalDeviation::new(2 << 16, 1).unwrap();
        let question = IntegerQuestion { attributes, strategy: &strategy, deviation };
        // Δ² = 6 · 2³², σ² = 4 · 2³².
        let unit = PrivacyUnit::default();
        assert_eq!(question.cost(unit).unwrap().rounded_up().unwrap().get(), 0.75);
        let open =
            |total| ReleaseTable::open(&records, rho(total), unit, ReleaseNoise::of_counter(1));
        let mut table = open(1.0);
        assert_eq!(table.answer(&[question]).unwrap()[0].len(), 3);
        let refused = table.answer(&[question]).unwrap_err();
        assert!(matches!(refused, Error::BudgetExhausted { left: 0.25, .. }), "{refused}");
        assert_eq!(table.spent().rounded_up().unwrap().get(), 0.75);
        assert!(
            open(0.75).answer(&[question]).is_ok()
                && open(0.75f64.next_down()).answer(&[question]).is_err()
        );
        assert!(
            open(1.5).answer(&[question; 2]).is_ok() && open(1.4).answer(&[question; 2]).is_err()
        );
        let wrong = IntegerQuestion { attributes: AttributeSet::single(1), ..question };
        assert!(open(1.0).answer(&[wrong]).is_err());
        // Answers minus their noise are B x.
        let zeros = Records::new(&schema, vec![Column::default(); 2]).unwrap();
        let mut empty = ReleaseTable::open(&zeros, rho(1.0), unit, ReleaseNoise::of_counter(1));
        let (with, without) =
            (open(1.0).answer(&[question]).unwrap(), empty.answer(&[question]).unwrap());
        let exact: Vec<i128> = with[0].iter().zip(&without[0]).map(|(a, b)| a - b).collect();
        assert_eq!(exact, [0, 3 << 16, -3 << 16]);
        let coarse =
            IntegerQuestion { deviation: RationalDeviation::new(1 << 15, 1).unwrap(), ..question };
        assert!(open(1e9).answer(&[coarse]).unwrap_err().to_string().contains("2^16"));
        assert_eq!(format!("{empty:?}"), format!("{:?}", open(1.0)));
    }
}
