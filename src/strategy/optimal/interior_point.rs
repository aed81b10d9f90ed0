//! A primal–dual interior point for problems of low rank, where many μ_i vanish at the optimum and
//! the fixed point slows down.
//!
//! Maximise `2 tr K(μ)^½ − Σ |O| μ_O` over μ ≥ 0, with slacks `Z = |O| − g`, `g_O = |O| v_O`. With
//! Y and s of K the derivative of g is −H, and one Newton step on `μ Z = τ` solves
//! `(H + diag(Z/μ)) Δμ = τ/μ − (|O| − g)` (Mehrotra predictor–corrector). H and these systems, and
//! what they cost, are in [`newton`](super::newton).

use ndarray::Array1;

use super::dual::{Dual, Point};
use super::newton::Curvature;
use super::{Bounds, OptimalOptions};
use crate::error::Result;

/// How far to the boundary a step goes.
const FRACTION: f64 = 0.99;

/// Relative residual of the systems where H is not formed. The certificate does not depend on it.
const PRECISION: f64 = 1e-5;

/// Steps without progress of the points' gaps before giving up.
const PATIENCE: usize = 6;

/// How H is formed: [`Curvature::formed`] or [`Curvature::nearly_formed`].
pub(super) type Form = fn(&Dual, &Point, f64) -> Curvature<'static>;

/// Runs from `start` until the gap reaches the tolerance, progress ends, or `max_steps` evaluations
/// are used.
///
/// # Errors
/// The eigensolver fails.
pub(super) fn run(
    dual: &Dual,
    start: &Point,
    bounds: &mut Bounds,
    options: &OptimalOptions,
    max_steps: usize,
    form: Form,
) -> Result<()> {
    // In the scale where Σ|O|μ is free the optimum has Σ|O|μ = t² and v ≤ 1.
    let scale = start.lower_bound();
    let floor = 1e-12 * scale / dual.orbit_sizes.iter().sum::<f64>();
    let mut mu = Array1::from_iter(start.mu.iter().map(|m| (m * scale).max(floor)));
    let sizes = Array1::from_vec(dual.orbit_sizes.clone());
    let mut z: Option<Array1<f64>> = None;
    let mut best = f64::INFINITY;
    let mut stalled = 0;
    for _ in 0..max_steps {
        let point = dual.evaluate(mu.as_slice().unwrap_or(&[]))?;
        bounds.record(&point);
        if bounds.gap() <= options.tolerance {
            return Ok(());
        }
        stalled = if point.gap() < 0.9 * best { 0 } else { stalled + 1 };
        best = best.min(point.gap());
        if stalled > PATIENCE {
            return Ok(());
        }
        // `evaluate` normalises; with Σ|O|μ = σ the derivative is g = |O| v / √σ and H scales by
        // σ^(−3/2).
        let sigma: f64 = mu.dot(&sizes);
        let g =
            Array1::from_iter(point.v.iter().zip(&sizes).map(|(v, size)| v * size / sigma.sqrt()));
        let residual = &sizes - &g;
        let slack = match z.take() {
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
        let Some((dmu, dz)) = direction(&curvature, &mu, &slack, &residual)? else {
            return Ok(());
        };
        let (alpha, beta) = (step_length(&mu, &dmu), step_length(&slack, &dz));
        mu.scaled_add(alpha, &dmu);
        let mut next = slack;
        next.scaled_add(beta, &dz);
        z = Some(next);
    }
    Ok(())
}

/// Predictor and corrector combined: the direction of μ and of the slacks.
fn direction(
    curvature: &Curvature<'_>,
    mu: &Array1<f64>,
    z: &Array1<f64>,
    residual: &Array1<f64>,
) -> Result<Option<(Array1<f64>, Array1<f64>)>> {
    let system = curvature.system(z / mu)?;
    // μ Z + Z Δμ + μ ΔZ = target, Z + ΔZ = residual + H Δμ.
    let slack_step = |dmu: &Array1<f64>| residual + &curvature.times(dmu) - z;
    let Some(affine) = system.solve(-residual, PRECISION) else { return Ok(None) };
    let affine_z = slack_step(&affine);
    let orbits = mu.len() as f64;
    let now = mu.dot(z) / orbits;
    let (alpha, beta) = (step_length(mu, &affine), step_length(z, &affine_z));
    let then = (mu + &(alpha * &affine)).dot(&(z + &(beta * &affine_z))) / orbits;
    let target = now * (then / now).powi(3).clamp(0.0, 1.0);
    let right = Array1::from_shape_fn(mu.len(), |i| {
        (target - affine[i] * affine_z[i]) / mu[i] - residual[i]
    });
    let Some(dmu) = system.solve(right, PRECISION) else { return Ok(None) };
    let dz = slack_step(&dmu);
    Ok((dmu.iter().chain(&dz).all(|x| x.is_finite())).then_some((dmu, dz)))
}

/// The longest step up to 1 that keeps a share of every component.
pub(super) fn step_length(x: &Array1<f64>, dx: &Array1<f64>) -> f64 {
    x.iter()
        .zip(dx)
        .filter(|(_, d)| **d < 0.0)
        .fold(1.0f64, |step, (x, d)| step.min(-FRACTION * x / d))
}
