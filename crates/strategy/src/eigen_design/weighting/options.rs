//! The tolerance and the limits of the solver.

use crate::error::{Error, Result};

/// The method that finds the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Method {
    /// Newton's method, with multiplicative updates if it stops early.
    #[default]
    Newton,
    /// Multiplicative updates only: many, at O(k n) each.
    Multiplicative,
}

/// The tolerance and the limits of the solver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightingOptions {
    /// Stop when `UB/LB − 1` falls to this. Default 1e-9.
    pub tolerance: f64,
    /// The method. Default [`Method::Newton`].
    pub method: Method,
    /// Maximum number of Newton steps. Default 100.
    pub newton_steps: usize,
    /// Maximum number of multiplicative updates, as a fallback or alone. Default 20,000.
    pub multiplicative_steps: usize,
}

impl Default for WeightingOptions {
    fn default() -> Self {
        WeightingOptions {
            tolerance: 1e-9,
            method: Method::Newton,
            newton_steps: 100,
            multiplicative_steps: 20_000,
        }
    }
}

impl WeightingOptions {
    /// Checks the options.
    ///
    /// # Errors
    /// A tolerance that is not positive, or no steps.
    pub(crate) fn check(&self) -> Result<()> {
        let steps = self.newton_steps.max(self.multiplicative_steps);
        if self.tolerance > 0.0 && self.tolerance.is_finite() && steps > 0 {
            return Ok(());
        }
        Err(Error::bad_input(
            "options of the weighting problem",
            "a positive tolerance and at least one step",
            format!("tolerance {}, at most {steps} steps", self.tolerance),
            "use e.g. tolerance 1e-9 and 100 Newton steps",
        ))
    }
}
