//! The certified optimum and the limits of its solver.

use crate::error::{Error, Result};

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
    /// The number of bands under min-separation. Default the separation.
    pub bands: Option<usize>,
    /// Whether columns have equal norms under min-separation (BandMF). Default false.
    pub equal_norms: bool,
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
