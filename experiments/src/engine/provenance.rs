//! The provenance record that is written next to a result table.

use std::collections::BTreeMap;

use serde::Serialize;

use super::machine::{Code, Machine};
use crate::datasets::DataUse;

/// The provenance of a result table: the run that wrote it, with its inputs and machine.
#[derive(Clone, Debug, Serialize)]
pub struct Provenance {
    /// Experiment id.
    pub experiment: String,
    /// Kind.
    pub kind: String,
    /// Revision of the kind.
    pub revision: u32,
    /// Profile of the run.
    pub profile: String,
    /// Seed of the config.
    pub seed: u64,
    /// SHA-256 of the config file.
    pub config_sha256: String,
    /// SHA-256 of the parts of the config that determine the values: see
    /// [`Config::values_hash`](crate::config::Config::values_hash).
    pub values_sha256: String,
    /// SHA-256 of the table.
    pub table_sha256: String,
    /// SHA-256 of the Cargo.lock that the binary was built with.
    pub cargo_lock_sha256: &'static str,
    /// Code of the run that wrote the table.
    pub code: Code,
    /// Hashes of the sources that computed reused cells, if different.
    pub other_sources: Vec<String>,
    /// SHA-256 of the files that the config names, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Data sets used.
    pub data: Vec<DataUse>,
    /// Compiler.
    pub rustc: &'static str,
    /// Machine.
    pub machine: Machine,
    /// Number of cells computed at the same time.
    pub jobs: usize,
    /// Start of the run (UTC).
    pub started: String,
    /// End of the run (UTC).
    pub finished: String,
    /// Wall time of this run.
    pub wall_seconds: f64,
    /// Sum of the wall times of all cells, including reused cells.
    pub cell_seconds: f64,
    /// Peak memory of the process over all cells in MB (10⁶ bytes), if the system reports it.
    pub peak_mb: Option<f64>,
    /// Number of cells computed by this run.
    pub cells_computed: usize,
    /// Number of cells read from the store.
    pub cells_reused: usize,
}

/// Returns the SHA-256 of the lock file of this build.
#[must_use]
pub fn built_with() -> &'static str {
    CARGO_LOCK
}

/// The compiler of this build.
pub(super) const RUSTC: &str = env!("MATMECH_RUSTC");

/// SHA-256 of the lock file of this build.
pub(super) const CARGO_LOCK: &str = env!("MATMECH_LOCK_HASH");
