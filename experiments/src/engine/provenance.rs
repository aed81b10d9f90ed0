//! The provenance record that is written next to a result table.

use serde::{Deserialize, Serialize};

use super::machine::{Code, Machine};
use super::store::CellRecord;
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
    /// Committed cells that were computed once, by the stated sources.
    pub once: Vec<Once>,
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

/// The origin of a committed cell (`results/once/`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Once {
    /// Address of the cell.
    pub address: String,
    /// The code that computed it.
    pub code: Code,
    /// Time at which it was finished (UTC).
    pub finished: String,
    /// Wall time in seconds.
    pub seconds: f64,
}

impl Once {
    /// Returns the origin of a cell.
    pub(super) fn of(record: &CellRecord) -> Self {
        Self {
            address: record.address.clone(),
            code: record.code.clone(),
            finished: record.finished.clone(),
            seconds: record.seconds,
        }
    }
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
