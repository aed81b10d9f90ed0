//! The best bounds of a search, and the points that attain them.

use super::dual::DualPoint;
use super::options::OptimalOptions;
use crate::certificate::Certificate;
use crate::progress::goes_on;

/// The best bounds so far, and the points that attain them.
pub(super) struct Bounds {
    pub lower: f64,
    /// The weights of the lower bound, one per orbit.
    pub dual: Vec<f64>,
    pub upper: Option<DualPoint>,
    pub evaluations: usize,
    /// Whether the observer ended the iteration.
    pub interrupted: bool,
}

impl Bounds {
    /// Creates empty bounds.
    pub fn new() -> Self {
        Bounds { lower: 0.0, dual: Vec::new(), upper: None, evaluations: 0, interrupted: false }
    }

    /// Updates the bounds with an evaluated point.
    pub fn record(&mut self, point: &DualPoint) {
        self.evaluations += 1;
        if point.lower_bound() > self.lower {
            self.lower = point.lower_bound();
            self.dual.clone_from(&point.mu);
        }
        let better =
            self.upper.as_ref().is_none_or(|best| point.upper_bound() < best.upper_bound());
        if better && point.upper_bound().is_finite() {
            self.upper = Some(point.clone());
        }
        self.interrupted |=
            !goes_on(self.evaluations, self.lower, self.upper_bound()) && self.upper.is_some();
    }

    /// Returns whether the gap is closed or the observer ended the iteration.
    pub fn ended(&self, options: &OptimalOptions) -> bool {
        self.gap() <= options.tolerance || self.interrupted
    }

    pub fn upper_bound(&self) -> f64 {
        self.upper.as_ref().map_or(f64::INFINITY, DualPoint::upper_bound)
    }

    pub fn gap(&self) -> f64 {
        self.upper_bound() / self.lower - 1.0
    }
}

/// The best point of a dual problem, the weights of the best lower bound (one per orbit), and the
/// certificate.
pub(super) struct Proved {
    pub point: DualPoint,
    pub dual: Vec<f64>,
    pub certificate: Certificate,
}
