//! The integer strategy of one residual subspace, with exact answers and sensitivity.

use std::sync::Arc;

use num_bigint::{BigInt, BigUint};
use num_traits::ToPrimitive;

use super::IntegerFactor;
use crate::error::{Error, Result};
use crate::privacy::Neighbours;

/// Maximum number of records of a table; counts have 32 bits.
const MAX_RECORDS: u64 = u32::MAX as u64;

/// Answers and noise are below 2 to this power, so that no sum of them exceeds 128 bits.
const ANSWER_BITS: u64 = 124;

/// The Kronecker product of integer factors over neighbouring axes.
///
/// It has no factor for ∅, where the number of records is measured.
#[derive(Debug, Clone)]
pub struct IntegerStrategy {
    factors: Vec<Arc<IntegerFactor>>,
}

/// A squared L2 sensitivity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SquaredSensitivity {
    /// The squared sensitivity.
    pub value: BigUint,
    /// Whether the value is attained; otherwise it is an upper bound.
    pub exact: bool,
}

impl IntegerStrategy {
    /// Creates a product of factors.
    ///
    /// # Errors
    /// Answers could exceed 124 bits on a table of 2³² − 1 records.
    pub fn new(factors: Vec<Arc<IntegerFactor>>) -> Result<Self> {
        let bound =
            factors.iter().fold(BigUint::from(MAX_RECORDS), |bound, factor| bound * factor.bound());
        if bound.bits() > ANSWER_BITS {
            let strategy = IntegerStrategy { factors };
            return Err(Error::too_large(
                format!("integer answers of a strategy over {:?}", strategy.shape()),
                "bits",
                ANSWER_BITS as f64,
                bound.bits() as f64,
                "use a uniform reference measure (--planner query-smasher), or ask for queries on \
                 fewer attributes",
            ));
        }
        Ok(IntegerStrategy { factors })
    }

    /// Returns the factors.
    pub fn factors(&self) -> &[Arc<IntegerFactor>] {
        &self.factors
    }

    /// Returns the sizes of the attributes.
    pub fn shape(&self) -> Vec<usize> {
        self.factors.iter().flat_map(|factor| factor.shape().iter().copied()).collect()
    }

    /// Returns the number of answers.
    pub fn rows(&self) -> usize {
        self.factors.iter().map(|factor| factor.row_count()).product()
    }

    /// Returns the largest squared change of the answers between neighbouring tables.
    ///
    /// If one record is added or removed, it is the largest squared column norm, the product over
    /// the factors. If one record is replaced, it is `|u − v|² = |u|² + |v|² − 2u·v` for two
    /// columns, with `u·v = Π u_i·v_i`. This is exact for one factor of at most 512 cells, or if
    /// all columns of every factor have the same norm; otherwise it is a bound from the factors'
    /// extremes. The joint sensitivity of several strategies is less than their sum: see
    /// [`JointSensitivity`](super::JointSensitivity).
    pub fn squared_sensitivity(&self, neighbours: Neighbours) -> SquaredSensitivity {
        match neighbours {
            Neighbours::AddOrRemoveOneRecord => SquaredSensitivity {
                value: self.factors.iter().map(|factor| factor.squared_sensitivity()).product(),
                exact: true,
            },
            Neighbours::ReplaceOneRecord => {
                // A factor over no attributes multiplies all columns alike.
                let (scalars, factors): (Vec<_>, Vec<_>) =
                    self.factors.iter().partition(|factor| factor.is_scalar());
                let square = |factor: &Arc<IntegerFactor>| factor.squared_sensitivity();
                let scale: BigUint = scalars.into_iter().map(square).product();
                let pairs: Vec<_> = factors.iter().map(|factor| factor.column_pairs()).collect();
                if let [only] = pairs.as_slice()
                    && let Some(distance) = &only.max_squared_distance
                {
                    return SquaredSensitivity { value: distance * scale, exact: true };
                }
                let squares = || factors.iter().map(|factor| BigInt::from(square(factor)));
                // The smallest product of numbers from intervals is at a corner of their box.
                let (mut low, mut high) = (BigInt::from(1), BigInt::from(1));
                for (pair, max) in pairs.iter().zip(squares()) {
                    let min = &pair.min_product;
                    let corners = [&low * min, &low * &max, &high * min, &high * &max];
                    low = corners.iter().min().cloned().unwrap_or_default();
                    high = corners.iter().max().cloned().unwrap_or_default();
                }
                let value = (squares().product::<BigInt>() - low) * 2u32;
                let exact = pairs.iter().all(|pair| pair.equal_norms);
                SquaredSensitivity { value: value.magnitude() * scale, exact }
            }
            Neighbours::ReplaceAddOrRemoveOneRecord => {
                let [added, replaced] =
                    [Neighbours::AddOrRemoveOneRecord, Neighbours::ReplaceOneRecord]
                        .map(|neighbours| self.squared_sensitivity(neighbours));
                if replaced.value > added.value { replaced } else { added }
            }
        }
    }

    /// Returns `B x` for the counts of a marginal, exactly. O(cells · Σ rows).
    ///
    /// # Errors
    /// The counts are of another marginal, or their sum exceeds 2³² − 1.
    pub fn answers(&self, counts: &[u32]) -> Result<Vec<i128>> {
        let shape = self.shape();
        let cells: usize = shape.iter().product();
        if counts.len() != cells || counts.iter().map(|c| u64::from(*c)).sum::<u64>() > MAX_RECORDS
        {
            return Err(Error::bug(
                "integer answers",
                format!("counts of {cells} cells"),
                "others",
            ));
        }
        let mut values: Vec<i128> = counts.iter().map(|count| i128::from(*count)).collect();
        let mut inner = cells;
        for factor in &self.factors {
            inner /= factor.cells();
            // The axes before this one are rows already; those after it are still cells.
            values = factor.apply(&values, inner);
        }
        Ok(values)
    }

    /// Returns the L2 sensitivity as a double, rounded up.
    ///
    /// Answers are divided by it for unit privacy cost.
    pub fn scale(&self) -> f64 {
        self.factors.iter().map(|factor| factor.scale()).product()
    }

    /// Returns the squared sensitivity for one added or removed record, rounded to nearest.
    pub fn squared_sensitivity_f64(&self) -> f64 {
        self.squared_sensitivity(Neighbours::AddOrRemoveOneRecord)
            .value
            .to_f64()
            .unwrap_or(f64::INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, arr2};

    use super::*;
    use matmech_linalg::kron_all;

    fn factors() -> Vec<Arc<IntegerFactor>> {
        let rows = arr2(&[[4, -1, 2], [0, 3, 7], [-5, 1, 1]]);
        vec![
            Arc::new(IntegerFactor::centring(&[3], vec![vec![2, 1, 5]], &rows).unwrap()),
            Arc::new(IntegerFactor::centred_identity(4).unwrap()),
            Arc::new(IntegerFactor::centred_identity(2).unwrap()),
        ]
    }

    fn dense(strategy: &IntegerStrategy) -> Array2<f64> {
        let matrices: Vec<Array2<f64>> =
            strategy.factors().iter().map(|f| f.rows().mapv(|x| x as f64)).collect();
        kron_all(matrices.iter().map(|m| m.view()))
    }

    /// Oracle: answers and both sensitivities by brute force over the explicit matrix.
    #[test]
    fn answers_and_sensitivities_are_those_of_the_matrix() {
        let all = factors();
        let joint = Arc::new(
            IntegerFactor::centring(
                &[2, 3],
                vec![vec![1, 1], vec![1, 3, 1]],
                &Array2::from_shape_fn((5, 6), |(i, j)| ((i * 7 + j * j * 3) % 11) as i64 - 4),
            )
            .unwrap(),
        );
        let scalar = Arc::new(IntegerFactor::scalar(3).unwrap());
        let all = [all, vec![joint, scalar]].concat();
        for chosen in [
            vec![0],
            vec![1],
            vec![0, 1],
            vec![1, 2],
            vec![1, 0, 2],
            vec![3],
            vec![3, 1],
            vec![4, 0],
            vec![4, 3],
            vec![4, 0, 1],
            vec![4, 1, 2],
        ] {
            let of = |k: usize| all[k].clone();
            let strategy = IntegerStrategy::new(chosen.iter().map(|&k| of(k)).collect()).unwrap();
            let matrix = dense(&strategy);
            let cells = matrix.ncols();
            let counts: Vec<u32> = (0..cells as u32).map(|c| c * c % 13).collect();
            let expected =
                matrix.dot(&ndarray::Array1::from_iter(counts.iter().map(|c| f64::from(*c))));
            let found: Vec<f64> =
                strategy.answers(&counts).unwrap().iter().map(|x| *x as f64).collect();
            assert_eq!(found, expected.to_vec());
            assert_eq!(found.len(), strategy.rows());
            let add = matrix.columns().into_iter().map(|c| c.dot(&c)).fold(0.0, f64::max);
            let sensitivity = strategy.squared_sensitivity(Neighbours::AddOrRemoveOneRecord);
            assert!(sensitivity.exact && sensitivity.value.to_f64() == Some(add));
            assert!(
                (strategy.scale().powi(2) / add - 1.0).abs() < 1e-13
                    && strategy.scale().powi(2) >= add
            );
            let mut replace: f64 = 0.0;
            for (a, b) in (0..cells).flat_map(|a| (0..a).map(move |b| (a, b))) {
                let difference = &matrix.column(a) - &matrix.column(b);
                replace = replace.max(difference.dot(&difference));
            }
            let sensitivity = strategy.squared_sensitivity(Neighbours::ReplaceOneRecord);
            let value = sensitivity.value.to_f64().unwrap();
            assert!(
                if sensitivity.exact { value == replace } else { value >= replace },
                "{chosen:?}: {sensitivity:?}, {replace}"
            );
            let factors: Vec<usize> = chosen.iter().copied().filter(|&k| k != 4).collect();
            assert_eq!(sensitivity.exact, factors.len() == 1 || factors == [1, 2], "{chosen:?}");
        }
        let total = IntegerStrategy::new(Vec::new()).unwrap();
        assert_eq!(total.answers(&[7]).unwrap(), [7]);
        assert_eq!(
            total.squared_sensitivity(Neighbours::AddOrRemoveOneRecord).value,
            BigUint::from(1u32)
        );
        assert_eq!(total.squared_sensitivity(Neighbours::ReplaceOneRecord).value, BigUint::ZERO);
    }

    #[test]
    fn rows_that_do_not_annihilate_the_measure_are_refused() {
        let rows = arr2(&[[1, -1, 0]]);
        assert!(IntegerFactor::new(&[3], vec![vec![1, 1, 1]], rows.clone()).is_ok());
        assert!(IntegerFactor::new(&[3], vec![vec![1, 2, 1]], rows.clone()).is_err());
        assert!(IntegerFactor::new(&[3], vec![vec![1, 1]], rows.clone()).is_err());
        assert!(IntegerFactor::new(&[3], vec![vec![0, 0, 0]], rows.clone()).is_err());
        assert!(IntegerFactor::new(&[2], vec![vec![1, 1]], rows.clone()).is_err());
        assert!(IntegerFactor::new(&[], vec![], rows).is_err());
        let one_axis_only = arr2(&[[1, -1, 1, -1]]);
        assert!(IntegerFactor::new(&[2, 2], vec![vec![1, 1], vec![1, 1]], one_axis_only).is_err());
        assert!(
            IntegerFactor::new(&[2], vec![vec![i64::MAX, i64::MAX]], arr2(&[[i64::MAX, i64::MIN]]))
                .is_err()
        );
        let huge = arr2(&[[i64::MAX, 0, 1]]);
        assert!(IntegerFactor::centring(&[3], vec![vec![1, 1, 1]], &huge).is_err());
    }

    /// A strategy whose answers could exceed 128 bits is refused before it sees data; the largest
    /// accepted strategy does not overflow.
    #[test]
    fn strategies_that_could_overflow_are_refused() {
        let wide = |bits: u32| {
            let rows = arr2(&[[1i64 << bits, -(1i64 << bits)]]);
            Arc::new(IntegerFactor::new(&[2], vec![vec![1, 1]], rows).unwrap())
        };
        let message = IntegerStrategy::new(vec![wide(60), wide(50)]).unwrap_err().to_string();
        assert!(message.contains("bits") && message.contains("remedy"), "{message}");
        let strategy = IntegerStrategy::new(vec![wide(44), wide(43)]).unwrap();
        assert_eq!(strategy.answers(&[u32::MAX, 0, 0, 0]).unwrap(), [i128::from(u32::MAX) << 87]);
        assert!(strategy.answers(&[u32::MAX, 1, 0, 0]).is_err());
        assert!(strategy.answers(&[1, 1]).is_err());
    }
}
