//! The Gram matrix of a workload, from the Gram matrices of its parts.

use std::collections::HashMap;
use std::sync::Arc;

use ndarray::Array2;

use super::family::Family;
use super::gram::{Gram, GramFactor, MarginalGram, check_dense_size};
use super::normalised;
use super::query_set::{Marginals, Queries, Workload};
use super::shape::format_shape;
use crate::error::Result;

impl Workload {
    /// Computes the Gram matrix, as a Kronecker product if the workload is one.
    ///
    /// O(Σ cells²) over the factors; O(queries · cells²) for an explicit matrix.
    ///
    /// # Errors
    /// A factor with more than [`MAX_DENSE_CELLS`](super::MAX_DENSE_CELLS) cells.
    pub fn gram(&self) -> Result<Gram> {
        match &self.queries {
            Queries::Product(factors) => {
                let mut cache: HashMap<(Family, &[usize]), Arc<Array2<f64>>> = HashMap::new();
                let mut gram_factors = Vec::with_capacity(factors.len());
                for (family, sizes) in factors {
                    check_dense_size(
                        &format!("Gram matrix of {}:{}", family.name(), format_shape(sizes)),
                        sizes.iter().product(),
                    )?;
                    let matrix = match cache.get(&(*family, sizes.as_slice())) {
                        Some(matrix) => matrix.clone(),
                        None => {
                            let matrix = Arc::new(family.gram(sizes)?);
                            cache.insert((*family, sizes), matrix.clone());
                            matrix
                        }
                    };
                    gram_factors.push(GramFactor { shape: sizes.clone(), matrix });
                }
                Gram::from_factors(gram_factors)
            }
            Queries::Explicit(rows) => {
                check_dense_size("Gram matrix of an explicit workload", self.cells())?;
                Gram::dense(&self.shape, matmech_linalg::gram_of(rows.view()))
            }
            Queries::Sparse(rows) => {
                check_dense_size("Gram matrix of a sparse workload", self.cells())?;
                Gram::dense(&self.shape, rows.gram())
            }
            Queries::Sample(sample) => Gram::dense(&self.shape, sample.gram()),
            Queries::Training(training) => Gram::dense(&self.shape, training.gram()?),
            Queries::Marginals(parts) => parts.gram(&self.shape),
            Queries::Permuted(inner, order) => {
                let matrix = inner.gram()?.to_dense()?;
                let permuted =
                    Array2::from_shape_fn(matrix.dim(), |(i, j)| matrix[[order[i], order[j]]]);
                Gram::dense(&self.shape, permuted)
            }
            Queries::Residual(inner) => Ok(inner.gram()?.residual()),
            Queries::Normalised(inner) => normalised::gram(inner),
            Queries::Union(parts) => union_gram(&self.shape, parts),
        }
    }
}

impl Marginals {
    fn gram(&self, shape: &[usize]) -> Result<Gram> {
        let terms = self
            .0
            .iter()
            .map(|(attributes, part)| {
                Ok(MarginalGram { attributes: *attributes, gram: part.gram()? })
            })
            .collect::<Result<_>>()?;
        Gram::over_marginals(shape, terms)
    }
}

/// Computes the sum of the parts' Gram matrices. O(parts · cells²). Keeps the marginals if every
/// part is a workload over marginals.
fn union_gram(shape: &[usize], parts: &[Workload]) -> Result<Gram> {
    if let [only] = parts {
        return only.gram();
    }
    let cells: usize = shape.iter().product();
    check_dense_size("Gram matrix of a union of workloads", cells)?;
    let grams = parts.iter().map(Workload::gram).collect::<Result<Vec<_>>>()?;
    let marginals: Option<Vec<_>> =
        grams.iter().map(|gram| gram.marginals().map(<[_]>::to_vec)).collect();
    if let Some(terms) = marginals {
        return Gram::over_marginals(shape, terms.concat());
    }
    let mut sum = Array2::zeros((cells, cells));
    for gram in &grams {
        sum += &gram.to_dense()?;
    }
    Gram::dense(shape, sum)
}
