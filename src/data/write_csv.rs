//! Output of records as a CSV file.

use std::fs::File;
use std::path::Path;

use super::records::Records;
use crate::error::{Error, Result};
use crate::schema::{Coding, Schema};

const REMEDY: &str = "choose a file in a folder that can be written, and free disk space";

/// Writes records with the names and values of the schema, and syncs the file to the disk.
///
/// A bin is written as its midpoint, and a cell of an attribute without values or bins as its
/// number. [`read_csv`](super::read_csv) reads the file with the same schema.
///
/// # Errors
/// A file that cannot be written.
pub fn write_csv(path: &Path, schema: &Schema, records: &Records) -> Result<()> {
    let io = |e| Error::io(path, "writing", e, REMEDY);
    let refuse = |error: csv::Error| io(error.into());
    let mut file = csv::Writer::from_writer(File::create(path).map_err(io)?);
    file.write_record(schema.attributes().iter().map(|a| a.name.as_str())).map_err(refuse)?;
    let mut columns: Vec<_> =
        (0..schema.attributes().len()).filter_map(|p| records.column(p)).collect();
    for _ in 0..records.len() {
        let cells = columns.iter_mut().enumerate();
        let line: Vec<String> =
            cells.map(|(p, column)| value(schema, p, column.next().unwrap_or(0))).collect();
        file.write_record(&line).map_err(refuse)?;
    }
    file.flush().map_err(io)?;
    file.into_inner().map_err(|e| io(e.into_error()))?.sync_all().map_err(io)
}

/// Returns the text of a cell of an attribute in a CSV file.
fn value(schema: &Schema, position: usize, cell: u32) -> String {
    match schema.coding(position) {
        Some(Coding::Values(values)) => {
            values.get(cell as usize).map(ToString::to_string).unwrap_or_default()
        }
        Some(Coding::Bins(bins)) => bins.midpoint(cell as usize).to_string(),
        _ => cell.to_string(),
    }
}
