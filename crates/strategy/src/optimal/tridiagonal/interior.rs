//! The interior-point method on one grid, for weights that vanish.

use ndarray::Array1;

use super::evaluation::{Evaluation, approximation, evaluate, scaled};
use super::iteration::{GridProblem, Solution, Weights};
use super::tangent::{Direction, tangent};
use super::zolotarev::InverseRoot;
use crate::error::{Error, Result};
use crate::optimal::joint_interior_point::{JointPoint, run};
use crate::workload::Recurrence;

/// The approximation's error in derivatives, which only the steps depend on.
const DERIVATIVE_ERROR: f64 = 1e-5;

/// Smallest weight of the start, relative to the mean weight.
const MIN_START: f64 = 1e-6;

/// Number of steps without a tenth less gap after which the method stops.
const PATIENCE: usize = 25;

/// The dual function near weights, in linear time.
struct CentralPoint<'a> {
    recurrence: &'a Recurrence,
    weights: Weights,
    /// m.
    cells: Vec<f64>,
    root: InverseRoot,
    value: f64,
    shares: Array1<f64>,
    gap: f64,
}

impl<'a> CentralPoint<'a> {
    fn of(recurrence: &'a Recurrence, weights: Weights, evaluation: &Evaluation, gap: f64) -> Self {
        let value = evaluation.nuclear_norm;
        let parts = [(&weights.queries, &evaluation.queries), (&weights.cells, &evaluation.cells)];
        let shares = parts.iter().flat_map(|(w, e)| w.iter().zip(*e)).map(|(w, e)| w * e / value);
        let shares = shares.collect();
        let cells = scaled(recurrence, &weights.cells);
        let root = approximation(recurrence, &cells, &weights.queries, DERIVATIVE_ERROR);
        CentralPoint { recurrence, weights, cells, root, value, shares, gap }
    }
}

impl JointPoint for CentralPoint<'_> {
    const PRECISION: f64 = 1e-2;
    const MAX_GAP_RATIO: f64 = f64::INFINITY;

    fn shares(&self) -> &Array1<f64> {
        &self.shares
    }

    fn gap(&self) -> f64 {
        self.gap
    }

    fn coupling(&self, z: &Array1<f64>) -> Array1<f64> {
        let n = self.cells.len();
        let along = |weights: &[f64], from: usize| -> Vec<f64> {
            weights.iter().zip(z.iter().skip(from)).map(|(w, z)| w * z).collect()
        };
        let direction =
            Direction { queries: along(&self.weights.queries, 0), cells: along(&self.cells, n) };
        let change =
            tangent(self.recurrence, &self.cells, &self.weights.queries, &self.root, &direction);
        let weights = self.weights.queries.iter().chain(&self.weights.cells);
        let changes = change.queries.iter().chain(&change.cells);
        weights.zip(changes).map(|(w, change)| w * change / self.value).collect()
    }
}

impl GridProblem<'_> {
    /// Continues a solution for the objective `max` until the gap is at most the tolerance, the steps
    /// are used, or the gap stalls. A step has at most 200 products.
    ///
    /// # Errors
    /// As [`GridProblem::solve`].
    pub fn interior_point(
        &self,
        solution: Solution,
        tolerance: f64,
        max_steps: usize,
    ) -> Result<Solution> {
        let n = self.recurrence.cells();
        let from = &solution.strategy;
        let least = MIN_START / n as f64;
        let start: Vec<f64> =
            from.queries.iter().chain(&from.cells).map(|w| w.max(least)).collect();
        let mut best = Some(solution);
        let (mut smallest, mut since) = (f64::INFINITY, 0);
        run(start, n, max_steps, |weights| {
            let weights = Weights { queries: weights[..n].to_vec(), cells: weights[n..].to_vec() };
            let gap = best.as_ref().map_or(1.0, Solution::gap);
            let evaluation = evaluate(
                self.recurrence,
                &weights.cells,
                &weights.queries,
                self.approximation_error(gap, tolerance),
            );
            let bounds = self.bounds(&evaluation)?;
            let solution = self.record(best.take(), weights.clone(), evaluation.clone(), bounds);
            let gap = solution.gap();
            let ended = gap <= tolerance || solution.interrupted;
            if gap < 0.9 * smallest {
                (smallest, since) = (gap, 0);
            }
            since += 1;
            best = Some(solution);
            let point =
                CentralPoint::of(self.recurrence, weights, &evaluation, bounds.1 / bounds.0 - 1.0);
            Ok((!ended && since <= PATIENCE).then_some(point))
        })?;
        best.ok_or_else(|| Error::bug("optimal strategy", "a solution", "none"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimal::joint_interior_point::tests::assert_coupling_is_the_derivative;

    #[test]
    fn the_coupling_is_the_derivative_of_the_shares() {
        const CELLS: usize = 20;
        let pair = |i| (1.0 - 0.02 * i as f64, 1.0 / (1.0 + i as f64));
        let recurrence = Recurrence::of_queries(CELLS, pair).unwrap();
        let x: Vec<f64> = (0..2 * CELLS).map(|i| 0.5f64.powi(i as i32 % 7) / 40.0).collect();
        assert_coupling_is_the_derivative(
            |x| {
                let (queries, cells) = x.split_at(CELLS);
                let weights = Weights { queries: queries.to_vec(), cells: cells.to_vec() };
                let evaluation = evaluate(&recurrence, cells, queries, 1e-12);
                CentralPoint::of(&recurrence, weights, &evaluation, 0.0)
            },
            &x,
        );
    }
}
