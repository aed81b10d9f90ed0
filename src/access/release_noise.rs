//! The noise of releases.

use crate::error::Result;
use crate::privacy::{OperatingSystemNoise, RationalDeviation};

/// The noise of a release: that of the operating system. Unit tests of this crate have a second,
/// repeatable source, compiled only for them.
#[derive(Debug)]
pub struct ReleaseNoise {
    source: Source,
}

#[derive(Debug)]
enum Source {
    OperatingSystem(OperatingSystemNoise),
    /// A counter-based stream: the seed and the number of streams used.
    #[cfg(test)]
    Counter {
        seed: u64,
        streams: u64,
    },
}

impl Default for ReleaseNoise {
    fn default() -> Self {
        Self::new()
    }
}

impl ReleaseNoise {
    /// Returns noise from the operating system.
    pub fn new() -> Self {
        ReleaseNoise { source: Source::OperatingSystem(OperatingSystemNoise::new()) }
    }

    /// Returns repeatable noise: one ChaCha stream per call.
    #[cfg(test)]
    pub(crate) fn of_counter(seed: u64) -> Self {
        ReleaseNoise { source: Source::Counter { seed, streams: 0 } }
    }

    /// Adds independent discrete Gaussian noise to every value; adds nothing if σ is 0.
    ///
    /// # Errors
    /// As [`OperatingSystemNoise::add`].
    pub(crate) fn add(&mut self, values: &mut [i128], deviation: RationalDeviation) -> Result<()> {
        match &mut self.source {
            Source::OperatingSystem(noise) => noise.add(values, deviation)?,
            #[cfg(test)]
            Source::Counter { seed, streams } => {
                use rand::SeedableRng;
                if deviation != RationalDeviation::ZERO {
                    let mut generator = rand_chacha::ChaCha8Rng::seed_from_u64(*seed);
                    generator.set_stream(*streams);
                    *streams += 1;
                    crate::privacy::add_repeatable_noise(values, deviation, &mut generator)?;
                }
            }
        }
        Ok(())
    }
}
