//! Queries scaled to unit length, for strategies of small relative error (S2).
//!
//! S2 scales every query to unit L2 norm before strategy selection and reports errors on the
//! original queries. With `N_q` the squared L2 norm of query q,
//!
//! ```text
//! G = Σ_q qᵀq / N_q
//! ```
//!
//! Norms multiply in Kronecker products, so G of a product is a product. A query on a marginal is
//! constant along the other attributes. G is computed in closed form for the families that have one
//! ([`QueryFamily::normalised_gram`](super::QueryFamily::normalised_gram)), by sums over corners
//! for sampled ranges, and by sums over rows otherwise.

use std::sync::Arc;

use super::gram::{Gram, GramFactor, MarginalGram, check_dense_size, of_unit_rows};
use super::query_set::{Queries, Workload};
use crate::error::Result;

impl Workload {
    /// Scales every query to unit length.
    ///
    /// # Errors
    /// None; sizes are checked by [`Workload::gram`] and [`Workload::rows`].
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

/// Computes the Gram matrix of a workload with its queries scaled to unit length.
pub(super) fn gram(inner: &Workload) -> Result<Gram> {
    match &inner.queries {
        Queries::Product(factors) => {
            let mut gram_factors: Vec<GramFactor> = Vec::with_capacity(factors.len());
            for (k, (family, sizes)) in factors.iter().enumerate() {
                check_dense_size("Gram matrix of normalised queries", sizes.iter().product())?;
                let matrix = match factors[..k]
                    .iter()
                    .position(|earlier| *earlier == (*family, sizes.clone()))
                {
                    Some(index) => gram_factors[index].matrix.clone(),
                    None => Arc::new(family.normalised_gram(sizes)?),
                };
                gram_factors.push(GramFactor { shape: sizes.clone(), matrix });
            }
            Gram::from_factors(gram_factors)
        }
        Queries::Marginals(parts) => {
            let term = |(attributes, part): &(crate::domain::AttributeSet, Workload)| {
                let outside = inner.cells() / part.cells().max(1);
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
            let what = format!("Gram matrix of `normalised({})`", inner.name());
            check_dense_size(&what, inner.cells())?;
            Gram::dense(&inner.shape, of_unit_rows(inner.cells(), inner.rows()?)?)
        }
    }
}
