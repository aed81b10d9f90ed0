//! The interior-point method on the cells that may have weight at the optimum.
//!
//! If there are few queries for the number of cells, most weights are zero at the optimum, with
//! `v < t`. The problem of the other cells is small enough to form its curvature. Its weights are
//! also weights of the whole problem, whose bounds show which cells are missing: those with
//! `v > t`, which are added.

use super::bounds::{Bounds, OptimalOptions};
use super::dual::{Dual, DualPoint};
use super::interior_point;
use super::newton::Curvature;
use crate::error::Result;

/// Cells whose v is below t by more than this multiple of the gap are dropped if they have no
/// weight. The margin is a share of t, between [`MIN_MARGIN`] and [`MAX_MARGIN`].
const MARGIN_PER_GAP: f64 = 0.1;

/// Minimum margin, as a share of t.
const MIN_MARGIN: f64 = 1e-5;

/// Maximum margin, as a share of t.
const MAX_MARGIN: f64 = 0.5;

/// Minimum weight of a cell that has weight, relative to the mean.
const MIN_WEIGHT: f64 = 0.1;

/// Share of the uniform weights in a start; a start near the boundary takes many steps.
pub(super) const UNIFORM_SHARE: f64 = 0.2;

/// The same for a start from a point of the central path, which is inside.
pub(super) const CENTRAL_SHARE: f64 = 1e-3;

/// Maximum number of sets of cells.
const MAX_ROUNDS: usize = 8;

/// Maximum number of orbits for which the curvature is formed.
const MAX_ORBITS: usize = 4096;

/// Solves for the active cells, and again with the missing cells added.
///
/// # Errors
/// The eigensolver fails.
pub(super) fn run(
    dual: &Dual,
    bounds: &mut Bounds,
    options: &OptimalOptions,
    uniform_share: f64,
) -> Result<()> {
    let orbits = dual.orbit_sizes.len();
    let Some(mut point) = bounds.upper.clone() else { return Ok(()) };
    let mut active = vec![false; orbits];
    for round in 0..MAX_ROUNDS {
        let gap = bounds.gap();
        let margin = (MARGIN_PER_GAP * gap).clamp(MIN_MARGIN, MAX_MARGIN);
        let mean = 1.0 / dual.orbit_sizes.iter().sum::<f64>();
        for (active, (&v, &mu)) in active.iter_mut().zip(point.v.iter().zip(&point.mu)) {
            *active |= v >= (1.0 - margin) * point.t || (round == 0 && mu >= MIN_WEIGHT * mean);
        }
        let kept: Vec<usize> = (0..orbits).filter(|&o| active[o]).collect();
        if kept.len() > MAX_ORBITS || bounds.evaluations >= options.max_iterations {
            return Ok(());
        }
        let restricted = dual.restricted(&kept);
        let size: f64 = restricted.orbit_sizes.iter().sum();
        let total: f64 = kept.iter().map(|&o| point.mu[o] * dual.orbit_sizes[o]).sum();
        let start: Vec<f64> = kept
            .iter()
            .map(|&o| (1.0 - uniform_share) * point.mu[o] / total + uniform_share / size)
            .collect();
        let start: DualPoint = restricted.evaluate(&start)?;
        let mut small_bounds = Bounds::new();
        small_bounds.record(&start);
        let max_steps = options.max_iterations - bounds.evaluations;
        let tighter = OptimalOptions { tolerance: 0.3 * options.tolerance, ..*options };
        interior_point::run(
            &restricted,
            &start,
            &mut small_bounds,
            &tighter,
            max_steps,
            Curvature::nearly_formed,
        )?;
        bounds.evaluations += small_bounds.evaluations;
        bounds.interrupted |= small_bounds.interrupted;
        let Some(best) = small_bounds.upper else { return Ok(()) };
        let mut mu = vec![0.0; orbits];
        kept.iter().zip(&best.mu).for_each(|(&o, &m)| mu[o] = m);
        point = dual.evaluate(&mu)?;
        bounds.record(&point);
        if bounds.ended(options) {
            return Ok(());
        }
    }
    Ok(())
}
