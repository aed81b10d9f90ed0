//! Noise drawn step by step, for many coordinates.

mod advance;
mod noisy_values;
mod normals;
mod streamed_noise;

pub use noisy_values::NoisyValues;
pub use streamed_noise::{NoiseState, StreamedNoise};
pub(crate) use streamed_noise::{check_process, random_key};
