//! Noise drawn step by step, for many coordinates.

mod advance;
mod streamed_noise;

pub use streamed_noise::StreamedNoise;
