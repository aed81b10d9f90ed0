//! Errors of privacy parameters and noise.

use thiserror::Error;

/// An invalid privacy parameter, failed noise, or an exhausted budget.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PrivacyError {
    /// A parameter outside its valid range.
    #[error("{quantity}: expected {expected}, found {found}; {remedy}")]
    InvalidParameter {
        /// The parameter, in the words of this module's documentation.
        quantity: &'static str,
        /// The valid range.
        expected: &'static str,
        /// The value given.
        found: f64,
        /// How to fix it.
        remedy: &'static str,
    },
    /// A classical calibration whose noise does not provide the promised δ.
    #[error(
        "classical Gaussian calibration: expected an epsilon at which its noise provides delta, \
         found epsilon = {epsilon}, where it provides delta = {delivered:e} instead of \
         {delta:e}; use the analytic Gaussian calibration, which is valid for every epsilon, or \
         an epsilon of at most 1"
    )]
    ClassicalCalibrationFails {
        /// The requested epsilon.
        epsilon: f64,
        /// The requested delta.
        delta: f64,
        /// The smallest delta that the calibrated noise provides at this epsilon.
        delivered: f64,
    },
    /// An access to data that costs more than the remaining privacy budget.
    ///
    /// Nothing was spent and no data was read.
    #[error(
        "privacy budget of {what}: expected at most rho = {left}, the rest of {total}, found \
         {asked}\n  remedy: spend less, or start with a larger budget"
    )]
    BudgetExhausted {
        /// The access.
        what: String,
        /// Its ρ.
        asked: f64,
        /// The remaining ρ.
        left: f64,
        /// The total ρ.
        total: f64,
    },
    /// A noise stream requested twice: the noise would cancel. A bug of the mechanism.
    #[error(
        "noise: expected every stream once, found round {round} twice; this is a bug of the \
         mechanism, please report it"
    )]
    StreamUsedTwice {
        /// The round of [`NoiseStream::Separate`](super::NoiseStream::Separate).
        round: u64,
    },
    /// The operating system returned no random bytes. Nothing was released.
    #[error(
        "noise: expected random bytes from the operating system, found none ({reason}); nothing \
         was released"
    )]
    NoRandomness {
        /// The error of the operating system.
        reason: String,
    },
    /// A standard deviation outside the range of the sampler, or noise that overflows the answers.
    #[error(
        "standard deviation of discrete Gaussian noise: expected a numerator from 1 to 2^112 and \
         a denominator from 1 to 2^64, found {found}; use another planner or a less extreme \
         budget"
    )]
    InvalidDeviation {
        /// The deviation.
        found: String,
    },
    /// A conversion without a finite, non-zero solution.
    #[error("{quantity}: expected a finite, non-zero solution, found none for {given}; {remedy}")]
    NoSolution {
        /// The computed quantity.
        quantity: &'static str,
        /// Its parameters.
        given: String,
        /// How to fix it.
        remedy: &'static str,
    },
}
