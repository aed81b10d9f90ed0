//! Workloads of linear queries: query families with closed-form Gram matrices, their Kronecker
//! products, permutations, residual parts, samples, unions and explicit matrices.
//!
//! ```
//! use matmech_core::workload::Workload;
//! let all_ranges = Workload::parse("range:32x32")?;
//! assert_eq!(all_ranges.count().to_string(), "278784");
//! assert_eq!(all_ranges.gram()?.cells(), 1024);
//! # Ok::<(), matmech_core::Error>(())
//! ```

mod answers;
mod count;
mod family;
mod gram;
mod group_file;
mod groups;
mod joint;
mod marginals;
mod matrices;
mod normalised;
mod parse;
mod query_group;
mod recurrence;
mod sample;
mod sparse;
mod training;
mod union;

pub use answers::Lanes;
pub use count::QueryCount;
pub use family::{Family, QueryFamily, Rows};
pub use gram::{Gram, GramFactor, MAX_DENSE_CELLS, check_dense_size};
pub use groups::{GroupFamily, GroupedWorkload, attribute_sets, groups_of};
pub use joint::sum_of_squares;
pub use joint::{JointQueries, RandomRows};
pub use marginals::MarginalGram;
pub use marginals::{check_terms, projected};
pub use matrices::{Matrices, MatrixSource};
pub use query_group::{GroupQueries, QueryGroup};
pub use recurrence::Recurrence;
pub use sample::{RangeSample, range_count};
pub use sparse::SparseRows;
pub use training::Training;

use std::collections::HashMap;
use std::sync::Arc;

use ndarray::Array2;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use crate::error::{Error, Result};
use crate::residual::centre_box;

/// A set of linear queries over the cells of a box, the product of the attributes' values.
#[derive(Debug, Clone)]
pub struct Workload {
    name: String,
    shape: Vec<usize>,
    queries: Queries,
}

/// The queries of a [`Workload`].
#[derive(Debug, Clone)]
enum Queries {
    /// A Kronecker product of families, each on one attribute or one pair.
    Product(Vec<(Family, Vec<usize>)>),
    /// One row per query.
    Explicit(Array2<f64>),
    /// The nonzero weights of every query.
    Sparse(SparseRows),
    /// Sampled ranges.
    Sample(RangeSample),
    /// The steps of a training run.
    Training(Training),
    /// A union of workloads over marginals.
    Marginals(marginals::Marginals),
    /// A workload with permuted cells: new cell k is old cell `order[k]`.
    Permuted(Box<Workload>, Vec<usize>),
    /// The residual part of a workload: every query centred along every attribute.
    Residual(Box<Workload>),
    /// A workload with every query scaled to unit length.
    Normalised(Box<Workload>),
    /// A union of workloads over the same box.
    Union(Vec<Workload>),
}

impl Workload {
    /// Creates the Kronecker product of families, one per attribute, or one per pair for families
    /// on pairs.
    ///
    /// # Errors
    /// No family, sizes that do not fit a family, or a domain too large to index.
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
            .map(|(f, sizes)| format!("{}:{}", f.name(), format_shape(sizes)))
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

    /// Creates one family on every attribute of a box; a family on pairs takes the whole box.
    ///
    /// # Errors
    /// As [`Workload::product`].
    pub fn family(family: Family, shape: &[usize]) -> Result<Self> {
        let mut workload = if family.arity() == 1 {
            Self::product(&shape.chunks(1).map(|n| (family, n)).collect::<Vec<_>>())?
        } else {
            Self::product(&[(family, shape)])?
        };
        workload.name = format!("{}:{}", family.name(), format_shape(shape));
        Ok(workload)
    }

    /// Creates a workload from its matrix, one row per query and one column per cell of the box.
    ///
    /// # Errors
    /// No row, entries that are not finite, or a column count other than the number of cells.
    pub fn explicit(shape: &[usize], rows: Array2<f64>) -> Result<Self> {
        let cells = crate::domain::Domain::from_shape(shape)?.cells();
        if rows.nrows() == 0 || rows.ncols() != cells || rows.iter().any(|x| !x.is_finite()) {
            return Err(Error::bad_input(
                "workload matrix",
                format!("at least one row of {cells} finite numbers"),
                format!("{} x {}", rows.nrows(), rows.ncols()),
                "give one row per query and one column per cell",
            ));
        }
        Ok(Workload {
            name: format!("matrix:{}", format_shape(shape)),
            shape: shape.to_vec(),
            queries: Queries::Explicit(rows),
        })
    }

    /// Creates a workload from the nonzero weights of its queries.
    ///
    /// # Errors
    /// Queries over another number of cells than the box has.
    pub fn sparse(shape: &[usize], rows: SparseRows) -> Result<Self> {
        let cells = crate::domain::Domain::from_shape(shape)?.cells();
        rows.check_cells(cells)?;
        Ok(Workload {
            name: format!("matrix:{}", format_shape(shape)),
            shape: shape.to_vec(),
            queries: Queries::Sparse(rows),
        })
    }

    /// Draws random predicates: every query contains every cell with the given probability,
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
            format!("predicate-sample(queries={queries},p={probability}):{}", format_shape(shape));
        Ok(workload)
    }

    /// Creates a workload of sampled ranges.
    pub fn sample(sample: RangeSample) -> Self {
        Workload {
            name: format!(
                "range-sample(queries={}):{}",
                sample.len(),
                format_shape(sample.shape())
            ),
            shape: sample.shape().to_vec(),
            queries: Queries::Sample(sample),
        }
    }

    /// Creates a workload of the steps of a training run.
    pub fn training(training: Training) -> Self {
        Workload {
            name: format!("training:{}", training.steps()),
            shape: vec![training.steps()],
            queries: Queries::Training(training),
        }
    }

    /// Permutes the cells uniformly at random.
    pub fn permuted(self, seed: u64) -> Self {
        let mut order: Vec<usize> = (0..self.cells()).collect();
        order.shuffle(&mut ChaCha20Rng::seed_from_u64(seed));
        Workload {
            name: format!("permuted-{}", self.name),
            shape: self.shape.clone(),
            queries: Queries::Permuted(Box::new(self), order),
        }
    }

    /// Returns the residual part: every query centred along every attribute, `q (⊗ (I − J/n_i))`
    /// (S3, Sec. 5).
    pub fn residual(self) -> Self {
        Workload {
            name: format!("residual({})", self.name),
            shape: self.shape.clone(),
            queries: Queries::Residual(Box::new(self)),
        }
    }

    /// Returns the workload under another name.
    pub fn named(self, name: impl Into<String>) -> Self {
        Workload { name: name.into(), ..self }
    }

    /// Returns the nonzero weights, if the workload was created from them.
    pub fn sparse_rows(&self) -> Option<&SparseRows> {
        if let Queries::Sparse(rows) = &self.queries { Some(rows) } else { None }
    }

    /// Returns the training run whose steps the workload has, if it was created from one.
    pub fn training_run(&self) -> Option<&Training> {
        if let Queries::Training(training) = &self.queries { Some(training) } else { None }
    }

    /// Returns the workload string, or a description if the workload was not parsed from one.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the sizes of the attributes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the number of cells.
    pub fn cells(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the number of queries.
    pub fn count(&self) -> QueryCount {
        match &self.queries {
            Queries::Product(factors) => factors
                .iter()
                .map(|(family, sizes)| family.count(sizes).unwrap_or(QueryCount::exact(0)))
                .fold(QueryCount::exact(1), QueryCount::times),
            Queries::Explicit(rows) => QueryCount::exact(rows.nrows() as u128),
            Queries::Sparse(rows) => QueryCount::exact(rows.count() as u128),
            Queries::Sample(sample) => QueryCount::exact(sample.len() as u128),
            Queries::Training(training) => QueryCount::exact(training.steps() as u128),
            Queries::Marginals(parts) => parts.count(),
            Queries::Permuted(inner, _) | Queries::Residual(inner) | Queries::Normalised(inner) => {
                inner.count()
            }
            Queries::Union(parts) => {
                parts.iter().map(Self::count).fold(QueryCount::exact(0), QueryCount::plus)
            }
        }
    }

    /// Returns the families with their sizes, if the workload is a product of families.
    pub fn families(&self) -> Option<&[(Family, Vec<usize>)]> {
        if let Queries::Product(factors) = &self.queries { Some(factors) } else { None }
    }

    /// Returns the common weight of the queries: 1, except for large AllPredicate workloads
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

    /// Returns a workload of learning rates without zeros that is close to this one: steps with rate 0
    /// reach no query here, and little of theirs reaches a query there. `None` if there are none.
    pub fn with_positive_rates(&self) -> Option<Self> {
        let training = self.training_run()?.with_positive_rates()?;
        Some(Self::training(training).named(self.name.clone()))
    }

    /// Returns the first-order recurrence with the workload's Gram matrix.
    ///
    /// For prefix sums, exponential decay, learning-rate schedules and all ranges on one attribute.
    /// O(cells).
    pub fn recurrence(&self) -> Option<Recurrence> {
        match &self.queries {
            Queries::Product(factors) => match factors.as_slice() {
                [(family, sizes)] => family.recurrence(sizes),
                _ => None,
            },
            Queries::Training(training) => training.recurrence(),
            _ => None,
        }
    }

    /// Computes the Gram matrix, as a Kronecker product if the workload is one.
    ///
    /// O(Σ cells²) over the factors; O(queries · cells²) for an explicit matrix.
    ///
    /// # Errors
    /// A factor with more than [`MAX_DENSE_CELLS`] cells.
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
            Queries::Union(parts) => union::gram(&self.shape, parts),
        }
    }

    /// Iterates over the queries in a fixed order, in O(cells) memory.
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
            Queries::Sparse(rows) => Box::new(rows.rows()),
            Queries::Sample(sample) => Box::new(sample.rows()),
            Queries::Training(training) => Box::new(training.rows()),
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

/// Iterates over the rows of a Kronecker product of families; those of the last factor vary
/// fastest.
fn product_rows(factors: &[(Family, Vec<usize>)]) -> Box<dyn Iterator<Item = Vec<f64>> + '_> {
    let Some(((family, sizes), rest)) = factors.split_first() else {
        return Box::new(std::iter::once(vec![1.0]));
    };
    // `Workload::rows` has called `family.rows` before, so this does not fail.
    let rows = family.rows(sizes).unwrap_or_else(|_| Box::new(std::iter::empty()));
    Box::new(rows.flat_map(move |outer| {
        product_rows(rest).map(move |inner| {
            outer.iter().flat_map(|&x| inner.iter().map(move |&y| x * y)).collect()
        })
    }))
}

/// Formats sizes: `[16, 8, 8]` as `16x8x8`.
pub fn format_shape(sizes: &[usize]) -> String {
    sizes.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}

#[cfg(test)]
mod tests;
