//! An exact sampler of the discrete Gaussian distribution, in integer arithmetic.
//!
//! ```text
//! P(Z = z) = exp(−z²/(2σ²)) / Σ_k exp(−k²/(2σ²)),      z an integer, σ = p/q
//! ```
//!
//! The algorithm is that of Canonne, Kamath & Steinke (2020, Alg. 1–3): rejection from a discrete
//! Laplace distribution, with every probability a quotient of integers and every decision a
//! comparison of integers with uniform random bits. No step rounds, so the distribution is exact.
//! With t = ⌊σ⌋ + 1:
//!
//! 1. `Y` has P(Y = y) ∝ exp(−|y|/t).
//! 2. `Y` is accepted with probability exp(−γ), γ = (|Y| − σ²/t)²/(2σ²) = (|Y| t q² − p²)²/(2 p² q²
//!    t²).
//!
//! The probability of acceptance is proportional to exp(−Y²/(2σ²)) · exp(|Y|/t), which proves the
//! distribution. The quotient γ is computed in 128 bits if its parts fit, and in big integers
//! otherwise. Both paths consume the same random bits and make the same decisions (a test compares
//! them). For deviations of [`RationalDeviation::rounded_up`] up to 2²⁴ the parts fit.

mod random_bits;
mod sampler;

pub(super) use self::random_bits::RandomBits;
pub(super) use sampler::DiscreteGaussian;
