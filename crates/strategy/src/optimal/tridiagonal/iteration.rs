//! The fixed point on one grid: `ln μ ← ln μ + 2 ln(v/F)` and `ln p ← ln p + 2 ln e`, projected on
//! the weights that the objective allows, with safeguarded Anderson acceleration.

use super::evaluation::{Evaluation, evaluate};
use crate::Objective;
use crate::error::{Error, Result};
use crate::optimal::ProofWeights;
use crate::optimal::proof::normalised;
use crate::progress::goes_on;
use crate::workload::Recurrence;
use matmech_linalg::{Anderson, StepLimit};

/// Number of iterates that Anderson acceleration combines.
const WINDOW: usize = 17;

/// Maximum change of a logarithm in one accelerated step.
const MAX_STEP: f64 = 0.7;

/// Smallest weight of a cell or a query, which bounds the condition number.
const MIN_WEIGHT: f64 = 1e-30;

/// The approximation's error as a share of the current gap.
const ERROR_SHARE: f64 = 3e-3;

/// The approximation's error at the weights of a proof.
const PROOF_ERROR: f64 = 1e-13;

/// When the iteration stops without progress.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// Maximum number of evaluations without progress.
    evaluations: usize,
    /// Progress is a gap below this share of the smallest one at the last progress.
    progress: f64,
}

/// The patience after which the best bounds are returned.
const PATIENCE: Patience = Patience { evaluations: 150, progress: 0.98 };

/// The patience after which the interior-point method continues.
const PATIENCE_FOR_QUERIES: Patience = Patience { evaluations: 30, progress: 0.5 };

/// Weights of the cells and the queries, each with sum 1.
#[derive(Debug, Clone)]
pub(crate) struct Weights {
    /// μ.
    pub cells: Vec<f64>,
    /// p.
    pub queries: Vec<f64>,
}

/// A recurrence with an objective.
#[derive(Debug, Clone, Copy)]
pub(super) struct GridProblem<'a> {
    /// The recurrence.
    pub recurrence: &'a Recurrence,
    /// The objective. Errors of `mean` are per query of the recurrence.
    pub objective: Objective,
}

/// The state of the iteration on one grid, and the best bounds.
#[derive(Debug)]
pub(super) struct Solution {
    /// The weights of the best lower bound.
    pub dual: Weights,
    /// The weights of the best upper bound.
    pub strategy: Weights,
    /// The evaluation at the best upper bound.
    pub evaluation: Evaluation,
    pub lower: f64,
    pub upper: f64,
    pub evaluations: usize,
    /// Whether the observer ended the iteration.
    pub interrupted: bool,
}

impl Solution {
    /// Returns `upper/lower − 1`.
    pub fn gap(&self) -> f64 {
        self.upper / self.lower - 1.0
    }
}

impl GridProblem<'_> {
    /// Returns whether ln p is unknown: it is given for `mean`, and μ reversed for `max` if the
    /// recurrence is persymmetric.
    pub fn queries_are_free(&self) -> bool {
        match self.objective {
            Objective::Mean => false,
            Objective::Max => !self.recurrence.is_persymmetric(),
            Objective::Balanced(_) => true,
        }
    }

    /// Returns the number of blocks of unknowns, each with one number per cell.
    pub fn blocks(&self) -> usize {
        1 + usize::from(self.queries_are_free())
    }

    /// Returns the smallest dual weight of a query: η/n for `balanced:η`, because
    /// p = (1−η)p' + η/n.
    fn least_query_weight(&self) -> f64 {
        match self.objective {
            Objective::Balanced(share) => share / self.recurrence.cells() as f64,
            Objective::Mean | Objective::Max => MIN_WEIGHT,
        }
    }

    fn weights(&self, logarithms: &[f64]) -> Weights {
        let n = self.recurrence.cells();
        let cells = projected(logarithms[..n].iter().copied(), MIN_WEIGHT);
        let queries = if self.queries_are_free() {
            projected(logarithms[n..].iter().copied(), self.least_query_weight())
        } else if self.objective == Objective::Mean {
            vec![1.0 / n as f64; n]
        } else {
            cells.iter().rev().copied().collect()
        };
        Weights { cells, queries }
    }

    /// Returns both bounds at the weights of a proof.
    ///
    /// # Errors
    /// The weights do not fit.
    pub fn bounds_at(&self, weights: &ProofWeights) -> Result<(f64, f64)> {
        let n = self.recurrence.cells();
        let raised = |weights: Vec<f64>, least| projected(weights.iter().map(|w| w.ln()), least);
        let cells = raised(normalised(weights.single()?, n)?, MIN_WEIGHT);
        let queries = if self.queries_are_free() {
            raised(normalised(&weights.queries, n)?, self.least_query_weight())
        } else if self.objective == Objective::Mean {
            vec![1.0 / n as f64; n]
        } else {
            cells.iter().rev().copied().collect()
        };
        let evaluation = evaluate(self.recurrence, &cells, &queries, PROOF_ERROR);
        let lower = (evaluation.nuclear_norm * (1.0 - evaluation.error)).powi(2);
        Ok((lower, self.upper_bound(&evaluation)))
    }

    /// Returns the error of the strategy of an evaluation, scaled to unit privacy cost.
    fn upper_bound(&self, evaluation: &Evaluation) -> f64 {
        let largest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
        let e = &evaluation.queries;
        let mean = || e.iter().sum::<f64>() / e.len() as f64;
        let error = match self.objective {
            Objective::Mean => mean(),
            Objective::Max => largest(e),
            Objective::Balanced(share) => (1.0 - share) * largest(e) + share * mean(),
        };
        error * largest(&evaluation.cells) / (1.0 - evaluation.error).powi(2)
    }

    /// Returns the change of the unknowns by the plain update.
    fn residual(&self, x: &[f64], evaluation: &Evaluation) -> Vec<f64> {
        let n = self.recurrence.cells();
        let f = evaluation.nuclear_norm;
        let mut residual: Vec<f64> = evaluation.cells.iter().map(|v| 2.0 * (v / f).ln()).collect();
        if self.queries_are_free() {
            let updated = x[n..].iter().zip(&evaluation.queries).map(|(x, e)| x + 2.0 * e.ln());
            let updated = projected(updated, self.least_query_weight());
            residual.extend(updated.iter().zip(&x[n..]).map(|(p, x)| p.ln() - x));
        }
        residual
    }

    /// Returns the approximation's error that a gap needs.
    pub fn approximation_error(&self, gap: f64, tolerance: f64) -> f64 {
        (ERROR_SHARE * gap).clamp(0.01 * tolerance, 0.01)
    }

    /// Returns both bounds.
    ///
    /// # Errors
    /// The numbers overflow.
    pub fn bounds(&self, evaluation: &Evaluation) -> Result<(f64, f64)> {
        let lower = (evaluation.nuclear_norm * (1.0 - evaluation.error)).powi(2);
        let upper = self.upper_bound(evaluation);
        if lower > 0.0 && upper.is_finite() {
            return Ok((lower, upper));
        }
        Err(Error::DidNotConverge {
            what: "optimal strategy of a first-order recurrence".into(),
            order: self.recurrence.cells(),
        })
    }

    /// Iterates from a start until the gap is at most the tolerance, the evaluations are used, or
    /// the gap stalls. For `max` with free queries, the interior-point method continues then.
    ///
    /// # Errors
    /// The numbers overflow.
    pub fn solve(&self, start: Vec<f64>, tolerance: f64, evaluations: usize) -> Result<Solution> {
        let interior = self.objective == Objective::Max && self.queries_are_free();
        let patience = if interior { PATIENCE_FOR_QUERIES } else { PATIENCE };
        let solution = self.iterate(start, tolerance, evaluations, patience)?;
        let rest = evaluations.saturating_sub(solution.evaluations);
        if !interior || solution.interrupted || solution.gap() <= tolerance {
            return Ok(solution);
        }
        self.interior_point(solution, tolerance, rest)
    }

    /// Iterates `x ← x + r(x)` with acceleration, for the unknowns x and their plain change r.
    fn iterate(
        &self,
        start: Vec<f64>,
        tolerance: f64,
        evaluations: usize,
        patience: Patience,
    ) -> Result<Solution> {
        let mut history = Anderson::new(WINDOW, StepLimit::Clip(MAX_STEP));
        let mut x = start;
        let mut best: Option<Solution> = None;
        let (mut smallest, mut since) = (f64::INFINITY, 0);
        for count in 1..=evaluations {
            let gap = best.as_ref().map_or(1.0, Solution::gap);
            let weights = self.weights(&x);
            self.set_projected(&mut x, &weights);
            let error = self.approximation_error(gap, tolerance);
            let evaluation = evaluate(self.recurrence, &weights.cells, &weights.queries, error);
            let bounds = self.bounds(&evaluation)?;
            let next = self.next(x, &weights, &evaluation, &mut history);
            let solution = self.record(best, weights, evaluation, bounds);
            if solution.gap() < patience.progress * smallest {
                (smallest, since) = (solution.gap(), count);
            }
            let stalled = count - since >= patience.evaluations;
            if solution.gap() <= tolerance || solution.interrupted || stalled {
                return Ok(solution);
            }
            best = Some(solution);
            x = next;
        }
        best.ok_or_else(|| Error::bug("optimal strategy", "at least one evaluation", "none"))
    }

    /// Sets ln p to that of the weights, some of which the projection may have raised.
    fn set_projected(&self, x: &mut [f64], weights: &Weights) {
        if self.queries_are_free() {
            let n = self.recurrence.cells();
            x[n..].iter_mut().zip(&weights.queries).for_each(|(x, p)| *x = p.ln());
        }
    }

    /// Returns the next unknowns: an accelerated step, or the last plain one if the accelerated step
    /// from it lowered F by more than the error of the approximation.
    fn next(
        &self,
        x: Vec<f64>,
        weights: &Weights,
        evaluation: &Evaluation,
        history: &mut Anderson,
    ) -> Vec<f64> {
        let (f, accuracy) = (evaluation.nuclear_norm, 2.0 * evaluation.error);
        history.undone(f, accuracy).unwrap_or_else(|| {
            let residual = self.residual(&x, evaluation);
            history.next(x, residual, &self.norm_weights(weights), (f, accuracy))
        })
    }

    /// Returns the best bounds after one more evaluation, and asks the observer.
    pub fn record(
        &self,
        best: Option<Solution>,
        weights: Weights,
        evaluation: Evaluation,
        (lower, upper): (f64, f64),
    ) -> Solution {
        let mut best = match best {
            None => Solution {
                dual: weights.clone(),
                strategy: weights,
                evaluation,
                lower,
                upper,
                evaluations: 0,
                interrupted: false,
            },
            Some(mut best) => {
                if lower > best.lower {
                    best.lower = lower;
                    best.dual.clone_from(&weights);
                }
                if upper < best.upper {
                    best.upper = upper;
                    best.strategy = weights;
                    best.evaluation = evaluation;
                }
                best
            }
        };
        best.evaluations += 1;
        best.interrupted = !goes_on(best.evaluations, best.lower, best.upper);
        best
    }

    /// Returns the logarithms of the unknowns at the best upper bound.
    pub fn unknowns(&self, solution: &Solution) -> Vec<f64> {
        let Weights { cells, queries } = &solution.strategy;
        let free: &[f64] = if self.queries_are_free() { queries } else { &[] };
        cells.iter().chain(free).map(|w| w.ln()).collect()
    }

    /// Returns μ, then p if it is free: the weights of the squared residuals.
    fn norm_weights(&self, weights: &Weights) -> Vec<f64> {
        let mut norm = weights.cells.clone();
        if self.queries_are_free() {
            norm.extend(&weights.queries);
        }
        norm
    }
}

/// Returns `max(c·exp(x_i), least)` with the c for which the sum is 1.
///
/// `least` is at most 1/n. O(n) for each of few rounds, because the entries at the bound only grow
/// in number.
fn projected(logarithms: impl Iterator<Item = f64> + Clone, least: f64) -> Vec<f64> {
    let largest = logarithms.clone().fold(f64::NEG_INFINITY, f64::max);
    let mut weights: Vec<f64> = logarithms.map(|x| (x - largest).exp()).collect();
    let mut scale = f64::INFINITY;
    loop {
        let (mut free, mut bound) = (0.0, 0usize);
        for weight in &weights {
            if weight * scale < least {
                bound += 1;
            } else {
                free += weight;
            }
        }
        let next = (1.0 - least * bound as f64) / free;
        if next >= scale {
            break;
        }
        scale = next;
    }
    weights.iter_mut().for_each(|weight| *weight = (*weight * scale).max(least));
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn projected_weights_have_sum_one_and_the_bound() {
        let x = [0.0f64, -1.0, -30.0, 2.0, f64::NEG_INFINITY, -3.0];
        for least in [1e-30, 0.01, 0.1, 1.0 / 6.0] {
            let weights = projected(x.iter().copied(), least);
            assert_relative_eq!(weights.iter().sum::<f64>(), 1.0, max_relative = 1e-14);
            assert!(weights.iter().all(|&w| w >= least));
            // Weights above the bound keep their ratios.
            let above: Vec<usize> = (0..6).filter(|&i| weights[i] > least).collect();
            for pair in above.windows(2) {
                let ratio = (x[pair[0]] - x[pair[1]]).exp();
                assert_relative_eq!(
                    weights[pair[0]] / weights[pair[1]],
                    ratio,
                    max_relative = 1e-12
                );
            }
        }
    }
}
