//! Tables over sets of attributes: sums over some of them, products with smaller tables, and sums of products.

use std::borrow::Cow;

use crate::domain::AttributeSet;
use crate::residual::{Loops, Wide, runs, summed};

/// How the cells of a table over a set of attributes map to those of a table over a subset of it: by runs of neighbouring
/// axes that are kept or not. Both tables are row-major.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Projection {
    runs: Vec<(bool, usize)>,
    cells: usize,
}

impl Projection {
    /// From the cells over `larger` to those over `smaller`, a subset.
    pub(crate) fn new(sizes: &[usize], larger: AttributeSet, smaller: AttributeSet) -> Self {
        Projection {
            runs: runs(&larger.items(sizes), larger.axes_in(smaller)),
            cells: smaller.items(sizes).iter().product(),
        }
    }

    /// `f(x, y)` for every cell x of the larger table with the cell y of the smaller one that it maps to.
    pub(crate) fn apply(&self, larger: &mut [f64], smaller: &[f64], f: impl Fn(&mut f64, f64) + Copy) {
        debug_assert_eq!(smaller.len(), self.cells);
        apply(larger, &self.runs, smaller, f);
    }

    /// `f(y, x)` for every cell x of the larger table with the cell y of the smaller one that it maps to, y set to `start`.
    pub(crate) fn reduced(&self, larger: &[f64], start: f64, f: impl Fn(&mut f64, f64) + Copy) -> Vec<f64> {
        let mut smaller = vec![start; self.cells];
        reduce(larger, &self.runs, &mut smaller, f);
        smaller
    }
}

fn apply(larger: &mut [f64], runs: &[(bool, usize)], smaller: &[f64], f: impl Fn(&mut f64, f64) + Copy) {
    match *runs {
        [] | [(true, _)] => Wide::new().run(Rows { larger, smaller, f }),
        [(false, n)] | [(true, _), (false, n)] => Wide::new().run(Runs { larger, n, smaller, f }),
        [(false, _), (true, _)] => Wide::new().run(Rows { larger, smaller, f }),
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

/// `f(x, y)` for rows x of the length of y.
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

/// `f(x, y)` for runs x of n cells, one for every y.
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

fn reduce(larger: &[f64], runs: &[(bool, usize)], smaller: &mut [f64], f: impl Fn(&mut f64, f64) + Copy) {
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
            for (block, part) in larger.chunks_exact(larger.len() / blocks).zip(smaller.chunks_exact_mut(parts)) {
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
    /// The sums over the attributes that are not in `kept`.
    pub(crate) fn onto(&self, sizes: &[usize], kept: AttributeSet) -> Table {
        let set = self.set.intersection(kept);
        Table { set, values: summed(&self.set.items(sizes), self.set.axes_in(set), &self.values) }
    }

    /// [`Table::onto`], or the table itself where nothing is summed.
    fn summed_onto(&self, sizes: &[usize], kept: AttributeSet) -> Cow<'_, Table> {
        if self.set.is_subset(kept) { Cow::Borrowed(self) } else { Cow::Owned(self.onto(sizes, kept)) }
    }
}

/// Σ over the attributes not in `kept` of the product of two tables, over (A ∪ B) ∩ `kept`.
///
/// *Time*: what only one of the tables has and is not kept is summed first; then a matrix product for every cell of the kept
/// attributes that both have.
pub(crate) fn contracted(sizes: &[usize], a: &Table, b: &Table, kept: AttributeSet) -> Table {
    let a = a.summed_onto(sizes, b.set.union(kept));
    let b = b.summed_onto(sizes, a.set.union(kept));
    let shared = a.set.intersection(b.set);
    let batch = shared.intersection(kept);
    let (left, right) = (a.set.without(shared), b.set.without(shared));
    let cells = |set: AttributeSet| set.items(sizes).iter().product::<usize>();
    // The longer side runs innermost.
    if cells(left) > cells(right) {
        return product(sizes, &b, &a, batch, shared, right, left);
    }
    product(sizes, &a, &b, batch, shared, left, right)
}

fn product(
    sizes: &[usize],
    a: &Table,
    b: &Table,
    batch: AttributeSet,
    shared: AttributeSet,
    left: AttributeSet,
    right: AttributeSet,
) -> Table {
    let cells = |set: AttributeSet| set.items(sizes).iter().product::<usize>();
    let summed = shared.without(batch);
    let first = arranged(sizes, &positions(&[a.set]), &positions(&[batch, left, summed]), &a.values);
    let second = arranged(sizes, &positions(&[b.set]), &positions(&[batch, summed, right]), &b.values);
    let (batches, rows, middle, columns) = (cells(batch), cells(left), cells(summed), cells(right));
    let mut out = vec![0.0; batches * rows * columns];
    Wide::new().run(Products { first: &first, second: &second, rows, middle, columns, out: &mut out });
    let set = batch.union(left).union(right);
    let values = match arranged(sizes, &positions(&[batch, left, right]), &positions(&[set]), &out) {
        Cow::Owned(values) => values,
        Cow::Borrowed(_) => out,
    };
    Table { set, values }
}

/// A matrix product of `rows × middle` and `middle × columns` cells for every batch.
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

/// The row Σ `weights` · `second` from a column on, in whole blocks of N, each summed in registers in the order of the weights;
/// returns how many columns these are.
#[inline(always)]
fn row_blocks<const N: usize>(weights: &[f64], second: &[f64], columns: usize, start: usize, to: &mut [f64]) -> usize {
    let blocks = to[start..].as_chunks_mut::<N>().0;
    for (place, to) in blocks.iter_mut().enumerate() {
        let mut sums = [0.0; N];
        for (weight, from) in weights.iter().zip(second[start + place * N..].chunks(columns)) {
            let Some(from) = from.first_chunk::<N>() else { break };
            for k in 0..N {
                sums[k] += weight * from[k];
            }
        }
        *to = sums;
    }
    blocks.len() * N
}

/// The positions of some sets, one set after the other.
fn positions(sets: &[AttributeSet]) -> Vec<usize> {
    let mut positions = Vec::with_capacity(sets.iter().map(|set| set.len()).sum());
    positions.extend(sets.iter().flat_map(|set| set.positions()));
    positions
}

/// The attributes of a set that another one lacks.
pub(crate) fn without(set: AttributeSet, other: AttributeSet) -> AttributeSet {
    set.without(other)
}

/// A row-major table with its axes in another order.
pub(crate) fn permuted(sizes: &[usize], from: &[usize], to: &[usize], values: &[f64]) -> Vec<f64> {
    arranged(sizes, from, to, values).into_owned()
}

/// A row-major table with its axes in another order; the table itself where its cells stay where they are.
fn arranged<'a>(sizes: &[usize], from: &[usize], to: &[usize], values: &'a [f64]) -> Cow<'a, [f64]> {
    let mut strides = [0; AttributeSet::CAPACITY];
    let mut stride = 1;
    for &p in from.iter().rev() {
        strides[p] = stride;
        stride *= sizes[p];
    }
    // Neighbours in both orders are one axis.
    let mut axes: Vec<(usize, usize)> = Vec::with_capacity(to.len());
    for &p in to.iter().filter(|&&p| sizes[p] != 1) {
        let (n, stride) = (sizes[p], strides[p]);
        match axes.last_mut() {
            Some((m, whole)) if *whole == n * stride => (*m, *whole) = (*m * n, stride),
            _ => axes.push((n, stride)),
        }
    }
    if axes.len() < 2 {
        return Cow::Borrowed(values);
    }
    let mut out = vec![0.0; values.len()];
    strided(&axes, values, &mut out);
    Cow::Owned(out)
}

/// Copies along axes of these sizes and strides, from the first cell on.
fn strided(axes: &[(usize, usize)], from: &[f64], to: &mut [f64]) {
    match *axes {
        [] => {}
        [(n, stride)] => strided_row(from, stride, &mut to[..n]),
        [(_, stride), (n, 1)] => {
            for (k, to) in to.chunks_exact_mut(n).enumerate() {
                to.copy_from_slice(&from[k * stride..][..n]);
            }
        }
        // Few long columns: read in order.
        [(m, 1), (n, stride)] if n < m => {
            for column in 0..n {
                let from = &from[column * stride..][..m];
                for (to, &x) in to.chunks_exact_mut(n).zip(from) {
                    to[column] = x;
                }
            }
        }
        [(_, outer), (n, stride)] => {
            for (k, to) in to.chunks_exact_mut(n).enumerate() {
                strided_row(&from[k * outer..], stride, to);
            }
        }
        [(n, stride), ref rest @ ..] => {
            let cells = to.len() / n;
            for (k, to) in to.chunks_exact_mut(cells).enumerate() {
                strided(rest, &from[k * stride..], to);
            }
        }
    }
}

fn strided_row(from: &[f64], stride: usize, to: &mut [f64]) {
    for (k, to) in to.iter_mut().enumerate() {
        *to = from[k * stride];
    }
}
