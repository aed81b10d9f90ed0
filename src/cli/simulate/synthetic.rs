//! Output of synthetic records as a CSV file.

use std::path::Path;

use rand::Rng;

use crate::error::{Error, Result};
use crate::estimation::graphical_model::CalibratedTree;
use crate::schema::{Coding, Schema};

/// Draws synthetic records and writes them with the names and values of the schema.
///
/// Draws as many records as the model's estimated total. A bin is written as its midpoint.
/// `simulate` reads the file with the same schema.
///
/// # Errors
/// No model, a workload that lacks an attribute, or a file that cannot be written.
pub(super) fn write(
    path: &Path,
    schema: &Schema,
    model: Option<&CalibratedTree>,
    rng: &mut dyn Rng,
) -> Result<()> {
    let model =
        model.ok_or_else(|| Error::bug("--synthetic", "a run that ends with a model", "none"))?;
    let records = model.sample(schema, model.total().round().max(1.0) as usize, rng)?;
    let refuse = |error: csv::Error| {
        let remedy = "choose a file in a folder that can be written";
        Error::io(path, "writing", error.into(), remedy)
    };
    let mut file = csv::Writer::from_path(path).map_err(refuse)?;
    file.write_record(schema.attributes().iter().map(|a| a.name.as_str())).map_err(refuse)?;
    let mut columns: Vec<_> =
        (0..schema.attributes().len()).filter_map(|p| records.column(p)).collect();
    for _ in 0..records.len() {
        let cells = columns.iter_mut().enumerate();
        let line: Vec<String> =
            cells.map(|(p, column)| value(schema, p, column.next().unwrap_or(0))).collect();
        file.write_record(&line).map_err(refuse)?;
    }
    file.flush().map_err(|error| refuse(error.into()))
}

/// Returns the text of a cell of an attribute in a CSV file.
fn value(schema: &Schema, position: usize, cell: u32) -> String {
    match schema.coding(position) {
        Some(Coding::Values(values)) => {
            values.get(cell as usize).map(ToString::to_string).unwrap_or_default()
        }
        Some(Coding::Bins { low, high, count }) => {
            (low + (high - low) * (f64::from(cell) + 0.5) / *count as f64).to_string()
        }
        _ => cell.to_string(),
    }
}
