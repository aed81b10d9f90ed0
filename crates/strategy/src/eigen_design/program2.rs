//! Program 2 after the weighting: factor strategies, their product, and column completion.

use std::sync::Arc;

use ndarray::{Array1, Array2, Axis};

use super::completion::{self, Completed};
use super::weighting::{ColumnNorm, Weighting, WeightingOptions, WeightingProblem};
use super::{Design, EigenQueries};
use crate::error::Result;
use crate::symmetry::error_trace;
use crate::workload::{Gram, GramFactor, check_dense_size};
use crate::{Selection, Strategy, StrategyFactor};
use matmech_linalg as linalg;

/// Which columns are completed (steps 4 and 5 of Program 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Completion {
    /// The columns of the whole domain, as in S2. The strategy becomes one dense matrix over all
    /// cells, unless all columns are full.
    #[default]
    Joint,
    /// The columns of every Kronecker factor: the strategy stays a Kronecker product.
    Factors,
    /// No columns: Program 1 alone.
    None,
}

impl Completion {
    /// Returns the variant with a name, as used in strategy strings.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "joint" => Some(Completion::Joint),
            "factors" => Some(Completion::Factors),
            "none" => Some(Completion::None),
            _ => None,
        }
    }
}

/// The design queries of one factor.
#[derive(Clone)]
enum Queries {
    /// Orthonormal eigen-queries with the workload's eigenvalues.
    Eigen(Arc<EigenQueries>),
    /// Any other queries.
    Any(Arc<Array2<f64>>),
}

/// The weighted design of one Kronecker factor.
pub(super) struct FactorDesign {
    gram: GramFactor,
    queries: Queries,
    weighting: Weighting,
    /// Whether the weighting is a copy from an equal factor.
    repeated: bool,
}

impl FactorDesign {
    /// Weights the eigen-queries.
    ///
    /// # Errors
    /// As [`WeightingProblem::solve`].
    pub fn of_eigen_queries(
        gram: GramFactor,
        eigen: EigenQueries,
        options: &WeightingOptions,
    ) -> Result<Self> {
        let problem = WeightingProblem::new(eigen.values.clone(), &eigen.rows, ColumnNorm::L2)?;
        Ok(Self::weighted(gram, eigen, problem.solve(options)?))
    }

    /// Creates a design from eigen-queries and their weights.
    fn weighted(gram: GramFactor, eigen: EigenQueries, weighting: Weighting) -> Self {
        FactorDesign { gram, queries: Queries::Eigen(Arc::new(eigen)), weighting, repeated: false }
    }

    /// Weights any design queries.
    ///
    /// # Errors
    /// As [`WeightingProblem::solve`].
    pub fn of_design(design: Design, options: &WeightingOptions) -> Result<Self> {
        let problem = WeightingProblem::new(design.costs, &design.queries, ColumnNorm::L2)?;
        let weighting = problem.solve(options)?;
        let queries = Queries::Any(Arc::new(design.queries));
        Ok(FactorDesign { gram: design.gram, queries, weighting, repeated: false })
    }

    /// Returns whether this is the design for a factor.
    pub fn is_for(&self, factor: &GramFactor) -> bool {
        self.gram.shape == factor.shape && self.gram.matrix == factor.matrix
    }

    /// Returns a copy for an equal factor.
    pub fn repeated(&self) -> Self {
        let (gram, queries, weighting) =
            (self.gram.clone(), self.queries.clone(), self.weighting.clone());
        FactorDesign { gram, queries, weighting, repeated: true }
    }

    /// Returns `Qᵀ diag(u) Q`, of sensitivity 1.
    fn plain(&self) -> Array2<f64> {
        let rows = match &self.queries {
            Queries::Eigen(eigen) => &eigen.rows,
            Queries::Any(queries) => queries.as_ref(),
        };
        let roots: Array1<f64> = self.weighting.weights.mapv(f64::sqrt);
        linalg::gram_of((rows * &roots.insert_axis(Axis(1))).view())
    }

    /// Returns `tr(G V⁺)` before completion.
    ///
    /// It is the objective of Program 1 if the design queries are independent, and less otherwise.
    fn plain_trace(&self, name: &str, v: &Array2<f64>) -> Result<f64> {
        match &self.queries {
            Queries::Eigen(_) => Ok(self.weighting.upper_bound),
            Queries::Any(_) => error_trace(name, &self.gram.shape, &self.gram.matrix, v),
        }
    }

    /// Completes the columns of this factor.
    fn completed(&self, name: &str) -> Result<Completed> {
        match &self.queries {
            Queries::Eigen(eigen) => completion::complete(eigen, &self.weighting.weights),
            Queries::Any(_) => {
                completion::complete_dense(name, &self.gram.shape, &self.gram.matrix, self.plain())
            }
        }
    }
}

/// Returns the strategy of weighted eigen-queries of the whole domain.
///
/// # Errors
/// As [`assembled`].
pub(super) fn of_weights(
    name: &str,
    gram: &Gram,
    eigen: EigenQueries,
    weighting: Weighting,
    completion: Completion,
) -> Result<Selection> {
    let whole = match gram.factors() {
        [only] => only.clone(),
        _ => GramFactor { shape: gram.shape(), matrix: Arc::new(gram.to_dense()?) },
    };
    assembled(name, vec![FactorDesign::weighted(whole, eigen, weighting)], completion)
}

/// Returns the strategy of all factors together.
///
/// # Errors
/// The strategy does not answer the workload, the domain is too large for joint completion, or the
/// eigensolver fails.
pub(super) fn assembled(
    name: &str,
    factors: Vec<FactorDesign>,
    completion: Completion,
) -> Result<Selection> {
    let product = |f: &dyn Fn(&FactorDesign) -> f64| factors.iter().map(f).product::<f64>();
    let (lower, upper) =
        (product(&|f| f.weighting.lower_bound), product(&|f| f.weighting.upper_bound));
    let plain = plain(name, &factors)?;
    let mut details = vec![
        ("design_queries", product(&|f| f.weighting.weights.len() as f64)),
        ("error_before_completion", plain.1),
        ("weighting_gap", upper / lower - 1.0),
        (
            "weighting_steps",
            factors.iter().filter(|f| !f.repeated).map(|f| f.weighting.iterations as f64).sum(),
        ),
    ];
    let (made, traces, cells) = match completion {
        Completion::None => plain,
        Completion::Joint if factors.len() > 1 => joint(name, &factors, plain)?,
        Completion::Joint | Completion::Factors => by_factor(name, &factors)?,
    };
    details.push(("completed_cells", cells as f64));
    let strategy = Strategy::kronecker(name, made)?;
    let error = strategy.sensitivity_squared() * traces;
    Ok(Selection { strategy, error, certificate: None, proof: None, details })
}

/// The factors of the strategy, its trace `tr(G V⁺)`, and the number of completed cells.
type Assembled = (Vec<StrategyFactor>, f64, usize);

/// Assembles the factors without completion.
fn plain(name: &str, factors: &[FactorDesign]) -> Result<Assembled> {
    let (mut made, mut trace) = (Vec::new(), 1.0);
    for factor in factors {
        let v = factor.plain();
        trace *= factor.plain_trace(name, &v)?;
        made.push(StrategyFactor::from_gram(&factor.gram.shape, Arc::new(v)));
    }
    Ok((made, trace, 0))
}

/// Assembles the factors with the columns of every factor completed.
fn by_factor(name: &str, factors: &[FactorDesign]) -> Result<Assembled> {
    let (mut made, mut trace, mut cells): (Vec<(StrategyFactor, f64)>, _, _) = (Vec::new(), 1.0, 0);
    for (k, factor) in factors.iter().enumerate() {
        let known =
            factors[..k].iter().position(|earlier| factor.repeated && earlier.is_for(&factor.gram));
        let next = match known {
            Some(index) => made[index].clone(),
            None => {
                let completed = factor.completed(name)?;
                cells += completed.cells;
                (
                    StrategyFactor::from_gram(&factor.gram.shape, Arc::new(completed.gram)),
                    completed.trace,
                )
            }
        };
        trace *= next.1;
        made.push(next);
    }
    Ok((made.into_iter().map(|(factor, _)| factor).collect(), trace, cells))
}

/// Completes the columns over the whole domain; keeps the product if all columns are full.
fn joint(name: &str, factors: &[FactorDesign], plain: Assembled) -> Result<Assembled> {
    let parts = plain.0.iter().map(StrategyFactor::gram).collect::<Result<Vec<_>>>()?;
    if parts.iter().all(|part| completion::slack(part).iter().all(|&slack| slack == 0.0)) {
        return Ok(plain);
    }
    let shape: Vec<usize> = factors.iter().flat_map(|f| f.gram.shape.iter().copied()).collect();
    let what = format!(
        "strategy `{name}` completed over the whole domain; with completion=factors no dense \
         matrix over the whole domain is built"
    );
    check_dense_size(&what, shape.iter().product())?;
    let v = linalg::kron_all(parts.iter().map(|part| part.view()));
    let g = linalg::kron_all(factors.iter().map(|f| f.gram.matrix.view()));
    let completed = completion::complete_dense(name, &shape, &g, v)?;
    let factor = StrategyFactor::from_gram(&shape, Arc::new(completed.gram));
    Ok((vec![factor], completed.trace, completed.cells))
}
