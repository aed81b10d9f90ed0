//! Finished cells: one JSON file each, found by the hash of their inputs.
//!
//! A file name ends with the first 16 digits of the inputs hash, so cells of different profiles,
//! seeds and revisions have different files. A cell whose inputs have changed is not found, and is
//! computed again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::experiment_plan::PlannedCell;
use super::machine::Code;
use crate::error::{Error, FileRole, Result};
use crate::experiment::Row;
use crate::files::{check_writable, sha256_hex, write_atomically};
use crate::layout;

/// A finished cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellRecord {
    /// Address of the cell.
    pub address: String,
    /// Hash of everything that determines the result.
    pub inputs: String,
    /// Parameters of the cell, for people.
    pub params: serde_json::Value,
    /// The code that computed it.
    pub code: Code,
    /// Time at which it was finished (UTC).
    pub finished: String,
    /// Wall time in seconds.
    pub seconds: f64,
    /// Peak memory of the process in MB (10⁶ bytes) at that time, if the system reports it.
    pub peak_mb: Option<f64>,
    /// The results; all numbers are finite.
    pub rows: Vec<Row>,
}

impl CellRecord {
    /// Returns whether other sources than `code` computed it.
    #[must_use]
    pub fn is_of_other(&self, code: &Code) -> bool {
        self.code.source != code.source
    }
}

/// The file: a record with its checksum, which detects damage.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    checksum: String,
    record: CellRecord,
}

/// The stored cells of one experiment.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

impl Store {
    /// Returns the store of an experiment, without accessing the file system.
    #[must_use]
    pub fn new(root: &Path, experiment: &str) -> Self {
        Self { dir: layout::cells_dir(root, experiment) }
    }

    /// Returns the file of a cell in the store.
    #[must_use]
    pub fn file(&self, cell: &PlannedCell) -> PathBuf {
        // The hash identifies the cell; the rest of the name is for people, so it may be truncated.
        let name: String = cell
            .cell
            .key
            .iter()
            .map(|(column, value)| format!("{column}={value}."))
            .chain([cell.cell.method.clone()])
            .flat_map(|part| part.chars().collect::<Vec<_>>())
            .map(|c| if c.is_ascii_alphanumeric() || "-_.=".contains(c) { c } else { '_' })
            .take(100)
            .collect();
        let digits = cell.inputs.get(..16).unwrap_or(&cell.inputs);
        self.dir.join(format!("{name}-{digits}.json"))
    }

    /// Checks that cells can be written.
    ///
    /// # Errors
    /// The folder cannot be created or written.
    pub fn check_writable(&self) -> Result<()> {
        check_writable(&self.dir)
            .map_err(|error| Error::unwritable(FileRole::StoredCells, &self.dir, &error))
    }

    /// Returns the stored result of a cell, or `None` if there is none for its inputs.
    ///
    /// # Errors
    /// A file that is unreadable, truncated, or modified after it was written.
    pub fn read(&self, cell: &PlannedCell) -> Result<Option<CellRecord>> {
        let file = self.file(cell);
        let damaged = |found: String| {
            Error::file(
                FileRole::StoredCell,
                &file,
                format!("the complete JSON record of the cell {}", cell.address),
                found,
                format!(
                    "delete this file, or compute the cell again with `reproduce run … --fresh \
                     --only {}`; all other cells are kept",
                    shell_word(&cell.address)
                ),
            )
        };
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(damaged(error.to_string())),
        };
        let size = bytes.len();
        let document: Document = serde_json::from_slice(&bytes)
            .map_err(|error| damaged(format!("{size} bytes: {error}")))?;
        let checksum = checksum(&document.record).map_err(|error| damaged(error.to_string()))?;
        if checksum != document.checksum {
            return Err(damaged(format!(
                "a record with checksum {checksum}, and {} in the file: it was changed after it \
                 was written",
                document.checksum
            )));
        }
        Ok((document.record.inputs == cell.inputs).then_some(document.record))
    }

    /// Stores a finished cell, atomically and durably.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, cell: &PlannedCell, record: CellRecord) -> Result<()> {
        let file = self.file(cell);
        let json = checksum(&record)
            .and_then(|checksum| serde_json::to_string_pretty(&Document { checksum, record }))
            .map_err(|error| {
                Error::unwritable(FileRole::StoredCell, &file, &io::Error::other(error))
            })?;
        write_atomically(&file, (json + "\n").as_bytes())
            .map_err(|error| Error::unwritable(FileRole::StoredCell, &file, &error))
    }
}

/// Returns the checksum of a record, which does not change when the record is written and read:
/// serialised numbers keep their bits.
fn checksum(record: &CellRecord) -> serde_json::Result<String> {
    // Sorted keys: the checksum must not depend on the order of `params` in memory.
    let fields: BTreeMap<String, serde_json::Value> =
        serde_json::from_value(serde_json::to_value(record)?)?;
    Ok(sha256_hex(serde_json::to_string(&fields)?.as_bytes()))
}

/// Quotes an address for a shell command, if necessary.
fn shell_word(address: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if address.chars().all(plain) {
        address.to_owned()
    } else {
        format!("'{}'", address.replace('\'', r"'\''"))
    }
}
