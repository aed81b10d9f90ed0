//! Tables over sets of attributes: sums over some of them, products with smaller tables, and sums of products.

use crate::domain::AttributeSet;
use crate::residual::{runs, summed};

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
        [] | [(true, _)] => larger.iter_mut().zip(smaller).for_each(|(x, &y)| f(x, y)),
        [(false, _)] => larger.iter_mut().for_each(|x| f(x, smaller[0])),
        [(true, _), (false, n)] => {
            for (run, &y) in larger.chunks_exact_mut(n).zip(smaller) {
                run.iter_mut().for_each(|x| f(x, y));
            }
        }
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
}

/// Σ over the attributes not in `kept` of the product of two tables, over (A ∪ B) ∩ `kept`.
///
/// *Time*: what only one of the tables has and is not kept is summed first; then a matrix product for every cell of the kept
/// attributes that both have.
pub(crate) fn contracted(sizes: &[usize], a: &Table, b: &Table, kept: AttributeSet) -> Table {
    let a = a.onto(sizes, b.set.union(kept));
    let b = b.onto(sizes, a.set.union(kept));
    let shared = a.set.intersection(b.set);
    let batch = shared.intersection(kept);
    let (left, right) = (without(a.set, shared), without(b.set, shared));
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
    let list = |sets: &[AttributeSet]| sets.iter().flat_map(|set| set.positions()).collect::<Vec<usize>>();
    let summed = without(shared, batch);
    let first = permuted(sizes, &list(&[a.set]), &list(&[batch, left, summed]), &a.values);
    let second = permuted(sizes, &list(&[b.set]), &list(&[batch, summed, right]), &b.values);
    let (batches, rows, middle, columns) = (cells(batch), cells(left), cells(summed), cells(right));
    let mut out = vec![0.0; batches * rows * columns];
    for block in 0..batches {
        let second = &second[block * middle * columns..][..middle * columns];
        for row in 0..rows {
            let weights = &first[(block * rows + row) * middle..][..middle];
            let to = &mut out[(block * rows + row) * columns..][..columns];
            for (weight, from) in weights.iter().zip(second.chunks_exact(columns)) {
                to.iter_mut().zip(from).for_each(|(to, from)| *to += weight * from);
            }
        }
    }
    let set = batch.union(left).union(right);
    Table { set, values: permuted(sizes, &list(&[batch, left, right]), &list(&[set]), &out) }
}

/// The attributes of a set that another one lacks.
pub(crate) fn without(set: AttributeSet, other: AttributeSet) -> AttributeSet {
    set.positions()
        .filter(|&p| !other.contains(p))
        .fold(AttributeSet::EMPTY, |all, p| all.union(AttributeSet::single(p)))
}

/// A row-major table with its axes in another order.
pub(crate) fn permuted(sizes: &[usize], from: &[usize], to: &[usize], values: &[f64]) -> Vec<f64> {
    if from == to {
        return values.to_vec();
    }
    let mut axes: Vec<(usize, usize)> = Vec::with_capacity(to.len());
    for &p in to {
        let stride = from.iter().rev().take_while(|&&q| q != p).map(|&q| sizes[q]).product();
        axes.push((sizes[p], stride));
    }
    let mut out = Vec::with_capacity(values.len());
    strided(&axes, values, 0, &mut out);
    out
}

fn strided(axes: &[(usize, usize)], values: &[f64], start: usize, out: &mut Vec<f64>) {
    match *axes {
        [] => out.push(values[start]),
        [(n, 1)] => out.extend_from_slice(&values[start..start + n]),
        [(n, stride)] => out.extend((0..n).map(|k| values[start + k * stride])),
        [(n, stride), ref rest @ ..] => (0..n).for_each(|k| strided(rest, values, start + k * stride, out)),
    }
}
