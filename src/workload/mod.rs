//! Workloads of linear queries: families with closed-form Grams, Kronecker products of them,
//! permutations, residual parts, samples, and explicit matrices.
//!
//! ```
//! use matmech::workload::Workload;
//! let all_ranges = Workload::parse("range:32x32")?;
//! assert_eq!(all_ranges.count().to_string(), "278784");
//! assert_eq!(all_ranges.gram()?.cells(), 1024);
//! # Ok::<(), matmech::Error>(())
//! ```

mod answers;
mod count;
mod family;
mod gram;
mod group_file;
mod groups;
mod joint;
mod marginals;
mod normalised;
mod parse;
mod query_group;
mod sample;
mod union;

pub use answers::Lanes;
pub use count::QueryCount;
pub use family::{Family, QueryFamily, Rows};
pub use gram::{Gram, GramFactor, MAX_DENSE_CELLS, check_dense_size};
pub use groups::{GroupFamily, GroupedWorkload, attribute_sets, groups_of};
pub(crate) use joint::sum_of_squares;
pub use joint::{JointQueries, RandomRows};
pub use marginals::MarginalGram;
pub(crate) use marginals::{check_terms, projected};
pub use query_group::{GroupQueries, QueryGroup};
pub use sample::{RangeSample, range_count};

use std::collections::HashMap;
use std::sync::Arc;

use ndarray::Array2;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use crate::error::{Error, Result};
use crate::residual::centre_box;

/// A workload: a set of linear queries over the cells of a box.
#[derive(Debug, Clone)]
pub struct Workload {
    name: String,
    shape: Vec<usize>,
    queries: Queries,
}

/// What the queries of a [`Workload`] are.
#[derive(Debug, Clone)]
enum Queries {
    /// The Kronecker product of families, each on its own attribute (or pair).
    Product(Vec<(Family, Vec<usize>)>),
    /// One row per query.
    Explicit(Array2<f64>),
    /// Sampled ranges.
    Sample(RangeSample),
    /// Workloads over marginals, together.
    Marginals(marginals::Marginals),
    /// Another workload with its cells renamed: new cell k is the old cell `order[k]`.
    Permuted(Box<Workload>, Vec<usize>),
    /// Another workload, every query of which lost its mean along every attribute.
    Residual(Box<Workload>),
    /// Another workload, every query of which is scaled to unit length.
    Normalised(Box<Workload>),
    /// Workloads over the same box, one after the other.
    Union(Vec<Workload>),
}

impl Workload {
    /// The Kronecker product of families: one per attribute, or one per pair for the joint
    /// families.
    ///
    /// # Errors
    /// Sizes that do not fit a family, or a domain too large to index.
    pub fn product(factors: &[(Family, &[usize])]) -> Result<Self> {
        if factors.is_empty() {
            return Err(Error::bad_input(
                "workload",
                "at least one family",
                "none",
                "name a family, e.g. range:64",
            ));
        }
        for (family, sizes) in factors {
            family.count(sizes)?;
        }
        let shape: Vec<usize> =
            factors.iter().flat_map(|(_, sizes)| sizes.iter().copied()).collect();
        crate::domain::Domain::from_shape(&shape)?;
        let name = factors
            .iter()
            .map(|(f, sizes)| format!("{}:{}", f.name(), by_x(sizes)))
            .collect::<Vec<_>>()
            .join("*");
        Ok(Workload {
            name,
            shape,
            queries: Queries::Product(
                factors.iter().map(|(f, sizes)| (*f, sizes.to_vec())).collect(),
            ),
        })
    }

    /// One family on every attribute of a box (joint families take the whole box).
    ///
    /// # Errors
    /// As [`Workload::product`].
    pub fn family(family: Family, shape: &[usize]) -> Result<Self> {
        let mut workload = if family.arity() == 1 {
            Self::product(&shape.chunks(1).map(|n| (family, n)).collect::<Vec<_>>())?
        } else {
            Self::product(&[(family, shape)])?
        };
        workload.name = format!("{}:{}", family.name(), by_x(shape));
        Ok(workload)
    }

    /// A workload from its matrix, one row per query, over a box of the given shape.
    ///
    /// # Errors
    /// No row, entries that are not finite, or a column count other than the cells of the box.
    pub fn explicit(shape: &[usize], rows: Array2<f64>) -> Result<Self> {
        let cells = crate::domain::Domain::from_shape(shape)?.cells();
        if rows.nrows() == 0 || rows.ncols() != cells || rows.iter().any(|x| !x.is_finite()) {
            return Err(Error::bad_input(
                "workload matrix",
                format!("at least one row of {cells} finite numbers"),
                format!("{} x {}", rows.nrows(), rows.ncols()),
                "one row per query, one column per cell",
            ));
        }
        Ok(Workload {
            name: format!("matrix:{}", by_x(shape)),
            shape: shape.to_vec(),
            queries: Queries::Explicit(rows),
        })
    }

    /// `queries` iid predicates: every cell is in a query with the given probability,
    /// independently.
    ///
    /// # Errors
    /// No query, no cell, or a probability outside (0, 1).
    pub fn predicates<R: Rng + ?Sized>(
        shape: &[usize],
        queries: usize,
        probability: f64,
        rng: &mut R,
    ) -> Result<Self> {
        if !(probability > 0.0 && probability < 1.0) {
            return Err(Error::bad_input(
                "predicate sample",
                "a probability strictly between 0 and 1",
                probability.to_string(),
                "use e.g. p=0.5",
            ));
        }
        let cells: usize = shape.iter().product();
        let rows = Array2::from_shape_fn((queries, cells), |_| {
            f64::from(u8::from(rng.random_bool(probability)))
        });
        let mut workload = Self::explicit(shape, rows)?;
        workload.name =
            format!("predicate-sample(queries={queries},p={probability}):{}", by_x(shape));
        Ok(workload)
    }

    /// A workload of sampled ranges.
    pub fn sample(sample: RangeSample) -> Self {
        Workload {
            name: format!("range-sample(queries={}):{}", sample.len(), by_x(sample.shape())),
            shape: sample.shape().to_vec(),
            queries: Queries::Sample(sample),
        }
    }

    /// The same queries with the cells renamed by a uniformly random permutation.
    pub fn permuted(self, seed: u64) -> Self {
        let mut order: Vec<usize> = (0..self.cells()).collect();
        order.shuffle(&mut ChaCha20Rng::seed_from_u64(seed));
        Workload {
            name: format!("permuted-{}", self.name),
            shape: self.shape.clone(),
            queries: Queries::Permuted(Box::new(self), order),
        }
    }

    /// The residual part: every query loses its mean along every attribute, `q (⊗ (I − J/n_i))`
    /// (S3, Sec. 5).
    pub fn residual(self) -> Self {
        Workload {
            name: format!("residual({})", self.name),
            shape: self.shape.clone(),
            queries: Queries::Residual(Box::new(self)),
        }
    }

    /// The workload string, or a description for workloads that have none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The sizes of the attributes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The number of cells.
    pub fn cells(&self) -> usize {
        self.shape.iter().product()
    }

    /// The number of queries.
    pub fn count(&self) -> QueryCount {
        match &self.queries {
            Queries::Product(factors) => factors
                .iter()
                .map(|(family, sizes)| family.count(sizes).unwrap_or(QueryCount::exact(0)))
                .fold(QueryCount::exact(1), QueryCount::times),
            Queries::Explicit(rows) => QueryCount::exact(rows.nrows() as u128),
            Queries::Sample(sample) => QueryCount::exact(sample.len() as u128),
            Queries::Marginals(parts) => parts.count(),
            Queries::Permuted(inner, _) | Queries::Residual(inner) | Queries::Normalised(inner) => {
                inner.count()
            }
            Queries::Union(parts) => {
                parts.iter().map(Self::count).fold(QueryCount::exact(0), QueryCount::plus)
            }
        }
    }

    /// The weight every query carries, other than 1 only for huge AllPredicate workloads
    /// ([`Family::PREDICATE`]).
    pub fn query_weight(&self) -> f64 {
        match &self.queries {
            Queries::Product(factors) => {
                factors.iter().map(|(f, sizes)| f.query_weight(sizes)).product()
            }
            Queries::Permuted(inner, _) | Queries::Residual(inner) => inner.query_weight(),
            _ => 1.0,
        }
    }

    /// The Gram matrix, as a Kronecker product where the workload is one. O(Σ cells²) over the
    /// factors; for an explicit matrix O(queries · cells²).
    ///
    /// # Errors
    /// A factor too large to be dense ([`MAX_DENSE_CELLS`]).
    pub fn gram(&self) -> Result<Gram> {
        match &self.queries {
            Queries::Product(factors) => {
                let mut made: HashMap<(Family, &[usize]), Arc<Array2<f64>>> = HashMap::new();
                let mut out = Vec::with_capacity(factors.len());
                for (family, sizes) in factors {
                    check_dense_size(
                        &format!("Gram matrix of {}:{}", family.name(), by_x(sizes)),
                        sizes.iter().product(),
                    )?;
                    let matrix = match made.get(&(*family, sizes.as_slice())) {
                        Some(matrix) => matrix.clone(),
                        None => {
                            let matrix = Arc::new(family.gram(sizes)?);
                            made.insert((*family, sizes), matrix.clone());
                            matrix
                        }
                    };
                    out.push(GramFactor { shape: sizes.clone(), matrix });
                }
                Gram::from_factors(out)
            }
            Queries::Explicit(rows) => {
                check_dense_size("Gram matrix of an explicit workload", self.cells())?;
                Gram::dense(&self.shape, crate::linalg::gram_of(rows.view()))
            }
            Queries::Sample(sample) => Gram::dense(&self.shape, sample.gram()),
            Queries::Marginals(parts) => parts.gram(&self.shape),
            Queries::Permuted(inner, order) => {
                let matrix = inner.gram()?.to_dense()?;
                let permuted =
                    Array2::from_shape_fn(matrix.dim(), |(i, j)| matrix[[order[i], order[j]]]);
                Gram::dense(&self.shape, permuted)
            }
            Queries::Residual(inner) => Ok(inner.gram()?.residual()),
            Queries::Normalised(inner) => normalised::gram(inner),
            Queries::Union(parts) => union::gram(&self.shape, parts),
        }
    }

    /// The queries one by one, in a fixed order; O(cells) memory. The oracle for [`Workload::gram`]
    /// on small domains, and the way to answer a workload from estimated cells.
    ///
    /// # Errors
    /// AllPredicate over too many cells to enumerate.
    pub fn rows(&self) -> Result<Box<dyn Iterator<Item = Vec<f64>> + '_>> {
        Ok(match &self.queries {
            Queries::Product(factors) => {
                for (family, sizes) in factors {
                    drop(family.rows(sizes)?);
                }
                let weight = self.query_weight();
                Box::new(
                    product_rows(factors)
                        .map(move |row| row.into_iter().map(|x| x * weight).collect()),
                )
            }
            Queries::Explicit(rows) => Box::new(rows.rows().into_iter().map(|row| row.to_vec())),
            Queries::Sample(sample) => Box::new(sample.rows()),
            Queries::Marginals(parts) => parts.rows(&self.shape)?,
            Queries::Permuted(inner, order) => {
                Box::new(inner.rows()?.map(move |row| order.iter().map(|&old| row[old]).collect()))
            }
            Queries::Residual(inner) => Box::new(inner.rows()?.map(move |mut row| {
                centre_box(&self.shape, &mut row);
                row
            })),
            Queries::Normalised(inner) => Box::new(inner.rows()?.map(normalised::scaled)),
            Queries::Union(parts) => {
                let rows = parts.iter().map(Self::rows).collect::<Result<Vec<_>>>()?;
                Box::new(rows.into_iter().flatten())
            }
        })
    }
}

/// The rows of a Kronecker product of families, the last factor's varying fastest.
fn product_rows(factors: &[(Family, Vec<usize>)]) -> Box<dyn Iterator<Item = Vec<f64>> + '_> {
    let Some(((family, sizes), rest)) = factors.split_first() else {
        return Box::new(std::iter::once(vec![1.0]));
    };
    // Sizes were checked when the workload was made; a family that refuses them here has no rows.
    let rows = family.rows(sizes).unwrap_or_else(|_| Box::new(std::iter::empty()));
    Box::new(rows.flat_map(move |outer| {
        product_rows(rest).map(move |inner| {
            outer.iter().flat_map(|&x| inner.iter().map(move |&y| x * y)).collect()
        })
    }))
}

/// `[16, 8, 8]` as `16x8x8`.
pub fn by_x(sizes: &[usize]) -> String {
    sizes.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}

#[cfg(test)]
mod tests;
