//! The privacy cost of several integer strategies that are measured on the same records.
//!
//! Let x and x' be neighbouring tables, B_A the strategy of the marginal on A, and σ_A the
//! deviation of its independent discrete Gaussian noise. The measurements together are ρ-zCDP with
//!
//! ```text
//! ρ = max over neighbours of Σ_A k² |B_A (x_A − x'_A)|² / (2σ_A²),       k records per person
//! ```
//!
//! which is at most the sum of the largest terms, and less where the terms are largest at different
//! pairs of records. A record more or less at cell a has the terms `|B_A e_a|²`; one that moves
//! from a to b has
//!
//! ```text
//! |B_A (e_a − e_b)|² = G(a, a) + G(b, b) − 2 G(a, b),       G = B_Aᵀ B_A = ⊗ G_f
//! ```
//!
//! where f ranges over the Kronecker factors.
//!
//! A record more or less costs the sum of the largest terms if one record attains all of them.
//! Three ways to the maximum otherwise, and for replaced records, in this order:
//!
//! 1. *Products.* With D_f the largest diagonal entry of G_f and m_f its smallest entry, every
//!    G_f(a, b) lies between m_f and D_f. The bound `Σ_A c_A (2 Π D_f − 2 Π r_f)` is affine in
//!    every r_f, so its maximum is at corners, r_f ∈ {m_f, D_f}: a search over the factors
//!    (`corners`). It is attained if every attribute belongs to one factor, all diagonals are
//!    constant, and the search ends.
//! 2. *Pairs of cells* (`cells`), one by one, if there are few: always attained.
//! 3. The bound of 1, as an upper bound.
//!
//! Every term is rounded up to a multiple of 2⁻²⁵⁶, and for the search to 120 bits of the sum.

mod cells;
mod corners;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use num_bigint::{BigInt, BigUint};

use self::corners::Corners;
use super::integer_factor::ColumnPairs;
use super::{IntegerFactor, IntegerStrategy};
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::privacy::{ExactRho, Neighbours, PrivacyUnit, RationalDeviation};

/// A term of more factors than this is bounded by its largest value.
const MAX_FACTORS: usize = 12;

/// The privacy cost of a list of measurements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JointCost {
    /// ρ.
    pub rho: ExactRho,
    /// Whether some neighbours attain ρ, but for rounding; otherwise it is an upper bound.
    pub is_attained: bool,
}

impl JointCost {
    /// The larger of two, for neighbours of either kind.
    fn max(self, other: Self) -> Self {
        if other.rho > self.rho { other } else { self }
    }
}

/// A Kronecker factor at its attributes: the same for all strategies that have it there.
#[derive(Debug)]
struct Unit {
    positions: Vec<usize>,
    /// D.
    largest: BigUint,
    /// The cells whose diagonal entry is D.
    at_largest: Vec<bool>,
    /// m, and what else is known of pairs of columns; only where records are replaced.
    pairs: Option<ColumnPairs>,
}

/// One measurement: its strategy, its units by ascending index, and the square of its scalar
/// factors.
#[derive(Debug)]
struct Term<'a> {
    attributes: AttributeSet,
    strategy: &'a IntegerStrategy,
    units: Vec<usize>,
    scale: BigUint,
}

/// What the cost of some measurements depends on, apart from their deviations.
#[derive(Debug)]
pub struct JointSensitivity<'a> {
    unit: PrivacyUnit,
    units: Vec<Unit>,
    terms: Vec<Term<'a>>,
    /// Whether every attribute belongs to one unit.
    is_product: bool,
}

impl<'a> JointSensitivity<'a> {
    /// Of strategies for the marginals on sets of attributes, each over the sizes of its set.
    ///
    /// *Cost*: a product of every distinct factor with itself where records are replaced.
    pub fn of(
        strategies: impl IntoIterator<Item = (AttributeSet, &'a IntegerStrategy)>,
        unit: PrivacyUnit,
    ) -> Self {
        let replaces = unit.neighbours != Neighbours::AddOrRemoveOneRecord;
        let mut known: BTreeMap<(Vec<usize>, *const IntegerFactor), usize> = BTreeMap::new();
        let mut of_factor: BTreeMap<*const IntegerFactor, ColumnPairs> = BTreeMap::new();
        let (mut units, mut terms) = (Vec::new(), Vec::new());
        for (attributes, strategy) in strategies {
            let mut positions = attributes.positions();
            let mut own = Vec::with_capacity(strategy.factors().len());
            let mut scale = BigUint::from(1u32);
            for factor in strategy.factors() {
                if factor.is_scalar() {
                    scale *= factor.squared_sensitivity();
                    continue;
                }
                let at: Vec<usize> = positions.by_ref().take(factor.shape().len()).collect();
                own.push(*known.entry((at.clone(), Arc::as_ptr(factor))).or_insert_with(|| {
                    let of_factor = of_factor.entry(Arc::as_ptr(factor));
                    let pairs = replaces
                        .then(|| of_factor.or_insert_with(|| factor.column_pairs()).clone());
                    let squares = factor.squared_columns();
                    let largest = squares.iter().max().cloned().unwrap_or_default();
                    let at_largest = squares.iter().map(|square| *square == largest).collect();
                    units.push(Unit { positions: at, largest, at_largest, pairs });
                    units.len() - 1
                }));
            }
            own.sort_unstable();
            terms.push(Term { attributes, strategy, units: own, scale });
        }
        let mut seen = BTreeSet::new();
        let is_product = known
            .keys()
            .flat_map(|(positions, _)| positions)
            .all(|position| seen.insert(*position));
        JointSensitivity { unit, units, terms, is_product }
    }

    /// ρ with these deviations, one per strategy.
    ///
    /// # Errors
    /// A deviation of 0 for answers that neighbours change.
    pub fn cost(&self, deviations: &[RationalDeviation]) -> Result<JointCost> {
        match self.unit.neighbours {
            Neighbours::AddOrRemoveOneRecord => self.of_one_record(deviations),
            Neighbours::ReplaceOneRecord => self.of_replaced(deviations),
            Neighbours::ReplaceAddOrRemoveOneRecord => {
                Ok(self.of_one_record(deviations)?.max(self.of_replaced(deviations)?))
            }
        }
    }

    /// One record more or less.
    fn of_one_record(&self, deviations: &[RationalDeviation]) -> Result<JointCost> {
        let is_attained = self.one_record_attains_all();
        if !is_attained
            && let Some(rho) = cells::of_one_record(&self.terms, deviations, self.unit.rows)?
        {
            return Ok(JointCost { rho, is_attained: true });
        }
        let mut rho = ExactRho::zero();
        for (term, deviation) in self.terms.iter().zip(deviations) {
            let largest = term.units.iter().map(|own| &self.units[*own].largest);
            let square = largest.fold(term.scale.clone(), |product, own| product * own);
            rho = rho.plus(&ExactRho::of_discrete_gaussian(&square, *deviation, self.unit.rows)?);
        }
        Ok(JointCost { rho, is_attained })
    }

    /// Whether some record has the largest diagonal entry of every unit. Units whose entries are
    /// all equal leave it free; of the others, those of one attribute must have a value in common.
    fn one_record_attains_all(&self) -> bool {
        let uneven = self.units.iter().filter(|unit| unit.at_largest.contains(&false));
        let mut values: BTreeMap<usize, Option<Vec<bool>>> = BTreeMap::new();
        for unit in uneven {
            for position in &unit.positions {
                let alone = (unit.positions.len() == 1).then(|| unit.at_largest.clone());
                let both = match values.remove(position) {
                    None => alone,
                    // Joint factors that share an attribute are not looked into.
                    Some(known) => match (known, alone) {
                        (Some(known), Some(own)) => {
                            Some(known.iter().zip(&own).map(|(a, b)| *a && *b).collect())
                        }
                        _ => return false,
                    },
                };
                values.insert(*position, both);
            }
        }
        values.values().flatten().all(|common| common.contains(&true))
    }

    /// One record with other values.
    fn of_replaced(&self, deviations: &[RationalDeviation]) -> Result<JointCost> {
        let is_even =
            self.units.iter().all(|own| own.pairs.as_ref().is_some_and(|pairs| pairs.is_even));
        let can_be_attained = self.is_product && is_even;
        if !can_be_attained
            && let Some(rho) = cells::of_replaced(&self.terms, deviations, self.unit.rows)?
        {
            return Ok(JointCost { rho, is_attained: true });
        }
        let tables = self.terms.iter().zip(deviations).map(|(term, deviation)| {
            let (choices, squares) = self.squares_at_corners(term);
            let costs = squares
                .iter()
                .map(|square| ExactRho::of_discrete_gaussian(square, *deviation, self.unit.rows));
            Ok((choices, costs.collect::<std::result::Result<Vec<_>, _>>()?))
        });
        let tables = tables.collect::<Result<Vec<_>>>()?;
        let (rho, is_maximum) = Corners::new(self.units.len(), tables).largest();
        Ok(JointCost { rho, is_attained: can_be_attained && is_maximum })
    }

    /// `2 Π D − 2 Π r` for every choice of r ∈ {D, m}, the first unit's choice the highest bit; no
    /// more than the largest distance of two columns where that is known.
    fn squares_at_corners<'b>(&self, term: &'b Term<'_>) -> (&'b [usize], Vec<BigUint>) {
        let most = term.strategy.squared_sensitivity(Neighbours::ReplaceOneRecord).value;
        if term.units.len() > MAX_FACTORS {
            return (&[], vec![most]);
        }
        let mut products = vec![BigInt::from(term.scale.clone())];
        for own in &term.units {
            let Unit { largest, pairs, .. } = &self.units[*own];
            let largest = BigInt::from(largest.clone());
            let least =
                pairs.as_ref().map_or_else(|| -largest.clone(), |pairs| pairs.least.clone());
            products = products
                .iter()
                .flat_map(|product| [product * &largest, product * &least])
                .collect();
        }
        let same = products[0].clone();
        let square =
            |product: &BigInt| ((&same - product) * 2u32).magnitude().clone().min(most.clone());
        (&term.units, products.iter().map(square).collect())
    }
}

#[cfg(test)]
mod tests;
