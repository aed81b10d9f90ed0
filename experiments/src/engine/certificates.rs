//! The certificates of a table: one `.npz` next to it.
//!
//! Its array `manifest` is a JSON text: cell → name → array. Equal arrays are written once.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::{fs, io};

use matmech::matrix_file::{NpzArray, npz_arrays, npz_bytes};
use serde::{Deserialize, Serialize};

use super::experiment_plan::ExperimentPlan;
use super::store::CellRecord;
use crate::error::{Error, FileRole, Result};
use crate::experiment::CellCertificate;
use crate::files::write_atomically;

/// The name of the array with the manifest.
const MANIFEST: &str = "manifest";

/// The contents of the manifest.
#[derive(Default, Serialize, Deserialize)]
struct Manifest {
    /// Address of a cell → name of an array of its certificate → array of the archive.
    cells: BTreeMap<String, BTreeMap<String, String>>,
}

/// Writes the certificates of all cells, or removes an old file if no cell has one.
///
/// An equal file stays as it is.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(file: &Path, plan: &ExperimentPlan<'_>, records: &[&CellRecord]) -> Result<()> {
    let mut manifest = Manifest::default();
    let mut arrays: Vec<(String, NpzArray)> = Vec::new();
    let mut known: HashMap<Vec<u32>, String> = HashMap::new();
    for (planned, record) in plan.cells.iter().zip(records) {
        for certificate in record.rows.iter().filter_map(|row| row.certificate.as_ref()) {
            let names = manifest.cells.entry(planned.address.clone()).or_default();
            for (name, numbers) in certificate.arrays() {
                let bits = numbers.iter().map(|x| x.to_bits()).collect();
                let array = known.entry(bits).or_insert_with(|| {
                    let array = format!("a{}", arrays.len());
                    arrays.push((array.clone(), NpzArray::Numbers(numbers.to_vec())));
                    array
                });
                names.insert(name.to_owned(), array.clone());
            }
        }
    }
    let refused = |error: &io::Error| Error::unwritable(FileRole::Certificates, file, error);
    if manifest.cells.is_empty() {
        return match fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(refused(&error)),
            _ => Ok(()),
        };
    }
    let text = serde_json::to_vec(&manifest)
        .map_err(|error| Error::bug("certificates", "a manifest that is JSON", error))?;
    arrays.push((MANIFEST.to_owned(), NpzArray::Bytes(text)));
    let bytes = npz_bytes(&arrays).map_err(|error| refused(&error))?;
    if fs::read(file).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    write_atomically(file, &bytes).map_err(|error| refused(&error))
}

/// Reads the certificates of a table, by the address of the cell; none if there is no file.
///
/// # Errors
/// The file is unreadable or damaged.
pub fn read(file: &Path) -> Result<Option<HashMap<String, CellCertificate>>> {
    let damaged = |found: String| {
        let expected = "32-bit arrays, and a manifest of cells in JSON";
        let remedy = "run the experiment again, or restore the file";
        Error::file(FileRole::Certificates, file, expected.to_owned(), found, remedy.to_owned())
    };
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(damaged(error.to_string())),
    };
    let mut arrays = npz_arrays(&bytes).map_err(damaged)?;
    let Some(NpzArray::Bytes(text)) = arrays.remove(MANIFEST) else {
        return Err(damaged("no manifest".to_owned()));
    };
    let manifest: Manifest =
        serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
    let mut certificates = HashMap::new();
    for (cell, names) in manifest.cells {
        let array = |(name, array): (String, String)| match arrays.get(&array) {
            Some(NpzArray::Numbers(numbers)) => Ok((name, numbers.clone())),
            _ => Err(damaged(format!("no array `{array}`"))),
        };
        let arrays = names.into_iter().map(array).collect::<Result<Vec<_>>>()?;
        certificates.insert(cell, CellCertificate::of_arrays(arrays));
    }
    Ok(Some(certificates))
}
