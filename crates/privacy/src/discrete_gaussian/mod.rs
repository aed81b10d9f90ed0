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

mod bernoulli;
mod random_bits;

use num_bigint::BigUint;
use rand::Rng;

use self::bernoulli::{exponential, exponential_of_big, exponential_of_one};
pub(super) use self::random_bits::RandomBits;
use super::rational_deviation::RationalDeviation;

/// Larger values are an error: sums with answers stay within 128 bits.
const MAX_VALUE: u128 = 1 << 125;

/// A discrete Gaussian distribution with a rational σ.
///
/// *Cost*: about 0.4 µs per value if γ fits 128 bits and a few µs otherwise, independent of σ.
#[derive(Debug, Clone)]
pub(super) struct DiscreteGaussian {
    /// t = ⌊σ⌋ + 1.
    scale: u128,
    small: Option<Small>,
    large: Large,
}

/// The parts of γ in 128 bits.
#[derive(Debug, Clone, Copy)]
struct Small {
    /// t q².
    slope: u128,
    /// p².
    offset: u128,
    /// 2 p² q² t².
    denominator: u128,
}

/// The parts of γ in big integers.
#[derive(Debug, Clone)]
struct Large {
    slope: BigUint,
    offset: BigUint,
    denominator: BigUint,
}

impl DiscreteGaussian {
    /// Returns the distribution with the given σ.
    pub(super) fn new(deviation: RationalDeviation) -> Self {
        let (mut p, mut q) = (deviation.numerator(), deviation.denominator());
        let common = gcd(p, q);
        (p, q) = (p / common, q / common);
        let scale = p / q + 1;
        let small = || -> Option<Small> {
            let (slope, offset) = (scale.checked_mul(q.checked_mul(q)?)?, p.checked_mul(p)?);
            let root = p.checked_mul(q)?.checked_mul(scale)?;
            let denominator = root.checked_mul(root)?.checked_mul(2)?;
            Some(Small { slope, offset, denominator })
        };
        let [p, q, t] = [p, q, scale].map(BigUint::from);
        let denominator = (&p * &q * &t).pow(2) * 2u32;
        let large = Large { slope: t * q.pow(2), offset: p.pow(2), denominator };
        DiscreteGaussian { scale, small: small(), large }
    }

    /// Returns one value; `None` beyond 125 bits, which has a probability below exp(−4,000).
    pub(super) fn sample(&self, bits: &mut RandomBits<'_, impl Rng>) -> Option<i128> {
        loop {
            let (magnitude, negative) = self.laplace(bits)?;
            if self.accept(magnitude, bits) {
                let value = i128::try_from(magnitude).ok()?;
                return Some(if negative { -value } else { value });
            }
        }
    }

    /// Returns the magnitude and sign of Y, P(Y = y) ∝ exp(−|y|/t) (Alg. 2).
    ///
    /// |Y| = U + tV with U below t, P(U = u) ∝ exp(−u/t), and P(V = v) ∝ exp(−v). Negative zero is
    /// rejected.
    fn laplace(&self, bits: &mut RandomBits<'_, impl Rng>) -> Option<(u128, bool)> {
        loop {
            let low = bits.below(self.scale);
            if !exponential(low, self.scale, bits) {
                continue;
            }
            let mut high = 0u128;
            while exponential_of_one(bits) {
                high += 1;
            }
            let magnitude = self.scale.checked_mul(high)?.checked_add(low)?;
            if magnitude > MAX_VALUE {
                return None;
            }
            let negative = bits.take(1) == 1;
            if !(negative && magnitude == 0) {
                return Some((magnitude, negative));
            }
        }
    }

    /// Returns whether a magnitude is accepted: true with probability exp(−γ).
    fn accept(&self, magnitude: u128, bits: &mut RandomBits<'_, impl Rng>) -> bool {
        let small = self.small.and_then(|Small { slope, offset, denominator }| {
            let distance = magnitude.checked_mul(slope)?.abs_diff(offset);
            Some((distance.checked_mul(distance)?, denominator))
        });
        if let Some((numerator, denominator)) = small {
            return exponential(numerator, denominator, bits);
        }
        let Large { slope, offset, denominator } = &self.large;
        let scaled = slope * magnitude;
        let distance = if scaled > *offset { scaled - offset } else { offset - scaled };
        exponential_of_big(distance.pow(2), denominator, bits)
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests;
