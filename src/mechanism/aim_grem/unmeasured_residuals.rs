//! What the estimates assume of residuals that were not measured.

use std::str::FromStr;

use crate::error::{Error, Result};

/// The treatment of unmeasured residuals in the final reconstruction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnmeasuredResiduals {
    /// Unmeasured residuals are 0: GReM-MLE, linear in the measurements (S4).
    #[default]
    Additive,
    /// Unmeasured residuals mean independent attributes:
    /// [`IndependentMarginals`](crate::estimation::IndependentMarginals).
    ///
    /// Better if most residuals are unmeasured; slightly worse if nearly all are measured (NLTCS at
    /// ε ≥ 1).
    Independence,
}

impl FromStr for UnmeasuredResiduals {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "additive" => Ok(UnmeasuredResiduals::Additive),
            "independence" => Ok(UnmeasuredResiduals::Independence),
            _ => Err(Error::unknown_name(
                "reconstruction",
                name,
                &["additive", "independence"],
                "check the spelling",
            )),
        }
    }
}
