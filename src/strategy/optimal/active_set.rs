//! The interior point on those cells that may have weight at the optimum.
//!
//! Where queries are few against the cells, most weights are zero at the optimum, and `v < t`
//! there. The problem of the others is small enough for its curvature to be formed. Its weights are
//! weights of the whole problem, whose bounds say whether a cell is missing: those with `v > t`,
//! which then join.

use super::dual::{Dual, Point};
use super::interior_point;
use super::newton::Curvature;
use super::{Bounds, OptimalOptions};
use crate::error::Result;

/// Cells whose v is below t by more than this many times the gap, or by [`LEAST`] of t, are left
/// out, if they have no weight.
const GAPS: f64 = 0.1;

/// See [`GAPS`].
const LEAST: f64 = 1e-5;

/// Never by more than this share of t.
const MARGIN: f64 = 0.5;

/// A cell has weight if it is at least this share of the mean.
const WEIGHT: f64 = 0.1;

/// How much of the uniform weights a start has: a start near the boundary takes many steps.
const UNIFORM: f64 = 0.2;

/// Most sets that are tried.
const ROUNDS: usize = 8;

/// More orbits than this are too many for their curvature.
const MOST: usize = 4096;

/// Solves for the cells that count, and again with those that were missing.
///
/// # Errors
/// The eigensolver fails.
pub(super) fn run(dual: &Dual, bounds: &mut Bounds, options: &OptimalOptions) -> Result<()> {
    let orbits = dual.orbit_sizes.len();
    let Some(mut point) = bounds.upper.clone() else { return Ok(()) };
    let mut active = vec![false; orbits];
    for round in 0..ROUNDS {
        let gap = bounds.gap();
        let margin = (GAPS * gap).clamp(LEAST, MARGIN);
        let mean = 1.0 / dual.orbit_sizes.iter().sum::<f64>();
        for (active, (&v, &mu)) in active.iter_mut().zip(point.v.iter().zip(&point.mu)) {
            *active |= v >= (1.0 - margin) * point.t || (round == 0 && mu >= WEIGHT * mean);
        }
        let kept: Vec<usize> = (0..orbits).filter(|&o| active[o]).collect();
        if kept.len() > MOST || bounds.evaluations >= options.max_iterations {
            return Ok(());
        }
        let small = dual.restricted(&kept);
        let size: f64 = small.orbit_sizes.iter().sum();
        let total: f64 = kept.iter().map(|&o| point.mu[o] * dual.orbit_sizes[o]).sum();
        let start: Vec<f64> =
            kept.iter().map(|&o| (1.0 - UNIFORM) * point.mu[o] / total + UNIFORM / size).collect();
        let start: Point = small.evaluate(&start)?;
        let mut own = Bounds::new();
        own.record(&start);
        let left = options.max_iterations - bounds.evaluations;
        let tighter = OptimalOptions { tolerance: 0.3 * options.tolerance, ..*options };
        interior_point::run(&small, &start, &mut own, &tighter, left, Curvature::nearly_formed)?;
        bounds.evaluations += own.evaluations;
        let Some(best) = own.upper else { return Ok(()) };
        let mut mu = vec![0.0; orbits];
        kept.iter().zip(&best.mu).for_each(|(&o, &m)| mu[o] = m);
        point = dual.evaluate(&mu)?;
        bounds.record(&point);
        if bounds.gap() <= options.tolerance {
            return Ok(());
        }
    }
    Ok(())
}
