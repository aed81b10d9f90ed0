//! Measurements and their Kronecker factors.

use num_bigint::BigUint;

use crate::domain::AttributeSet;
use crate::integer_factor::ColumnPairs;
use crate::integer_strategy::IntegerStrategy;

/// Maximum number of factors of a term in the search. Other terms are bounded by their largest
/// value.
pub(super) const MAX_FACTORS: usize = 12;

/// A Kronecker factor at its attributes, shared by all strategies that contain it.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) positions: Vec<usize>,
    /// D.
    pub(super) largest: BigUint,
    /// The cells whose diagonal entry is D.
    pub(super) at_largest: Vec<bool>,
    /// m and the other extremes over pairs of columns; only if pairs of records are compared.
    pub(super) pairs: Option<ColumnPairs>,
}

/// One measurement.
///
/// Its strategy, its units by ascending index, and the square of its scalar factors.
#[derive(Debug, Clone)]
pub(super) struct Term<'a> {
    pub(super) attributes: AttributeSet,
    pub(super) strategy: &'a IntegerStrategy,
    pub(super) units: Vec<usize>,
    /// The units in the order of the strategy's factors, without numbers.
    pub(super) units_in_order: Vec<usize>,
    pub(super) scale: BigUint,
}
