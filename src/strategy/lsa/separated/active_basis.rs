//! Sums over marginals without a matrix over the whole domain.

use std::collections::HashMap;

use ndarray::Array2;

use super::super::GridBox;
use crate::domain::AttributeSet;
use crate::linalg;

/// The vectors of the domain's orthonormal product basis that some marginal needs, numbered as they
/// come.
pub(super) struct ActiveBasis<'a> {
    shape: &'a [usize],
    /// By the non-constant attributes and which vector of theirs it is.
    numbers: HashMap<Vec<(usize, usize)>, usize>,
}

impl<'a> ActiveBasis<'a> {
    pub(super) fn new(shape: &'a [usize]) -> Self {
        ActiveBasis { shape, numbers: HashMap::new() }
    }

    /// `Σ_γ X_γ ⊗ J` in the basis. Marginals that bring new vectors have to come before the first
    /// sum that is used.
    pub(super) fn sum<'b>(
        &mut self,
        terms: impl Iterator<Item = (AttributeSet, &'b Array2<f64>)>,
    ) -> Array2<f64> {
        let mut rotated = Vec::new();
        for (attributes, matrix) in terms {
            let sizes = attributes.items(self.shape);
            let numbers: Vec<usize> = (0..matrix.nrows())
                .map(|index| self.number(attributes, &GridBox::cell(&sizes, index)))
                .collect();
            let bases: Vec<Array2<f64>> = sizes.iter().map(|&n| helmert(n)).collect();
            let helmert = linalg::kron_all(bases.iter().map(|b| b.view()));
            let outside: f64 = (0..self.shape.len())
                .filter(|&a| !attributes.contains(a))
                .map(|a| self.shape[a] as f64)
                .product();
            let right = linalg::matmul(matrix.view(), helmert.view());
            rotated.push((numbers, outside * linalg::matmul(helmert.t(), right.view())));
        }
        let mut out = Array2::zeros((self.numbers.len(), self.numbers.len()));
        for (numbers, matrix) in rotated {
            for ((i, j), x) in matrix.indexed_iter() {
                out[[numbers[i], numbers[j]]] += x;
            }
        }
        out
    }

    fn number(&mut self, attributes: AttributeSet, index: &GridBox) -> usize {
        let key = attributes
            .positions()
            .zip(index.low().iter().copied())
            .filter(|&(_, k)| k > 0)
            .collect();
        let next = self.numbers.len();
        *self.numbers.entry(key).or_insert(next)
    }
}

/// An orthonormal basis of n cells, in columns: the constant vector, then for k = 1 … n−1 the
/// difference between cell k and the mean of the cells before it.
fn helmert(n: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, n), |(cell, k)| {
        let scale = (k as f64 * (k as f64 + 1.0)).sqrt();
        match k {
            0 => 1.0 / (n as f64).sqrt(),
            _ if cell < k => 1.0 / scale,
            _ if cell == k => -(k as f64) / scale,
            _ => 0.0,
        }
    })
}
