//! The start of fixed epochs from half the steps.
//!
//! Prefix sums of n steps in k epochs are solved for n/2 steps first, down to 32 steps. The
//! logarithms of the weights are interpolated linearly: those of the queries at the ends of the
//! coarse steps, those of the patterns at their midpoints.

use super::step_weights::{StepWeights, Weights};
use super::weighted_queries::WeightedQueries;
use crate::error::Result;
use crate::workload::{Family, Workload};
use crate::{Participation, Problem};

/// Minimum number of steps of a coarser grid.
const MIN_STEPS: usize = 32;

/// Minimum number of steps of its epochs.
const MIN_PERIOD: usize = 2;

/// Returns the workload with half the steps, if the problem has a coarser grid.
pub(super) fn halved(problem: &Problem<'_>) -> Option<Workload> {
    let Participation::Epochs(count) = problem.participation else { return None };
    let [(family, sizes)] = problem.workload.families()? else { return None };
    let [cells] = sizes.as_slice() else { return None };
    let steps = cells / 2;
    let has_epochs = count > 1 && cells.is_multiple_of(2 * count) && steps / count >= MIN_PERIOD;
    if *family != Family::PREFIX || !has_epochs || steps < MIN_STEPS {
        return None;
    }
    Workload::family(*family, &[steps]).ok()
}

/// Returns the weights for twice the steps, with their floors.
///
/// # Errors
/// The eigensolver fails.
pub(super) fn prolonged(
    (weights, steps): &Weights,
    queries: &WeightedQueries<'_>,
    floor: f64,
    step_floor: f64,
) -> Result<Weights> {
    let logarithms: Vec<f64> = weights.iter().map(|p| p.ln()).collect();
    let weights = queries.normalised(&doubled(&logarithms, 1, 1.0), floor);
    let (blocks, size) = (steps.logarithms()?, steps.size());
    let steps = StepWeights::of_logarithms(&doubled(&blocks, size * size, 0.5), size, step_floor)?;
    Ok((weights, steps))
}

/// Interpolates rows of `width` numbers at twice the positions. Row i is at index `2i + offset` of
/// the result.
fn doubled(values: &[f64], width: usize, offset: f64) -> Vec<f64> {
    let rows: Vec<&[f64]> = values.chunks_exact(width).collect();
    let Some(last) = rows.len().checked_sub(1) else { return Vec::new() };
    let mut out = Vec::with_capacity(2 * values.len());
    for index in 0..2 * rows.len() {
        let position = ((index as f64 - offset) / 2.0).clamp(0.0, last as f64);
        let left = position.floor() as usize;
        let share = position - left as f64;
        let right = rows[(left + 1).min(last)];
        out.extend(rows[left].iter().zip(right).map(|(a, b)| a + share * (b - a)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::doubled;

    #[test]
    fn linear_functions_are_doubled_exactly_between_the_ends() {
        let ends: Vec<f64> = (0..4).map(|i| 3.0 * (2 * i + 1) as f64).collect();
        let found = doubled(&ends, 1, 1.0);
        assert_eq!(found[1..], (1..8).map(|i| 3.0 * i as f64).collect::<Vec<_>>());
        assert_eq!(found[0], ends[0]);
        let rows: Vec<f64> = (0..4).flat_map(|i| [2.0 * i as f64 + 0.5, 1.0]).collect();
        let found = doubled(&rows, 2, 0.5);
        let inner = (1..7).flat_map(|i| [i as f64, 1.0]);
        assert_eq!(found[2..14], inner.collect::<Vec<_>>());
        assert_eq!((found.len(), found[0], found[14]), (16, 0.5, 6.5));
    }
}
