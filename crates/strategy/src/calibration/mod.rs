//! The noise of a strategy for training: σ, ε and δ, of which two are given.
//!
//! A strategy C, n × n and lower triangular, releases `C g + σ z` of gradients g, whose rows have
//! norm at most 1, with standard normals z: equivalently, the gradients get the noise `σ C⁻¹z`.
//! [`noise_guarantee`] computes the third of the noise multiplier σ, ε and δ.
//!
//! ```
//! use matmech_core::workload::Workload;
//! use matmech_strategy::calibration::{Calibration, NoiseStrategy, noise_guarantee};
//! use matmech_strategy::{Participation, Problem};
//!
//! let workload = Workload::parse("prefix:64")?;
//! let problem = Problem { participation: Participation::Epochs(4), ..Problem::new(&workload) };
//! let strategy = NoiseStrategy::of_text("recurrence", &problem)?;
//! let calibration = Calibration::Sigma { epsilon: 1.0, delta: 1e-5 };
//! let guarantee = noise_guarantee(&strategy, &problem, calibration, Default::default())?;
//! // That of the Gaussian mechanism with sensitivity 1, up to rounding.
//! assert!((guarantee.sigma - 3.730_631_634_8).abs() < 1e-6);
//! # Ok::<(), matmech_core::Error>(())
//! ```

mod guarantee;
mod noise_strategy;
mod parameters;
mod strategy_text;

pub use guarantee::{NoiseGuarantee, noise_guarantee};
pub use noise_strategy::NoiseStrategy;
pub use parameters::Calibration;

#[cfg(test)]
mod tests;
