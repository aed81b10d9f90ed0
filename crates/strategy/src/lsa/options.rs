//! The variants of the Level Selection Algorithm, and its stopping criteria.

use crate::error::{Error, Result};

/// The strategy against which the splits of a level are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// The paper's variant. In a sweep every box finds its best split against the same strategy,
    /// and all boxes with a gain are split together. A sweep that does not lower the error is
    /// undone and ends the level.
    #[default]
    JointSweep,
    /// One box after another, each evaluated with all previous splits in effect. Sweeps continue
    /// until no box is split.
    Sequential,
    /// Repeatedly only the split of the whole level with the largest gain.
    BestFirst,
    /// As [`Reading::Sequential`], but every box is split at its best position, even without a
    /// gain. A sweep that does not lower the total error is undone and ends the level.
    Forced,
}

impl Reading {
    /// All variants.
    pub const ALL: [Reading; 4] =
        [Reading::JointSweep, Reading::Sequential, Reading::BestFirst, Reading::Forced];

    /// Returns the name of the strategy.
    pub fn name(self) -> &'static str {
        match self {
            Reading::JointSweep => "lsa",
            Reading::Sequential => "lsa-sequential",
            Reading::BestFirst => "lsa-best-first",
            Reading::Forced => "lsa-forced",
        }
    }
}

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
