//! Tables over sets of attributes: sums, products with smaller tables, and sums of products.

use std::borrow::Cow;

use super::axis_order::{arranged, moved_axes, resized, strided};
use crate::domain::AttributeSet;
use crate::residual::{runs, summed};
use matmech_linalg::{Loops, Wide};

/// The map from the cells of a table to those of a table over a subset of its attributes.
///
/// It is stored as runs of neighbouring axes that are kept or not. Both tables are row-major.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Projection {
    runs: Vec<(bool, usize)>,
    cells: usize,
}

impl Projection {
    /// Creates the map from the cells over `larger` to those over its subset `smaller`.
    pub(crate) fn new(sizes: &[usize], larger: AttributeSet, smaller: AttributeSet) -> Self {
        Projection {
            runs: runs(&larger.select(sizes), larger.axes_in(smaller)),
            cells: smaller.select(sizes).iter().product(),
        }
    }

    /// Calls `f(x, y)` for every cell x of the larger table and its image y in the smaller one.
    pub(crate) fn apply(
        &self,
        larger: &mut [f64],
        smaller: &[f64],
        f: impl Fn(&mut f64, f64) + Copy,
    ) {
        debug_assert_eq!(smaller.len(), self.cells);
        apply(larger, &self.runs, smaller, f);
    }

    /// Calls `f(y, x)` for every cell x of the larger table and its image y in a new smaller one.
    ///
    /// Every y starts at `start`. Returns the smaller table.
    pub(crate) fn reduced(
        &self,
        larger: &[f64],
        start: f64,
        f: impl Fn(&mut f64, f64) + Copy,
    ) -> Vec<f64> {
        let mut smaller = vec![start; self.cells];
        reduce(larger, &self.runs, &mut smaller, f);
        smaller
    }
}

fn apply(
    larger: &mut [f64],
    runs: &[(bool, usize)],
    smaller: &[f64],
    f: impl Fn(&mut f64, f64) + Copy,
) {
    match *runs {
        [] | [(true, _)] => Wide::detect().run(Rows { larger, smaller, f }),
        [(false, n)] | [(true, _), (false, n)] => {
            Wide::detect().run(Runs { larger, n, smaller, f })
        }
        [(false, _), (true, _)] => Wide::detect().run(Rows { larger, smaller, f }),
        [(true, blocks), ref rest @ ..] => {
            let parts = smaller.chunks_exact(smaller.len() / blocks);
            for (block, part) in larger.chunks_exact_mut(larger.len() / blocks).zip(parts) {
                apply(block, rest, part, f);
            }
        }
        [(false, blocks), ref rest @ ..] => {
            for block in larger.chunks_exact_mut(larger.len() / blocks) {
                apply(block, rest, smaller, f);
            }
        }
    }
}

/// Calls `f(x, y)` for rows x of the length of y.
struct Rows<'a, F> {
    larger: &'a mut [f64],
    smaller: &'a [f64],
    f: F,
}

impl<F: Fn(&mut f64, f64)> Loops for Rows<'_, F> {
    #[inline(always)]
    fn run(self) {
        let Rows { larger, smaller, f } = self;
        for row in larger.chunks_exact_mut(smaller.len().max(1)) {
            row.iter_mut().zip(smaller).for_each(|(x, &y)| f(x, y));
        }
    }
}

/// Calls `f(x, y)` for runs of n cells x, one run for every y.
struct Runs<'a, F> {
    larger: &'a mut [f64],
    n: usize,
    smaller: &'a [f64],
    f: F,
}

impl<F: Fn(&mut f64, f64)> Loops for Runs<'_, F> {
    #[inline(always)]
    fn run(self) {
        let Runs { larger, n, smaller, f } = self;
        for (run, &y) in larger.chunks_exact_mut(n.max(1)).zip(smaller) {
            run.iter_mut().for_each(|x| f(x, y));
        }
    }
}

fn reduce(
    larger: &[f64],
    runs: &[(bool, usize)],
    smaller: &mut [f64],
    f: impl Fn(&mut f64, f64) + Copy,
) {
    match *runs {
        [] | [(true, _)] => larger.iter().zip(smaller).for_each(|(&x, y)| f(y, x)),
        [(false, _)] => larger.iter().for_each(|&x| f(&mut smaller[0], x)),
        [(true, _), (false, n)] => {
            for (run, y) in larger.chunks_exact(n).zip(smaller) {
                run.iter().for_each(|&x| f(y, x));
            }
        }
        [(true, blocks), ref rest @ ..] => {
            let parts = smaller.len() / blocks;
            for (block, part) in
                larger.chunks_exact(larger.len() / blocks).zip(smaller.chunks_exact_mut(parts))
            {
                reduce(block, rest, part, f);
            }
        }
        [(false, blocks), ref rest @ ..] => {
            for block in larger.chunks_exact(larger.len() / blocks) {
                reduce(block, rest, smaller, f);
            }
        }
    }
}

/// A table with its attributes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub(crate) set: AttributeSet,
    pub(crate) values: Vec<f64>,
}

impl Table {
    /// Sums over the attributes not in `kept`.
    pub(crate) fn onto(&self, sizes: &[usize], kept: AttributeSet) -> Table {
        let set = self.set.intersection(kept);
        Table { set, values: summed(&self.set.select(sizes), self.set.axes_in(set), &self.values) }
    }

    /// As [`Table::onto`], or the table itself if no attribute is summed.
    fn summed_onto(&self, sizes: &[usize], kept: AttributeSet) -> Cow<'_, Table> {
        if self.set.is_subset(kept) {
            Cow::Borrowed(self)
        } else {
            Cow::Owned(self.onto(sizes, kept))
        }
    }
}

/// Reused buffers for products of tables, neither reallocated nor cleared.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scratch {
    first: Vec<f64>,
    second: Vec<f64>,
    out: Vec<f64>,
}

/// Multiplies two tables of nonnegative cells and sums over the attributes not in `kept`.
///
/// The result is over (A ∪ B) ∩ `kept`. *Time*: attributes of only one table that are not kept are
/// summed first. Then there is one matrix product for every cell of the kept shared attributes, or
/// a product of cells if no attribute remains to be summed and one table has all attributes.
pub(crate) fn contracted(
    sizes: &[usize],
    a: &Table,
    b: &Table,
    kept: AttributeSet,
    scratch: &mut Scratch,
) -> Table {
    let a = a.summed_onto(sizes, b.set.union(kept));
    let b = b.summed_onto(sizes, a.set.union(kept));
    let shared = a.set.intersection(b.set);
    let batch = shared.intersection(kept);
    if batch == a.set {
        return multiplied(sizes, b.into_owned(), &a);
    }
    if batch == b.set {
        return multiplied(sizes, a.into_owned(), &b);
    }
    let (left, right) = (a.set.without(shared), b.set.without(shared));
    let cells = |set: AttributeSet| set.select(sizes).iter().product::<usize>();
    // The longer side is the innermost loop.
    if cells(left) > cells(right) {
        return product(sizes, [&b, &a], [batch, shared.without(batch), right, left], scratch);
    }
    product(sizes, [&a, &b], [batch, shared.without(batch), left, right], scratch)
}

/// Multiplies a table by one on some of its attributes.
fn multiplied(sizes: &[usize], mut larger: Table, smaller: &Table) -> Table {
    let projection = Projection::new(sizes, larger.set, smaller.set);
    projection.apply(&mut larger.values, &smaller.values, |x, y| *x *= y);
    larger
}

/// Multiplies tables on batch ∪ left ∪ summed and batch ∪ summed ∪ right, summed over `summed`.
fn product(
    sizes: &[usize],
    [a, b]: [&Table; 2],
    [batch, summed, left, right]: [AttributeSet; 4],
    scratch: &mut Scratch,
) -> Table {
    let cells = |set: AttributeSet| set.select(sizes).iter().product::<usize>();
    let Scratch { first, second, out } = scratch;
    let first =
        arranged(sizes, &positions(&[a.set]), &positions(&[batch, left, summed]), &a.values, first);
    let second = arranged(
        sizes,
        &positions(&[b.set]),
        &positions(&[batch, summed, right]),
        &b.values,
        second,
    );
    let (rows, middle, columns) = (cells(left), cells(summed), cells(right));
    let out = resized(out, cells(batch) * rows * columns);
    Wide::detect().run(Products { first, second, rows, middle, columns, out: &mut *out });
    let set = batch.union(left).union(right);
    let mut values = Vec::new();
    if let Some(axes) = moved_axes(sizes, &positions(&[batch, left, right]), &positions(&[set])) {
        values.resize(out.len(), 0.0);
        strided(axes, out, &mut values);
    } else {
        values.extend_from_slice(out);
    }
    Table { set, values }
}

/// For every batch, a matrix product of `rows × middle` and `middle × columns` cells.
struct Products<'a> {
    first: &'a [f64],
    second: &'a [f64],
    rows: usize,
    middle: usize,
    columns: usize,
    out: &'a mut [f64],
}

impl Loops for Products<'_> {
    #[inline(always)]
    fn run(self) {
        let Products { first, second, rows, middle, columns, out } = self;
        let batches = first.chunks_exact(rows * middle).zip(second.chunks_exact(middle * columns));
        for ((first, second), out) in batches.zip(out.chunks_exact_mut(rows * columns)) {
            for (weights, to) in first.chunks_exact(middle).zip(out.chunks_exact_mut(columns)) {
                let mut done = 0;
                done += row_blocks::<16>(weights, second, columns, done, to);
                done += row_blocks::<4>(weights, second, columns, done, to);
                row_blocks::<1>(weights, second, columns, done, to);
            }
        }
    }
}

/// Computes the row Σ `weights` · `second` from column `start`, in whole blocks of N columns.
///
/// Each block is summed in registers in the order of the weights. Returns the number of columns.
#[inline(always)]
fn row_blocks<const N: usize>(
    weights: &[f64],
    second: &[f64],
    columns: usize,
    start: usize,
    to: &mut [f64],
) -> usize {
    let blocks = to[start..].as_chunks_mut::<N>().0;
    for (block, to) in blocks.iter_mut().enumerate() {
        let mut sums = [0.0; N];
        for (weight, from) in weights.iter().zip(second[start + block * N..].chunks(columns)) {
            let Some(from) = from.first_chunk::<N>() else { break };
            for k in 0..N {
                sums[k] += weight * from[k];
            }
        }
        *to = sums;
    }
    blocks.len() * N
}

/// Returns the positions of some sets, concatenated.
fn positions(sets: &[AttributeSet]) -> Vec<usize> {
    let mut positions = Vec::with_capacity(sets.iter().map(|set| set.len()).sum());
    positions.extend(sets.iter().flat_map(|set| set.positions()));
    positions
}
