//! Discrete Gaussian noise from the operating system's randomness: the only noise of releases.

use std::convert::Infallible;

use rand::{Rng, SeedableRng, TryRng};
use rand_chacha::ChaCha8Rng;

use super::discrete_gaussian::{DiscreteGaussian, RandomBits};
use super::error::PrivacyError;
use super::rational_deviation::RationalDeviation;

/// Bytes fetched from the operating system per call.
const BLOCK: usize = 4096;

/// Minimum number of values per thread.
const MIN_VALUES_PER_THREAD: usize = 4096;

/// Discrete Gaussian noise for releases, `P(z) ∝ exp(−z²/(2σ²))` on the integers.
///
/// Its only source of randomness is the operating system. There is no seed, no stored state, and no
/// constructor that takes a generator, so nobody can repeat the noise of a release.
///
/// The sampler is exact: it uses integers only (Canonne, Kamath & Steinke 2020). Values are divided
/// among the cores of the machine.
#[derive(Debug, Default)]
pub struct OperatingSystemNoise(());

impl OperatingSystemNoise {
    /// Returns noise from the operating system.
    pub fn new() -> Self {
        OperatingSystemNoise(())
    }

    /// Adds independent discrete Gaussian noise to every value; adds nothing if σ is 0.
    ///
    /// # Errors
    /// [`PrivacyError::NoRandomness`] if the operating system returns no random bytes, or a sum
    /// beyond 128 bits. Then no value may be used.
    pub fn add(
        &mut self,
        values: &mut [i128],
        deviation: RationalDeviation,
    ) -> Result<(), PrivacyError> {
        if deviation == RationalDeviation::ZERO {
            return Ok(());
        }
        draw_in_parallel(values, &DiscreteGaussian::new(deviation))
    }
}

/// Draws noise with one operating-system stream per thread.
fn draw_in_parallel(values: &mut [i128], gaussian: &DiscreteGaussian) -> Result<(), PrivacyError> {
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(values.len() / MIN_VALUES_PER_THREAD + 1);
    let chunk = values.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let work = |part: &mut [i128]| {
            let mut stream = OperatingSystemStream::default();
            draw(part, gaussian, &mut stream)?;
            stream.check()
        };
        let workers: Vec<_> =
            values.chunks_mut(chunk).map(|part| scope.spawn(move || work(part))).collect();
        workers.into_iter().try_for_each(|worker| {
            let thread_ended = || PrivacyError::NoRandomness {
                reason: "a thread that drew noise ended early".into(),
            };
            worker.join().map_err(|_| thread_ended())?
        })
    })
}

/// Adds independent discrete Gaussian noise from a generator to every value, for tests and audits of
/// releases, which themselves take [`OperatingSystemNoise`] only.
///
/// # Errors
/// A sum beyond 128 bits. Then no value may be used.
pub fn add_repeatable_noise(
    values: &mut [i128],
    deviation: RationalDeviation,
    generator: &mut impl Rng,
) -> Result<(), PrivacyError> {
    if deviation == RationalDeviation::ZERO {
        return Ok(());
    }
    draw(values, &DiscreteGaussian::new(deviation), generator)
}

/// Adds noise; the only function that draws it.
fn draw(
    values: &mut [i128],
    gaussian: &DiscreteGaussian,
    generator: &mut impl Rng,
) -> Result<(), PrivacyError> {
    let mut bits = RandomBits::new(generator);
    for value in values {
        let sum = gaussian.sample(&mut bits).and_then(|noise| value.checked_add(noise));
        *value = sum.ok_or_else(|| PrivacyError::InvalidDeviation {
            found: "noise beyond 128 bits".into(),
        })?;
    }
    Ok(())
}

/// A stream of the operating system's random bytes, fetched in blocks.
struct OperatingSystemStream {
    block: [u8; BLOCK],
    used: usize,
    failure: Option<getrandom::Error>,
    /// Lets the sampler terminate after a failure; its output is discarded.
    filler: ChaCha8Rng,
}

impl Default for OperatingSystemStream {
    fn default() -> Self {
        let filler = ChaCha8Rng::seed_from_u64(0);
        OperatingSystemStream { block: [0; BLOCK], used: BLOCK, failure: None, filler }
    }
}

impl OperatingSystemStream {
    /// Returns an error unless every byte came from the operating system.
    fn check(self) -> Result<(), PrivacyError> {
        self.failure
            .map_or(Ok(()), |error| Err(PrivacyError::NoRandomness { reason: error.to_string() }))
    }

    fn refill(&mut self) {
        if let Err(error) = getrandom::fill(&mut self.block) {
            self.failure = Some(error);
            self.filler.fill_bytes(&mut self.block);
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
            // No byte is used twice or left in memory.
            from.fill(0);
            self.used += count;
            to = later;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(deviation: RationalDeviation) -> Vec<i128> {
        let mut values = vec![0; 4000];
        OperatingSystemNoise::new().add(&mut values, deviation).unwrap();
        values
    }

    /// The operating system's noise: mean and variance within 6 standard errors (a false alarm once
    /// in 10⁸ runs), and no repeated block.
    #[test]
    fn operating_system_noise_is_fresh_and_has_its_variance() {
        let sigma = RationalDeviation::new(1 << 20, 1).unwrap();
        let (first, second) = (sample(sigma), sample(sigma));
        assert!(first.iter().zip(&second).filter(|(a, b)| a == b).count() < 10);
        let all: Vec<f64> =
            first.iter().chain(&second).map(|z| *z as f64 / sigma.to_f64()).collect();
        let count = all.len() as f64;
        let mean = all.iter().sum::<f64>() / count;
        let variance = all.iter().map(|z| z * z).sum::<f64>() / count;
        assert!(mean.abs() < 6.0 / count.sqrt(), "{mean}");
        assert!((variance - 1.0).abs() < 6.0 * (2.0 / count).sqrt(), "{variance}");
        assert_ne!(first[..100], first[2000..2100]);
    }

    #[test]
    fn missing_bytes_are_reported_after_sampling() {
        let failure = Some(getrandom::Error::UNSUPPORTED);
        let stream = OperatingSystemStream { failure, ..Default::default() };
        assert!(matches!(stream.check(), Err(PrivacyError::NoRandomness { .. })));
        assert!(OperatingSystemStream::default().check().is_ok());
    }
}
