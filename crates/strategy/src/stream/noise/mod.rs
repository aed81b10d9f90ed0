//! Noise drawn step by step, for many coordinates.

mod advance;
mod streamed_noise;

pub use streamed_noise::{NoiseState, NoisyValues, StreamedNoise};
pub(crate) use streamed_noise::{check_process, random_key};
