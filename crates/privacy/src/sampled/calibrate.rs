//! Searches for the noise of a privacy curve, and for its ε.

use crate::error::PrivacyError;
use crate::parameters::{budget_delta, budget_epsilon};

/// Relative precision of σ and absolute precision of ε.
const PRECISION: f64 = 2e-5;

/// Largest ε.
const MAX_EPSILON: f64 = 1e4;

/// Returns the smallest σ with δ(σ) ≤ δ, rounded up by at most 2e-5.
///
/// `curve(σ, fine)` is δ at the ε sought, decreasing in σ; first coarse, then fine values are used.
/// About 20 coarse and 6 fine evaluations.
///
/// # Errors
/// ε or δ is invalid, no σ has the δ, or `curve` fails.
pub fn smallest_sigma(
    start: f64,
    epsilon: f64,
    delta: f64,
    curve: impl Fn(f64, bool) -> Result<f64, PrivacyError>,
) -> Result<f64, PrivacyError> {
    let (epsilon, delta) = (budget_epsilon(epsilon)?, budget_delta(delta)?);
    let none = || PrivacyError::NoSolution {
        quantity: "noise standard deviation",
        given: format!("epsilon = {epsilon:e}, delta = {delta:e}"),
        remedy: "use a larger delta",
    };
    let coarse =
        bracket(start, 1.5, |sigma| Ok(curve(sigma, false)? <= delta))?.ok_or_else(none)?;
    let coarse = bisected(coarse, 1e-3, |sigma| Ok(curve(sigma, false)? <= delta))?;
    let fine = |sigma: f64| Ok(curve(sigma, true)? <= delta);
    let found = bracket(coarse.1, 1.002, fine)?.ok_or_else(none)?;
    secant(found, delta, |sigma| curve(sigma, true))
}

/// Returns σ below and above the threshold from which `is_enough` holds, by steps of a factor that
/// grows.
fn bracket(
    start: f64,
    factor: f64,
    is_enough: impl Fn(f64) -> Result<bool, PrivacyError>,
) -> Result<Option<(f64, f64)>, PrivacyError> {
    let (mut sigma, mut factor) = (start, factor);
    let up = !is_enough(sigma)?;
    loop {
        let next = if up { sigma * factor } else { sigma / factor };
        if !(1e-6..1e12).contains(&next) {
            return Ok(None);
        }
        if is_enough(next)? == up {
            return Ok(Some((sigma.min(next), sigma.max(next))));
        }
        (sigma, factor) = (next, factor * factor.min(2.0));
    }
}

/// Halves the interval on the logarithmic scale until its ends differ by the relative precision.
fn bisected(
    (mut low, mut high): (f64, f64),
    precision: f64,
    is_enough: impl Fn(f64) -> Result<bool, PrivacyError>,
) -> Result<(f64, f64), PrivacyError> {
    while high > low * (1.0 + precision) {
        let middle = (low * high).sqrt();
        match is_enough(middle)? {
            true => high = middle,
            false => low = middle,
        }
    }
    Ok((low, high))
}

/// Returns a σ with δ(σ) ≤ δ within the precision of the threshold, by secants of ln δ over ln σ.
fn secant(
    (low, high): (f64, f64),
    delta: f64,
    curve: impl Fn(f64) -> Result<f64, PrivacyError>,
) -> Result<f64, PrivacyError> {
    let excess = |sigma: f64| Ok::<_, PrivacyError>((curve(sigma)? / delta).ln());
    let (mut low, mut high) = ((low, excess(low)?), (high, excess(high)?));
    while high.0 > low.0 * (1.0 + PRECISION) {
        let share = low.1 / (low.1 - high.1);
        let width = high.0 - low.0;
        // A little to one side of the secant, so that both ends move.
        let guess = low.0 + width * share;
        let inner = 0.4 * PRECISION * guess;
        let guess = if high.0 - guess < guess - low.0 { guess - inner } else { guess + inner };
        let guess = match share.is_finite() {
            true => guess.clamp(low.0 + 0.01 * width, high.0 - 0.01 * width),
            false => 0.5 * (low.0 + high.0),
        };
        let found = (guess, excess(guess)?);
        if found.1 <= 0.0 { high = found } else { low = found }
    }
    Ok(high.0)
}

/// Returns the smallest ε ≥ 0 at which a decreasing curve is at most δ, rounded up.
///
/// # Errors
/// δ is invalid, or the curve is above δ at ε = 1e4.
pub fn smallest_epsilon(delta: f64, curve: impl Fn(f64) -> f64) -> Result<f64, PrivacyError> {
    let delta = budget_delta(delta)?;
    if curve(0.0) <= delta {
        return Ok(0.0);
    }
    let mut high = 1.0;
    while curve(high) > delta {
        high *= 2.0;
        if high > MAX_EPSILON {
            return Err(PrivacyError::NoSolution {
                quantity: "epsilon",
                given: format!("delta = {delta:e}"),
                remedy: "use more noise or a larger delta",
            });
        }
    }
    let mut low = 0.0;
    while high - low > PRECISION * high.min(1.0) {
        let middle = 0.5 * (low + high);
        if curve(middle) <= delta { high = middle } else { low = middle }
    }
    Ok(high)
}
