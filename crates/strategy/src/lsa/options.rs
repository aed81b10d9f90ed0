//! The stopping criteria of the search.

use crate::error::{Error, Result};

/// The stopping criteria of the search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LsaOptions {
    /// Maximum number of levels, the identity included; k in the paper. Default
    /// [`LsaOptions::MAX_LEVELS`].
    pub max_levels: usize,
    /// Relative tolerance: gains up to this share of the trace are ignored, and gains that differ
    /// by no more are equal. Default 1e-10.
    pub tolerance: f64,
}

impl LsaOptions {
    /// The default maximum number of levels.
    pub const MAX_LEVELS: usize = 4096;

    /// Checks the options.
    ///
    /// # Errors
    /// `max_levels` is 0, or the tolerance is outside [0, 1).
    pub fn check(&self) -> Result<()> {
        if self.max_levels == 0 {
            return Err(Error::bad_input(
                "options of the Level Selection Algorithm: max_levels",
                "at least 1, the identity level",
                "0",
                "use e.g. max_levels = 32, or leave it out to continue while the error decreases",
            ));
        }
        if !(0.0..1.0).contains(&self.tolerance) {
            return Err(Error::bad_input(
                "options of the Level Selection Algorithm: tolerance",
                "a number from 0 to below 1",
                self.tolerance.to_string(),
                "use e.g. 1e-10",
            ));
        }
        Ok(())
    }
}

impl Default for LsaOptions {
    fn default() -> Self {
        LsaOptions { max_levels: Self::MAX_LEVELS, tolerance: 1e-10 }
    }
}
