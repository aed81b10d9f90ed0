//! Strategies for one table, and their errors.
//!
//! A selector takes the Gram matrix of a workload and returns a [`Strategy`]. Each selector has one
//! file. To add one, implement [`StrategySelector`] and add a line to [`strategies`].

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod assessment;
mod datacube;
pub mod eigen_design;
mod factor;
mod fourier;
mod from_file;
mod hierarchical;
mod identity;
mod integer_factor;
mod integer_strategy;
mod joint_sensitivity;
pub mod lsa;
mod noise_cost;
mod optimal;
pub mod participation;
mod prefix_sums;
mod problem;
mod query_errors;
mod registry;
pub mod stream;
mod svd_bound;
mod symmetry;
#[cfg(test)]
#[path = "../../core/src/test_support.rs"]
mod test_support;
mod unanswered;
mod variable_agnostic;
mod wavelet;
mod workload_itself;

#[cfg(test)]
use matmech_core::schema;
use matmech_core::{call, domain, error, matrix_file, named_file, progress, residual, workload};
use matmech_privacy as privacy;

pub use crate::call::Call;
pub use assessment::{Assessment, ProblemAssessment};
pub use datacube::DataCube;
pub use eigen_design::{EigenDesign, EigenSeparation, PrincipalVectors};
pub use factor::{GramSource, QuerySource, StrategyFactor};
pub use fourier::Fourier;
pub use from_file::{FromFile, kronecker_of, read_kronecker};
pub use hierarchical::Hierarchical;
pub use identity::Identity;
pub use integer_factor::IntegerFactor;
pub use integer_strategy::{IntegerStrategy, SquaredSensitivity};
pub use joint_sensitivity::{JointCost, JointSensitivity};
pub use lsa::{Lsa, LsaGeneralized, LsaSeparated};
pub use optimal::banded::BandedForEpochs;
pub use optimal::{Anderson, EXPONENT, MAX_STRETCH, StepLimit, WINDOW, normalised};
pub use optimal::{
    DualVector, Optimal, OptimalOptions, OptimumDual, ProblemDual, Proof, ProofWeights,
    ProvedBounds, RowSelection, tridiagonal,
};
pub use optimal::{Linearised, MovingRows, PathPoint, Spectra};
pub use optimal::{QuasiNewton, SmoothFunction};
pub use prefix_sums::{
    BandedInverseSquareRoot, BandedSquareRoot, BinaryTree, BufferedToeplitz, Circulant, SquareRoot,
};
pub use problem::{Objective, Participation, Problem};
pub use registry::{Request, by_name, listing, strategies};
pub use svd_bound::svd_bound;
pub use variable_agnostic::VariableAgnostic;
pub use wavelet::Wavelet;
pub use workload_itself::WorkloadItself;

use ndarray::Array2;

use crate::error::{Error, Result};
use crate::workload::{Gram, GramFactor};
use matmech_linalg::{self as linalg, Quotient};

/// Selects a strategy for a workload given by its Gram matrix.
pub trait StrategySelector: std::fmt::Debug + Send + Sync {
    /// Returns the name used on the command line and in configs.
    fn name(&self) -> &str;

    /// Returns one line for listings.
    fn summary(&self) -> &str;

    /// Selects a strategy and computes its error on the workload at unit privacy cost.
    ///
    /// # Errors
    /// The selector does not support the workload, or the workload is too large.
    fn select(&self, gram: &Gram) -> Result<Selection>;

    /// Selects a strategy for a problem: a workload, an objective and a participation.
    ///
    /// By default it is the strategy of [`select`](Self::select), with the error of the problem
    /// ([`Problem::error`]).
    ///
    /// # Errors
    /// As [`select`](Self::select) and [`Problem::error`].
    fn select_for(&self, problem: &Problem<'_>) -> Result<Selection> {
        problem.check()?;
        let selection = self.select(&problem.workload.gram()?)?;
        if problem.is_default() {
            return Ok(selection);
        }
        let error = problem.error(&selection.strategy)?;
        Ok(Selection { error, certificate: None, proof: None, ..selection })
    }

    /// Returns the squared errors of all queries at unit privacy cost, in the order of the rows.
    ///
    /// By default those of least squares with the strategy of [`select_for`](Self::select_for).
    ///
    /// # Errors
    /// As [`select_for`](Self::select_for), or there are too many queries to list.
    fn query_errors(&self, problem: &Problem<'_>) -> Result<Vec<f64>> {
        prefix_sums::least_squares_errors(problem, &self.select_for(problem)?.strategy)
    }

    /// Returns the names of the options, as in `eigen-separation(group=16)`; by default none.
    fn options(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns whether the selector takes an operand, as in `eigen-design:wavelet`; by default not.
    fn takes_operand(&self) -> bool {
        false
    }

    /// Returns the certified optimum, if the selector is that.
    fn as_optimal(&self) -> Option<&Optimal> {
        None
    }

    /// Returns the same selector with the options and the operand of a call.
    ///
    /// # Errors
    /// An option or the operand is invalid.
    fn configured(&self, call: &Call<'_>) -> Result<Box<dyn StrategySelector>> {
        Err(Error::bug("configuration of a strategy", "a strategy that takes options", call.text()))
    }
}

/// A strategy for a workload with its error and, if known, a certificate.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The strategy.
    pub strategy: Strategy,
    /// The expected squared error on the workload at unit privacy cost: the total
    /// `‖A‖₂² tr(G (AᵀA)⁻¹)`, or that of another [`Objective`] and [`Participation`].
    pub error: f64,
    /// Bounds on the optimum, for selectors that compute them.
    pub certificate: Option<Certificate>,
    /// The weights that prove the certificate's lower bound, and the error of an optimal strategy.
    pub proof: Option<Proof>,
    /// Values specific to this selector, by name.
    pub details: Vec<(&'static str, f64)>,
}

/// Bounds on the smallest error of any strategy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// A lower bound on the error of any strategy.
    pub lower_bound: f64,
    /// The error of the strategy found.
    pub upper_bound: f64,
    /// The number of eigendecompositions.
    pub iterations: usize,
    /// The status of the solver.
    pub status: Status,
}

impl Certificate {
    /// Returns `upper/lower − 1`, an upper bound on the relative excess over the optimum.
    pub fn gap(&self) -> f64 {
        self.upper_bound / self.lower_bound - 1.0
    }
}

/// The status of an iterative solver. The bounds are valid for every status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The gap reached the tolerance.
    Converged,
    /// The maximum number of iterations was reached first.
    IterationLimit,
    /// The iteration made no further progress.
    Stalled,
    /// The observer ended the iteration ([`progress`](crate::progress)).
    Interrupted,
}

/// A strategy `A = A₁ ⊗ … ⊗ A_k`.
#[derive(Debug, Clone)]
pub struct Strategy {
    name: String,
    factors: Vec<StrategyFactor>,
}

impl Strategy {
    /// Creates the Kronecker product of factors.
    ///
    /// # Errors
    /// There is no factor.
    pub fn kronecker(name: &str, factors: Vec<StrategyFactor>) -> Result<Self> {
        if factors.is_empty() {
            return Err(Error::bad_input(
                format!("strategy `{name}`"),
                "at least one factor",
                "none",
                "give the strategy at least one attribute",
            ));
        }
        Ok(Strategy { name: name.to_string(), factors })
    }

    /// Creates a strategy of one factor.
    pub fn single(name: &str, factor: StrategyFactor) -> Self {
        Strategy { name: name.to_string(), factors: vec![factor] }
    }

    /// Returns the name of the selector, or of the file with the strategy.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the Kronecker factors, in the order of the attributes.
    pub fn factors(&self) -> &[StrategyFactor] {
        &self.factors
    }

    /// Returns the sizes of all attributes.
    pub fn shape(&self) -> Vec<usize> {
        self.factors.iter().flat_map(|f| f.shape().iter().copied()).collect()
    }

    /// Returns `‖A‖₂²`, the largest squared column norm.
    pub fn sensitivity_squared(&self) -> f64 {
        self.factors.iter().map(StrategyFactor::sensitivity_squared).product()
    }

    /// Returns the total expected squared error on a workload at unit privacy cost,
    /// `‖A‖₂² tr(G (AᵀA)⁺)`.
    ///
    /// O(cells³) for the largest factor. Factors are multiplied out only where those of the
    /// strategy and the workload do not align.
    ///
    /// # Errors
    /// The shapes differ, the strategy cannot answer the workload, or a factor is too large to be
    /// dense.
    pub fn error(&self, gram: &Gram) -> Result<f64> {
        let factor =
            |f: &StrategyFactor| Ok(GramFactor { shape: f.shape().to_vec(), matrix: f.gram()? });
        let v = Gram::from_factors(self.factors.iter().map(factor).collect::<Result<_>>()?)?;
        if v.shape() != gram.shape() {
            return Err(Error::bad_input(
                format!("strategy `{}`", self.name),
                format!("a strategy over {:?}, the workload's attributes", gram.shape()),
                format!("one over {:?}", v.shape()),
                "select the strategy for this workload",
            ));
        }
        let (v, gram) = aligned(&v, gram)?;
        let mut error = self.sensitivity_squared();
        let mut known: Vec<(&GramFactor, &GramFactor, f64)> = Vec::new();
        for (v, g) in v.factors().iter().zip(gram.factors()) {
            let same =
                known.iter().find(|(kv, kg, _)| kv.matrix == v.matrix && kg.matrix == g.matrix);
            let trace = match same {
                Some(&(_, _, trace)) => trace,
                None => answered(
                    &self.name,
                    linalg::trace_of_quotient(g.matrix.view(), v.matrix.view())?,
                )?,
            };
            known.push((v, g, trace));
            error *= trace;
        }
        Ok(error)
    }
}

/// Returns the trace of a quotient, if the strategy answers the whole workload.
fn answered(strategy: &str, quotient: Quotient) -> Result<f64> {
    match quotient {
        Quotient::Trace(trace) => Ok(trace),
        Quotient::Outside { share } => {
            Err(Error::Unanswered { strategy: strategy.to_owned(), share })
        }
    }
}

/// Returns the number of attributes up to the end of every factor, from the numbers of attributes.
fn factor_ends(attributes: impl Iterator<Item = usize>) -> Vec<usize> {
    attributes
        .scan(0, |end, count| {
            *end += count;
            Some(*end)
        })
        .collect()
}

/// Returns both Gram matrices in the finest common grouping of their factors.
fn aligned(a: &Gram, b: &Gram) -> Result<(Gram, Gram)> {
    let ends = |gram: &Gram| factor_ends(gram.factors().iter().map(|f| f.shape.len()));
    let (ends_a, ends_b) = (ends(a), ends(b));
    let groups = |ends: &[usize], other_ends: &[usize]| -> Vec<usize> {
        let mut sizes = vec![0];
        for (k, end) in ends.iter().enumerate() {
            if let Some(size) = sizes.last_mut() {
                *size += 1;
            }
            if other_ends.contains(end) && k + 1 < ends.len() {
                sizes.push(0);
            }
        }
        sizes
    };
    Ok((a.grouped(&groups(&ends_a, &ends_b))?, b.grouped(&groups(&ends_b, &ends_a))?))
}

/// Returns a selection without a certificate, with the error computed from the strategy.
///
/// # Errors
/// As [`Strategy::error`].
pub fn evaluated(strategy: Strategy, gram: &Gram) -> Result<Selection> {
    let error = strategy.error(gram)?;
    Ok(Selection { strategy, error, certificate: None, proof: None, details: Vec::new() })
}

/// Returns one factor per attribute, with queries computed by `rows` from its size.
///
/// Attributes of equal size share one matrix.
///
/// # Errors
/// An attribute is too large for a dense matrix, or the rows have another length than its size.
pub fn per_attribute(
    name: &str,
    gram: &Gram,
    rows: impl Fn(usize) -> Array2<f64>,
) -> Result<Strategy> {
    let mut made: Vec<StrategyFactor> = Vec::new();
    let mut factors = Vec::new();
    for size in gram.shape() {
        let factor = match made.iter().find(|f| f.shape() == [size]) {
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

#[cfg(test)]
mod tests;
