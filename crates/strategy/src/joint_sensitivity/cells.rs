//! The largest cost over the records of a small domain, by enumeration.

use ndarray::Array2;
use num_bigint::{BigInt, BigUint};

use super::measurement::Term;
use crate::IntegerFactor;
use crate::domain::{AttributeSet, coordinates};
use crate::error::Result;
use crate::privacy::{ExactRho, RationalDeviation};

/// Maximum number of terms added up, over all records or pairs of records.
const MAX_SUMS: usize = 1 << 26;

/// Maximum number of entries of the tables of all terms together.
const MAX_ENTRIES: usize = 1 << 20;

/// The measured attributes, in ascending order, with their sizes.
pub(super) struct Domain {
    attributes: AttributeSet,
    sizes: Vec<usize>,
    cells: usize,
}

impl Domain {
    /// Returns `None` if there are too many records, or pairs of records, to enumerate.
    pub(super) fn of(terms: &[Term<'_>], pairs: bool) -> Option<Self> {
        let attributes =
            terms.iter().fold(AttributeSet::EMPTY, |all, term| all.union(term.attributes));
        let mut sizes = vec![0; attributes.len()];
        for term in terms {
            let axes = term
                .attributes
                .positions()
                .filter_map(|p| attributes.positions().position(|q| q == p));
            axes.zip(term.strategy.shape()).for_each(|(axis, size)| sizes[axis] = size);
        }
        let cells = sizes.iter().try_fold(1usize, |all, n| all.checked_mul(*n))?;
        let power = if pairs { 2 } else { 1 };
        let sums = cells.checked_pow(power)?.checked_mul(terms.len())?;
        let entries = terms
            .iter()
            .map(|term| term.strategy.shape().iter().product::<usize>().checked_pow(power));
        let entries = entries.sum::<Option<usize>>()?;
        (sums <= MAX_SUMS && entries <= MAX_ENTRIES).then_some(Domain { attributes, sizes, cells })
    }

    /// Returns the number of records that are told apart.
    pub(super) fn cells(&self) -> usize {
        self.cells
    }

    /// Returns the cells of every value of an attribute; `None` if it is not measured.
    pub(super) fn cells_by_value(&self, position: usize) -> Option<Vec<Vec<usize>>> {
        let axis = self.attributes.positions().position(|p| p == position)?;
        let mut cells = vec![Vec::new(); self.sizes[axis]];
        (0..self.cells).for_each(|cell| cells[coordinates(&self.sizes, cell)[axis]].push(cell));
        Some(cells)
    }

    /// Returns the cell of the marginal on a term's attributes, for every cell of the domain.
    pub(super) fn marginal_cells(&self, term: &Term<'_>) -> Vec<usize> {
        let kept: Vec<bool> =
            self.attributes.positions().map(|p| term.attributes.contains(p)).collect();
        let cell = |cell| {
            let values = coordinates(&self.sizes, cell);
            let coordinates_of_term =
                values.iter().zip(&self.sizes).zip(&kept).filter(|(_, kept)| **kept);
            coordinates_of_term.fold(0, |index, ((value, size), _)| index * size + value)
        };
        (0..self.cells).map(cell).collect()
    }
}

/// Returns BᵀB of a product of factors.
pub(super) fn gram(factors: &[std::sync::Arc<IntegerFactor>]) -> Array2<BigInt> {
    factors.iter().fold(Array2::from_elem((1, 1), BigInt::from(1)), |product, factor| {
        let right = factor.gram();
        let n = right.nrows();
        let entry = |(i, j): (usize, usize)| &product[[i / n, j / n]] * &right[[i % n, j % n]];
        Array2::from_shape_fn((product.nrows() * n, product.ncols() * n), entry)
    })
}

/// Returns max_a Σ_A k² |B_A e_a|²/(2σ_A²), or `None` if there are too many records.
pub(super) fn of_one_record(
    terms: &[Term<'_>],
    deviations: &[RationalDeviation],
    rows: u32,
) -> Result<Option<ExactRho>> {
    let Some(domain) = Domain::of(terms, false) else { return Ok(None) };
    let mut sums = vec![ExactRho::zero(); domain.cells];
    for (term, deviation) in terms.iter().zip(deviations) {
        let mut squares = vec![BigUint::from(1u32)];
        for factor in term.strategy.factors() {
            let columns = factor.squared_columns();
            squares =
                squares.iter().flat_map(|square| columns.iter().map(move |x| square * x)).collect();
        }
        let costs =
            squares.iter().map(|square| ExactRho::of_discrete_gaussian(square, *deviation, rows));
        let costs = costs.collect::<std::result::Result<Vec<_>, _>>()?;
        sums.iter_mut()
            .zip(domain.marginal_cells(term))
            .for_each(|(sum, cell)| *sum = sum.plus(&costs[cell]));
    }
    Ok(sums.into_iter().max())
}

/// Returns max_{a,b} Σ_A k² |B_A (e_a − e_b)|²/(2σ_A²), or `None` if there are too many pairs of
/// records.
pub(super) fn of_replaced(
    terms: &[Term<'_>],
    deviations: &[RationalDeviation],
    rows: u32,
) -> Result<Option<ExactRho>> {
    let Some(domain) = Domain::of(terms, true) else { return Ok(None) };
    let mut tables = Vec::with_capacity(terms.len());
    let mut bound = ExactRho::zero();
    for (term, deviation) in terms.iter().zip(deviations) {
        let gram = gram(term.strategy.factors());
        let distance = |i: usize, j: usize| &gram[[i, i]] + &gram[[j, j]] - &gram[[i, j]] * 2u32;
        let n = gram.nrows();
        let costs = (0..n * n).map(|k| {
            let square = distance(k / n, k % n);
            ExactRho::of_discrete_gaussian(square.magnitude(), *deviation, rows)
        });
        let costs = costs.collect::<std::result::Result<Vec<_>, _>>()?;
        bound = bound.plus(&costs.iter().max().cloned().unwrap_or_default());
        tables.push((n, costs, domain.marginal_cells(term)));
    }
    // Sums have at most 120 bits; every term is rounded up.
    let shift = bound.bits().saturating_sub(120);
    let tables: Vec<(usize, Vec<u128>, Vec<usize>)> = (tables.into_iter())
        .map(|(n, costs, cells)| {
            (n, costs.iter().map(|cost| cost.shifted_up(shift)).collect(), cells)
        })
        .collect();
    let mut largest = 0u128;
    for a in 0..domain.cells {
        for b in 0..a {
            let sum = tables.iter().map(|(n, costs, cells)| costs[cells[a] * n + cells[b]]).sum();
            largest = largest.max(sum);
        }
    }
    Ok(Some(ExactRho::of_shifted(largest, shift).min(bound)))
}
