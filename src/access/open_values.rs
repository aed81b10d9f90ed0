//! Values of a private column that enough records have.

use num_bigint::BigUint;

use super::release_noise::ReleaseNoise;
use crate::data::ValueCounts;
use crate::error::{Error, Result};
use crate::privacy::{ExactRho, Neighbours, NewValues, PrivacyUnit, RationalDeviation, Rho};

/// A question for the values whose noisy count reaches a threshold.
///
/// The noisy count of a value with count c is 2^bits c + Z, with discrete Gaussian noise Z. Values
/// without a record are not shown. The privacy is that of [`NewValues`]: δ′-approximate ρ-zCDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenValuesQuestion {
    /// The binary logarithm of what one record adds to a count.
    pub bits: u32,
    /// The standard deviation of the noise.
    pub deviation: RationalDeviation,
    /// The smallest noisy count that is shown.
    pub threshold: i128,
}

/// Maximum of [`OpenValuesQuestion::bits`]: counts below 2³² stay far below 128 bits.
const MAX_BITS: u32 = 60;

impl OpenValuesQuestion {
    /// Returns the question of at most ρ and δ′ with the smallest noise.
    ///
    /// # Errors
    /// ρ is too small or too large, or δ′ is not below 1/2.
    pub fn of(rho: Rho, new_delta: f64, unit: PrivacyUnit) -> Result<Self> {
        // The margin covers the rounding of σ.
        let sigma = f64::from(unit.rows)
            * (changed_cells(unit) as f64 / (2.0 * rho.get())).sqrt()
            * (1.0 + 1e-12);
        // Fine noise has a deviation of at least 2^16.
        let bits = (17.0 - sigma.log2().floor()).clamp(0.0, f64::from(MAX_BITS)) as u32;
        let deviation = RationalDeviation::rounded_up(sigma * f64::from(bits).exp2())?;
        let values = NewValues { scale: 1 << bits, deviation, rows: unit.rows };
        Ok(OpenValuesQuestion { bits, deviation, threshold: values.threshold(new_delta)? })
    }

    /// Returns the privacy cost ρ = K²Δ²/(2σ²), rounded up.
    ///
    /// Δ² is 2^(2 bits) if records are added or removed. A replaced record leaves one value and gets
    /// another: twice that.
    ///
    /// # Errors
    /// σ = 0.
    pub fn cost(&self, unit: PrivacyUnit) -> Result<ExactRho> {
        let square = BigUint::from(changed_cells(unit)) << (2 * self.bits);
        Ok(ExactRho::of_discrete_gaussian(&square, self.deviation, unit.rows)?)
    }

    /// Returns the values whose noisy count reaches the threshold, with it, in the order of their
    /// bytes.
    ///
    /// # Errors
    /// The question costs more than ρ or δ′: then no count is read. No random numbers from the
    /// operating system.
    pub fn answer(
        &self,
        counts: &ValueCounts,
        (rho, new_delta): (Rho, f64),
        unit: PrivacyUnit,
        noise: &mut ReleaseNoise,
    ) -> Result<Vec<(String, i128)>> {
        let is_paid = ExactRho::of_rounded_down(rho).minus(&self.cost(unit)?).is_some();
        let known = self.bits <= MAX_BITS && self.deviation.is_fine();
        let values = NewValues {
            scale: 1 << self.bits.min(MAX_BITS),
            deviation: self.deviation,
            rows: unit.rows,
        };
        let is_sure = values.ln_probability_rounded_up(self.threshold) <= new_delta.ln();
        if !(is_paid && known && is_sure) {
            let expected = format!("at most {rho} and a delta of {new_delta:e}");
            return Err(Error::bug("question for values", expected, format!("{self:?}")));
        }
        let mut noisy: Vec<i128> =
            counts.iter().map(|(_, count)| i128::from(count) << self.bits).collect();
        noise.add(&mut noisy, self.deviation)?;
        let shown = counts.iter().zip(noisy).filter(|(_, noisy)| *noisy >= self.threshold);
        Ok(shown.map(|((text, _), noisy)| (text.to_owned(), noisy)).collect())
    }
}

/// Returns the number of counts that one record changes by one.
fn changed_cells(unit: PrivacyUnit) -> u32 {
    match unit.neighbours {
        Neighbours::AddOrRemoveOneRecord => 1,
        Neighbours::ReplaceOneRecord | Neighbours::ReplaceAddOrRemoveOneRecord => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;
    use crate::test_support::{open_csv, rho};

    fn counts(lines: &str) -> ValueCounts {
        let schema = "[[attribute]]\nname = \"job\"\nkind = \"categorical\"\nvalues = [\"x\"]\n";
        let schema = Schema::from_toml(schema, "S.toml").unwrap();
        let text = format!("id,job\n{lines}");
        open_csv(text.as_bytes(), &schema, None).unwrap().count_private_values(&["other"]).unwrap()
    }

    fn unit(rows: u32, neighbours: Neighbours) -> PrivacyUnit {
        PrivacyUnit { neighbours, rows, distinct: None }
    }

    const ADD: Neighbours = Neighbours::AddOrRemoveOneRecord;

    /// One person has values that nobody else has: any of them is shown with probability at most δ′.
    /// It is shown sometimes, so the test can fail.
    #[test]
    fn values_of_one_person_are_shown_with_probability_at_most_delta() {
        const TRIALS: u64 = 20_000;
        let delta = 0.05;
        // Three standard deviations of the number of trials that show a value.
        let most = (TRIALS as f64 * delta + 3.0 * (TRIALS as f64 * delta).sqrt()) as u64;
        for (lines, rows, neighbours, fewest) in [
            ("p,secret\n", 1, ADD, 900),
            ("p,secret\n", 1, Neighbours::ReplaceOneRecord, 900),
            ("p,secret\np,secret\np,secret\n", 3, ADD, 1),
            ("p,s1\np,s2\np,s3\n", 3, ADD, 1),
            ("p,s1\np,s1\np,s2\n", 3, ADD, 1),
            // Case, spaces within and line ends make other values.
            ("p,Baker\np,\"ba\rker\"\np,ba ker\n", 3, ADD, 1),
        ] {
            let unit = unit(rows, neighbours);
            let question = OpenValuesQuestion::of(rho(2.0), delta, unit).unwrap();
            let others: String = (0..400).map(|k| format!("{k},baker\n")).collect();
            let (table, known) = (counts(&format!("{others}{lines}")), counts(&others));
            let mut noise = ReleaseNoise::of_counter(1);
            let mut shown = 0;
            for _ in 0..TRIALS {
                let answer = question.answer(&table, (rho(2.0), delta), unit, &mut noise).unwrap();
                shown += u64::from(answer.iter().any(|(text, _)| text != "baker"));
                assert!(answer.iter().any(|(text, _)| text == "baker"));
            }
            assert!((fewest..=most).contains(&shown), "{lines}: {shown} of {TRIALS}");
            let answer = question.answer(&known, (rho(2.0), delta), unit, &mut noise).unwrap();
            assert_eq!(answer.len(), 1);
        }
    }

    /// The bound is attained by one value of all records, or by as many values as records: one of
    /// the two cases above shows its values with a probability near δ′.
    #[test]
    fn the_threshold_is_no_larger_than_needed() {
        let unit = unit(3, ADD);
        let question = OpenValuesQuestion::of(rho(2.0), 0.05, unit).unwrap();
        let values =
            NewValues { scale: 1 << question.bits, deviation: question.deviation, rows: 3 };
        let ln = values.ln_probability_rounded_up(question.threshold);
        assert!(ln <= 0.05f64.ln() && ln > 0.0499f64.ln());
    }

    /// What costs more than was reserved is not answered, and cost is close to what is asked for.
    #[test]
    fn questions_are_paid_with_both_amounts() {
        let table = counts("1,a\n2,a\n");
        for (rows, neighbours) in [(1, ADD), (4, ADD), (3, Neighbours::ReplaceAddOrRemoveOneRecord)]
        {
            let unit = unit(rows, neighbours);
            for asked in [1e-6, 0.3, 50.0] {
                let question = OpenValuesQuestion::of(rho(asked), 1e-9, unit).unwrap();
                let cost = question.cost(unit).unwrap().to_f64_rounded_up();
                assert!(cost <= asked && cost > asked * (1.0 - 2e-7), "{cost} {asked}");
                let mut noise = ReleaseNoise::of_counter(3);
                let mut answer = |rho, delta, unit, question: OpenValuesQuestion| {
                    question.answer(&table, (rho, delta), unit, &mut noise)
                };
                assert!(answer(rho(asked), 1e-9, unit, question).is_ok());
                assert!(answer(rho(asked * 0.99), 1e-9, unit, question).is_err());
                assert!(answer(rho(asked), 0.99e-9, unit, question).is_err());
                let more = PrivacyUnit { rows: rows + 1, ..unit };
                assert!(answer(rho(asked), 1e-9, more, question).is_err());
                let lower = OpenValuesQuestion { threshold: question.threshold - 9, ..question };
                assert!(answer(rho(asked), 1e-9, unit, lower).is_err());
            }
        }
    }

    /// The order is that of bytes, and the noise is that of the sorted values.
    #[test]
    fn the_order_of_records_does_not_matter() {
        let unit = unit(1, ADD);
        let question = OpenValuesQuestion::of(rho(1.0), 1e-3, unit).unwrap();
        let lines: Vec<String> =
            (0..400).map(|k| format!("{k},{}\n", ["é", "b", "a b", "Z"][k % 4])).collect();
        let answer = |lines: String| {
            let mut noise = ReleaseNoise::of_counter(7);
            question.answer(&counts(&lines), (rho(1.0), 1e-3), unit, &mut noise).unwrap()
        };
        let shown = answer(lines.concat());
        let reversed: String = lines.iter().rev().map(String::as_str).collect();
        assert_eq!(shown, answer(reversed));
        let texts: Vec<&str> = shown.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(texts, ["Z", "a b", "b", "é"]);
    }
}
