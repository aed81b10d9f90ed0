//! Output of synthetic records as a CSV file.

use std::path::Path;

use rand::Rng;

use matmech::data::write_csv;
use matmech::estimation::FittedModel;
use matmech::schema::Schema;
use matmech::{Error, Result};

/// Draws synthetic records and writes them with the names and values of the schema.
///
/// Draws as many records as the model's estimated total. `simulate` reads the file with the same
/// schema.
///
/// # Errors
/// No model, a workload that lacks an attribute, or a file that cannot be written.
pub(super) fn write(
    path: &Path,
    schema: &Schema,
    model: Option<&FittedModel>,
    rng: &mut dyn Rng,
) -> Result<()> {
    let model =
        model.ok_or_else(|| Error::bug("--synthetic", "a run that ends with a model", "none"))?;
    let records = model.records(schema, model.total().round().max(1.0) as usize, rng)?;
    write_csv(path, schema, &records)
}
