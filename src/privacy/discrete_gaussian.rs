//! Discrete Gaussian noise from the operating system's randomness: the only noise that a release may have.

use std::convert::Infallible;
use std::fmt;

use num_bigint::{BigInt, BigUint};
use num_traits::ToPrimitive;
use prio::dp::Rational;
use prio::dp::distributions::DiscreteGaussian;
use rand::TryRng;
use rand::distr::Distribution;

use super::error::PrivacyError;

/// Bytes fetched from the operating system at a time.
const BLOCK: usize = 4096;

/// Values noised by one thread before another is worth starting.
const PER_THREAD: usize = 256;

/// A standard deviation σ as a quotient of whole numbers, so that what is drawn and what is accounted for are the same number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RationalDeviation {
    numerator: u128,
    denominator: u128,
}

impl fmt::Display for RationalDeviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

impl fmt::Debug for RationalDeviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl RationalDeviation {
    /// The largest numerator: the noise of a sum of counts stays far inside 128 bits.
    const LARGEST: u128 = 1 << 112;

    /// σ = numerator/denominator.
    ///
    /// # Errors
    /// A part that is 0, a numerator above 2¹¹² or a denominator above 2⁶⁴.
    pub fn new(numerator: u128, denominator: u128) -> Result<Self, PrivacyError> {
        if numerator == 0 || denominator == 0 || numerator > Self::LARGEST || denominator > 1 << 64 {
            return Err(PrivacyError::InvalidDeviation { found: format!("{numerator}/{denominator}") });
        }
        Ok(RationalDeviation { numerator, denominator })
    }

    /// The smallest σ ≥ `deviation` with 24 bits after the first, and no fraction from 2²⁴ on: long fractions make drawing slow. The
    /// variance grows by a share of 1.2·10⁻⁷ at most.
    ///
    /// # Errors
    /// A number that is not finite and positive, or too large.
    pub fn rounded_up(deviation: f64) -> Result<Self, PrivacyError> {
        const BITS: i32 = 24;
        let found = || PrivacyError::InvalidDeviation { found: deviation.to_string() };
        if !(deviation.is_finite() && deviation > 0.0) {
            return Err(found());
        }
        let exponent = deviation.log2().floor() as i32 - BITS;
        // A power of two times a double is exact.
        let whole = (deviation * f64::from(-exponent).exp2()).ceil();
        let whole = whole.to_u128().ok_or_else(found)?;
        let shift = exponent.unsigned_abs();
        match exponent {
            0.. if shift <= 87 => Self::new(whole << shift, 1),
            ..0 if shift <= 64 => Self::new(whole, 1 << shift),
            _ => Err(found()),
        }
    }

    /// The numerator.
    pub fn numerator(self) -> u128 {
        self.numerator
    }

    /// The denominator.
    pub fn denominator(self) -> u128 {
        self.denominator
    }

    /// σ to nearest.
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    /// The variance of the discrete Gaussian with this σ: σ² but for a share of about e^(−2π²σ²), which counts below σ = 2 only and is
    /// summed there.
    pub fn variance(self) -> f64 {
        let square = self.to_f64().powi(2);
        if square >= 4.0 {
            return square;
        }
        // Beyond 80 = 40σ nothing is left of a double.
        let (mut weights, mut squares) = (1.0, 0.0);
        for z in (1..=80).map(f64::from) {
            let weight = 2.0 * (-z * z / (2.0 * square)).exp();
            weights += weight;
            squares += z * z * weight;
        }
        squares / weights
    }

    /// σ² as a quotient.
    pub fn squared(self) -> (BigUint, BigUint) {
        (BigUint::from(self.numerator).pow(2), BigUint::from(self.denominator).pow(2))
    }
}

impl std::str::FromStr for RationalDeviation {
    type Err = PrivacyError;

    /// `numerator/denominator`.
    fn from_str(text: &str) -> Result<Self, PrivacyError> {
        let parts = text.split_once('/').and_then(|(a, b)| a.parse().ok().zip(b.parse().ok()));
        let (numerator, denominator) =
            parts.ok_or_else(|| PrivacyError::InvalidDeviation { found: format!("`{text}`") })?;
        Self::new(numerator, denominator)
    }
}

/// Discrete Gaussian noise, `P(z) ∝ exp(−z²/(2σ²))` on the integers (Canonne, Kamath & Steinke 2020), for releases.
///
/// Its only source is the operating system. There is no seed, no state to keep, and no constructor that takes a generator: noise
/// of a release cannot be repeated, by nobody. (Tests of this crate have one more source, compiled only for them.)
///
/// The sampler is that of the library `prio`: exact rational arithmetic throughout, no floating point. *Cost*: 10 to 60 µs a
/// value, growing with the bits of σ; values are divided among the machine's cores.
#[derive(Debug)]
pub struct OperatingSystemNoise {
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    OperatingSystem,
    /// A counter-based stream: seed, and how many streams were taken from it.
    #[cfg(test)]
    Counter {
        seed: u64,
        streams: u64,
    },
}

impl Default for OperatingSystemNoise {
    fn default() -> Self {
        Self::new()
    }
}

impl OperatingSystemNoise {
    /// Noise from the operating system.
    pub fn new() -> Self {
        OperatingSystemNoise { source: Source::OperatingSystem }
    }

    /// Repeatable noise for tests of this crate: a stream of the counter-based generator ChaCha per call.
    #[cfg(test)]
    pub(crate) fn of_counter(seed: u64) -> Self {
        OperatingSystemNoise { source: Source::Counter { seed, streams: 0 } }
    }

    /// Adds independent discrete Gaussian noise to every value.
    ///
    /// # Errors
    /// [`PrivacyError::NoRandomness`] if the operating system has none; a sum beyond 128 bits. Then no value may be used.
    pub fn add(&mut self, values: &mut [i128], deviation: RationalDeviation) -> Result<(), PrivacyError> {
        let found = || PrivacyError::InvalidDeviation { found: deviation.to_string() };
        let rational = Rational::from_unsigned(deviation.numerator, deviation.denominator).map_err(|_| found())?;
        let gaussian = DiscreteGaussian::new(rational).map_err(|_| found())?;
        match &mut self.source {
            Source::OperatingSystem => draw_in_parallel(values, &gaussian),
            #[cfg(test)]
            Source::Counter { seed, streams } => {
                use rand::SeedableRng;
                let mut generator = rand_chacha::ChaCha8Rng::seed_from_u64(*seed);
                generator.set_stream(*streams);
                *streams += 1;
                draw(values, &gaussian, &mut generator)
            }
        }
    }
}

/// Every thread has a stream of its own from the operating system.
fn draw_in_parallel(values: &mut [i128], gaussian: &DiscreteGaussian) -> Result<(), PrivacyError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(values.len() / PER_THREAD + 1);
    let chunk = values.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let work = |part: &mut [i128]| {
            let mut stream = OperatingSystemStream::default();
            draw(part, gaussian, &mut stream)?;
            stream.sound()
        };
        let workers: Vec<_> = values.chunks_mut(chunk).map(|part| scope.spawn(move || work(part))).collect();
        workers.into_iter().try_for_each(|worker| {
            let lost = || PrivacyError::NoRandomness { reason: "a thread that drew noise ended early".into() };
            worker.join().map_err(|_| lost())?
        })
    })
}

/// The one function that draws noise for releases.
fn draw(values: &mut [i128], gaussian: &DiscreteGaussian, generator: &mut impl rand::Rng) -> Result<(), PrivacyError> {
    for value in values {
        let noise: BigInt = gaussian.sample(generator);
        let sum = i128::try_from(noise).ok().and_then(|noise| value.checked_add(noise));
        *value = sum.ok_or_else(|| PrivacyError::InvalidDeviation { found: "noise beyond 128 bits".into() })?;
    }
    Ok(())
}

/// The operating system's random bytes, a block at a time.
struct OperatingSystemStream {
    block: [u8; BLOCK],
    used: usize,
    failure: Option<getrandom::Error>,
}

impl Default for OperatingSystemStream {
    fn default() -> Self {
        OperatingSystemStream { block: [0; BLOCK], used: BLOCK, failure: None }
    }
}

impl OperatingSystemStream {
    /// Whether every byte came from the operating system.
    fn sound(self) -> Result<(), PrivacyError> {
        self.failure.map_or(Ok(()), |error| Err(PrivacyError::NoRandomness { reason: error.to_string() }))
    }

    fn refill(&mut self) {
        if let Err(error) = getrandom::fill(&mut self.block) {
            // `sound` reports it and the values are thrown away; the sampler must only come to an end until then.
            self.failure = Some(error);
            let mut next = 0u8;
            self.block.fill_with(|| {
                next = next.wrapping_mul(141).wrapping_add(3);
                next
            });
        }
        self.used = 0;
    }
}

impl TryRng for OperatingSystemStream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, to: &mut [u8]) -> Result<(), Infallible> {
        let mut to = to;
        while !to.is_empty() {
            if self.used == BLOCK {
                self.refill();
            }
            let count = to.len().min(BLOCK - self.used);
            let (now, later) = to.split_at_mut(count);
            let from = &mut self.block[self.used..self.used + count];
            now.copy_from_slice(from);
            // No byte is served twice, nor left in memory.
            from.fill(0);
            self.used += count;
            to = later;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
