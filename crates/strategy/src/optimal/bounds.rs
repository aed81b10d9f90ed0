//! The options of the certified optimum, the best bounds of a search, and where these are attained.

use super::dual::DualPoint;
use crate::allocated::Divergence;
use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::progress::goes_on;

/// The tolerance and the limits of the solver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OptimalOptions {
    /// Stop when `upper/lower − 1` is at most this, which the certificate has. Default 1e-7.
    pub tolerance: f64,
    /// Maximum number of evaluations of the dual function per Kronecker factor, each with one
    /// eigendecomposition. Default 500.
    pub max_iterations: usize,
}

impl Default for OptimalOptions {
    fn default() -> Self {
        OptimalOptions { tolerance: 1e-7, max_iterations: 500 }
    }
}

/// Selects the optimal strategy, with a certificate.
#[derive(Debug, Clone, Copy, Default)]
pub struct Optimal {
    /// The tolerance and the limits. Default [`OptimalOptions::default`].
    pub options: OptimalOptions,
    /// The number of bands under min-separation, where it is the separation by default, and under
    /// random allocation.
    pub bands: Option<usize>,
    /// Whether columns have equal norms under min-separation (BandMF). Default false.
    pub equal_norms: bool,
    /// The form of the strategy under random allocation.
    pub form: StrategyForm,
    /// The divergence to which the strategy is fitted under random allocation.
    pub divergence: Divergence,
}

/// The lower triangular strategies among which the optimum for random allocation is searched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StrategyForm {
    /// All, with at most the given number of bands.
    #[default]
    Free,
    /// Toeplitz matrices with at most the given number of bands.
    Toeplitz,
    /// Toeplitz matrices whose inverse has at most the given number of bands.
    InverseToeplitz,
}

impl Optimal {
    /// Creates a selector with the given options.
    ///
    /// # Errors
    /// The tolerance is not positive, or `max_iterations` is 0.
    pub fn new(options: OptimalOptions) -> Result<Self> {
        if !(options.tolerance > 0.0 && options.tolerance.is_finite())
            || options.max_iterations == 0
        {
            return Err(Error::bad_input(
                "options of the optimal strategy",
                "a positive tolerance and at least one iteration",
                format!(
                    "tolerance {}, max_iterations {}",
                    options.tolerance, options.max_iterations
                ),
                "use e.g. tolerance 1e-7 and 500 iterations",
            ));
        }
        Ok(Optimal { options, ..Optimal::default() })
    }
}

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
