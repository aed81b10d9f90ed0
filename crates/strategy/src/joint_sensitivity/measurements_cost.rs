//! The privacy cost of several measurements.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use num_bigint::{BigInt, BigUint};

use super::cells;
use super::corners::Corners;
use super::distinct::{DistinctRecords, SetCost};
use super::distinct_sets;
use super::measurement::{MAX_FACTORS, Term, Unit};
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::integer_factor::{ColumnPairs, IntegerFactor};
use crate::integer_strategy::IntegerStrategy;
use crate::privacy::{ExactRho, Neighbours, PrivacyUnit, RationalDeviation};

/// The privacy cost of a list of measurements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JointCost {
    /// ρ.
    pub rho: ExactRho,
    /// Whether neighbouring tables attain ρ, up to rounding; otherwise it is an upper bound.
    pub is_attained: bool,
}

impl JointCost {
    /// Returns the larger of two costs.
    fn max(self, other: Self) -> Self {
        if other.rho > self.rho { other } else { self }
    }
}

/// Numbers of factors; equal factors have the same number.
#[derive(Default)]
struct DistinctFactors<'a> {
    known: BTreeMap<*const IntegerFactor, usize>,
    list: Vec<&'a IntegerFactor>,
}

impl<'a> DistinctFactors<'a> {
    /// Returns the number of a factor. O(cells) for every distinct factor if it is another object.
    fn id(&mut self, factor: &'a Arc<IntegerFactor>) -> usize {
        *self.known.entry(Arc::as_ptr(factor)).or_insert_with(|| {
            let equal = self.list.iter().position(|known| **known == **factor);
            equal.unwrap_or_else(|| {
                self.list.push(factor);
                self.list.len() - 1
            })
        })
    }
}

/// The part of the cost of several measurements that does not depend on their noise.
#[derive(Debug)]
pub struct JointSensitivity<'a> {
    unit: PrivacyUnit,
    pub(super) units: Vec<Unit>,
    pub(super) terms: Vec<Term<'a>>,
    /// Whether every attribute belongs to one unit.
    is_product: bool,
    /// The records of a person, if they have different values of an attribute.
    distinct: Option<DistinctRecords>,
}

impl<'a> JointSensitivity<'a> {
    /// Prepares the strategies for the marginals on sets of attributes.
    ///
    /// The shape of each strategy is the sizes of its set. *Cost*: a product of every distinct
    /// factor with itself if pairs of records are compared.
    pub fn of(
        strategies: impl IntoIterator<Item = (AttributeSet, &'a IntegerStrategy)>,
        unit: PrivacyUnit,
    ) -> Self {
        let is_distinct = unit.distinct.is_some() && unit.rows > 1;
        let compares = is_distinct || unit.neighbours != Neighbours::AddOrRemoveOneRecord;
        let mut known: BTreeMap<(Vec<usize>, usize), usize> = BTreeMap::new();
        let mut distinct = DistinctFactors::default();
        let mut pairs_of: BTreeMap<usize, ColumnPairs> = BTreeMap::new();
        let (mut units, mut terms) = (Vec::new(), Vec::new());
        for (attributes, strategy) in strategies {
            let mut positions = attributes.positions();
            let mut unit_indices = Vec::with_capacity(strategy.factors().len());
            let mut scale = BigUint::from(1u32);
            for factor in strategy.factors() {
                if factor.is_scalar() {
                    scale *= factor.squared_sensitivity();
                    continue;
                }
                let factor_positions: Vec<usize> =
                    positions.by_ref().take(factor.shape().len()).collect();
                let id = distinct.id(factor);
                unit_indices.push(*known.entry((factor_positions.clone(), id)).or_insert_with(
                    || {
                        let cached = pairs_of.entry(id);
                        let pairs = compares
                            .then(|| cached.or_insert_with(|| factor.column_pairs()).clone());
                        let squares = factor.squared_columns();
                        let largest = squares.iter().max().cloned().unwrap_or_default();
                        let at_largest = squares.iter().map(|square| *square == largest).collect();
                        units.push(Unit {
                            positions: factor_positions,
                            largest,
                            at_largest,
                            pairs,
                        });
                        units.len() - 1
                    },
                ));
            }
            let units_in_order = unit_indices.clone();
            unit_indices.sort_unstable();
            terms.push(Term { attributes, strategy, units: unit_indices, units_in_order, scale });
        }
        let mut seen = BTreeSet::new();
        let is_product = known
            .keys()
            .flat_map(|(positions, _)| positions)
            .all(|position| seen.insert(*position));
        let distinct = unit
            .distinct
            .filter(|_| is_distinct)
            .and_then(|position| DistinctRecords::of(position, unit.rows, &units, &terms));
        JointSensitivity { unit, units, terms, is_product, distinct }
    }

    /// Returns ρ for the standard deviations of the noise, one per strategy.
    ///
    /// # Errors
    /// A deviation is 0 for answers that differ between neighbours.
    pub fn cost(&self, deviations: &[RationalDeviation]) -> Result<JointCost> {
        let of_any = self.of_any_records(deviations)?;
        match &self.distinct {
            None => Ok(of_any),
            Some(records) => {
                let distinct = self.of_distinct(records, deviations)?;
                let is_less = of_any.rho < distinct.rho;
                Ok(if is_less { JointCost { is_attained: false, ..of_any } } else { distinct })
            }
        }
    }

    /// Returns the cost of records of a person that may be equal.
    fn of_any_records(&self, deviations: &[RationalDeviation]) -> Result<JointCost> {
        match self.unit.neighbours {
            Neighbours::AddOrRemoveOneRecord => self.of_one_record(deviations),
            Neighbours::ReplaceOneRecord => self.of_replaced(deviations),
            Neighbours::ReplaceAddOrRemoveOneRecord => {
                Ok(self.of_one_record(deviations)?.max(self.of_replaced(deviations)?))
            }
        }
    }

    /// Returns the cost of one added or removed record.
    fn of_one_record(&self, deviations: &[RationalDeviation]) -> Result<JointCost> {
        self.of_records(&self.terms, deviations, self.unit.rows)
    }

    /// Returns the cost of equal records that are added or removed.
    fn of_records(
        &self,
        terms: &[Term<'_>],
        deviations: &[RationalDeviation],
        rows: u32,
    ) -> Result<JointCost> {
        let is_attained = self.one_record_attains_all();
        if !is_attained && let Some(rho) = cells::of_one_record(terms, deviations, rows)? {
            return Ok(JointCost { rho, is_attained: true });
        }
        let mut rho = ExactRho::zero();
        for (term, deviation) in terms.iter().zip(deviations) {
            let largest = term.units.iter().map(|&index| &self.units[index].largest);
            let square = largest.fold(term.scale.clone(), |product, square| product * square);
            rho = rho.plus(&ExactRho::of_discrete_gaussian(&square, *deviation, rows)?);
        }
        Ok(JointCost { rho, is_attained })
    }

    /// Returns the cost of records that have different values of an attribute.
    fn of_distinct(
        &self,
        records: &DistinctRecords,
        deviations: &[RationalDeviation],
    ) -> Result<JointCost> {
        let neighbours = self.unit.neighbours;
        // Two sets of equally many records have the same number of records.
        let counted =
            |term: &Term<'_>| neighbours != Neighbours::ReplaceOneRecord || !term.units.is_empty();
        let (terms, deviations): (Vec<Term<'_>>, Vec<RationalDeviation>) = (self.terms.iter())
            .zip(deviations)
            .filter(|(term, _)| counted(term))
            .map(|(term, deviation)| (term.clone(), *deviation))
            .unzip();
        let largest = self.of_records(&terms, &deviations, 1)?;
        let parts = (self.units.as_slice(), terms.as_slice());
        let mut one_set = records.of_one_set(parts, &deviations, &largest.rho)?;
        if !one_set.is_attained {
            let (position, rows) = (records.position, records.rows);
            if let Some(rho) = distinct_sets::of_one_set(&terms, &deviations, position, rows)? {
                one_set = SetCost { rho, is_attained: true };
            }
        }
        Ok(match neighbours {
            Neighbours::AddOrRemoveOneRecord => {
                JointCost { rho: one_set.rho, is_attained: one_set.is_attained }
            }
            _ => {
                let rho = records.of_two_sets(parts, &deviations, &one_set.rho)?;
                JointCost { rho, is_attained: false }
            }
        })
    }

    /// Returns whether one record has the largest diagonal entry of every unit.
    ///
    /// Units with a constant diagonal do not restrict the record. Any other units of the same
    /// attribute must have a common value with the largest entry.
    fn one_record_attains_all(&self) -> bool {
        let restricting = self.units.iter().filter(|unit| unit.at_largest.contains(&false));
        let mut values: BTreeMap<usize, Option<Vec<bool>>> = BTreeMap::new();
        for unit in restricting {
            for position in &unit.positions {
                let alone = (unit.positions.len() == 1).then(|| unit.at_largest.clone());
                let both = match values.remove(position) {
                    None => alone,
                    // Joint factors that share an attribute are not analysed.
                    Some(known) => match (known, alone) {
                        (Some(known), Some(values_of_unit)) => {
                            Some(known.iter().zip(&values_of_unit).map(|(a, b)| *a && *b).collect())
                        }
                        _ => return false,
                    },
                };
                values.insert(*position, both);
            }
        }
        values.values().flatten().all(|common| common.contains(&true))
    }

    /// Returns the cost of one replaced record.
    fn of_replaced(&self, deviations: &[RationalDeviation]) -> Result<JointCost> {
        let equal_norms =
            self.units.iter().all(|u| u.pairs.as_ref().is_some_and(|pairs| pairs.equal_norms));
        let can_be_attained = self.is_product && equal_norms;
        if !can_be_attained
            && let Some(rho) = cells::of_replaced(&self.terms, deviations, self.unit.rows)?
        {
            return Ok(JointCost { rho, is_attained: true });
        }
        let (rho, is_maximum) = self.of_replaced_at_corners(deviations)?;
        Ok(JointCost { rho, is_attained: can_be_attained && is_maximum })
    }

    /// Returns the bound of method 1, and whether it is the maximum over all corners.
    ///
    /// The bound is at most the sum of the largest terms. That minimum is taken of the sums and not
    /// of each term: a sum of minima is not affine, so its maximum may be between the corners.
    pub(super) fn of_replaced_at_corners(
        &self,
        deviations: &[RationalDeviation],
    ) -> Result<(ExactRho, bool)> {
        let mut sum = ExactRho::zero();
        let mut tables = Vec::with_capacity(self.terms.len());
        for (term, deviation) in self.terms.iter().zip(deviations) {
            let cost = |square| ExactRho::of_discrete_gaussian(square, *deviation, self.unit.rows);
            let max = term.strategy.squared_sensitivity(Neighbours::ReplaceOneRecord).value;
            let (choices, squares) = self.squares_at_corners(term, &max);
            let costs = squares.iter().map(cost);
            tables.push((choices, costs.collect::<std::result::Result<Vec<_>, _>>()?));
            sum = sum.plus(&cost(&max)?);
        }
        let (rho, is_maximum) = Corners::new(self.units.len(), tables).largest();
        Ok((rho.min(sum), is_maximum))
    }

    /// Returns `2 Π D − 2 Π r` for every choice of r ∈ {D, m}.
    ///
    /// With too many factors, returns the largest term `max` without choices. The first unit's
    /// choice is the highest bit of the index.
    fn squares_at_corners<'b>(
        &self,
        term: &'b Term<'_>,
        max: &BigUint,
    ) -> (&'b [usize], Vec<BigUint>) {
        if term.units.len() > MAX_FACTORS {
            return (&[], vec![max.clone()]);
        }
        let mut products = vec![BigInt::from(term.scale.clone())];
        for &index in &term.units {
            let Unit { largest, pairs, .. } = &self.units[index];
            let largest = BigInt::from(largest.clone());
            let smallest =
                pairs.as_ref().map_or_else(|| -largest.clone(), |pairs| pairs.min_product.clone());
            products = products
                .iter()
                .flat_map(|product| [product * &largest, product * &smallest])
                .collect();
        }
        let same = products[0].clone();
        let square = |product: &BigInt| ((&same - product) * 2u32).magnitude().clone();
        (&term.units, products.iter().map(square).collect())
    }
}
