//! Noise drawn step by step, for many coordinates.

mod advance;

use std::fmt;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use super::Coefficients;
use crate::error::{Error, Result};
use advance::{Machine, Normals, StepNormals};

/// Correlated noise of d coordinates, one step after the other.
///
/// The coordinates are independent. Each call of [`fill`](StreamedNoise::fill) returns the noise of
/// the next step, with standard deviation set by the coefficients: its squared sensitivity is that
/// of the assessment, 1 up to rounding. Multiply it by the noise multiplier and the clipping norm.
///
/// *Memory*: one f64 per buffer and coordinate. *Time*: O(buffers + normals) per coordinate and
/// step. Earlier normals are drawn again from ChaCha20, whose nonce is the step.
///
/// **Floating point.** The normals and their combinations are f64. Their lowest bits depend on the
/// noise and on the value they are added to, so the proof of differential privacy, which is for
/// real numbers, does not cover them: an attacker who sees all bits of an output may learn more
/// than the stated privacy cost. This is usual in private training, where the noise is added to
/// gradients and models are published in lower precision, but it is no protection like that of
/// a release, which adds integer noise only. See SECURITY.md.
///
/// Whoever knows the key can subtract the noise: keep a seeded generator to experiments, and use
/// one object for one training run only. A copy of the process, as `fork` makes it, has a copy of
/// the key: the difference of two outputs would have no noise. So the object remembers its process
/// and is refused in another.
pub struct StreamedNoise {
    coefficients: Coefficients,
    machine: Machine,
    normals: ChaChaNormals,
    coordinates: usize,
    step: usize,
    /// The process that created it.
    process: u32,
}

/// Shows the sizes: key and state would reveal the noise.
impl fmt::Debug for StreamedNoise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamedNoise")
            .field("coordinates", &self.coordinates)
            .field("step", &self.step)
            .finish_non_exhaustive()
    }
}

impl StreamedNoise {
    /// Creates noise whose key is drawn from the operating system.
    ///
    /// # Errors
    /// The operating system returns no random bytes.
    pub fn from_operating_system(coefficients: Coefficients, coordinates: usize) -> Result<Self> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| {
            Error::bad_input(
                "key of the noise",
                "32 random bytes of the operating system",
                error.to_string(),
                "run where the operating system's generator is available",
            )
        })?;
        Ok(Self::with_key(coefficients, coordinates, key))
    }

    /// Creates repeatable noise, for experiments only: the seed reveals the noise.
    pub fn seeded(coefficients: Coefficients, coordinates: usize, seed: u64) -> Self {
        let key = ChaCha20Rng::seed_from_u64(seed).get_seed();
        Self::with_key(coefficients, coordinates, key)
    }

    fn with_key(coefficients: Coefficients, coordinates: usize, key: [u8; 32]) -> Self {
        let machine = Machine::new(&coefficients, coordinates);
        let normals = ChaChaNormals { key };
        let process = std::process::id();
        StreamedNoise { coefficients, machine, normals, coordinates, step: 0, process }
    }

    /// Returns the number of steps drawn so far.
    pub fn step(&self) -> usize {
        self.step
    }

    /// Writes the noise of the next step, one number per coordinate.
    ///
    /// # Errors
    /// All steps are drawn, `noise` has another length than the number of coordinates, or the object
    /// was created in another process.
    pub fn fill(&mut self, noise: &mut [f64]) -> Result<()> {
        if self.process != std::process::id() {
            return Err(Error::bad_input(
                "streamed noise",
                "the process that created it",
                "a copy of it, which would draw the same noise",
                "create the noise in the process that draws it",
            ));
        }
        if noise.len() != self.coordinates {
            return Err(Error::bad_input(
                "noise of one step",
                format!("{} coordinates", self.coordinates),
                noise.len().to_string(),
                "give one number per coordinate",
            ));
        }
        if self.step == self.coefficients.steps() {
            return Err(Error::bad_input(
                "streamed noise",
                format!("at most {} steps, those of the workload", self.step),
                "one more step",
                "fit noise for more steps; more noise from these would cost more privacy",
            ));
        }
        self.machine.advance(&self.coefficients, self.step, &self.normals, noise);
        self.step += 1;
        Ok(())
    }
}

/// Standard normals from ChaCha20, with the step as nonce.
struct ChaChaNormals {
    key: [u8; 32],
}

impl Normals for ChaChaNormals {
    type Step = ChaCha20Rng;

    fn step(&self, step: usize) -> ChaCha20Rng {
        let mut generator = ChaCha20Rng::from_seed(self.key);
        generator.set_stream(step as u64);
        generator
    }
}

impl StepNormals for ChaCha20Rng {
    fn fill(&mut self, _first: usize, _chain: usize, normals: &mut [f64]) {
        normals.iter_mut().for_each(|z| *z = StandardNormal.sample(self));
    }
}

#[cfg(test)]
mod tests;
