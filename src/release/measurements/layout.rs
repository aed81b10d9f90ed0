//! The names of the files in a folder of measurements.

/// The text of the schema.
pub(in crate::release) const SCHEMA: &str = "schema.toml";
/// The statement of the release.
pub(in crate::release) const STATEMENT: &str = "statement.json";
/// Integer rows, reference measures and deviations.
pub(in crate::release) const STRATEGIES: &str = "strategies.json";
/// The noisy integers, one per line.
pub(in crate::release) const NOISY: &str = "noisy.csv";

/// The remedy for files that cannot be read.
pub(in crate::release) const REMEDY: &str =
    "give the folder `measurements` of a release of this version, as it was written";
