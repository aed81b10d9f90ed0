//! Integer plans: integer measurements with their noise, exact cost and error.

mod measurement;
mod noise;
mod plan;
mod rounded;

pub use measurement::IntegerMeasurement;
pub(super) use noise::{paid, with_fine_noise};
pub use plan::IntegerPlan;
