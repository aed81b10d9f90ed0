//! `matmech simulate`: runs a mechanism on data that the user may see and prints its true errors.
//!
//! **Not private**: the noise is seeded and the errors are measured against the true data. Every
//! report says so.

mod command;
mod report;

pub(super) use command::SimulateCommand;
