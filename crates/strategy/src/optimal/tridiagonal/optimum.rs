//! The optimum of a problem whose workload is a first-order recurrence.

use std::sync::Arc;

use super::evaluation::Evaluation;
use super::grids;
use super::iteration::{GridProblem, Solution, Weights};
use super::strategy_gram::RecurrenceStrategy;
use crate::error::Result;
use crate::optimal::bounds::OptimalOptions;
use crate::optimal::proof::{Proof, ProofWeights, ProvedBounds};
use crate::workload::Recurrence;
use crate::{
    Certificate, Objective, Participation, Problem, Selection, Status, Strategy, StrategyFactor,
};

/// The optimum of a problem whose workload is a first-order recurrence.
#[derive(Debug, Clone)]
pub struct TridiagonalOptimum {
    /// Bounds on the error of the objective: the total for `mean`, the largest squared error of a
    /// query for `max`, `(1 − η)·max + η·mean` for `balanced:η`. Iterations are evaluations of the
    /// dual function on the finest grid.
    pub certificate: Certificate,
    /// The dual weights μ of the cells, with sum 1.
    pub cell_weights: Vec<f64>,
    /// The dual weights p of the queries, with sum 1. For all ranges, 1/n on each row of the
    /// triangular root of the Gram matrix.
    pub query_weights: Vec<f64>,
    /// The squared errors of the queries at unit privacy cost, in the order of the workload's rows.
    /// `None` if only the Gram matrix is that of a recurrence (all ranges).
    pub query_errors: Option<Vec<f64>>,
    /// The diagonal of the strategy's Gram matrix X, whose largest entry is 1.
    pub diagonal: Vec<f64>,
    /// The weights that prove the bounds.
    pub proof: Proof,
    strategy: Arc<RecurrenceStrategy>,
}

impl TridiagonalOptimum {
    /// Returns the weights of the cells and the queries that define the strategy.
    pub(crate) fn strategy_weights(&self) -> &Weights {
        &self.strategy.weights
    }

    /// Returns the strategy, whose matrix is computed on first use.
    ///
    /// The matrix is refused above [`MAX_DENSE_CELLS`](crate::workload::MAX_DENSE_CELLS) cells.
    pub fn strategy(&self) -> Strategy {
        let shape = [self.diagonal.len()];
        let factor = StrategyFactor::from_gram_source(&shape, self.strategy.clone());
        Strategy::single("optimal", factor)
    }

    /// Returns the strategy with its certificate. The error is the upper bound.
    pub fn selection(&self) -> Selection {
        Selection {
            strategy: self.strategy(),
            error: self.certificate.upper_bound,
            certificate: Some(self.certificate),
            proof: Some(self.proof.clone()),
            details: Vec::new(),
        }
    }
}

/// Solves a problem in linear time per iteration.
///
/// Returns `None` if the workload is no first-order recurrence over one attribute, if only its Gram
/// matrix is one and the objective is not `mean`, or if the participation is not single.
///
/// # Errors
/// The numbers of the workload overflow.
pub fn solve(
    problem: &Problem<'_>,
    options: &OptimalOptions,
) -> Result<Option<TridiagonalOptimum>> {
    let Some(recurrence) = problem.workload.recurrence() else {
        return Ok(None);
    };
    if !applies(problem, &recurrence) {
        return Ok(None);
    }
    let objective = problem.objective;
    let solution =
        grids::solve(&recurrence, objective, options.tolerance, options.max_iterations.max(1))?;
    let certificate = certificate(&solution, objective, recurrence.cells(), options);
    let proof = proof(&solution, &GridProblem { recurrence: &recurrence, objective });
    // The strategy is scaled to sensitivity 1.
    let Evaluation { cells: diagonal, queries: errors, .. } = solution.evaluation;
    let largest = diagonal.iter().copied().fold(0.0, f64::max);
    let errors = || errors.iter().map(|e| e * largest).collect();
    Ok(Some(TridiagonalOptimum {
        certificate,
        cell_weights: solution.dual.cells,
        query_weights: solution.dual.queries,
        query_errors: recurrence.answers_queries().then(errors),
        diagonal: diagonal.iter().map(|v| v / largest).collect(),
        proof,
        strategy: Arc::new(RecurrenceStrategy { recurrence, weights: solution.strategy }),
    }))
}

/// Returns the certificate of a solution, whose bounds are per query for `mean`.
fn certificate(
    solution: &Solution,
    objective: Objective,
    cells: usize,
    options: &OptimalOptions,
) -> Certificate {
    let limit = solution.evaluations >= options.max_iterations;
    // The total error is the mean over the recurrence's queries times their number.
    let queries = if objective == Objective::Mean { cells as f64 } else { 1.0 };
    Certificate {
        lower_bound: solution.lower * queries,
        upper_bound: solution.upper * queries,
        iterations: solution.evaluations,
        status: Status::of(solution.gap(), options.tolerance, solution.interrupted, limit),
    }
}

/// Returns the weights of both bounds of a solution.
fn proof(solution: &Solution, grid: &GridProblem<'_>) -> Proof {
    let weights = |weights: &Weights| ProofWeights {
        cells: vec![Arc::new(weights.cells.clone())],
        queries: if grid.queries_are_free() { weights.queries.clone() } else { Vec::new() },
        barrier: 0.0,
    };
    Proof::new(weights(&solution.dual), weights(&solution.strategy))
}

/// Returns whether a problem of a recurrence is solved here.
fn applies(problem: &Problem<'_>, recurrence: &Recurrence) -> bool {
    problem.participation == Participation::Single
        && (problem.objective == Objective::Mean || recurrence.answers_queries())
}

/// Returns the bounds at the weights of a proof; `None` as [`solve`].
///
/// # Errors
/// The weights do not fit.
pub(in crate::optimal) fn bounds(
    problem: &Problem<'_>,
    proof: &Proof,
) -> Result<Option<ProvedBounds>> {
    let objective = problem.objective;
    let Some(recurrence) = problem.workload.recurrence().filter(|r| applies(problem, r)) else {
        return Ok(None);
    };
    let grid = GridProblem { recurrence: &recurrence, objective };
    let (lower, mut upper) = grid.bounds_at(&proof.dual)?;
    if let Some(strategy) = &proof.strategy {
        upper = grid.bounds_at(strategy)?.1;
    }
    let queries = if objective == Objective::Mean { recurrence.cells() as f64 } else { 1.0 };
    Ok(Some(ProvedBounds { lower_bound: lower * queries, error: Some(upper * queries) }))
}
