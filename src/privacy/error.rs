//! What can be wrong with a privacy parameter.

use thiserror::Error;

/// A privacy parameter, or a combination of them, that has no meaning or gives no guarantee.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PrivacyError {
    /// A parameter lies outside the range in which it has a meaning.
    #[error("{quantity}: expected {expected}, found {found}; {remedy}")]
    InvalidParameter {
        /// The parameter, in the words of this module's documentation.
        quantity: &'static str,
        /// The range it must lie in.
        expected: &'static str,
        /// The value given.
        found: f64,
        /// How to mend it.
        remedy: &'static str,
    },
    /// The classical calibration, used beyond the theorem, would promise more privacy than its
    /// noise delivers.
    #[error(
        "classical Gaussian calibration: expected an epsilon at which it keeps its promise, found epsilon = {epsilon}, \
         where its noise delivers delta = {delivered:e} instead of {delta:e}; use the analytic Gaussian calibration, \
         which holds for every epsilon, or an epsilon of at most 1"
    )]
    ClassicalCalibrationFails {
        /// The epsilon asked for.
        epsilon: f64,
        /// The delta asked for.
        delta: f64,
        /// The smallest delta that the calibrated noise really provides at this epsilon.
        delivered: f64,
    },
    /// A budget that does not pay for an access to data. Nothing was spent, and nothing was looked
    /// at.
    #[error(
        "privacy budget of {what}: expected at most {left} of zCDP, what remains of {total}, found {asked}\n  remedy: \
         spend less, or start with a larger budget"
    )]
    BudgetExhausted {
        /// The access.
        what: String,
        /// Its ρ.
        asked: f64,
        /// The ρ that is left.
        left: f64,
        /// The ρ of the whole budget.
        total: f64,
    },
    /// Noise that was drawn before, asked for again: the two would cancel. A mistake of the
    /// mechanism, not of its user.
    #[error(
        "noise: expected every stream once, found round {round} twice; this is a bug of the mechanism, please report it"
    )]
    StreamUsedTwice {
        /// The round of [`NoiseStream::Own`](super::NoiseStream::Own).
        round: u64,
    },
    /// The operating system gave no random bytes. Nothing was released.
    #[error(
        "noise: expected random bytes from the operating system, found none ({reason}); nothing was released"
    )]
    NoRandomness {
        /// What the system said.
        reason: String,
    },
    /// A standard deviation that no discrete Gaussian has, or noise that does not fit the answers.
    #[error(
        "standard deviation of discrete Gaussian noise: expected a quotient of whole numbers from 1 to 2^112 and to 2^64, \
         found {found}; use a planner or a budget with more ordinary numbers"
    )]
    InvalidDeviation {
        /// The deviation.
        found: String,
    },
    /// A conversion has no answer within the range of finite, non-zero numbers.
    #[error("{quantity}: expected a finite, non-zero solution, found none for {given}; {remedy}")]
    NoSolution {
        /// What was being computed.
        quantity: &'static str,
        /// The parameters it was computed from.
        given: String,
        /// How to mend it.
        remedy: &'static str,
    },
}
