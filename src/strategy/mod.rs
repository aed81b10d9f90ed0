//! Strategies for one table: what a selector returns, how its error is computed, and the registry of selectors.
//!
//! A selector sees the Gram matrix of a workload and returns a [`Strategy`]; one file per selector. To add one, implement
//! [`StrategySelector`] and add a line to [`selectors`].

mod from_file;
mod hierarchical;
mod identity;
pub mod lsa;
pub mod lsa_generalized;
pub mod lsa_separated;
mod optimal;
mod svd_bound;
mod variable_agnostic;
mod wavelet;
mod workload_itself;

pub use from_file::FromFile;
pub use hierarchical::Hierarchical;
pub use identity::Identity;
pub use lsa::Lsa;
pub use lsa_generalized::LsaGeneralized;
pub use lsa_separated::LsaSeparated;
pub use optimal::{Optimal, Options as OptimalOptions, RowSelection};
pub use svd_bound::svd_bound;
pub use variable_agnostic::VariableAgnostic;
pub use wavelet::Wavelet;
pub use workload_itself::WorkloadItself;

use std::sync::Arc;

use ndarray::{Array2, Axis};

use crate::error::{Error, Result};
use crate::linalg;
use crate::workload::{Gram, GramFactor};

/// Chooses a strategy for a workload that is given by its Gram matrix.
pub trait StrategySelector: Send + Sync {
    /// The name used on the command line and in configs.
    fn name(&self) -> &str;

    /// One line for listings.
    fn summary(&self) -> &str;

    /// Selects a strategy and computes its error on the workload at unit privacy cost.
    ///
    /// # Errors
    /// The workload is outside what the selector can handle, or too large for it.
    fn select(&self, gram: &Gram) -> Result<Selection>;
}

/// A strategy for a workload, and what is known about its error.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The strategy.
    pub strategy: Strategy,
    /// Its total expected squared error on the workload at unit privacy cost, `‖A‖₂² tr(G (AᵀA)⁻¹)`.
    pub error: f64,
    /// Bounds on the optimum, for selectors that compute them.
    pub certificate: Option<Certificate>,
    /// What only this selector has to tell, by name.
    pub details: Vec<(&'static str, f64)>,
}

/// Bounds on the smallest error of any strategy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// No strategy has a smaller error.
    pub lower_bound: f64,
    /// The error of the strategy found.
    pub upper_bound: f64,
    /// Eigendecompositions used.
    pub iterations: usize,
    /// How the solver ended.
    pub status: Status,
}

impl Certificate {
    /// `upper/lower − 1`: the strategy's error exceeds the smallest possible one by at most this share.
    pub fn gap(&self) -> f64 {
        self.upper_bound / self.lower_bound - 1.0
    }
}

/// How an iterative solver ended. Whatever the status, the bounds hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The gap reached the tolerance.
    Converged,
    /// The iterations were used up first.
    IterationLimit,
    /// The iteration no longer made progress.
    Stalled,
}

/// One Kronecker factor of a strategy.
#[derive(Debug, Clone)]
pub struct StrategyFactor {
    shape: Vec<usize>,
    gram: Arc<Array2<f64>>,
    queries: Option<Arc<Array2<f64>>>,
    boxes: Option<Arc<lsa::BoxQueries>>,
}

impl StrategyFactor {
    /// A factor given by its queries, one per row.
    ///
    /// # Errors
    /// The columns are not the cells of the shape.
    pub fn from_queries(shape: &[usize], queries: Array2<f64>) -> Result<Self> {
        let cells: usize = shape.iter().product();
        if queries.ncols() != cells || queries.nrows() == 0 {
            return Err(Error::invalid(
                "strategy matrix",
                format!("at least one row of {cells} columns"),
                format!("{} x {}", queries.nrows(), queries.ncols()),
                "one row per query, one column per cell",
            ));
        }
        let mut gram = Array2::zeros((cells, cells));
        linalg::add_gram(&mut gram, queries.view())?;
        Ok(StrategyFactor {
            shape: shape.to_vec(),
            gram: Arc::new(gram),
            queries: Some(Arc::new(queries)),
            boxes: None,
        })
    }

    /// A factor given by `AᵀA` alone: under Gaussian noise all A with this Gram are equivalent (S1, App. B.2).
    pub fn from_gram(shape: &[usize], gram: Arc<Array2<f64>>) -> Self {
        StrategyFactor { shape: shape.to_vec(), gram, queries: None, boxes: None }
    }

    /// A factor of box queries, whose rows are made when asked for, with their Gram.
    fn from_boxes(boxes: Arc<lsa::BoxQueries>, gram: Arc<Array2<f64>>) -> Self {
        StrategyFactor { shape: boxes.shape().to_vec(), gram, queries: None, boxes: Some(boxes) }
    }

    /// The sizes of the attributes the factor spans.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// `AᵀA`.
    pub fn gram(&self) -> &Arc<Array2<f64>> {
        &self.gram
    }

    /// Queries with this Gram: the ones the factor was made from, else `Λ^½Uᵀ` of its eigendecomposition.
    ///
    /// # Errors
    /// The eigensolver fails.
    pub fn queries(&self) -> Result<Arc<Array2<f64>>> {
        if let Some(queries) = &self.queries {
            return Ok(queries.clone());
        }
        if let Some(boxes) = &self.boxes {
            return Ok(Arc::new(boxes.rows()));
        }
        let eigen = linalg::eigh(self.gram.view())?;
        let kept = linalg::nonzero_eigenvalues(&eigen.values);
        let mut rows = eigen.vectors.select(Axis(1), &kept).reversed_axes();
        for (mut row, &k) in rows.rows_mut().into_iter().zip(&kept) {
            row *= eigen.values[k].sqrt();
        }
        Ok(Arc::new(rows.as_standard_layout().into_owned()))
    }
}

/// A strategy `A = A₁ ⊗ … ⊗ A_k`.
#[derive(Debug, Clone)]
pub struct Strategy {
    name: String,
    factors: Vec<StrategyFactor>,
}

impl Strategy {
    /// The Kronecker product of factors.
    ///
    /// # Errors
    /// No factor.
    pub fn kronecker(name: &str, factors: Vec<StrategyFactor>) -> Result<Self> {
        if factors.is_empty() {
            return Err(Error::invalid(
                format!("strategy `{name}`"),
                "at least one factor",
                "none",
                "give the strategy at least one attribute",
            ));
        }
        Ok(Strategy { name: name.to_string(), factors })
    }

    /// The name of the selector, or of the file the strategy came from.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The Kronecker factors, in the order of the attributes.
    pub fn factors(&self) -> &[StrategyFactor] {
        &self.factors
    }

    /// The sizes of all attributes.
    pub fn shape(&self) -> Vec<usize> {
        self.factors.iter().flat_map(|f| f.shape.iter().copied()).collect()
    }

    /// `‖A‖₂²`, the largest squared column norm.
    pub fn sensitivity_squared(&self) -> f64 {
        self.factors.iter().map(|f| f.gram.diag().iter().copied().fold(0.0, f64::max)).product()
    }

    /// The total expected squared error on a workload at unit privacy cost, `‖A‖₂² tr(G (AᵀA)⁺)`. O(cells³) for the
    /// largest factor; strategy and workload are multiplied out only as far as their factors do not line up.
    ///
    /// # Errors
    /// Different shapes, a workload the strategy cannot answer, or factors too large to be dense.
    pub fn error(&self, gram: &Gram) -> Result<f64> {
        let own = Gram::from_factors(
            self.factors.iter().map(|f| GramFactor { shape: f.shape.clone(), matrix: f.gram.clone() }).collect(),
        )?;
        if own.shape() != gram.shape() {
            return Err(Error::invalid(
                format!("strategy `{}`", self.name),
                format!("a strategy over {:?}, the workload's attributes", gram.shape()),
                format!("one over {:?}", own.shape()),
                "select the strategy for this workload",
            ));
        }
        let (own, gram) = aligned(&own, gram)?;
        let mut error = self.sensitivity_squared();
        let mut known: Vec<(&GramFactor, &GramFactor, f64)> = Vec::new();
        for (v, g) in own.factors().iter().zip(gram.factors()) {
            let same = known.iter().find(|(kv, kg, _)| kv.matrix == v.matrix && kg.matrix == g.matrix);
            let trace = match same {
                Some(&(_, _, trace)) => trace,
                None => linalg::trace_of_quotient(g.matrix.view(), v.matrix.view())?
                    .map_err(|share| Error::Unsupported { strategy: self.name.clone(), share })?,
            };
            known.push((v, g, trace));
            error *= trace;
        }
        Ok(error)
    }
}

/// Both Grams in the finest common grouping of their factors.
fn aligned(a: &Gram, b: &Gram) -> Result<(Gram, Gram)> {
    let ends = |gram: &Gram| -> Vec<usize> {
        gram.factors()
            .iter()
            .scan(0, |end, f| {
                *end += f.shape.len();
                Some(*end)
            })
            .collect()
    };
    let (ends_a, ends_b) = (ends(a), ends(b));
    let groups = |own: &[usize], other: &[usize]| -> Vec<usize> {
        let mut sizes = vec![0];
        for (k, end) in own.iter().enumerate() {
            if let Some(size) = sizes.last_mut() {
                *size += 1;
            }
            if other.contains(end) && k + 1 < own.len() {
                sizes.push(0);
            }
        }
        sizes
    };
    Ok((a.grouped(&groups(&ends_a, &ends_b))?, b.grouped(&groups(&ends_b, &ends_a))?))
}

/// A selection whose error is computed from the strategy; for selectors without a certificate.
fn evaluated(strategy: Strategy, gram: &Gram) -> Result<Selection> {
    let error = strategy.error(gram)?;
    Ok(Selection { strategy, error, certificate: None, details: Vec::new() })
}

/// One factor per attribute, made by `rows` from its size; equal sizes share their matrices.
fn per_attribute(name: &str, gram: &Gram, rows: impl Fn(usize) -> Array2<f64>) -> Result<Strategy> {
    let mut made: Vec<StrategyFactor> = Vec::new();
    let mut factors = Vec::new();
    for size in gram.shape() {
        let factor = match made.iter().find(|f| f.shape == [size]) {
            Some(factor) => factor.clone(),
            None => {
                crate::workload::check_dense_size(&format!("strategy `{name}`"), size)?;
                let factor = StrategyFactor::from_queries(&[size], rows(size))?;
                made.push(factor.clone());
                factor
            }
        };
        factors.push(factor);
    }
    Strategy::kronecker(name, factors)
}

/// The selectors, in the order of listings.
pub fn selectors() -> Vec<Box<dyn StrategySelector>> {
    vec![
        Box::new(Identity),
        Box::new(WorkloadItself),
        Box::new(Hierarchical),
        Box::new(Wavelet),
        Box::new(VariableAgnostic),
        Box::new(Lsa::reading(lsa::Reading::JointSweep)),
        Box::new(Lsa::reading(lsa::Reading::Sequential)),
        Box::new(Lsa::reading(lsa::Reading::BestFirst)),
        Box::new(Lsa::reading(lsa::Reading::Forced)),
        Box::new(LsaSeparated::default()),
        Box::new(LsaGeneralized::default()),
        Box::new(Optimal::default()),
    ]
}

/// The selector with the given name, or [`FromFile`] for `matrix:FILE`.
///
/// # Errors
/// No selector has the name, the message lists those that exist; or the file holds no matrix.
pub fn by_name(name: &str) -> Result<Box<dyn StrategySelector>> {
    if let Some(path) = name.strip_prefix("matrix:") {
        return Ok(Box::new(FromFile::read(std::path::Path::new(path))?));
    }
    let all = selectors();
    let known = all.iter().map(|s| s.name()).collect::<Vec<_>>().join(", ");
    all.into_iter().find(|s| s.name() == name).ok_or_else(|| {
        Error::invalid(
            format!("strategy `{name}`"),
            format!("one of {known}"),
            format!("`{name}`"),
            "check the spelling, or give a matrix of your own with matrix:FILE.npy",
        )
    })
}

#[cfg(test)]
mod tests;
