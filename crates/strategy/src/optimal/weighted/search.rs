//! The fixed point, and what continues where weights vanish.

use ndarray::Array2;

use super::point::{Candidate, WeightedPoint};
use super::step_weights::{StepWeights, Weights};
use super::weighted_queries::WeightedQueries;
use super::{grids, proof};
use crate::error::Result;
use crate::optimal::{OptimalOptions, ProofWeights};
use crate::progress::goes_on;
use matmech_linalg::{Anderson, StepLimit};

/// Number of past iterates that Anderson acceleration combines.
const WINDOW: usize = 20;

/// Maximum change of a logarithm in one step.
const MAX_CHANGE: f64 = 0.7;

/// Smallest weight of a query or pattern, relative to the uniform weight and per tolerance.
///
/// It lowers the bound by less than this share of the tolerance, and keeps K regular.
const MIN_WEIGHT: f64 = 1e-2;

/// Relative error of the merit.
const ACCURACY: f64 = 0.5e-13;

/// Barriers on the weights, if the fixed point without them stalls.
const BARRIERS: [f64; 12] =
    [1e-1, 2e-2, 4e-3, 8e-4, 2e-4, 4e-5, 8e-6, 2e-6, 4e-7, 8e-8, 2e-8, 4e-9];

/// Smallest barrier without singular values, for which errors of queries with vanishing weights are
/// accurate.
const MIN_BARRIER_OF_EIGENVALUES: f64 = 5e-8;

/// A stage without query weights ends when the gap without rounding errors is below this share of
/// the tolerance: rounding errors keep the bounds apart.
const SHARE_OF_TOLERANCE: f64 = 0.1;

/// A stage ends when the residual is below this share of the barrier.
const SHARE_OF_BARRIER: f64 = 0.3;

/// Number of iterations without half the gap after which the fixed point has stalled.
const PATIENCE: usize = 100;

/// The same if the interior-point method continues.
const PATIENCE_BEFORE_INTERIOR: usize = 30;

/// The same for the stages with a barrier, for several participations.
const PATIENCE_OF_STAGES: usize = 40;

/// Number of iterations after which a strategy is computed even if it is not expected to be good.
const STRIDE: usize = 10;

/// The best bounds so far.
pub(super) struct Best {
    pub lower: f64,
    /// The lower bound without the subtraction of rounding errors.
    exact: f64,
    /// The weights of the lower bound.
    pub dual: Option<Weights>,
    pub upper: Option<Candidate>,
    /// The weights of the upper bound.
    pub strategy: ProofWeights,
}

impl Best {
    pub fn gap(&self) -> f64 {
        self.gap_to(self.lower)
    }

    fn gap_to(&self, lower: f64) -> f64 {
        self.upper.as_ref().map_or(f64::INFINITY, |best| best.error) / lower - 1.0
    }

    fn record(
        &mut self,
        candidate: Candidate,
        point: &WeightedPoint,
        queries: &WeightedQueries<'_>,
    ) {
        if self.upper.as_ref().is_none_or(|best| candidate.error < best.error) {
            self.upper = Some(candidate);
            self.strategy = proof::weights(queries, &point.query_weights, &point.steps);
        }
    }
}

/// Runs the fixed point.
///
/// If weights vanish, it may stall. For the largest error of one participation and few queries, an
/// interior-point method continues then. Otherwise it starts again and follows the central path,
/// the maximisers of `ln F² + (τ/m) Σ ln p + (τ/n) ln det M`, whose gap is at most about 2τ; τ is
/// lowered in stages.
///
/// It starts at uniform weights, or at those of half the steps with the barrier that these needed.
/// `coarse` says that the problem is itself a coarser grid, whose bounds are not reported.
pub(super) fn iterate<'a>(
    queries: &mut WeightedQueries<'_>,
    patterns: usize,
    size: usize,
    half: Option<&Coarse>,
    coarse: bool,
    options: &'a OptimalOptions,
) -> Result<Search<'a>> {
    let floor = MIN_WEIGHT * options.tolerance;
    let step_floor = floor / patterns as f64;
    let start = match half {
        Some(half) => grids::prolonged(&half.weights, queries, floor, step_floor)?,
        None => (
            queries.uniform(),
            StepWeights::normalised(vec![Array2::eye(size); patterns], step_floor)?,
        ),
    };
    let known_barrier = half.map_or(0.0, |half| half.barrier);
    let mut search = Search {
        best: Best {
            lower: 0.0,
            exact: 0.0,
            dual: None,
            upper: None,
            strategy: ProofWeights::default(),
        },
        last: start.clone(),
        iterations: 0,
        interrupted: false,
        coarse,
        floor,
        step_floor,
        options,
    };
    if size == 1 && queries.has_interior() {
        let from = search.stage(queries, start, PATIENCE_BEFORE_INTERIOR)?;
        if !search.ended() {
            search.interior_point(queries, from)?;
        }
        return Ok(search);
    }
    if known_barrier == 0.0 {
        search.last = search.stage(queries, start.clone(), PATIENCE)?;
    }
    if queries.has_weights() {
        let mut from = start;
        let reached = |barrier: &f64| known_barrier == 0.0 || *barrier <= known_barrier;
        for barrier in BARRIERS.into_iter().filter(reached) {
            if search.ended() || (barrier < MIN_BARRIER_OF_EIGENVALUES && !queries.has_rows()) {
                break;
            }
            queries.set_barrier(barrier);
            let patience = if size == 1 { PATIENCE } else { PATIENCE_OF_STAGES };
            from = search.stage(queries, from, patience)?;
            search.last.clone_from(&from);
        }
    }
    Ok(search)
}

/// The weights of half the steps.
pub(super) struct Coarse {
    pub weights: Weights,
    /// The last barrier, 0 if the fixed point converged without one.
    pub barrier: f64,
}

/// The state of [`iterate`].
pub(super) struct Search<'a> {
    pub best: Best,
    /// The weights at the end.
    pub last: Weights,
    /// Number of evaluations.
    pub iterations: usize,
    /// Whether the observer ended the search.
    pub interrupted: bool,
    coarse: bool,
    floor: f64,
    step_floor: f64,
    pub options: &'a OptimalOptions,
}

impl Search<'_> {
    /// Returns whether the gap is small enough, or the search was interrupted or is at its limit.
    pub fn ended(&self) -> bool {
        self.best.gap() <= self.options.tolerance
            || self.interrupted
            || self.iterations >= self.options.max_iterations
    }

    /// Counts an evaluation, updates the bounds, and asks the observer.
    pub fn evaluated(
        &mut self,
        queries: &WeightedQueries<'_>,
        point: &WeightedPoint,
    ) -> Result<()> {
        self.iterations += 1;
        self.best.exact = self.best.exact.max(point.value * point.value);
        if point.lower_bound > self.best.lower {
            self.best.lower = point.lower_bound;
            self.best.dual = Some((point.query_weights.clone(), point.steps.clone()));
        }
        record(&mut self.best, point, queries, self.iterations, self.options.tolerance)?;
        // A first iterate without a strategy is no result yet.
        let upper = self.best.upper.as_ref().map_or(f64::INFINITY, |best| best.error);
        let reported = if self.coarse { (0.0, f64::INFINITY) } else { (self.best.lower, upper) };
        self.interrupted = !goes_on(self.iterations, reported.0, reported.1)
            && upper.is_finite()
            && self.best.dual.is_some();
        Ok(())
    }

    /// Runs the fixed point until the search ends, or until the gap has not been halved for
    /// `patience` evaluations. Returns the weights with the smallest residual.
    fn stage(
        &mut self,
        queries: &WeightedQueries<'_>,
        (mut weights, mut steps): Weights,
        patience: usize,
    ) -> Result<Weights> {
        let mut history = Anderson::new(WINDOW, StepLimit::ClipAll(MAX_CHANGE));
        let mut nearest: Option<(f64, Weights)> = None;
        let (mut gap, mut since) = (f64::INFINITY, self.iterations);
        while !self.ended() && self.iterations < since + patience {
            let point = WeightedPoint::at(queries, weights, steps)?;
            self.evaluated(queries, &point)?;
            let without_rounding = self.best.gap_to(self.best.exact);
            if without_rounding < SHARE_OF_TOLERANCE * self.options.tolerance
                && !queries.has_weights()
            {
                return Ok((point.query_weights, point.steps));
            }
            if self.best.gap() < 0.5 * gap {
                (gap, since) = (self.best.gap(), self.iterations);
            }
            // Without the interior-point method, the plain fixed point for one participation is
            // slow at times, but stalls only where weights vanish.
            if point.steps.size() == 1
                && point.answers
                && queries.barrier() == 0.0
                && !queries.has_interior()
            {
                since = self.iterations;
            }
            let merit = point.merit(queries);
            let next = match history.undone(merit, ACCURACY) {
                Some(plain) => plain,
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
                    history.next(x, residual, &metric, (merit, ACCURACY))
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
    point: &WeightedPoint,
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
