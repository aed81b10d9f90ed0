//! Streaming noise: correlated noise for prefix sums, step by step, with few buffers.
//!
//! A strategy C for training needs the noise `C⁻¹z` of its steps in order. For these forms it takes
//! a few numbers of memory per coordinate, and the error is close to the certified optimum:
//!
//! | form | participation | steps |
//! |---|---|---|
//! | [`NoiseRecurrence`] | single, fixed epochs | at most 4096 |
//! | [`Chains`] | single | any number, in linear time |
//! | [`Truncated`] | min-separation | at most 2048 |
//!
//! Sensitivity and errors are recomputed from the coefficients that are used and written
//! ([`Coefficients::assess`]), whatever the fit did. With adaptive inputs, such as gradients, noise
//! of a lower triangular factor has the same privacy cost (Denisov et al., Improved differential
//! privacy for SGD via optimal private linear operators on adaptive streams, 2022, Theorem 2.1).
//! See docs/streams.md.

mod assessment;
mod chains;
mod coefficients;
mod file;
mod fit;
mod fitted;
mod form;
mod noise;
pub mod recurrence;
mod selectors;
mod truncated;

pub use assessment::StreamAssessment;
pub use chains::Chains;
pub use coefficients::Coefficients;
pub use fit::Stream;
pub use form::{Form, StreamOptions};
pub use noise::{NoiseState, NoisyValues, StreamedNoise};
pub(crate) use noise::{check_process, random_key};
pub use recurrence::NoiseRecurrence;
pub use selectors::Streamed;
pub use truncated::Truncated;

#[cfg(test)]
mod tests;
