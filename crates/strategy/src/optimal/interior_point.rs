//! A primal–dual interior-point method for problems of low rank.
//!
//! There many μ_i are zero at the optimum, and the fixed point is slow. The method maximises
//! `2 tr K(μ)^½ − Σ |O| μ_O` over μ ≥ 0, with slacks `Z = |O| − g`, `g_O = |O| v_O`. The derivative
//! of g is −H, and one Newton step on `μ Z = τ` solves
//! `(H + diag(Z/μ)) Δμ = τ/μ − (|O| − g)` (Mehrotra predictor–corrector). See
//! [`newton`](super::newton) for H, these systems and their cost.

use ndarray::Array1;

use super::bounds::{Bounds, OptimalOptions};
use super::dual::{Dual, DualPoint};
use super::newton::Curvature;
use crate::error::{Error, Result};
use matmech_linalg::interior_point::{advance, predictor_corrector};

/// Share of the distance to the boundary that a step takes at most.
pub(super) const STEP_FRACTION: f64 = 0.99;

/// Steps without progress of the gap before the method stops.
const PATIENCE: usize = 6;

/// The function that forms H: [`Curvature::formed`] or [`Curvature::nearly_formed`].
pub(super) type Form = fn(&Dual, &DualPoint, f64) -> Curvature;

/// Runs from `start` until the gap reaches the tolerance, progress ends, or `max_steps` evaluations
/// are used.
///
/// # Errors
/// The eigensolver fails.
pub(super) fn run(
    dual: &Dual,
    start: &DualPoint,
    bounds: &mut Bounds,
    options: &OptimalOptions,
    max_steps: usize,
    form: Form,
) -> Result<()> {
    // In this scale Σ|O|μ is free, and the optimum has Σ|O|μ = t² and v ≤ 1.
    let scale = start.lower_bound();
    let min_weight = 1e-12 * scale / dual.orbit_sizes.iter().sum::<f64>();
    let mut mu = Array1::from_iter(start.mu.iter().map(|m| (m * scale).max(min_weight)));
    let sizes = Array1::from_vec(dual.orbit_sizes.clone());
    let mut z: Option<Array1<f64>> = None;
    let mut best = f64::INFINITY;
    let mut stalled = 0;
    for _ in 0..max_steps {
        let point = dual.evaluate(&mu.to_vec())?;
        bounds.record(&point);
        if bounds.ended(options) {
            return Ok(());
        }
        stalled = if point.gap() < 0.9 * best { 0 } else { stalled + 1 };
        best = best.min(point.gap());
        if stalled > PATIENCE {
            return Ok(());
        }
        // `evaluate` normalises μ. For Σ|O|μ = σ the derivative is g = |O| v / √σ, and H is scaled
        // by σ^(−3/2).
        let sigma: f64 = mu.dot(&sizes);
        let g =
            Array1::from_iter(point.v.iter().zip(&sizes).map(|(v, size)| v * size / sigma.sqrt()));
        let residual = &sizes - &g;
        let mut slack = match z.take() {
            Some(z) => z,
            None => {
                let typical =
                    residual.dot(&mu).abs().max(1e-3 * point.gap().min(1.0) * sigma) / sigma;
                Array1::from_iter(
                    residual
                        .iter()
                        .zip(&sizes)
                        .map(|(r, size)| r.max(0.1 * typical * size).max(1e-10 * size)),
                )
            }
        };
        let curvature = form(dual, &point, sigma.powf(1.5));
        let system = curvature.system(&(&slack / &mu));
        let step = predictor_corrector(
            &mu,
            &slack,
            &residual,
            |right| Ok::<_, Error>(system.solve(right)),
            |change| curvature.times(change),
            STEP_FRACTION,
        )?;
        let Some(step) = step else { return Ok(()) };
        advance((&mut mu, &mut slack), &step, STEP_FRACTION);
        z = Some(slack);
    }
    Ok(())
}
