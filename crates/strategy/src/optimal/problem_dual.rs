//! The weights that prove a lower bound for any objective and participation.

use ndarray::Array2;

use crate::error::{Error, Result};
use crate::participation::epochs;
use crate::query_errors::QueryErrors;
use crate::{Objective, Participation, Problem};
use matmech_linalg::{self as linalg, Semidefinite};

/// Relative deviation allowed in the conditions on the weights.
const ROUNDING: f64 = 1e-9;

/// Weights p of the queries and M of the steps.
///
/// With W the workload, `‖diag(p)^½ W M^½‖_*²` is at most the error of any strategy, where ‖·‖_* is
/// the sum of the singular values, if
///
/// - p ≥ 0 has sum 1 over the queries; for `balanced:η` at least η/m for every query; for `mean` it
///   is omitted, and the bound is for the total;
/// - M is diagonal with trace 1 (one participation), or `M = Σ_π q_π P_πᵀ Y_π P_π` with Y_π ⪰ 0 of
///   unit diagonal, q ≥ 0 and Σq = 1 over the patterns π (fixed epochs).
#[derive(Debug, Clone, PartialEq)]
pub struct ProblemDual {
    /// p, in the order of the rows; empty for the objective `mean`.
    pub query_weights: Vec<f64>,
    /// M, steps × steps.
    pub step_weights: Array2<f64>,
}

impl ProblemDual {
    /// Checks the conditions on the weights and returns `‖diag(p)^½ W M^½‖_*²`.
    ///
    /// O(cells³), from `diag(p)^½ W`, or from a root of `Wᵀ diag(p) W` for many queries.
    ///
    /// # Errors
    /// A condition does not hold, or a decomposition fails.
    pub fn lower_bound(&self, problem: &Problem<'_>) -> Result<f64> {
        self.check(problem)?;
        let cells = problem.workload.cells();
        let factor = match problem.objective {
            Objective::Mean => root(&problem.workload.gram()?.to_dense()?)?,
            Objective::Max | Objective::Balanced(_) => {
                let queries = QueryErrors::of(problem.workload)?.stored()?;
                let columns: Vec<usize> = (0..cells).collect();
                match queries.weighted_matrix(&self.query_weights, &columns) {
                    Some(rows) => rows,
                    None => root(&queries.weighted_gram(&self.query_weights, cells)?)?,
                }
            }
        };
        let product = linalg::matmul(factor.view(), root(&self.step_weights)?.t());
        Ok(linalg::row_space(product.view())?.singular_values.sum().powi(2))
    }

    fn check(&self, problem: &Problem<'_>) -> Result<()> {
        problem.check()?;
        let refuse = |expected: String| {
            Err(Error::bad_input(
                format!("dual weights of `{}`", problem.workload.name()),
                expected,
                "other weights",
                "use the weights of this problem",
            ))
        };
        let queries = problem.workload.count().as_f64();
        let smallest = match problem.objective {
            Objective::Balanced(share) => share / queries * (1.0 - ROUNDING),
            Objective::Mean | Objective::Max => 0.0,
        };
        if problem.objective != Objective::Mean
            && (self.query_weights.len() as f64 != queries
                || self.query_weights.iter().any(|&p| p.is_nan() || p < smallest)
                || (self.query_weights.iter().sum::<f64>() - 1.0).abs() > ROUNDING)
        {
            return refuse(format!("{queries} weights of at least {smallest} with sum 1"));
        }
        let cells = problem.workload.cells();
        let m = &self.step_weights;
        let patterns = match problem.participation {
            Participation::Single => (0..cells).map(|cell| vec![cell]).collect(),
            Participation::Epochs(count) => epochs(cells, count),
            Participation::MinSeparation { count, .. } => epochs(cells / count * count, count),
        };
        if m.dim() != (cells, cells) {
            return refuse(format!("step weights of order {cells}"));
        }
        let mut inside = 0.0;
        let mut total = 0.0;
        for pattern in &patterns {
            let block = Array2::from_shape_fn((pattern.len(), pattern.len()), |(i, j)| {
                m[[pattern[i], pattern[j]]]
            });
            let mass = block.diag().iter().copied().fold(0.0, f64::max);
            let lowest = linalg::eigvalsh(block.view())?.iter().copied().fold(0.0, f64::min);
            if lowest < -ROUNDING * mass || !mass.is_finite() {
                return refuse("positive semidefinite blocks of the patterns".into());
            }
            inside += block.iter().map(|x| x.abs()).sum::<f64>();
            total += mass;
        }
        let all: f64 = m.iter().map(|x| x.abs()).sum();
        if total > 1.0 + ROUNDING || !all.is_finite() || all - inside > ROUNDING * all {
            return refuse("step weights of the patterns with sum at most 1".into());
        }
        Ok(())
    }
}

/// Returns R with `RᵀR = A`.
fn root(a: &Array2<f64>) -> Result<Array2<f64>> {
    Ok(match linalg::full_rank_cholesky(a.view())? {
        Some(factor) => factor.t().as_standard_layout().into_owned(),
        None => Semidefinite::of(a.view())?.root(),
    })
}
