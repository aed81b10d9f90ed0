//! Batches and noise of private training, as one object.
//!
//! [`PrivateSteps`] returns the batch of every step ([`Batches`]) and adds the noise of the step to
//! the sum of its clipped gradients, once per step and in order. How much noise gives which
//! guarantee is the task of [`calibration`](crate::calibration).

mod batches;
mod private_steps;
mod system_integers;

pub use batches::Batches;
pub use private_steps::{PrivateSteps, StepsState};

#[cfg(test)]
mod tests;
