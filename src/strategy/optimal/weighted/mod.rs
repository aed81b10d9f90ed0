//! The certified optimum for every objective, for one participation and for fixed epochs.
//!
//! For weights p on the queries and M on the steps ([`StepWeights`]), both with sum 1,
//!
//! ```text
//! F = tr (M^½ Wᵀdiag(p)W M^½)^½      F² is a lower bound on the error of any strategy
//! X = M^(−½) (M^½ Wᵀdiag(p)W M^½)^½ M^(−½)
//! ```
//!
//! A fixed point raises the weights of the queries with large errors and of the patterns with large
//! costs, with Anderson acceleration in the logarithms. A step that lowers F is undone. The theorem
//! and its proof are in docs/participation.md.

mod point;
mod proof;
mod spectrum;
mod step_weights;
mod weighted_queries;

use ndarray::Array2;

use super::anderson::{Anderson, StepLimit};
use super::{OptimalOptions, ProblemDual, Proof, ProofWeights};
use crate::error::{Error, Result};
use crate::progress::goes_on;
use crate::strategy::participation::epochs;
use crate::strategy::{Certificate, Objective, Participation, Problem, Status};
use point::{Candidate, Point};
pub(super) use proof::bounds;
use step_weights::StepWeights;
use weighted_queries::WeightedQueries;

/// Maximum number of cells.
const MAX_CELLS: usize = 2048;

/// Number of past iterates that Anderson acceleration combines.
const WINDOW: usize = 20;

/// Maximum change of a logarithm in one step.
const MAX_CHANGE: f64 = 0.7;

/// Smallest weight of a query or pattern, relative to the uniform weight and per tolerance.
///
/// It lowers the bound by less than this share of the tolerance, and keeps K regular.
const MIN_WEIGHT: f64 = 1e-2;

/// Relative decrease of F after which the step is undone.
const DECREASE: f64 = 1e-13;

/// Barriers on the weights, if the fixed point without them stalls.
const BARRIERS: [f64; 12] =
    [1e-1, 2e-2, 4e-3, 8e-4, 2e-4, 4e-5, 8e-6, 2e-6, 4e-7, 8e-8, 2e-8, 4e-9];

/// Smallest barrier without singular values, for which errors of queries with vanishing weights are
/// accurate.
const MIN_BARRIER_OF_EIGENVALUES: f64 = 5e-8;

/// A stage ends when the residual is below this share of the barrier.
const SHARE_OF_BARRIER: f64 = 0.3;

/// Number of iterations without half the gap after which the fixed point has stalled.
const PATIENCE: usize = 100;

/// The same for the stages with a barrier, for several participations.
const PATIENCE_OF_STAGES: usize = 40;

/// Number of iterations after which a strategy is computed even if it is not expected to be good.
const STRIDE: usize = 10;

/// An optimal strategy with its certificate.
#[derive(Debug)]
pub(super) struct WeightedOptimum {
    /// The strategy's Gram matrix X, of squared sensitivity 1 under the participation.
    pub gram: Array2<f64>,
    /// Bounds on the objective.
    pub certificate: Certificate,
    /// The weights that prove the lower bound.
    pub dual: ProblemDual,
    /// The weights that prove both bounds.
    pub proof: Proof,
}

/// The best bounds so far.
struct Best {
    lower: f64,
    dual: Option<(Vec<f64>, StepWeights)>,
    upper: Option<Candidate>,
    /// The weights of the upper bound.
    strategy: ProofWeights,
}

impl Best {
    fn gap(&self) -> f64 {
        self.upper.as_ref().map_or(f64::INFINITY, |best| best.error) / self.lower - 1.0
    }

    fn record(&mut self, candidate: Candidate, point: &Point, queries: &WeightedQueries<'_>) {
        if self.upper.as_ref().is_none_or(|best| candidate.error < best.error) {
            self.upper = Some(candidate);
            self.strategy = proof::weights(queries, &point.query_weights, &point.steps);
        }
    }
}

/// Solves a problem of one participation or of fixed epochs. O(cells³) per iteration.
///
/// # Errors
/// More than 2048 cells, too many queries, a workload of zeros, or the eigensolver fails.
pub(super) fn solve(problem: &Problem<'_>, options: &OptimalOptions) -> Result<WeightedOptimum> {
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
    let patterns = patterns_of(problem);
    let single = problem.participation == Participation::Single;
    let mut queries = WeightedQueries::of(problem, patterns.concat(), single)?;
    solve_patterns(&mut queries, &patterns, cells, options)
}

/// Returns the patterns of the step weights; those of fixed epochs under min-separation.
fn patterns_of(problem: &Problem<'_>) -> Vec<Vec<usize>> {
    let cells = problem.workload.cells();
    match problem.participation {
        Participation::Single => (0..cells).map(|cell| vec![cell]).collect(),
        Participation::Epochs(count) => epochs(cells, count),
        Participation::MinSeparation { count, .. } => epochs(cells / count * count, count),
    }
}

/// Returns a lower bound on the error of any matrix under min-separation, for the objective `mean`,
/// and its weights as a dual and as a proof.
///
/// Fixed epochs of ⌊n/k⌋ steps are patterns of min-separation, so their optimum is a bound. Steps
/// beyond the last epoch have no weight.
///
/// # Errors
/// As [`solve`].
pub(in crate::strategy) fn lower_bound_of_epochs(
    problem: &Problem<'_>,
    options: &OptimalOptions,
) -> Result<(f64, ProblemDual, Proof)> {
    let Participation::MinSeparation { .. } = problem.participation else {
        return Err(Error::bug("bound of epochs", "min-separation", "another participation"));
    };
    let (cells, patterns) = (problem.workload.cells(), patterns_of(problem));
    let mut queries = WeightedQueries::of(problem, patterns.concat(), false)?;
    let optimum = solve_patterns(&mut queries, &patterns, cells, options)?;
    Ok((optimum.certificate.lower_bound, optimum.dual, optimum.proof))
}

/// Solves for patterns that partition the steps of the queries, of `cells` steps.
fn solve_patterns(
    queries: &mut WeightedQueries<'_>,
    patterns: &[Vec<usize>],
    cells: usize,
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
    let (best, iterations, interrupted) = iterate(queries, patterns.len(), size, options)?;
    let gap = best.gap();
    let (Some(upper), Some((weights, steps))) = (best.upper, best.dual) else {
        return Err(Error::DidNotConverge { what: "optimal strategy".into(), order: cells });
    };
    let status = if gap <= options.tolerance {
        Status::Converged
    } else if interrupted {
        Status::Interrupted
    } else if iterations >= options.max_iterations {
        Status::IterationLimit
    } else {
        Status::Stalled
    };
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
    let dual = ProblemDual { query_weights, step_weights: in_order(&step_weights) };
    Ok(WeightedOptimum { gram: in_order(&upper.gram), certificate, dual, proof })
}

/// Runs the fixed point; returns the bounds, the number of evaluations, and whether the observer
/// ended it.
///
/// If weights vanish, it may stall. Then it starts again and follows the
/// central path, the maximisers of `ln F² + (τ/m) Σ ln p + (τ/n) ln det M`, whose gap is at most about
/// 2τ; τ is lowered in stages.
fn iterate(
    queries: &mut WeightedQueries<'_>,
    patterns: usize,
    size: usize,
    options: &OptimalOptions,
) -> Result<(Best, usize, bool)> {
    let floor = MIN_WEIGHT * options.tolerance;
    let step_floor = floor / patterns as f64;
    let start = (
        queries.uniform(),
        StepWeights::normalised(vec![Array2::eye(size); patterns], step_floor)?,
    );
    let mut search = Search {
        best: Best { lower: 0.0, dual: None, upper: None, strategy: ProofWeights::default() },
        iterations: 0,
        interrupted: false,
        floor,
        step_floor,
        options,
    };
    search.stage(queries, start.clone(), PATIENCE)?;
    if queries.has_weights() {
        let mut from = start;
        for barrier in BARRIERS {
            if search.ended() || (barrier < MIN_BARRIER_OF_EIGENVALUES && !queries.has_rows()) {
                break;
            }
            queries.set_barrier(barrier);
            let patience = if size == 1 { PATIENCE } else { PATIENCE_OF_STAGES };
            from = search.stage(queries, from, patience)?;
        }
    }
    Ok((search.best, search.iterations, search.interrupted))
}

/// The weights of queries and of steps.
type Weights = (Vec<f64>, StepWeights);

/// The state of [`iterate`].
struct Search<'a> {
    best: Best,
    iterations: usize,
    interrupted: bool,
    floor: f64,
    step_floor: f64,
    options: &'a OptimalOptions,
}

impl Search<'_> {
    fn ended(&self) -> bool {
        self.best.gap() <= self.options.tolerance
            || self.interrupted
            || self.iterations >= self.options.max_iterations
    }

    /// Runs the fixed point until the search ends, or until the gap has not been halved for
    /// `patience` evaluations. Returns the weights with the smallest residual.
    fn stage(
        &mut self,
        queries: &WeightedQueries<'_>,
        (mut weights, mut steps): Weights,
        patience: usize,
    ) -> Result<Weights> {
        let mut history = Anderson::new(WINDOW, StepLimit::Clip(MAX_CHANGE));
        // The value of the last point that was not undone, and the plain step from it.
        let mut last: Option<(f64, Vec<f64>)> = None;
        let mut nearest: Option<(f64, Weights)> = None;
        let (mut gap, mut since) = (f64::INFINITY, self.iterations);
        while !self.ended() && self.iterations < since + patience {
            self.iterations += 1;
            let point = Point::at(queries, weights, steps)?;
            if point.lower_bound > self.best.lower {
                self.best.lower = point.lower_bound;
                self.best.dual = Some((point.query_weights.clone(), point.steps.clone()));
            }
            record(&mut self.best, &point, queries, self.iterations, self.options.tolerance)?;
            // A first iterate without a strategy is no result yet.
            let upper = self.best.upper.as_ref().map_or(f64::INFINITY, |best| best.error);
            self.interrupted = !goes_on(self.iterations, self.best.lower, upper)
                && upper.is_finite()
                && self.best.dual.is_some();
            if self.best.gap() < 0.5 * gap {
                (gap, since) = (self.best.gap(), self.iterations);
            }
            // For one participation the plain fixed point is slow at times, but stalls only where
            // weights vanish.
            if point.steps.size() == 1 && point.answers && queries.barrier() == 0.0 {
                since = self.iterations;
            }
            let merit = point.merit(queries);
            let undo =
                last.take_if(|(value, _)| merit < *value * (1.0 - DECREASE) && history.len() > 1);
            let next = match undo {
                Some((_, plain)) => {
                    history.clear();
                    plain
                }
                None => {
                    let x = point.logarithms()?;
                    let residual = point.residual(queries, &x)?;
                    let metric = point.metric(queries);
                    let size: f64 = residual.iter().zip(&metric).map(|(f, m)| m * f * f).sum();
                    if size.sqrt() < SHARE_OF_BARRIER * queries.barrier() {
                        return Ok((point.query_weights, point.steps));
                    }
                    if nearest.as_ref().is_none_or(|(smallest, _)| size < *smallest) {
                        nearest = Some((size, (point.query_weights.clone(), point.steps.clone())));
                    }
                    let plain: Vec<f64> = x
                        .iter()
                        .zip(&residual)
                        .map(|(x, f)| x + f.clamp(-MAX_CHANGE, MAX_CHANGE))
                        .collect();
                    history.push(x, residual);
                    let next = history.step(&metric).unwrap_or_else(|| plain.clone());
                    last = Some((merit, plain));
                    next
                }
            };
            let (first, second) = next.split_at(point.errors.len());
            weights = queries.normalised(first, self.floor);
            steps = StepWeights::of_logarithms(second, point.steps.size(), self.step_floor)?;
        }
        Ok(nearest.map_or((weights, steps), |(_, nearest)| nearest))
    }
}

/// Updates the upper bound with the strategies of a point.
fn record(
    best: &mut Best,
    point: &Point,
    queries: &WeightedQueries<'_>,
    iteration: usize,
    tolerance: f64,
) -> Result<()> {
    let plain = point.plain_upper_bound(queries);
    if point.steps.size() == 1
        && plain.is_finite()
        && best.upper.as_ref().is_none_or(|best| plain < best.error)
    {
        let cost = point.step_costs.iter().copied().fold(0.0, f64::max);
        best.record(Candidate { gram: &point.gram / cost, error: plain }, point, queries);
    }
    // Orthogonal columns and equal costs improve the errors of the steps to second order, not
    // those of the queries.
    let useful = !queries.has_weights()
        || point.steps.size() > 1
        || point.query_excess(queries) <= tolerance.max(2.0 * queries.barrier())
        || iteration.is_multiple_of(STRIDE);
    if useful
        && best.gap() > tolerance
        && let Some(candidate) = point.candidates(queries).next()
    {
        best.record(candidate?, point, queries);
    }
    Ok(())
}

/// Returns whether a problem has optima that are products of the optima of its attributes: the
/// largest error of one participation (the factorization norm is multiplicative).
pub(super) fn is_multiplicative(problem: &Problem<'_>) -> bool {
    problem.objective == Objective::Max && problem.participation == Participation::Single
}

#[cfg(test)]
mod tests;
