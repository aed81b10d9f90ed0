//! The steps of private training: batch, then noise, in order.

use std::fmt;

use super::batches::Batches;
use crate::error::{Error, Result};
use crate::stream::{
    Coefficients, NoiseState, NoisyValues, StreamedNoise, check_process, random_key,
};

/// The batches and the noise of one training run.
///
/// A step is [`next_batch`](Self::next_batch), then [`add_noise`](Self::add_noise) to the sum of
/// the clipped gradients of the batch. Any other order is refused, as are more steps and another number
/// of coordinates. Nothing depends on the gradients: neither batches, nor noise, nor errors.
///
/// The object has the key of the noise and the allocation of the records: both are secret. It is
/// refused in another process than its own, as after a fork.
pub struct PrivateSteps {
    batches: Batches,
    coefficients: Coefficients,
    scale: f64,
    noise: Noise,
    /// The number of steps that have noise.
    step: usize,
    /// Whether the batch of the current step was returned.
    is_open: bool,
    process: u32,
}

/// The noise, whose number of coordinates is known from the first step on.
enum Noise {
    Key([u8; 32]),
    Streamed(Box<StreamedNoise>),
}

/// Where [`PrivateSteps`] resumes. Secret: whoever knows it can subtract the noise.
#[derive(Debug, Clone)]
pub struct StepsState {
    /// The batches.
    pub batches: Batches,
    /// σ times the clipping norm.
    pub scale: f64,
    /// The noise, without coordinates before the first step.
    pub noise: NoiseState,
}

impl fmt::Debug for PrivateSteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateSteps")
            .field("steps", &self.steps())
            .field("step", &self.step)
            .finish_non_exhaustive()
    }
}

impl PrivateSteps {
    /// Creates the steps of a run, with a key from the operating system.
    ///
    /// `scale` is σ times the clipping norm, the factor of the noise of the coefficients.
    ///
    /// # Errors
    /// The steps of the coefficients are no whole number of epochs, the scale is not positive, or
    /// the operating system returns no random bytes.
    pub fn new(batches: Batches, coefficients: Coefficients, scale: f64) -> Result<Self> {
        Self::of_parts(batches, coefficients, scale, Noise::Key(random_key()?), 0)
    }

    fn of_parts(
        batches: Batches,
        coefficients: Coefficients,
        scale: f64,
        noise: Noise,
        step: usize,
    ) -> Result<Self> {
        if !coefficients.steps().is_multiple_of(batches.count()) {
            return Err(Error::bad_input(
                "noise of the steps",
                format!("a multiple of {} steps, those of an epoch", batches.count()),
                coefficients.steps().to_string(),
                "fit noise for steps per epoch times epochs",
            ));
        }
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(Error::bad_input(
                "scale of the noise",
                "a finite number greater than 0",
                scale.to_string(),
                "give a positive noise multiplier and clipping norm",
            ));
        }
        let process = std::process::id();
        Ok(PrivateSteps { batches, coefficients, scale, noise, step, is_open: false, process })
    }

    /// Creates an object that resumes, bit for bit, at the batch after the last step with noise.
    ///
    /// Resume a state once: two runs from one state with different gradients reveal the difference.
    ///
    /// # Errors
    /// The parts of the state do not belong to each other.
    pub fn resumed(coefficients: Coefficients, state: StepsState) -> Result<Self> {
        let StepsState { batches, scale, noise } = state;
        let step = noise.step;
        let noise = if step == 0 {
            Noise::Key(noise.key)
        } else {
            Noise::Streamed(Box::new(StreamedNoise::resumed(coefficients.clone(), noise)?))
        };
        Self::of_parts(batches, coefficients, scale, noise, step)
    }

    /// Returns where another object resumes. A batch without noise is returned again.
    ///
    /// # Errors
    /// The object was created in another process.
    pub fn state(&self) -> Result<StepsState> {
        check_process(self.process)?;
        let noise = match &self.noise {
            Noise::Key(key) => NoiseState { key: *key, step: 0, coordinates: 0, buffers: vec![] },
            Noise::Streamed(noise) => noise.state()?,
        };
        Ok(StepsState { batches: self.batches.clone(), scale: self.scale, noise })
    }

    /// Returns the coefficients of the noise.
    pub fn coefficients(&self) -> &Coefficients {
        &self.coefficients
    }

    /// Returns the number of steps n.
    pub fn steps(&self) -> usize {
        self.coefficients.steps()
    }

    /// Returns the number of steps that have noise.
    pub fn step(&self) -> usize {
        self.step
    }

    /// Returns the indices of the records of the next step, or `None` after the last.
    ///
    /// # Errors
    /// The previous batch has no noise yet, or the object was created in another process.
    pub fn next_batch(&mut self) -> Result<Option<&[i64]>> {
        check_process(self.process)?;
        if self.is_open {
            return Err(Error::bad_input(
                format!("batch of step {}", self.step + 1),
                "noise on the sum of the step before it",
                "none",
                "add the noise once per batch, also if a batch is empty",
            ));
        }
        if self.step == self.steps() {
            return Ok(None);
        }
        self.is_open = true;
        Ok(Some(self.batches.of_step(self.step)))
    }

    /// Adds the noise of the step to the sum of the clipped gradients of its batch.
    ///
    /// # Errors
    /// No batch was returned since the last noise, another number of coordinates than in the first
    /// step, or the object was created in another process. Nothing is changed.
    pub fn add_noise(&mut self, sums: &mut [NoisyValues<'_>]) -> Result<()> {
        check_process(self.process)?;
        if !self.is_open {
            return Err(Error::bad_input(
                "noise of a step",
                "a batch before it",
                format!("none since step {}", self.step),
                "add the noise once per batch, to the sum over its records",
            ));
        }
        if let Noise::Key(key) = self.noise {
            let coordinates = sums.iter().map(NoisyValues::len).sum();
            let noise = StreamedNoise::with_key(self.coefficients.clone(), coordinates, key);
            self.noise = Noise::Streamed(Box::new(noise));
        }
        if let Noise::Streamed(noise) = &mut self.noise {
            noise.add_to(self.scale, sums)?;
        }
        self.step += 1;
        self.is_open = false;
        Ok(())
    }
}
