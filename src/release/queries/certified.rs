//! Intervals from certified bounds of the errors of a marginal.
//!
//! L bounds the sum of the absolute errors of all cells, and L₀ the error of their total. They bound
//! the errors of all weighted sums at once ([`MarginalErrors`]). A ratio of N = Σ v_c d_c x_c to
//! D = Σ d_c x_c, with d_c 0 or 1 and values v_c from a to b, is a θ from a to b with
//! Σ (v_c − θ) d_c x_c = 0. Its weights go from a − θ ≤ 0 to b − θ ≥ 0, so
//!
//! ```text
//! |N̂ − θD̂| ≤ (b − a)/2 · L + |(a + b)/2 − θ| · L₀
//! ```
//!
//! If D̂ is larger than the bound of its error, D is positive and the true ratio is from a to b. As
//! that bound is at least L₀, both sides N̂ − θD̂ ∓ (b − a)/2 · L ∓ |(a + b)/2 − θ| · L₀ decrease in
//! θ, and the ratios of the inequality are the interval with the ends
//!
//! ```text
//! min, max over d = ±L₀ of (N̂ ∓ (b − a)/2 · L − (a + b)/2 · d)/(D̂ − d)
//! ```
//!
//! L₀ = L gives the ends that follow from L alone.

use super::fieller::NO_RATIO;
use super::sum::Estimated;
use crate::release::staged::MarginalErrors;
use crate::workload::WeightRange;

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

/// A ratio of two estimates.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ratio {
    pub numerator: f64,
    pub denominator: f64,
    /// The smallest and the largest value.
    pub values: (f64, f64),
    /// The weights of the denominator.
    pub counted: WeightRange,
}

/// Returns the interval of a ratio.
pub(super) fn ratio(ratio: Ratio, errors: &MarginalErrors) -> Estimated {
    let Ratio { numerator: n, denominator: d, values: (a, b), counted } = ratio;
    let estimate = (d > 0.0).then(|| n / d);
    if d <= errors.of_weights(counted) {
        return Estimated { estimate, interval: NO_RATIO, ..Estimated::default() };
    }
    let (middle, length) = (0.5 * (a + b), 0.5 * (b - a) * errors.sum);
    let end = |side: f64, of_total: f64| (n + side * length - middle * of_total) / (d - of_total);
    let low = f64::min(end(-1.0, errors.total), end(-1.0, -errors.total));
    let high = f64::max(end(1.0, errors.total), end(1.0, -errors.total));
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

    /// The ends against all tables within the bounds, on a grid of errors.
    #[test]
    fn ratios_within_the_bounds_are_in_the_interval() {
        let (values, cells, sum) = ([1.0, 3.0, 10.0], [20.0, 5.0, 15.0], 6.0);
        let of = |x: [f64; 4]| {
            let n: f64 = x.iter().zip(values).map(|(x, v)| x * v).sum();
            (n, x[..3].iter().sum::<f64>())
        };
        let (n, d) = of([cells[0], cells[1], cells[2], 0.0]);
        let steps = || (-6..=6).map(f64::from);
        let grid = || {
            steps().flat_map(move |a| {
                steps().flat_map(move |b| {
                    steps().flat_map(move |c| steps().map(move |rest| [a, b, c, rest]))
                })
            })
        };
        // The denominator is all cells, or all but the last one.
        for (counted, total) in [
            (WeightRange::COUNT, 6.0),
            (WeightRange::COUNT, 2.0),
            (WeightRange::COUNT, 0.0),
            (WeightRange::ONES, 2.0),
            (WeightRange::ONES, 0.0),
        ] {
            let errors = MarginalErrors { sum_alone: sum, sum, total };
            let ratio_of = |n, d| {
                ratio(Ratio { numerator: n, denominator: d, values: (1.0, 10.0), counted }, &errors)
            };
            let (mut least, mut largest) = (f64::INFINITY, f64::NEG_INFINITY);
            for e in grid().filter(|e| counted == WeightRange::COUNT || e[3] == 0.0) {
                let absolute: f64 = e.iter().map(|x| x.abs()).sum();
                if absolute <= sum && e.iter().sum::<f64>().abs() <= total {
                    let (n, d) = of([cells[0] - e[0], cells[1] - e[1], cells[2] - e[2], 0.0]);
                    least = least.min(n / d);
                    largest = largest.max(n / d);
                }
            }
            let found = ratio_of(n, d);
            let (low, high) = (found.low.unwrap(), found.high.unwrap());
            assert!(low <= least && high >= largest, "{total}: {low} {least} {largest} {high}");
            // Errors of halves are on the grid: the ends are attained.
            let slack = 1e-12;
            assert!(
                least - low < slack && high - largest < slack,
                "{low} {least} {largest} {high}"
            );
            let smallest = errors.of_weights(counted);
            assert_eq!(ratio_of(n, smallest).interval, NO_RATIO);
            assert_eq!(ratio_of(n, smallest + 1.0).interval, CERTIFIED);
        }
    }
}
