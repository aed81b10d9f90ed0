//! The cost of records of one person that have different values of an attribute.
//!
//! The change of a table is Σ_k e_{c_k} with records c_k of different values v(c_k), at most K. With
//! g(c, c') = Σ_A G_A(c, c')/(2σ_A²), its cost is Σ_{k,l} g(c_k, c_l), at most
//!
//! ```text
//! max over sets of j ≤ K values of   j max_c g(c, c) + Σ_{v≠v'} M(v, v')
//! M(v, v') = max g(c, c') over records c of value v and c' of value v'
//! ```
//!
//! G_A is a product over factors, so the sum is affine in the entry of every factor, and M is bounded
//! by the maximum over a box: entries between the smallest one and the largest diagonal entry, or,
//! if the factor contains the attribute, between the extremes over the two values. That maximum is
//! at a corner (`corners`). The bound is attained if records with equal values of all other
//! attributes attain it.
//!
//! Records of two sets, one replaced by the other, have products g(c_k, c'_l) of either sign. At
//! most K pairs have equal values, so the cost is at most
//!
//! ```text
//! 2 · (that of one set) + 2 K max(−g)⁺ + 2 K (K − 1) max_{v≠v'} (−g)⁺
//! ```
//!
//! and at most four times that of one set. Costs are sums of `c_A (Π D ± G_A)`, which are not
//! negative, minus lower bounds of the sums of `c_A Π D`.

use std::collections::BTreeMap;

use num_bigint::{BigInt, BigUint};

use super::corners::Corners;
use super::distinct_sets::largest_of_values;
use super::measurement::{MAX_FACTORS, Term, Unit};
use crate::error::Result;
use crate::privacy::{ExactRho, RationalDeviation};

/// Maximum number of values whose pairs are distinguished.
const MAX_VALUES: usize = 64;

/// Maximum number of kinds of pairs of values.
const MAX_KINDS: usize = 64;

/// Maximum number of cells of a factor whose products are computed.
const MAX_CELLS: usize = 512;

/// The smallest and the largest product of two columns of a factor.
type Range = (BigInt, BigInt);

/// The records of one person, which have different values of an attribute.
#[derive(Debug)]
pub(super) struct DistinctRecords {
    /// The attribute.
    pub(super) position: usize,
    /// Maximum records: at most one per value.
    pub(super) rows: usize,
    /// The number of values whose pairs are distinguished; 0 if all pairs are of one kind.
    values: usize,
    /// The kind of every pair v > v' of values: v(v − 1)/2 + v'.
    kind_of: Vec<usize>,
    /// Per kind of pairs, the products of the factors that contain the attribute.
    kinds: Vec<BTreeMap<usize, Range>>,
}

/// The cost of one set of records.
#[derive(Debug)]
pub(super) struct SetCost {
    pub(super) rho: ExactRho,
    pub(super) is_attained: bool,
}

impl DistinctRecords {
    /// Returns the pairs of values of an attribute; none if no factor contains it, or if a person
    /// has one record.
    pub(super) fn of(
        position: usize,
        rows: u32,
        units: &[Unit],
        terms: &[Term<'_>],
    ) -> Option<Self> {
        let factor = |index: usize| {
            let mut all = terms.iter().flat_map(|term| {
                let factors = term.strategy.factors().iter().filter(|factor| !factor.is_scalar());
                term.units_in_order.iter().zip(factors)
            });
            all.find(|(unit, _)| **unit == index).map(|(_, factor)| factor)
        };
        let of_attribute: Vec<usize> =
            (0..units.len()).filter(|&u| units[u].positions.contains(&position)).collect();
        let axis = |unit: usize| units[unit].positions.iter().position(|p| *p == position);
        let first = *of_attribute.first()?;
        let size = factor(first)?.shape()[axis(first)?];
        let rows = size.min(usize::try_from(rows).unwrap_or(usize::MAX));
        if rows < 2 {
            return None;
        }
        let values = if size <= MAX_VALUES { size } else { 0 };
        let mut pairs: Vec<BTreeMap<usize, Range>> =
            vec![BTreeMap::new(); values * values.saturating_sub(1) / 2];
        let mut all: BTreeMap<usize, Range> = BTreeMap::new();
        for unit in of_attribute {
            let (factor, axis) = (factor(unit)?, axis(unit)?);
            let square = BigInt::from(units[unit].largest.clone());
            let cells = factor.cells();
            if factor.is_centred_identity() || cells > MAX_CELLS {
                let range = match factor.is_centred_identity() {
                    true => (-BigInt::from(cells), -BigInt::from(cells)),
                    false => (-square.clone(), square),
                };
                pairs.iter_mut().for_each(|pair| {
                    pair.insert(unit, range.clone());
                });
                all.insert(unit, range);
                continue;
            }
            let gram = factor.gram();
            let inner: usize = factor.shape()[axis + 1..].iter().product();
            let value = |cell: usize| cell / inner % size;
            for ((a, b), entry) in gram.indexed_iter() {
                let (high, low) = (value(a).max(value(b)), value(a).min(value(b)));
                if high == low {
                    continue;
                }
                if let Some(pair) = pairs.get_mut(pair_index(high, low)) {
                    widen(pair, unit, entry);
                }
                widen(&mut all, unit, entry);
            }
        }
        let mut kinds: Vec<BTreeMap<usize, Range>> = Vec::new();
        let mut kind_of = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let known = kinds.iter().position(|kind| *kind == pair);
            kind_of.push(known.unwrap_or_else(|| {
                kinds.push(pair);
                kinds.len() - 1
            }));
            if kinds.len() > MAX_KINDS {
                break;
            }
        }
        let is_one_kind = values == 0 || kinds.len() > MAX_KINDS || kinds.len() == 1;
        Some(match is_one_kind {
            true => {
                DistinctRecords { position, rows, values: 0, kind_of: vec![], kinds: vec![all] }
            }
            false => DistinctRecords { position, rows, values, kind_of, kinds },
        })
    }

    /// Returns an upper bound on the cost of one set of records.
    ///
    /// `largest` bounds the cost of one record.
    pub(super) fn of_one_set(
        &self,
        (units, terms): (&[Unit], &[Term<'_>]),
        deviations: &[RationalDeviation],
        largest: &ExactRho,
    ) -> Result<SetCost> {
        let squares = Squares::of(units, terms, deviations)?;
        let mut bounds = Vec::with_capacity(self.kinds.len());
        let mut equal_others = Vec::with_capacity(self.kinds.len());
        for kind in &self.kinds {
            bounds.push(squares.largest(Sign::Plus, &|unit| {
                kind.get(&unit).cloned().unwrap_or_else(|| squares.range(unit))
            })?);
            equal_others.push(squares.largest(Sign::Plus, &|unit| match kind.get(&unit) {
                Some(range) => range.clone(),
                None => {
                    let square = BigInt::from(units[unit].largest.clone());
                    (square.clone(), square)
                }
            })?);
        }
        let total = |of_kinds: &[ExactRho]| {
            largest_of_values(self.rows, self.values, largest, &squares.sum, &|high, low| {
                &of_kinds[self.kind_of.get(pair_index(high, low)).copied().unwrap_or(0)]
            })
        };
        let (rho, is_maximum) = total(&bounds);
        let is_exact = is_maximum
            && self.kinds.iter().all(|kind| kind.values().all(|(low, high)| low == high))
            && units.iter().all(|unit| !unit.at_largest.contains(&false));
        let (of_equal, _) = total(&equal_others);
        let gap = rho.minus(&of_equal).unwrap_or_default();
        let is_attained = is_exact && gap.bits() + 100 < rho.bits();
        Ok(SetCost { rho, is_attained })
    }

    /// Returns a bound on the cost of a set of records that is replaced by another, from that of one
    /// set.
    pub(super) fn of_two_sets(
        &self,
        (units, terms): (&[Unit], &[Term<'_>]),
        deviations: &[RationalDeviation],
        one_set: &ExactRho,
    ) -> Result<ExactRho> {
        let squares = Squares::of(units, terms, deviations)?;
        let opposite = |range: &dyn Fn(usize) -> Range| -> Result<ExactRho> {
            let largest = squares.largest(Sign::Minus, range)?;
            Ok(largest.minus(&squares.sum).unwrap_or_default())
        };
        let any = opposite(&|unit| squares.range(unit))?;
        let mut different = ExactRho::zero();
        for kind in &self.kinds {
            let range = |unit| kind.get(&unit).cloned().unwrap_or_else(|| squares.range(unit));
            different = different.max(opposite(&range)?);
        }
        let rows = self.rows as u64;
        let opposite = any.times(rows).plus(&different.times(rows * (rows - 1)));
        Ok(one_set.plus(&opposite).times(2).min(one_set.times(4)))
    }
}

/// Returns the index of a pair of values, of which the first is larger.
fn pair_index(high: usize, low: usize) -> usize {
    high * high.saturating_sub(1) / 2 + low
}

fn widen(pair: &mut BTreeMap<usize, Range>, unit: usize, entry: &BigInt) {
    let range = pair.entry(unit).or_insert_with(|| (entry.clone(), entry.clone()));
    if *entry < range.0 {
        range.0 = entry.clone();
    } else if *entry > range.1 {
        range.1 = entry.clone();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Plus,
    Minus,
}

/// The terms with their noise, and the largest values Π D of their diagonals.
struct Squares<'a> {
    units: &'a [Unit],
    terms: &'a [Term<'a>],
    deviations: &'a [RationalDeviation],
    largest: Vec<BigInt>,
    /// A lower bound on Σ c_A Π D.
    sum: ExactRho,
}

impl<'a> Squares<'a> {
    fn of(
        units: &'a [Unit],
        terms: &'a [Term<'a>],
        deviations: &'a [RationalDeviation],
    ) -> Result<Self> {
        let largest: Vec<BigUint> = (terms.iter())
            .map(|term| {
                let squares = term.units.iter().map(|&index| &units[index].largest);
                squares.fold(term.scale.clone(), |product, square| product * square)
            })
            .collect();
        let mut sum = ExactRho::zero();
        for (square, deviation) in largest.iter().zip(deviations) {
            sum = sum.plus(&ExactRho::of_discrete_gaussian(square, *deviation, 1)?);
        }
        let sum = sum.before_rounding(terms.len());
        let largest = largest.into_iter().map(BigInt::from).collect();
        Ok(Squares { units, terms, deviations, largest, sum })
    }

    /// Returns the smallest product of two columns of a factor, and the largest.
    fn range(&self, unit: usize) -> Range {
        let Unit { largest, pairs, .. } = &self.units[unit];
        let largest = BigInt::from(largest.clone());
        let smallest =
            pairs.as_ref().map_or_else(|| -largest.clone(), |pairs| pairs.min_product.clone());
        (smallest, largest)
    }

    /// Returns a bound on Σ c_A (Π D ± Π r) over factors r in their ranges.
    fn largest(&self, sign: Sign, range: &dyn Fn(usize) -> Range) -> Result<ExactRho> {
        let ranges: Vec<Range> = (0..self.units.len()).map(range).collect();
        let mut tables = Vec::with_capacity(self.terms.len());
        for ((term, deviation), largest) in
            self.terms.iter().zip(self.deviations).zip(&self.largest)
        {
            let cost =
                |square: &BigInt| ExactRho::of_discrete_gaussian(square.magnitude(), *deviation, 1);
            if term.units.len() > MAX_FACTORS {
                tables.push((&[][..], vec![cost(&(largest * 2))?]));
                continue;
            }
            let mut products = vec![BigInt::from(term.scale.clone())];
            for &index in &term.units {
                let (smallest, largest) = &ranges[index];
                products = products
                    .iter()
                    .flat_map(|product| [product * largest, product * smallest])
                    .collect();
            }
            let costs = products.iter().map(|product| match sign {
                Sign::Plus => cost(&(largest + product)),
                Sign::Minus => cost(&(largest - product)),
            });
            let costs = costs.collect::<std::result::Result<Vec<_>, _>>()?;
            tables.push((term.units.as_slice(), costs));
        }
        Ok(Corners::new(self.units.len(), tables).largest().0)
    }
}
