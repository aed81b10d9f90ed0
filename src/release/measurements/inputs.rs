//! The files that workload and planner of a release name, stored with its measurements.
//!
//! `inputs.json` maps the names in the texts to files of the same folder; `SHA256SUMS` has their
//! hashes. Later answers use these files, wherever they are computed.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::files::{Files, refuse};
use crate::error::{Error, Result};
use crate::matrix_file::{npy_bytes, npy_of_bytes};
use crate::workload::{GroupedWorkload, Matrices, MatrixSource};

/// The name of the map.
const INPUTS: &str = "inputs.json";

/// The version of the map.
const FORMAT: u32 = 1;

/// The files that workload and planner name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inputs {
    /// The matrices of the workload.
    matrices: Matrices,
    /// The file of the reference measure, and its text.
    measure: Option<(String, String)>,
}

/// What a release stores with its measurements, besides the statement.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The text of the schema.
    pub schema: &'a str,
    /// The files that workload and planner name.
    pub inputs: &'a Inputs,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Map {
    format: u32,
    files: Vec<Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The name in the workload or in the planner's option.
    name: String,
    file: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Matrix,
    Measure,
}

impl Inputs {
    /// Returns the files that a workload and the planner's options name.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn of(workload: &GroupedWorkload, measure: Option<&Path>) -> Result<Self> {
        let read = |path: &Path| -> Result<(String, String)> {
            Ok((path.display().to_string(), crate::schema::read_text(path, "reference measure")?))
        };
        let measure = measure.map(read).transpose()?;
        Ok(Inputs { matrices: workload.matrices().clone(), measure })
    }

    /// Returns the source of the workload's matrices.
    pub fn matrices(&self) -> MatrixSource<'_> {
        MatrixSource::Stored(&self.matrices)
    }

    /// Returns the files to store: names and bytes.
    ///
    /// # Errors
    /// None for matrices of a workload.
    pub(in crate::release) fn files(&self) -> Result<Vec<(String, Vec<u8>)>> {
        if *self == Self::default() {
            return Ok(Vec::new());
        }
        let (mut files, mut entries) = (Vec::new(), Vec::new());
        let mut add = |name: &str, kind: Kind, ending: &str, bytes: Vec<u8>| {
            let file = format!("input-{}.{ending}", entries.len() + 1);
            entries.push(Entry { name: name.to_owned(), file: file.clone(), kind });
            files.push((file, bytes));
        };
        for (name, matrix) in self.matrices.iter() {
            add(name, Kind::Matrix, "npy", npy_bytes(matrix)?);
        }
        if let Some((name, text)) = &self.measure {
            add(name, Kind::Measure, "toml", text.clone().into_bytes());
        }
        let map = serde_json::to_vec(&Map { format: FORMAT, files: entries });
        files.push((INPUTS.to_owned(), map.map_err(|e| Error::bug("inputs", "a text", e))?));
        Ok(files)
    }

    /// Reads the files of a folder; none if it has no map.
    ///
    /// # Errors
    /// Files that cannot be read, or were edited.
    pub(in crate::release) fn read(folder: &Path, sums: &Files) -> Result<Self> {
        if !sums.names(INPUTS) {
            return Ok(Self::default());
        }
        let refuse = |expected: &str, found: String| refuse(folder, INPUTS, expected, found);
        let text = sums.more(folder, INPUTS)?;
        let map: Map = serde_json::from_slice(&text)
            .map_err(|e| refuse("the inputs of a release", e.to_string()))?;
        if map.format != FORMAT {
            return Err(refuse("format 1", map.format.to_string()));
        }
        let mut inputs = Self::default();
        for Entry { name, file, kind } in map.files {
            if Path::new(&file).file_name().and_then(|name| name.to_str()) != Some(&file) {
                return Err(refuse("files of this folder", format!("`{file}`")));
            }
            let bytes = sums.more(folder, &file)?;
            match kind {
                Kind::Matrix => {
                    let matrix = npy_of_bytes(&bytes, &folder.join(&file))?;
                    inputs.matrices.insert(name, Arc::new(matrix));
                }
                Kind::Measure => {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    inputs.measure = Some((name, text));
                }
            }
        }
        Ok(inputs)
    }
}
