//! The noisy integers of a release, and all that is needed to compute answers from them.
//!
//! A folder of five files: `schema.toml`; `statement.json`; `strategies.json` with the integer
//! rows, the reference measures and the deviations; `noisy.csv` with one noisy integer per line;
//! and `SHA256SUMS`. If workload or planner name files, these are there too, with `inputs.json`. All
//! of it is an output of the release: further use of it costs no privacy.

pub(super) mod files;
mod header;
mod inputs;
mod noisy_measurements;
pub(super) mod strategies;

pub(super) use self::files::{NOISY, SCHEMA, STATEMENT, STRATEGIES};
pub use self::header::Header;
pub use self::inputs::{Inputs, Sources};
pub use self::noisy_measurements::Measurements;
