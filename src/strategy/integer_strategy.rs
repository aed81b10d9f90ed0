//! The strategy of one residual subspace in whole numbers, its answers and its sensitivity, all
//! exact.

use std::sync::Arc;

use num_bigint::{BigInt, BigUint};
use num_traits::ToPrimitive;

use super::IntegerFactor;
use crate::error::{Error, Result};
use crate::privacy::Neighbours;

/// The most records that any table has: their numbers are counted in 32 bits.
const MOST_RECORDS: u64 = u32::MAX as u64;

/// Answers and noise stay below 2 to this power, so that no sum of them leaves 128 bits.
const ANSWER_BITS: u64 = 124;

/// The Kronecker product of integer factors over neighbouring axes; none for ∅, where the number of
/// records is measured.
#[derive(Debug, Clone)]
pub struct IntegerStrategy {
    factors: Vec<Arc<IntegerFactor>>,
}

/// A squared L2 sensitivity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SquaredSensitivity {
    /// The number.
    pub value: BigUint,
    /// Whether it is attained; otherwise it is an upper bound.
    pub exact: bool,
}

impl IntegerStrategy {
    /// A product of factors.
    ///
    /// # Errors
    /// Answers that could leave 128 bits on a table of 2³² records.
    pub fn new(factors: Vec<Arc<IntegerFactor>>) -> Result<Self> {
        let bound = factors
            .iter()
            .fold(BigUint::from(MOST_RECORDS), |bound, factor| bound * factor.bound());
        if bound.bits() > ANSWER_BITS {
            let shape: Vec<usize> =
                factors.iter().flat_map(|factor| factor.shape().iter().copied()).collect();
            return Err(Error::too_large(
                format!("integer answers of a strategy over {shape:?}"),
                "bits",
                ANSWER_BITS as f64,
                bound.bits() as f64,
                "use a uniform reference measure (--planner query-smasher), or ask for queries on fewer attributes",
            ));
        }
        Ok(IntegerStrategy { factors })
    }

    /// The factors.
    pub fn factors(&self) -> &[Arc<IntegerFactor>] {
        &self.factors
    }

    /// The sizes of the attributes.
    pub fn shape(&self) -> Vec<usize> {
        self.factors.iter().flat_map(|factor| factor.shape().iter().copied()).collect()
    }

    /// The number of answers.
    pub fn rows(&self) -> usize {
        self.factors.iter().map(|factor| factor.rows().nrows()).product()
    }

    /// The largest squared change of the answers between neighbouring tables, from the integers.
    ///
    /// One record more or less: the largest squared column, the product of the factors' largest.
    /// One record replaced: `|u − v|²` of two columns, `|u|² + |v|² − 2u·v` with `u·v = Π u_i·v_i`;
    /// exact for one factor of at most 512 cells and where all columns of every factor have the
    /// same length, and otherwise bounded by the factors' extremes. The joint sensitivity of
    /// several strategies is less than their sum: see
    /// [`JointSensitivity`](super::JointSensitivity).
    pub fn squared_sensitivity(&self, neighbours: Neighbours) -> SquaredSensitivity {
        let top = || self.factors.iter().map(|factor| factor.squared_sensitivity());
        match neighbours {
            Neighbours::AddOrRemoveOneRecord => SquaredSensitivity {
                value: top().fold(BigUint::from(1u32), |all, own| all * own),
                exact: true,
            },
            Neighbours::ReplaceOneRecord => {
                let pairs: Vec<_> =
                    self.factors.iter().map(|factor| factor.column_pairs()).collect();
                if let [only] = pairs.as_slice()
                    && let Some(farthest) = &only.farthest
                {
                    return SquaredSensitivity { value: farthest.clone(), exact: true };
                }
                // The least product of numbers from intervals [least, top] is at a corner of their
                // box.
                let (mut low, mut high) = (BigInt::from(1), BigInt::from(1));
                for (pair, top) in pairs.iter().zip(top()) {
                    let top = BigInt::from(top);
                    let corners =
                        [&low * &pair.least, &low * &top, &high * &pair.least, &high * &top];
                    low = corners.iter().min().cloned().unwrap_or_default();
                    high = corners.iter().max().cloned().unwrap_or_default();
                }
                let square = top().fold(BigInt::from(1), |all, own| all * BigInt::from(own));
                let value = (square - low) * 2u32;
                let exact = pairs.iter().all(|pair| pair.is_even);
                SquaredSensitivity { value: value.magnitude().clone(), exact }
            }
            Neighbours::ReplaceAddOrRemoveOneRecord => {
                let [one, replaced] =
                    [Neighbours::AddOrRemoveOneRecord, Neighbours::ReplaceOneRecord]
                        .map(|neighbours| self.squared_sensitivity(neighbours));
                if replaced.value > one.value { replaced } else { one }
            }
        }
    }

    /// `B x` for the counts of a marginal, exactly. O(cells · Σ rows).
    ///
    /// # Errors
    /// Counts of another marginal, or more of them than a table has.
    pub fn answers(&self, counts: &[u32]) -> Result<Vec<i128>> {
        let shape = self.shape();
        let cells: usize = shape.iter().product();
        if counts.len() != cells || counts.iter().map(|c| u64::from(*c)).sum::<u64>() > MOST_RECORDS
        {
            return Err(Error::bug(
                "integer answers",
                format!("counts of {cells} cells"),
                "others",
            ));
        }
        let mut values: Vec<i128> = counts.iter().map(|count| i128::from(*count)).collect();
        let mut left = cells;
        for factor in &self.factors {
            left /= factor.rows().ncols();
            // Axes before this one hold rows by now, those after it still cells.
            values = factor.apply(&values, left);
        }
        Ok(values)
    }

    /// The L2 sensitivity as a double, at least as large as it is: what real answers at unit
    /// privacy cost are scaled by.
    pub fn scale(&self) -> f64 {
        self.factors.iter().map(|factor| factor.scale()).product()
    }

    /// The squared sensitivity for one record more or less, to nearest.
    pub fn squared_sensitivity_f64(&self) -> f64 {
        self.squared_sensitivity(Neighbours::AddOrRemoveOneRecord)
            .value
            .to_f64()
            .unwrap_or(f64::INFINITY)
    }
}

#[cfg(test)]
#[path = "integer_tests.rs"]
mod tests;
