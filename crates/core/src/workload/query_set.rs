//! A workload: a set of linear queries, with its constructors and its number of queries.

use ndarray::Array2;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::count::QueryCount;
use super::family::{Family, Nodes};
use super::recurrence::Recurrence;
use super::sample::RangeSample;
use super::shape::format_shape;
use super::sparse::SparseRows;
use super::training::Training;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};

/// A set of linear queries over the cells of a box, the product of the attributes' values.
#[derive(Debug, Clone)]
pub struct Workload {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) queries: Queries,
}

/// The queries of a [`Workload`].
#[derive(Debug, Clone)]
pub(super) enum Queries {
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
    Marginals(Marginals),
    /// A workload with permuted cells: new cell k is old cell `order[k]`.
    Permuted(Box<Workload>, Vec<usize>),
    /// The residual part of a workload: every query centred along every attribute.
    Residual(Box<Workload>),
    /// A workload with every query scaled to unit length.
    Normalised(Box<Workload>),
    /// A union of workloads over the same box.
    Union(Vec<Workload>),
}

/// How the queries of a workload are made of simpler ones.
#[derive(Debug, Clone, Copy)]
pub enum Structure<'a> {
    /// The Kronecker product of families, each with the sizes of its attributes.
    Product(&'a [(Family, Vec<usize>)]),
    /// A workload over the same cells in another order: cell k is its cell `order[k]`.
    Permuted(&'a Workload, &'a [usize]),
    /// Workloads over marginals, each with its set of attributes.
    Marginals(&'a [(AttributeSet, Workload)]),
    /// Workloads over the same cells.
    Union(&'a [Workload]),
    /// Queries that are listed one by one ([`Workload::rows`]).
    Listed,
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

    /// Returns how the queries are made of simpler ones, which have the order of
    /// [`Workload::rows`].
    pub fn structure(&self) -> Structure<'_> {
        match &self.queries {
            Queries::Product(factors) => Structure::Product(factors),
            Queries::Permuted(inner, order) => Structure::Permuted(inner, order),
            Queries::Marginals(parts) => Structure::Marginals(parts.parts()),
            Queries::Union(parts) => Structure::Union(parts),
            Queries::Explicit(_)
            | Queries::Sparse(_)
            | Queries::Sample(_)
            | Queries::Training(_)
            | Queries::Residual(_)
            | Queries::Normalised(_) => Structure::Listed,
        }
    }

    /// Returns the nodes of a hierarchy, if they are the queries.
    pub fn nodes(&self) -> Option<&'static Nodes> {
        match self.families()? {
            [(family, _)] => family.nodes(),
            _ => None,
        }
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

    /// Returns a workload of learning rates without small ones that is close to this one. `None` if
    /// there are none.
    pub fn without_small_rates(&self) -> Option<Self> {
        let training = self.training_run()?.without_small_rates()?;
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
}

/// A workload over marginals: sets of attributes, each with a workload over its cells.
#[derive(Debug, Clone)]
pub(super) struct Marginals(pub(super) Vec<(AttributeSet, Workload)>);

impl Marginals {
    /// Returns the sets of attributes and their workloads.
    pub(super) fn parts(&self) -> &[(AttributeSet, Workload)] {
        &self.0
    }

    fn count(&self) -> QueryCount {
        self.0.iter().map(|(_, part)| part.count()).fold(QueryCount::exact(0), QueryCount::plus)
    }
}
