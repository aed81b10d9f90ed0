//! What is given of σ, ε and δ.

use crate::error::{Error, Result};
use crate::participation::{Participation, PrivacyTarget};

/// Two of σ, ε and δ, of which the third is asked for.
///
/// σ is the noise multiplier: the standard deviation of the measured values per unit of the
/// clipping norm. All are dimensionless.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Calibration {
    /// The smallest σ, rounded up.
    Sigma {
        /// ε > 0.
        epsilon: f64,
        /// δ, 0 < δ < 1.
        delta: f64,
    },
    /// The smallest ε, rounded up.
    Epsilon {
        /// σ > 0.
        sigma: f64,
        /// δ, 0 < δ < 1.
        delta: f64,
    },
    /// The smallest δ, rounded up.
    Delta {
        /// σ > 0.
        sigma: f64,
        /// ε ≥ 0.
        epsilon: f64,
    },
}

impl Calibration {
    /// Returns a participation with (ε, δ) if it is random allocation and both are given.
    pub fn target_of(self, participation: Participation) -> Participation {
        match (participation, self) {
            (Participation::Random { epochs, .. }, Calibration::Sigma { epsilon, delta }) => {
                Participation::Random { epochs, target: Some(PrivacyTarget { epsilon, delta }) }
            }
            _ => participation,
        }
    }

    /// Returns what is asked for if exactly two parameters are given.
    ///
    /// The ranges of their values are checked by [`noise_guarantee`](super::noise_guarantee).
    ///
    /// # Errors
    /// None, one or three are given.
    pub fn of_two(sigma: Option<f64>, epsilon: Option<f64>, delta: Option<f64>) -> Result<Self> {
        match (sigma, epsilon, delta) {
            (None, Some(epsilon), Some(delta)) => Ok(Calibration::Sigma { epsilon, delta }),
            (Some(sigma), None, Some(delta)) => Ok(Calibration::Epsilon { sigma, delta }),
            (Some(sigma), Some(epsilon), None) => Ok(Calibration::Delta { sigma, epsilon }),
            _ => {
                let given = [("sigma", sigma), ("epsilon", epsilon), ("delta", delta)];
                let names = given.iter().filter(|(_, x)| x.is_some()).map(|(name, _)| *name);
                let found = match names.collect::<Vec<_>>().as_slice() {
                    [] => "none".to_owned(),
                    [name] => format!("{name} alone"),
                    _ => "all three".to_owned(),
                };
                Err(Error::bad_input(
                    "noise multiplier",
                    "two of sigma, epsilon and delta",
                    found,
                    "leave out the one to compute, e.g. sigma for the noise of epsilon = 1 and \
                     delta = 1e-6",
                ))
            }
        }
    }
}
