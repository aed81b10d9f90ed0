//! The start of the iteration from coarser grids.
//!
//! The problem is solved for every second query and cell first, down to at most 31 cells. ln μ and
//! ln p are interpolated linearly between the logits `ln(u/(1−u))`, `u = (i + ½)/n`, of the cells.
//! The error of this interpolation depends on the distance from the ends. It is known on the grid
//! before, and corrected at equal distances from the nearer end.

use super::iteration::{GridProblem, Solution};
use crate::Objective;
use crate::error::Result;
use crate::workload::Recurrence;

/// The coarsest grid has at least this number of cells.
const MIN_CELLS: usize = 16;

/// Gap on the coarser grids, which start values do not need to undercut.
const GAP: f64 = 1e-5;

/// Maximum evaluations on each coarser grid.
const MAX_EVALUATIONS: usize = 60;

/// Solves a problem from coarse to fine grids; `evaluations` limits the finest one.
///
/// # Errors
/// As [`GridProblem::solve`].
pub(super) fn solve(
    recurrence: &Recurrence,
    objective: Objective,
    tolerance: f64,
    evaluations: usize,
) -> Result<Solution> {
    let mut coarser = Vec::new();
    let mut current = recurrence;
    while current.cells() / 2 >= MIN_CELLS
        && let Some(coarse) = current.coarsened()
    {
        coarser.push(coarse);
        current = coarser.last().unwrap_or(recurrence);
    }
    let mut known: Option<Grid> = None;
    for grid in coarser.iter().rev() {
        let problem = GridProblem { recurrence: grid, objective };
        let (start, interpolated) = start(&problem, known.as_ref());
        let solution = problem.solve(start, tolerance.max(GAP), MAX_EVALUATIONS)?;
        let values = problem.unknowns(&solution);
        let corrections = interpolated
            .map(|before| values.iter().zip(&before).map(|(a, b)| a - b).collect())
            .unwrap_or_default();
        known = Some(Grid { values, corrections, blocks: problem.blocks() });
    }
    let problem = GridProblem { recurrence, objective };
    problem.solve(start(&problem, known.as_ref()).0, tolerance, evaluations)
}

/// The unknowns of a solved grid.
struct Grid {
    values: Vec<f64>,
    /// The values minus those interpolated from the coarser grid; empty on the coarsest grid.
    corrections: Vec<f64>,
    blocks: usize,
}

/// Returns the start on a grid, and the interpolated values before the correction.
fn start(problem: &GridProblem<'_>, coarser: Option<&Grid>) -> (Vec<f64>, Option<Vec<f64>>) {
    let n = problem.recurrence.cells();
    let Some(grid) = coarser.filter(|grid| grid.blocks == problem.blocks()) else {
        return (vec![0.0; n * problem.blocks()], None);
    };
    let coarse = grid.values.len() / grid.blocks;
    let interpolated: Vec<f64> =
        grid.values.chunks_exact(coarse).flat_map(|block| interpolate(block, n)).collect();
    let mut start = interpolated.clone();
    for (values, corrections) in
        start.chunks_exact_mut(n).zip(grid.corrections.chunks_exact(coarse))
    {
        for (i, value) in values.iter_mut().enumerate() {
            let nearest = if i < n / 2 {
                i.min(coarse / 2)
            } else {
                coarse - 1 - (n - 1 - i).min(coarse - 1 - coarse / 2)
            };
            *value += corrections[nearest];
        }
    }
    (start, Some(interpolated))
}

/// Interpolates values at n cells, linearly in the logit of the position.
fn interpolate(values: &[f64], n: usize) -> Vec<f64> {
    let logit = |i: usize, n: usize| {
        let (left, right) = (i as f64 + 0.5, (n - i) as f64 - 0.5);
        (left / right).ln()
    };
    let coarse = values.len();
    let mut k = 0;
    let (mut left, mut right) = (logit(0, coarse), logit(1, coarse));
    (0..n)
        .map(|i| {
            let x = logit(i, n);
            while k + 2 < coarse && right < x {
                k += 1;
                (left, right) = (right, logit(k + 1, coarse));
            }
            values[k] + (x - left) / (right - left) * (values[k + 1] - values[k])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    #[test]
    fn interpolation_is_exact_for_linear_functions_of_the_logit() {
        let line = |n: usize| -> Vec<f64> {
            (0..n)
                .map(|i| {
                    let u = (i as f64 + 0.5) / n as f64;
                    3.0 - 0.5 * (u / (1.0 - u)).ln()
                })
                .collect()
        };
        assert_relative_eq!(
            interpolate(&line(16), 33).as_slice(),
            line(33).as_slice(),
            max_relative = 1e-12
        );
    }
}
