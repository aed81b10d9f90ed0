//! The zero of a decreasing function that is known with noise.

/// Smallest first step.
const MIN_STEP: f64 = 1.02;

/// Maximum number of evaluations.
const MAX_EVALUATIONS: usize = 60;

/// Returns an x > 0 between two points with |f| ≤ `near` where a decreasing f changes its sign, on the
/// line through them in ln x; or the upper end of an interval of relative width 1e-5.
///
/// By growing steps and the Illinois method on ln x. `near` is several times the noise of f, so that
/// no evaluation is spent on it.
///
/// An x near 1e-6 if f is negative down to it; `None` if f is positive up to 1e9, or after 60
/// evaluations.
///
/// # Errors
/// As f.
pub(super) fn zero_of_decreasing<E>(
    start: f64,
    near: f64,
    mut f: impl FnMut(f64) -> Result<f64, E>,
) -> Result<Option<f64>, E> {
    // Far from the zero only the sign matters.
    let mut bounded = |x: f64| f(x).map(|y| y.clamp(-20.0, 20.0));
    let (mut x, mut y) = (start, bounded(start)?);
    let up = y > 0.0;
    let (mut step, mut evaluations) = ((1.0 + 0.3 * y.abs()).clamp(MIN_STEP, 1.15), 1);
    let (mut low, mut high) = loop {
        let next = if up { x * step } else { x / step };
        if !(1e-6..1e9).contains(&next) {
            return Ok((!up).then_some(x));
        }
        let value = bounded(next)?;
        evaluations += 1;
        if (value > 0.0) != up {
            break if up { ((x, y), (next, value)) } else { ((next, value), (x, y)) };
        }
        (x, y) = (next, value);
        step = (step * step).min(8.0);
    };
    // The factors of the ends' values of the Illinois method.
    let (mut of_low, mut of_high, mut side) = (1.0, 1.0, 0);
    let between = |low: (f64, f64), high: (f64, f64)| {
        let share = low.1 / (low.1 - high.1);
        low.0 * (high.0 / low.0).powf(share.clamp(0.0, 1.0))
    };
    while evaluations < MAX_EVALUATIONS && high.0 > low.0 * (1.0 + 1e-5) {
        if low.1 <= near && high.1 >= -near {
            return Ok(Some(between(low, high)));
        }
        let (least, most) =
            (low.0 * (high.0 / low.0).powf(0.02), low.0 * (high.0 / low.0).powf(0.98));
        let next = between((low.0, of_low * low.1), (high.0, of_high * high.1)).clamp(least, most);
        let value = bounded(next)?;
        evaluations += 1;
        if value > 0.0 {
            (low, of_low) = ((next, value), 1.0);
            of_high = if side == 1 { 0.5 * of_high } else { 1.0 };
            side = 1;
        } else {
            (high, of_high) = ((next, value), 1.0);
            of_low = if side == -1 { 0.5 * of_low } else { 1.0 };
            side = -1;
        }
    }
    Ok((high.0 <= low.0 * (1.0 + 1e-5)).then_some(high.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_found_from_both_sides() {
        for zero in [1e-3, 0.5, 1.0, 40.0] {
            let f = |x: f64| Ok::<_, ()>((zero / x).ln() * 7.0);
            let found = zero_of_decreasing(1.0, 1e-6, f).unwrap().unwrap();
            assert!((found / zero - 1.0).abs() < 1e-5, "{zero} {found}");
        }
        assert_eq!(zero_of_decreasing(1.0, 1e-6, |_| Ok::<_, ()>(1.0)).unwrap(), None);
    }
}
