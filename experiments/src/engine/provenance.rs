//! Where a result table comes from: the record beside it.

use serde::Serialize;

use super::machine::{Code, Machine};
use crate::datasets::DataUse;

/// Everything that is known about the run that wrote a table.
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
    /// SHA-256 of what of the config decides the values: see
    /// [`Config::values_hash`](crate::config::Config::values_hash).
    pub values_sha256: String,
    /// SHA-256 of the table beside this record.
    pub table_sha256: String,
    /// SHA-256 of the Cargo.lock that the binary was built with.
    pub cargo_lock_sha256: &'static str,
    /// Code of the run that wrote the table.
    pub code: Code,
    /// Hashes of the sources that computed reused cells, if they are others.
    pub other_sources: Vec<String>,
    /// Data sets used.
    pub data: Vec<DataUse>,
    /// Compiler.
    pub rustc: &'static str,
    /// Machine.
    pub machine: Machine,
    /// Cells computed at the same time.
    pub jobs: usize,
    /// Start of the run (UTC).
    pub started: String,
    /// End of the run (UTC).
    pub finished: String,
    /// Wall time of this run.
    pub wall_seconds: f64,
    /// Sum of the wall times of all cells, also of those reused.
    pub cell_seconds: f64,
    /// Largest memory of the process during any of the cells, in MB (10⁶ bytes), where the system
    /// tells.
    pub peak_mb: Option<f64>,
    /// Cells computed by this run.
    pub cells_computed: usize,
    /// Cells taken from the store.
    pub cells_reused: usize,
}

/// SHA-256 of the lock file that this program was built with.
#[must_use]
pub fn built_with() -> &'static str {
    CARGO_LOCK
}

/// Compiler that built this binary.
pub(super) const RUSTC: &str = env!("MATMECH_RUSTC");

/// SHA-256 of the lock file this binary was built with.
pub(super) const CARGO_LOCK: &str = env!("MATMECH_LOCK_HASH");
