//! Distances of private marginals to public numbers, in integers.

use num_bigint::BigUint;

use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::privacy::{ExactRho, Neighbours, PrivacyUnit, RationalDeviation};

/// Maximum number of bits after the binary point.
const MAX_BITS: u32 = 60;

/// A question for the distances of marginals to public numbers, and for their sum.
///
/// The answers are `E_g + N(0, σ²)` for every marginal, and `Σ_g E_g + N(0, σ_Σ²)`, with discrete
/// Gaussian noise and
///
/// ```text
/// E_g = Σ_cells |2^bits x_g − t_g|,      an integer
/// ```
///
/// A record that is added or removed changes one cell of every marginal, so it changes E_g by at
/// most 2^bits; a record that is replaced, by at most twice that.
#[derive(Debug, Clone, Copy)]
pub struct DistanceQuestion<'a> {
    /// The marginals with the numbers t_g, row-major.
    pub marginals: &'a [(AttributeSet, Vec<i64>)],
    /// The number of bits after the binary point of t_g.
    pub bits: u32,
    /// The standard deviation σ of the noise of every distance.
    pub each: RationalDeviation,
    /// The standard deviation σ_Σ of the noise of the sum.
    pub sum: RationalDeviation,
}

impl DistanceQuestion<'_> {
    /// Returns the privacy cost ρ = k²m Δ²/(2σ²) + k²(mΔ)²/(2σ_Σ²), rounded up.
    ///
    /// m is the number of marginals and Δ the sensitivity of one distance.
    ///
    /// # Errors
    /// A deviation of 0.
    pub fn cost(&self, unit: PrivacyUnit) -> Result<ExactRho> {
        let marginals = BigUint::from(self.marginals.len());
        let square = sensitivity(self.bits, unit.neighbours).pow(2) * &marginals;
        let each = ExactRho::of_discrete_gaussian(&square, self.each, unit.rows)?;
        let square_of_sum = square * marginals;
        let sum = ExactRho::of_discrete_gaussian(&square_of_sum, self.sum, unit.rows)?;
        Ok(each.plus(&sum))
    }

    /// Checks the numbers against the sizes of a table.
    ///
    /// # Errors
    /// Attributes that the table lacks, other numbers of cells, or too many bits.
    pub(super) fn check(&self, sizes: &[usize]) -> Result<()> {
        let fits = |(set, targets): &(AttributeSet, Vec<i64>)| {
            set.end() <= sizes.len() && set.select(sizes).iter().product::<usize>() == targets.len()
        };
        if self.bits <= MAX_BITS && self.marginals.iter().all(fits) {
            return Ok(());
        }
        let expected = format!("a number per cell, of at most {MAX_BITS} bits");
        Err(Error::bug("question for distances", expected, "others"))
    }

    /// Returns `Σ_cells |2^bits x − t|`, exactly.
    pub(super) fn distance(&self, counts: &[f64], targets: &[i64]) -> i128 {
        // Counts of at most 2³² − 1 records are integers, exact as doubles.
        let cell = |(count, target): (&f64, &i64)| {
            ((i128::from(*count as u32) << self.bits) - i128::from(*target)).abs()
        };
        counts.iter().zip(targets).map(cell).sum()
    }
}

/// Returns the largest change of one distance between neighbouring tables.
fn sensitivity(bits: u32, neighbours: Neighbours) -> BigUint {
    let cells: u32 = match neighbours {
        Neighbours::AddOrRemoveOneRecord => 1,
        // A replaced record leaves one cell and enters another.
        _ => 2,
    };
    BigUint::from(cells) << bits
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::access::ReleaseNoise;
    use crate::access::ReleaseTable;
    use crate::data::{Column, Records};
    use crate::test_support::{rho, schema, set};

    /// Distances without their noise are those of the definition, and the cost is paid first.
    #[test]
    fn distances_are_exact_and_paid_first() {
        let schema = schema(&[3, 2]);
        let columns = vec![Column::from_iter([0, 1, 1]), Column::from_iter([0, 0, 1])];
        let records = Records::new(&schema, columns).unwrap();
        let empty = Records::new(&schema, vec![Column::default(); 2]).unwrap();
        // x = (1, 2, 0) and (1, 0; 1, 1; 0, 0), in quarters.
        let marginals =
            [(set(&[0]), vec![5, 7, -2]), (set(&[0, 1]), vec![4, 1, 0, 4, 4, i64::MAX >> 1])];
        let [each, sum] = [8u128, 12].map(|s| RationalDeviation::new(s << 16, 1).unwrap());
        let question = DistanceQuestion { marginals: &marginals, bits: 2, each, sum };
        let unit = PrivacyUnit::default();
        let answer = |records: &Records, total, unit| {
            let noise = ReleaseNoise::of_counter(5);
            let mut table = ReleaseTable::open(records, rho(total), unit, noise);
            table.distances(&question)
        };
        let (with, without) = (answer(&records, 1.0, unit), answer(&empty, 1.0, unit));
        let ((with, sum), (without, sum_without)) = (with.unwrap(), without.unwrap());
        let large = i128::from(i64::MAX >> 1);
        // |4 − 5| + |8 − 7| + |0 + 2|, and |4 − 4| + 1 + |4 − 0| + |4 − 4| + 4 + large.
        let change = [4 - (5 + 7 + 2), (9 + large) - (13 + large)];
        assert_eq!([with[0] - without[0], with[1] - without[1]], change);
        assert_eq!(sum - sum_without, change[0] + change[1]);
        // 2 · 16/(2 · 8² · 2³²) + 4 · 16/(2 · 12² · 2³²), times four for replaced records and
        // nine for three records.
        let expected = (0.25 + 0.2222222222222222) / 2f64.powi(32);
        let cost = |neighbours, rows| {
            let unit = PrivacyUnit { neighbours, rows, distinct: None };
            question.cost(unit).unwrap().to_f64_rounded_up() / expected
        };
        approx::assert_relative_eq!(cost(Neighbours::AddOrRemoveOneRecord, 1), 1.0);
        approx::assert_relative_eq!(cost(Neighbours::ReplaceOneRecord, 1), 4.0);
        approx::assert_relative_eq!(cost(Neighbours::ReplaceAddOrRemoveOneRecord, 3), 36.0);
        let refused = answer(&records, expected * 0.999, unit).unwrap_err();
        assert!(matches!(refused, Error::BudgetExhausted { .. }), "{refused}");
        assert!(answer(&records, expected * 1.001, unit).is_ok());
    }

    /// No neighbour changes a distance by more than the sensitivity; some attain it.
    #[test]
    fn no_neighbour_exceeds_the_sensitivity() {
        let marginals = [(set(&[0]), vec![50, -7, 0])];
        let deviation = RationalDeviation::new(1 << 16, 1).unwrap();
        let question =
            DistanceQuestion { marginals: &marginals, bits: 3, each: deviation, sum: deviation };
        let distance = |x: [i32; 3]| question.distance(&x.map(f64::from), &marginals[0].1);
        let (mut added, mut replaced) = (0, 0);
        for k in 0..27 {
            let x = [k / 9, k / 3 % 3, k % 3];
            for a in 0..3 {
                let mut with = x;
                with[a] += 1;
                added = added.max((distance(with) - distance(x)).abs());
                for b in 0..3 {
                    let mut other = x;
                    other[b] += 1;
                    replaced = replaced.max((distance(with) - distance(other)).abs());
                }
            }
        }
        assert_eq!((added, replaced), (8, 16));
    }
}
