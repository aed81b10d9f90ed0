//! Noise of experiments: repeatable, in floating point, not private.
//!
//! Noise of releases is in `operating_system_noise.rs`. Noise is drawn nowhere else.

use std::collections::HashSet;
use std::fmt;

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, StandardNormal};

use super::error::PrivacyError;

/// Noise from a seeded generator: experiments are repeatable, and their output is **not private**.
///
/// It is also floating-point noise, which no release may use.
///
/// A measurement takes the next numbers of one shared stream, or has a separate stream that is
/// keyed by the measured object and a round; then its noise does not depend on the order of
/// measurements. Both streams are ChaCha with 8 rounds, seeded from the caller's generator when the
/// first number is drawn. ChaCha8 has no known distinguisher and takes two thirds of the time of
/// ChaCha20, which matters for runs that draw 10⁹ numbers.
pub struct SeededNoise<'a> {
    seeds: &'a mut dyn Rng,
    shared: Option<ChaCha8Rng>,
    named: Option<u128>,
    used: HashSet<(u128, u64)>,
}

/// Shows no field: the noise can be subtracted if the state of the generators is known.
impl fmt::Debug for SeededNoise<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeededNoise").finish_non_exhaustive()
    }
}

/// The random stream of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoiseStream {
    /// The next numbers of the stream that all such measurements share.
    Shared,
    /// A separate stream for the measured object and the round. Half of its key is the seed, half
    /// the measured object (128 bits each); its nonce is the round. It can be used once.
    Separate {
        /// Distinguishes measurements of the same marginal.
        round: u64,
    },
}

impl<'a> SeededNoise<'a> {
    /// Returns noise seeded from a generator.
    pub fn new(seeds: &'a mut dyn Rng) -> Self {
        SeededNoise { seeds, shared: None, named: None, used: HashSet::new() }
    }

    /// Adds N(0, σ²) to every value; `measured` identifies the measured object of a separate
    /// stream.
    ///
    /// # Errors
    /// A standard deviation that is not finite and positive; [`PrivacyError::StreamUsedTwice`] for
    /// a stream that was used before, because the noise would cancel.
    pub fn add_gaussian(
        &mut self,
        values: &mut [f64],
        standard_deviation: f64,
        stream: NoiseStream,
        measured: u128,
    ) -> Result<(), PrivacyError> {
        let deviation = super::parameters::noise_scale(standard_deviation)?;
        match stream {
            NoiseStream::Shared => draw(values, deviation, self.shared()),
            NoiseStream::Separate { round } => {
                if !self.used.insert((measured, round)) {
                    return Err(PrivacyError::StreamUsedTwice { round });
                }
                draw(values, deviation, &mut self.separate_stream(measured, round));
            }
        }
        Ok(())
    }

    /// Returns standard Gumbel noise −ln E, E ~ Exp(1), from the shared stream.
    ///
    /// The maximum of scores s_i with such noise is at i with probability ∝ exp(s_i).
    pub fn gumbel(&mut self, count: usize) -> Vec<f64> {
        let stream = self.shared();
        let mut draw = || {
            let waiting: f64 = Exp1.sample(stream);
            -waiting.ln()
        };
        (0..count).map(|_| draw()).collect()
    }

    fn shared(&mut self) -> &mut ChaCha8Rng {
        self.shared.get_or_insert_with(|| ChaCha8Rng::from_rng(self.seeds))
    }

    fn separate_stream(&mut self, measured: u128, round: u64) -> ChaCha8Rng {
        let seed = *self.named.get_or_insert_with(|| self.seeds.random());
        let mut key = [0; 32];
        key[..16].copy_from_slice(&seed.to_le_bytes());
        key[16..].copy_from_slice(&measured.to_le_bytes());
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(round);
        generator
    }
}

/// Adds Gaussian noise; the only function that draws it for experiments.
fn draw(values: &mut [f64], deviation: f64, generator: &mut impl Rng) {
    for value in values {
        let noise: f64 = StandardNormal.sample(generator);
        *value += deviation * noise;
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::test_support::rng;

    fn drawn(
        seed: u64,
        ask: impl FnOnce(&mut SeededNoise<'_>) -> Result<Vec<f64>, PrivacyError>,
    ) -> Vec<f64> {
        ask(&mut SeededNoise::new(&mut rng(seed))).unwrap()
    }

    fn gaussian(
        noise: &mut SeededNoise<'_>,
        count: usize,
        stream: NoiseStream,
        measured: u128,
    ) -> Result<Vec<f64>, PrivacyError> {
        let mut values = vec![0.0; count];
        noise.add_gaussian(&mut values, 1.0, stream, measured)?;
        Ok(values)
    }

    /// Returns the Kolmogorov–Smirnov distance of a sample from a distribution, in units of
    /// 1/√count.
    fn distance(mut sample: Vec<f64>, distribution: impl Fn(f64) -> f64) -> f64 {
        sample.sort_by(f64::total_cmp);
        let count = sample.len() as f64;
        let distance = sample.iter().enumerate().map(|(k, &x)| {
            let (below, at) = (k as f64 / count, (k + 1) as f64 / count);
            (distribution(x) - below).abs().max((at - distribution(x)).abs())
        });
        distance.fold(0.0, f64::max) * count.sqrt()
    }

    /// Kolmogorov–Smirnov test against the normal distribution: the distance exceeds 2.5 with
    /// probability below 2 e^{−12.5} < 1e-5 if the distributions are equal. A σ that is wrong by
    /// 3 % changes the distribution function by up to 0.0072, a distance of 3.2 for 200,000 draws.
    #[test]
    fn gaussian_noise_has_the_normal_distribution() {
        let normal = |x: f64| 0.5 * libm::erfc(-x / (2.5 * 2f64.sqrt()));
        for stream in [NoiseStream::Shared, NoiseStream::Separate { round: 3 }] {
            let sample = drawn(1, |noise| {
                let mut values = vec![0.0; 200_000];
                noise.add_gaussian(&mut values, 2.5, stream, 9)?;
                Ok(values)
            });
            assert!(distance(sample.clone(), normal) < 2.5);
            assert!(distance(sample.iter().map(|x| 1.03 * x).collect(), normal) > 2.5);
            assert!(distance(sample.iter().map(|x| 0.97 * x).collect(), normal) > 2.5);
        }
    }

    #[test]
    fn gumbel_noise_has_the_gumbel_distribution() {
        assert!(
            distance(drawn(2, |noise| Ok(noise.gumbel(200_000))), |x| (-(-x).exp()).exp()) < 2.5
        );
    }

    #[test]
    fn streams_are_repeatable_and_distinct() {
        let first = |seed: u64, stream, measured| {
            drawn(seed, |noise| gaussian(noise, 1, stream, measured))[0]
        };
        let separate = |round| NoiseStream::Separate { round };
        assert_eq!(first(5, separate(2), 1 << 90), first(5, separate(2), 1 << 90));
        let mut draws = vec![
            first(5, separate(0), 8),
            first(5, separate(1), 8),
            first(5, separate(0), 16),
            first(5, separate(0), 0),
            first(6, separate(0), 8),
            first(5, NoiseStream::Shared, 8),
        ];
        draws.sort_by(f64::total_cmp);
        draws.dedup();
        assert_eq!(draws.len(), 6);
    }

    #[test]
    fn a_separate_stream_is_used_once() {
        let mut seeds = rng(7);
        let mut noise = SeededNoise::new(&mut seeds);
        let shared = gaussian(&mut noise, 2, NoiseStream::Shared, 1).unwrap();
        assert_ne!(shared, gaussian(&mut noise, 2, NoiseStream::Shared, 1).unwrap());
        let stream = NoiseStream::Separate { round: 0 };
        gaussian(&mut noise, 2, stream, 1).unwrap();
        assert!(matches!(
            gaussian(&mut noise, 2, stream, 1),
            Err(PrivacyError::StreamUsedTwice { round: 0 })
        ));
        assert!(gaussian(&mut noise, 2, stream, 2).is_ok());
    }

    #[test]
    fn invalid_scales_are_refused() {
        let mut seeds = rng(8);
        let mut noise = SeededNoise::new(&mut seeds);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(noise.add_gaussian(&mut [0.0], bad, NoiseStream::Shared, 0).is_err());
        }
    }
}
