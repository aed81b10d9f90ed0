//! Proofs of problems: weights in the form of [`ProofWeights`], and the bounds they give.

use std::sync::Arc;

use super::point::WeightedPoint;
use super::step_weights::StepWeights;
use super::weighted_queries::WeightedQueries;
use crate::error::Result;
use crate::optimal::proof::{normalised, refused};
use crate::{Problem, Proof, ProofWeights, ProvedBounds};

/// Returns weights of orbits of queries, and of steps, as weights of a proof.
pub(super) fn weights(
    queries: &WeightedQueries<'_>,
    query_weights: &[f64],
    steps: &StepWeights,
) -> ProofWeights {
    ProofWeights {
        cells: vec![Arc::new(steps.roots())],
        queries: if queries.has_weights() {
            queries.dual_weights(query_weights)
        } else {
            Vec::new()
        },
        barrier: queries.barrier(),
    }
}

/// Returns the bounds at the weights of a proof.
///
/// # Errors
/// The weights do not fit, or the eigensolver fails.
pub(in crate::optimal) fn bounds(problem: &Problem<'_>, proof: &Proof) -> Result<ProvedBounds> {
    let mut evaluation = Evaluation::of(problem)?;
    let (lower_bound, mut error) = evaluation.at(&proof.dual, true)?;
    if let Some(strategy) = &proof.strategy {
        error = evaluation.at(strategy, true)?.1;
    }
    if !(lower_bound > 0.0 && error.is_finite()) {
        return Err(refused("weights with finite bounds", format!("{lower_bound} and {error}")));
    }
    Ok(ProvedBounds { lower_bound, error: Some(error) })
}

/// Returns the lower bound at the weights of a proof, also where no strategy of finite error has
/// these weights.
///
/// # Errors
/// As [`bounds`].
pub(in crate::optimal) fn lower_bound(problem: &Problem<'_>, proof: &Proof) -> Result<f64> {
    let (lower_bound, _) = Evaluation::of(problem)?.at(&proof.dual, false)?;
    if !(lower_bound > 0.0 && lower_bound.is_finite()) {
        return Err(refused("weights with a positive bound", lower_bound.to_string()));
    }
    Ok(lower_bound)
}

/// The queries of a problem, for points of given weights.
struct Evaluation<'a> {
    queries: WeightedQueries<'a>,
    patterns: usize,
    /// Steps per pattern.
    size: usize,
}

impl<'a> Evaluation<'a> {
    fn of(problem: &Problem<'a>) -> Result<Self> {
        let patterns = problem.patterns();
        // Weights of a proof may be any, also without the symmetry that the search keeps.
        let queries = WeightedQueries::of(problem, patterns.concat(), false)?;
        let size = patterns.first().map_or(1, Vec::len);
        Ok(Evaluation { queries, patterns: patterns.len(), size })
    }

    /// Returns the lower bound at some weights, and the smallest error of their strategies, if it is
    /// wanted.
    fn at(&mut self, weights: &ProofWeights, with_error: bool) -> Result<(f64, f64)> {
        let Evaluation { queries, patterns, size } = self;
        queries.set_barrier(weights.barrier);
        let query_weights = if queries.has_weights() {
            let count = queries.count() as usize;
            queries.orbit_weights(&normalised(&weights.queries, count)?)
        } else {
            Vec::new()
        };
        let steps = StepWeights::of_roots(weights.single()?, *size, *patterns)?;
        let point = WeightedPoint::at(queries, query_weights, steps)?;
        let mut error = f64::INFINITY;
        if with_error {
            if *size == 1 {
                error = point.plain_upper_bound(queries);
            }
            for candidate in point.candidates(queries) {
                error = error.min(candidate?.error);
            }
        }
        Ok((point.lower_bound, error))
    }
}
