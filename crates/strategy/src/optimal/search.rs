//! The search for the weights with the smallest gap.

use super::bounds::{Bounds, OptimalOptions, Proved};
use super::dual::Dual;
use super::fixed_point::FixedPoint;
use super::newton::{self, Curvature};
use super::{active_set, interior_point};
use crate::error::{Error, Result};
use crate::{Certificate, Status};

/// Number of fixed-point steps between two checks of the progress.
const STRIDE: usize = 6;

/// Assumed number of interior-point steps when the costs of the methods are compared.
const INTERIOR_STEPS: f64 = 10.0;

/// Solves a dual problem over `cells` cells from a start, and returns the best point with its
/// certificate.
///
/// A start that is `central`, a point of the central path, continues on the active cells.
pub(super) fn certify(
    dual: &Dual,
    start: Vec<f64>,
    options: &OptimalOptions,
    cells: usize,
    central: bool,
) -> Result<Proved> {
    if dual.block_orbits().next().is_none() {
        return Err(Error::bad_input(
            "optimal strategy",
            "a workload with at least one non-zero query",
            "a Gram matrix of zeros",
            "drop this workload: it needs no measurement",
        ));
    }
    let mut bounds = Bounds::new();
    if central {
        bounds.record(&dual.evaluate(&start)?);
        active_set::run(dual, &mut bounds, options, active_set::CENTRAL_SHARE)?;
    }
    minimise_gap(dual, start, &mut bounds, options)?;
    let gap = bounds.gap();
    let Some(point) = bounds.upper else {
        return Err(Error::DidNotConverge { what: "optimal strategy".into(), order: cells });
    };
    let limit = bounds.evaluations >= options.max_iterations;
    let status = Status::of(gap, options.tolerance, bounds.interrupted, limit);
    let certificate = Certificate {
        // Rounding may put a lower bound that meets the upper one slightly above it.
        lower_bound: bounds.lower.min(point.upper_bound()),
        upper_bound: point.upper_bound(),
        iterations: bounds.evaluations,
        status,
    };
    Ok(Proved { point, dual: bounds.dual, certificate })
}

/// Closes the gap: the fixed point while it is fast, the interior-point method when that is cheaper
/// (on the active cells if there are too many), then the fixed point again.
fn minimise_gap(
    dual: &Dual,
    start: Vec<f64>,
    bounds: &mut Bounds,
    options: &OptimalOptions,
) -> Result<()> {
    let mut fixed_point = FixedPoint::from(start);
    let mut interior = newton::step_cost(dual);
    while !bounds.ended(options) && bounds.evaluations < options.max_iterations {
        let before = bounds.gap();
        let remaining = options.max_iterations - bounds.evaluations;
        fixed_point.advance(dual, bounds, options, STRIDE.min(remaining))?;
        let rate = (before / bounds.gap()).ln() / STRIDE as f64;
        let steps_to_go = (bounds.gap() / options.tolerance).ln() / rate.max(1e-9);
        let remaining = options.max_iterations - bounds.evaluations;
        let slow = |step_flops: f64| {
            steps_to_go * dual.evaluation_flops()
                > INTERIOR_STEPS * (step_flops + dual.evaluation_flops())
        };
        if before.is_finite()
            && remaining > 0
            && !bounds.ended(options)
            && let Some((formed, _)) = interior.take_if(|(_, flops)| slow(*flops))
        {
            if formed && let Some(start) = bounds.upper.clone() {
                interior_point::run(dual, &start, bounds, options, remaining, Curvature::formed)?;
            }
            if !bounds.ended(options) {
                active_set::run(dual, bounds, options, active_set::UNIFORM_SHARE)?;
            }
            if let Some(best) = &bounds.upper {
                fixed_point = FixedPoint::from(best.mu.clone());
            }
        }
    }
    Ok(())
}
