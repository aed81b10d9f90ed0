//! Sums over marginals, computed without a matrix over the whole domain.

use std::collections::HashMap;

use ndarray::Array2;

use crate::domain::AttributeSet;
use crate::lsa::boxes::GridBox;
use matmech_linalg as linalg;

/// The vectors of the domain's orthonormal product basis that some marginal uses.
///
/// They are indexed in the order of first use.
pub(super) struct ActiveBasis<'a> {
    shape: &'a [usize],
    /// The index of a vector, by its non-constant attributes and their basis vectors.
    indices: HashMap<Vec<(usize, usize)>, usize>,
}

impl<'a> ActiveBasis<'a> {
    pub(super) fn new(shape: &'a [usize]) -> Self {
        ActiveBasis { shape, indices: HashMap::new() }
    }

    /// Returns `Σ_γ X_γ ⊗ J` in the basis.
    ///
    /// The first sum must contain every marginal that adds basis vectors.
    pub(super) fn sum<'b>(
        &mut self,
        terms: impl Iterator<Item = (AttributeSet, &'b Array2<f64>)>,
    ) -> Array2<f64> {
        let mut rotated = Vec::new();
        for (attributes, matrix) in terms {
            let sizes = attributes.select(self.shape);
            let indices: Vec<usize> = (0..matrix.nrows())
                .map(|index| self.index_of(attributes, &GridBox::cell(&sizes, index)))
                .collect();
            let bases: Vec<Array2<f64>> = sizes.iter().map(|&n| helmert(n)).collect();
            let helmert = linalg::kron_all(bases.iter().map(|b| b.view()));
            let outside: f64 = (0..self.shape.len())
                .filter(|&a| !attributes.contains(a))
                .map(|a| self.shape[a] as f64)
                .product();
            let right = linalg::matmul(matrix.view(), helmert.view());
            rotated.push((indices, outside * linalg::matmul(helmert.t(), right.view())));
        }
        let mut out = Array2::zeros((self.indices.len(), self.indices.len()));
        for (indices, matrix) in rotated {
            for ((i, j), x) in matrix.indexed_iter() {
                out[[indices[i], indices[j]]] += x;
            }
        }
        out
    }

    /// Returns the index of a basis vector, adding it if it is new.
    fn index_of(&mut self, attributes: AttributeSet, vector: &GridBox) -> usize {
        let key = attributes
            .positions()
            .zip(vector.low().iter().copied())
            .filter(|&(_, k)| k > 0)
            .collect();
        let next = self.indices.len();
        *self.indices.entry(key).or_insert(next)
    }
}

/// Returns an orthonormal basis of n cells, in columns.
///
/// The first vector is constant. Vector k is the difference between cell k and the mean of the
/// cells before it.
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
