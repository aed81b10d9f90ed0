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
        let squares = || self.factors.iter().map(|factor| factor.squared_sensitivity());
        match neighbours {
            Neighbours::AddOrRemoveOneRecord => SquaredSensitivity {
                value: squares().fold(BigUint::from(1u32), |product, square| product * square),
                exact: true,
            },
            Neighbours::ReplaceOneRecord => {
                let pairs: Vec<_> =
                    self.factors.iter().map(|factor| factor.column_pairs()).collect();
                if let [only] = pairs.as_slice()
                    && let Some(distance) = &only.max_squared_distance
                {
                    return SquaredSensitivity { value: distance.clone(), exact: true };
                }
                // The smallest product of numbers from intervals is at a corner of their box.
                let (mut low, mut high) = (BigInt::from(1), BigInt::from(1));
                for (pair, square) in pairs.iter().zip(squares()) {
                    let (min, max) = (&pair.min_product, BigInt::from(square));
                    let corners = [&low * min, &low * &max, &high * min, &high * &max];
                    low = corners.iter().min().cloned().unwrap_or_default();
                    high = corners.iter().max().cloned().unwrap_or_default();
                }
                let square = squares()
                    .fold(BigInt::from(1), |product, square| product * BigInt::from(square));
                let value = (square - low) * 2u32;
                let exact = pairs.iter().all(|pair| pair.equal_norms);
                SquaredSensitivity { value: value.magnitude().clone(), exact }
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
mod tests;
