//! Bounds on a candidate's error that hold without reading its marginal again.

/// Bounds on ‖μ_γ − μ̂_γ‖₁.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    low: f64,
    high: f64,
}

/// Relative margin on every bound, so that the rounding of long sums cannot violate it.
const ROUNDING: f64 = 1e-9;

impl Interval {
    /// Returns the bounds of an exactly known error.
    pub(super) fn exact(error: f64) -> Self {
        Interval { low: error, high: error }
    }

    /// Returns the bounds before the marginal was read: 0 and ‖μ_γ‖₁ + ‖μ̂_γ‖₁.
    pub(super) fn at_most(high: f64) -> Self {
        Interval { low: 0.0, high: high * (1.0 + ROUNDING) }
    }

    /// Widens the bounds after the estimate changed by `norm` in L1.
    ///
    /// The error changes by at most `norm`.
    pub(super) fn widen(&mut self, norm: f64) {
        if norm > 0.0 {
            let norm = norm * (1.0 + ROUNDING) + ROUNDING * self.high;
            self.low = (self.low - norm).max(0.0);
            self.high += norm;
        }
    }

    pub(super) fn low(self) -> f64 {
        self.low
    }

    pub(super) fn high(self) -> f64 {
        self.high
    }

    pub(super) fn is_exact(self) -> bool {
        self.low >= self.high
    }
}
