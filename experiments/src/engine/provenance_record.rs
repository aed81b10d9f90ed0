//! Reads the provenance record of a result table.

use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;

use super::machine::Code;
use crate::config::{Config, Profile};
use crate::datasets::DataUse;

/// The part of a [`Provenance`](super::Provenance) that states the inputs of a table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ProvenanceRecord {
    /// Experiment id.
    pub experiment: String,
    /// Kind.
    pub kind: String,
    /// Revision of the kind.
    pub revision: u32,
    /// Profile of the run.
    pub profile: String,
    /// SHA-256 of the config file.
    pub config_sha256: String,
    /// SHA-256 of the parts of the config that determine the values; absent in old records.
    #[serde(default)]
    pub values_sha256: Option<String>,
    /// SHA-256 of the table.
    pub table_sha256: String,
    /// SHA-256 of the lock file.
    pub cargo_lock_sha256: String,
    /// Code of the run that wrote the table.
    pub code: Code,
    /// Hashes of the sources that computed reused cells, if different.
    pub other_sources: Vec<String>,
    /// Data sets used.
    pub data: Vec<DataUse>,
    /// End of the run (UTC).
    pub finished: String,
}

impl ProvenanceRecord {
    /// Reads a record; `None` if there is no such file.
    ///
    /// # Errors
    /// A file that is unreadable or not a record.
    pub fn read(file: &Path) -> io::Result<Option<Self>> {
        match fs::read(file) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a record; `None` if it is absent or unreadable.
    #[must_use]
    pub fn find(file: &Path) -> Option<Self> {
        Self::read(file).ok().flatten()
    }

    /// Returns whether the table was computed with the same config values; for old records, with
    /// the same config file.
    #[must_use]
    pub fn matches_config(&self, config: &Config, profile: Profile) -> bool {
        match &self.values_sha256 {
            Some(values) => *values == config.values_hash(profile),
            None => self.config_sha256 == config.hash,
        }
    }

    /// Returns the data sets, for reports.
    #[must_use]
    pub fn described(&self) -> String {
        let data = self.data.iter().map(|data| format!("{} ({})", data.name, data.label()));
        data.collect::<Vec<_>>().join(", ")
    }

    /// Iterates over the real data sets.
    pub fn real(&self) -> impl Iterator<Item = &DataUse> {
        self.data.iter().filter(|data| data.real)
    }
}
