//! Fieller's interval of a ratio.
//!
//! With N and D unbiased with covariance matrix (a c; c b), N − θD has the variance a − 2cθ + bθ².
//! The ratios that a test of N − θD = 0 does not refuse are
//!
//! ```text
//! (N − θD)² ≤ z²(a − 2cθ + bθ²)    ⟺    (D² − z²b)θ² − 2(ND − z²c)θ + (N² − z²a) ≤ 0
//! ```
//!
//! This is an interval if D² > z²b. Otherwise it is unbounded.

use super::sum::Estimated;

/// The reason for a ratio without interval.
pub(super) const NO_RATIO: &str = "none: the denominator is not separated from 0";

/// A ratio of two answers with their variances and covariance.
pub(super) struct Ratio {
    pub numerator: f64,
    pub denominator: f64,
    pub variances: [f64; 2],
    pub covariance: f64,
}

impl Ratio {
    /// Returns the estimate and Fieller's interval for a length of z standard errors.
    pub(super) fn estimated(&self, z: f64) -> Estimated {
        let Ratio { numerator: n, denominator: d, variances: [a, b], covariance: c } = *self;
        let estimate = (d > 0.0).then(|| n / d);
        let z = z * z;
        let square = d * d - z * b;
        if square <= 0.0 || d <= 0.0 {
            return Estimated { estimate, interval: NO_RATIO, ..Estimated::default() };
        }
        let half = n * d - z * c;
        let root = (half * half - square * (n * n - z * a)).max(0.0).sqrt();
        Estimated {
            estimate,
            low: Some((half - root) / square),
            high: Some((half + root) / square),
            interval: "Fieller",
            ..Estimated::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ends of the interval are the ratios that the test just accepts.
    #[test]
    fn ends_are_at_the_limit_of_the_test() {
        let ratio = Ratio {
            numerator: 50.0,
            denominator: 100.0,
            variances: [30.0, 90.0],
            covariance: -12.0,
        };
        let found = ratio.estimated(2.0);
        assert_eq!((found.estimate, found.interval), (Some(0.5), "Fieller"));
        let (low, high) = (found.low.unwrap(), found.high.unwrap());
        for end in [low, high] {
            let variance = 30.0 + 24.0 * end + 90.0 * end * end;
            approx::assert_relative_eq!(
                (50.0 - 100.0 * end).abs(),
                2.0 * variance.sqrt(),
                max_relative = 1e-12
            );
        }
        assert!(low < 0.5 && high > 0.5);
        let unbounded = Ratio { denominator: 15.0, ..ratio }.estimated(2.0);
        assert_eq!((unbounded.low, unbounded.high, unbounded.interval), (None, None, NO_RATIO));
        assert!(unbounded.estimate.is_some());
    }

    #[test]
    fn a_known_denominator_gives_a_symmetric_interval() {
        let ratio =
            Ratio { numerator: 10.0, denominator: 4.0, variances: [1.0, 0.0], covariance: 0.0 };
        let found = ratio.estimated(2.0);
        assert_eq!((found.low, found.high), (Some(2.0), Some(3.0)));
    }
}
