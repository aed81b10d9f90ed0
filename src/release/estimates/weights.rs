//! Vectors over the answers of all measured subspaces.

use std::collections::{BTreeMap, HashMap};

use crate::domain::AttributeSet;

/// One number per answer of the strategies of subspaces, in the order of the sets.
///
/// The order makes sums have the same bits in every run.
#[derive(Debug, Clone, Default)]
pub(super) struct Weights(pub(super) BTreeMap<AttributeSet, Vec<f64>>);

impl Weights {
    /// Returns the sum of products over common subspaces.
    pub(super) fn dot(&self, other: &Weights) -> f64 {
        self.0.iter().filter_map(|(set, x)| Some(dot(x, other.0.get(set)?))).sum()
    }

    /// Returns the Euclidean norm.
    pub(super) fn norm(&self) -> f64 {
        self.dot(self).sqrt()
    }

    /// Adds a multiple of another vector.
    pub(super) fn add(&mut self, factor: f64, other: &Weights) {
        for (set, from) in other.0.iter().filter(|_| factor != 0.0) {
            let to = self.0.entry(*set).or_insert_with(|| vec![0.0; from.len()]);
            to.iter_mut().zip(from).for_each(|(to, x)| *to += factor * x);
        }
    }

    /// Multiplies by a number.
    pub(super) fn scale(&mut self, factor: f64) {
        self.0.values_mut().flatten().for_each(|x| *x *= factor);
    }

    /// Subtracts the components along orthonormal vectors, one after the other.
    pub(super) fn subtract<'a>(&mut self, basis: impl Iterator<Item = &'a Weights>) {
        basis.for_each(|u| self.add(-self.dot(u), u));
    }
}

/// A direction in which the schema determines the estimates, of variance 1 before it does.
#[derive(Debug)]
pub(super) struct Direction {
    /// The whitened direction u.
    pub(super) whitened: Weights,
    /// √Var_A P B_A⁺ u_A: the products of u with whitened queries are answers on these cells.
    pub(super) cells: HashMap<AttributeSet, Vec<f64>>,
}

/// Returns the products of the entries of vectors, those of the last one varying fastest.
pub(super) fn kron<'a>(rows: impl Iterator<Item = &'a [f64]>) -> Vec<f64> {
    rows.fold(vec![1.0], |product, row| {
        product.iter().flat_map(|x| row.iter().map(move |y| x * y)).collect()
    })
}

/// Returns the inner product, as eight interleaved sums.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let (blocks_a, blocks_b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = blocks_a.remainder().iter().zip(blocks_b.remainder());
    let rest: f64 = rest.map(|(x, y)| x * y).sum();
    let mut sums = [0.0; LANES];
    for (a, b) in blocks_a.zip(blocks_b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (x, y))| *sum += x * y);
    }
    rest + sums.iter().sum::<f64>()
}
