//! Texts of files.

use std::path::Path;

use crate::error::{Error, Result};

/// Reads the text of a file.
///
/// # Errors
/// The file cannot be read; the message names it and `what` it must be.
pub fn read_text(path: &Path, what: &str) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(|e| Error::io(path, "reading", e, format!("give the path of a {what} in TOML")))
}
