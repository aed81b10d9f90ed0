//! The optimum for weights of the queries and the steps, from half the steps to all.

use ndarray::Array2;

use super::search::{Coarse, Search, iterate};
use super::weighted_queries::WeightedQueries;
use super::{grids, proof};
use crate::error::{Error, Result};
use crate::optimal::bounds::OptimalOptions;
use crate::optimal::dual_weights::DualWeights;
use crate::optimal::proof::Proof;
use crate::{Certificate, Objective, Participation, Problem, Status};

/// Minimum tolerance of coarser grids.
const COARSE_TOLERANCE: f64 = 1e-7;

/// Maximum number of cells.
const MAX_CELLS: usize = 4096;

/// An optimal strategy with its certificate.
#[derive(Debug)]
pub(in crate::optimal) struct WeightedOptimum {
    /// The strategy's Gram matrix X, of squared sensitivity 1 under the participation.
    pub gram: Array2<f64>,
    /// Bounds on the objective.
    pub certificate: Certificate,
    /// The weights that prove the lower bound.
    pub dual: DualWeights,
    /// The weights that prove both bounds.
    pub proof: Proof,
}

/// Solves a problem of one participation or of fixed epochs. O(cells³) per iteration.
///
/// # Errors
/// More than 4096 cells, too many queries, a workload of zeros, or the eigensolver fails.
pub(in crate::optimal) fn solve(
    problem: &Problem<'_>,
    options: &OptimalOptions,
) -> Result<WeightedOptimum> {
    let cells = problem.workload.cells();
    if cells > MAX_CELLS {
        return Err(Error::too_large(
            format!("optimal strategy for `{}`", problem.objective),
            "cells",
            MAX_CELLS as f64,
            cells as f64,
            "use fewer cells, or objective=mean with participation=single",
        ));
    }
    if let Participation::MinSeparation { .. } = problem.participation {
        return Err(Error::bug("optimal strategy", "patterns that partition the steps", "none"));
    }
    let start = start_of(problem, options)?;
    let patterns = problem.patterns();
    let single = problem.participation == Participation::Single;
    let mut queries = WeightedQueries::of(problem, patterns.concat(), single)?;
    solve_patterns(&mut queries, &patterns, cells, start, options)
}

/// Returns the weights of half the steps, if the problem has a coarser grid. Their gap may be 1e-7,
/// which a start does not need to undercut.
///
/// # Errors
/// As [`solve`].
fn start_of(problem: &Problem<'_>, options: &OptimalOptions) -> Result<Option<Coarse>> {
    let Some(workload) = grids::halved(problem) else { return Ok(None) };
    let coarse = Problem { workload: &workload, ..*problem };
    let start = start_of(&coarse, options)?;
    let patterns = coarse.patterns();
    let mut queries = WeightedQueries::of(&coarse, patterns.concat(), false)?;
    let options = OptimalOptions { tolerance: options.tolerance.max(COARSE_TOLERANCE), ..*options };
    let size = patterns.first().map_or(1, Vec::len);
    let search = iterate(&mut queries, patterns.len(), size, start.as_ref(), true, &options)?;
    Ok(Some(Coarse { weights: search.last, barrier: queries.barrier() }))
}

/// Returns a lower bound on the error of any matrix under min-separation, for the objective `mean`,
/// and its weights as a dual and as a proof.
///
/// Fixed epochs of ⌊n/k⌋ steps are patterns of min-separation, so their optimum is a bound. Steps
/// beyond the last epoch have no weight.
///
/// # Errors
/// As [`solve`].
pub(crate) fn lower_bound_of_epochs(
    problem: &Problem<'_>,
    options: &OptimalOptions,
) -> Result<(f64, DualWeights, Proof)> {
    let Participation::MinSeparation { .. } = problem.participation else {
        return Err(Error::bug("bound of epochs", "min-separation", "another participation"));
    };
    let (cells, patterns) = (problem.workload.cells(), problem.patterns());
    let mut queries = WeightedQueries::of(problem, patterns.concat(), false)?;
    let optimum = solve_patterns(&mut queries, &patterns, cells, None, options)?;
    Ok((optimum.certificate.lower_bound, optimum.dual, optimum.proof))
}

/// Solves for patterns that partition the steps of the queries, of `cells` steps.
fn solve_patterns(
    queries: &mut WeightedQueries<'_>,
    patterns: &[Vec<usize>],
    cells: usize,
    start: Option<Coarse>,
    options: &OptimalOptions,
) -> Result<WeightedOptimum> {
    let size = patterns.first().map_or(1, Vec::len);
    let order = patterns.concat();
    if queries.total().diag().sum() <= 0.0 {
        return Err(Error::bad_input(
            "optimal strategy",
            "a workload with at least one non-zero query",
            "a Gram matrix of zeros",
            "drop this workload: it needs no measurement",
        ));
    }
    let search = iterate(queries, patterns.len(), size, start.as_ref(), false, options)?;
    let Search { best, iterations, interrupted, .. } = search;
    let gap = best.gap();
    let (Some(upper), Some((weights, steps))) = (best.upper, best.dual) else {
        return Err(Error::DidNotConverge { what: "optimal strategy".into(), order: cells });
    };
    let limit = iterations >= options.max_iterations;
    let status = Status::of(gap, options.tolerance, interrupted, limit);
    let in_order = |matrix: &Array2<f64>| {
        let mut out = Array2::zeros((cells, cells));
        for (i, &row) in order.iter().enumerate() {
            for (j, &column) in order.iter().enumerate() {
                out[[row, column]] = matrix[[i, j]];
            }
        }
        out
    };
    let mut step_weights = Array2::zeros((order.len(), order.len()));
    for (c, block) in steps.blocks.iter().enumerate() {
        for ((i, j), &x) in block.indexed_iter() {
            step_weights[[c * size + i, c * size + j]] = x;
        }
    }
    let query_weights =
        if queries.has_weights() { queries.dual_weights(&weights) } else { Vec::new() };
    let proof = Proof::new(proof::weights(queries, &weights, &steps), best.strategy);
    let certificate = Certificate {
        // Rounding may put a lower bound that meets the upper one slightly above it.
        lower_bound: best.lower.min(upper.error),
        upper_bound: upper.error,
        iterations,
        status,
    };
    let dual = DualWeights::Dense { queries: query_weights, steps: in_order(&step_weights) };
    Ok(WeightedOptimum { gram: in_order(&upper.gram), certificate, dual, proof })
}

/// Returns whether a problem has optima that are products of the optima of its attributes: the
/// largest error of one participation (the factorization norm is multiplicative).
pub(in crate::optimal) fn is_multiplicative(problem: &Problem<'_>) -> bool {
    problem.objective == Objective::Max && problem.participation == Participation::Single
}
