//! Queries scaled to unit length: what to select a strategy for when relative errors count (S2,
//! optimizing for relative error).
//!
//! The error of a query is in proportion to its length, its relative error is not; so S2 scales
//! every query to unit L2 norm before selection and reports errors on the original ones. With `N_q`
//! the squared length of query q,
//!
//! ```text
//! G = Σ_q qᵀq / N_q
//! ```
//!
//! The length of a query of a Kronecker product is the product of lengths, so products stay
//! products; a query on a marginal is repeated over the cells outside. Grams are closed forms for
//! the families that have one
//! ([`QueryFamily::normalised_gram`](super::QueryFamily::normalised_gram)), sums over corners for
//! sampled ranges, and sums over rows for residual workloads.

use std::sync::Arc;

use ndarray::Array2;

use super::{Gram, GramFactor, MarginalGram, Queries, Workload, check_dense_size};
use crate::error::Result;

/// The query at unit length; one of zeros stays.
pub(super) fn scaled(mut query: Vec<f64>) -> Vec<f64> {
    let length = query.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length > 0.0 {
        query.iter_mut().for_each(|x| *x /= length);
    }
    query
}

/// `Σ_q qᵀq / N_q` of queries that are gone through one by one. O(queries · cells²).
pub(super) fn from_rows(cells: usize, rows: impl Iterator<Item = Vec<f64>>) -> Array2<f64> {
    const AT_ONCE: usize = 256;
    let mut gram = Array2::zeros((cells, cells));
    let mut batch: Vec<f64> = Vec::new();
    let add = |gram: &mut Array2<f64>, batch: &mut Vec<f64>| {
        if let Ok(rows) =
            Array2::from_shape_vec((batch.len() / cells, cells), std::mem::take(batch))
        {
            crate::linalg::add_gram(gram, rows.view());
        }
    };
    for row in rows {
        batch.extend(scaled(row));
        if batch.len() >= AT_ONCE * cells {
            add(&mut gram, &mut batch);
        }
    }
    add(&mut gram, &mut batch);
    gram
}

impl Workload {
    /// Every query scaled to unit length.
    ///
    /// # Errors
    /// AllPredicate over more cells than its count fits into a number.
    pub fn normalised(self) -> Result<Self> {
        let name = format!("normalised({})", self.name);
        let shape = self.shape.clone();
        let queries = match self.queries {
            Queries::Permuted(inner, order) => {
                Queries::Permuted(Box::new(inner.normalised()?), order)
            }
            Queries::Union(parts) => {
                Queries::Union(parts.into_iter().map(Workload::normalised).collect::<Result<_>>()?)
            }
            Queries::Normalised(inner) => Queries::Normalised(inner),
            queries => {
                let inner = Workload { name: self.name, shape: self.shape, queries };
                Queries::Normalised(Box::new(inner))
            }
        };
        Ok(Workload { name, shape, queries })
    }
}

/// The Gram of a workload with its queries scaled to unit length.
pub(super) fn gram(inner: &Workload) -> Result<Gram> {
    let dense = || {
        check_dense_size(&format!("Gram matrix of `normalised({})`", inner.name()), inner.cells())
    };
    match &inner.queries {
        Queries::Product(factors) => {
            let mut made: Vec<GramFactor> = Vec::with_capacity(factors.len());
            for (k, (family, sizes)) in factors.iter().enumerate() {
                check_dense_size("Gram matrix of normalised queries", sizes.iter().product())?;
                let matrix = match factors[..k]
                    .iter()
                    .position(|earlier| *earlier == (*family, sizes.clone()))
                {
                    Some(place) => made[place].matrix.clone(),
                    None => Arc::new(family.normalised_gram(sizes)?),
                };
                made.push(GramFactor { shape: sizes.clone(), matrix });
            }
            Gram::from_factors(made)
        }
        Queries::Marginals(parts) => {
            let term = |(attributes, part): &(crate::domain::AttributeSet, Workload)| {
                let inside: usize = part.cells();
                let outside = inner.cells() / inside.max(1);
                let mut factors = gram(part)?.factors().to_vec();
                if let Some(first) = factors.first_mut() {
                    first.matrix = Arc::new(first.matrix.as_ref() / outside as f64);
                }
                Ok(MarginalGram { attributes: *attributes, gram: Gram::from_factors(factors)? })
            };
            let terms = parts.parts().iter().map(term).collect::<Result<_>>()?;
            Gram::over_marginals(&inner.shape, terms)
        }
        Queries::Sample(sample) => Gram::dense(&inner.shape, sample.normalised_gram()),
        _ => {
            dense()?;
            Gram::dense(&inner.shape, from_rows(inner.cells(), inner.rows()?))
        }
    }
}
