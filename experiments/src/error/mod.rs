//! Errors with their parts, and exit codes.

mod errors;
mod file;
mod location;
mod problem;

pub use errors::{CellFailure, EXIT_CODES, Error, Result};
pub use file::FileRole;
pub use location::{Document, Location};
pub use problem::{ConfigProblem, near};
