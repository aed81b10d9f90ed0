//! Intervals from a certified bound L of the L1 error of a marginal.
//!
//! The bound holds for all weights at once: the error of Σ w_c x_c is at most max|w_c| · L. A ratio
//! of N = Σ v_c d_c x_c to D = Σ d_c x_c, with d_c 0 or 1 and values v_c from a to b, is a θ with
//! Σ (v_c − θ) d_c x_c = 0, so
//!
//! ```text
//! |N̂ − θD̂| ≤ L · max(|a − θ|, |b − θ|)
//! ```
//!
//! If D̂ > L, the records of the denominator are more than 0, the true ratio is from a to b, and
//! the ratios θ of the inequality are an interval.

use super::fieller::NO_RATIO;
use super::sum::Estimated;

/// The description of a certified interval.
pub(super) const CERTIFIED: &str = "certified bound";

/// The reason for an answer of the model without interval.
pub(super) const EXTRAPOLATED: &str = "none: extrapolated by the model";

/// The reason for an answer of a release without certificate.
pub(super) const NO_CERTIFICATE: &str = "none: the release has no certificate";

/// Returns the interval of a weighted sum whose error has a bound.
pub(super) fn linear(estimate: f64, bound: f64) -> Estimated {
    Estimated {
        estimate: Some(estimate),
        standard_error: None,
        low: Some(estimate - bound),
        high: Some(estimate + bound),
        interval: CERTIFIED,
    }
}

/// Returns the interval of a ratio n/d of values from `a` to `b`.
pub(super) fn ratio(n: f64, d: f64, (a, b): (f64, f64), bound: f64) -> Estimated {
    let estimate = (d > 0.0).then(|| n / d);
    if d <= bound {
        return Estimated { estimate, interval: NO_RATIO, ..Estimated::default() };
    }
    let high = f64::max((n - bound * a) / (d - bound), (n + bound * b) / (d + bound));
    let low = f64::min((n + bound * a) / (d + bound), (n - bound * b) / (d - bound));
    Estimated {
        estimate,
        low: Some(low.clamp(a, b)),
        high: Some(high.clamp(a, b)),
        interval: CERTIFIED,
        ..Estimated::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ends against all tables within the bound, on a grid of errors.
    #[test]
    fn ratios_within_the_bound_are_in_the_interval() {
        let (values, cells, bound) = ([1.0, 3.0, 10.0], [20.0, 5.0, 15.0], 6.0);
        let of = |x: [f64; 3]| {
            let n: f64 = x.iter().zip(values).map(|(x, v)| x * v).sum();
            (n, x.iter().sum::<f64>())
        };
        let (n, d) = of(cells);
        let found = ratio(n, d, (1.0, 10.0), bound);
        let (mut least, mut largest) = (f64::INFINITY, f64::NEG_INFINITY);
        let steps = || (-6..=6).map(f64::from);
        for (a, b, c) in
            steps().flat_map(|a| steps().flat_map(move |b| steps().map(move |c| (a, b, c))))
        {
            if a.abs() + b.abs() + c.abs() <= bound {
                let (n, d) = of([cells[0] - a, cells[1] - b, cells[2] - c]);
                least = least.min(n / d);
                largest = largest.max(n / d);
            }
        }
        let (low, high) = (found.low.unwrap(), found.high.unwrap());
        assert!(low <= least && high >= largest, "{low} {least} {largest} {high}");
        assert!(least - low < 0.05 && high - largest < 0.05, "{low} {least} {largest} {high}");
        assert_eq!(ratio(n, 6.0, (1.0, 10.0), bound).interval, NO_RATIO);
    }
}
