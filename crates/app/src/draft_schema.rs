//! Schemas drafted from a table, for those who may see it. **Not private.**

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use super::data::Data;
use matmech::data;
use matmech::data::table::FieldCounts;
use matmech::error::{Error, Result};

/// Maximum distinct values of a column that are listed, unless another number is given.
pub const MAX_VALUES: usize = 100;

/// Returns a commented schema in TOML that is drafted from a table, and writes it to a new file.
///
/// # Errors
/// A table that cannot be read or has no column that can be an attribute; a file that exists or
/// cannot be written.
pub fn draft_schema(data: &Data, max_values: usize, output: Option<&Path>) -> Result<String> {
    if let Some(path) = output.filter(|path| path.symlink_metadata().is_ok()) {
        return Err(exists(path));
    }
    let text = data::draft_schema(data.open(FieldCounts::Any)?, max_values)?;
    if let Some(path) = output {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
            match error.kind() {
                std::io::ErrorKind::AlreadyExists => exists(path),
                _ => Error::io(path, "writing", error, "give a file that can be written"),
            }
        })?;
    }
    Ok(text)
}

fn exists(path: &Path) -> Error {
    let what = format!("output {}", path.display());
    let remedy = "give another name, or delete the file";
    Error::bad_input(what, "a file that does not exist", "an existing one", remedy)
}
