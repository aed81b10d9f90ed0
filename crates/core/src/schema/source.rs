//! Where schemas are read from.

use super::attribute_codings::Schema;
use super::text_file::read_text;
use crate::error::Result;

/// The source of a schema: a TOML file, or its text.
#[derive(Debug, Clone)]
pub enum SchemaSource {
    /// A file.
    File(std::path::PathBuf),
    /// A text.
    Text(String),
}

impl SchemaSource {
    /// Returns the schema and its text, with the content of files of levels in place of their paths.
    ///
    /// # Errors
    /// As [`Schema::read`].
    pub fn read(&self) -> Result<(Schema, String)> {
        let (text, origin) = match self {
            SchemaSource::File(path) => {
                (read_text(path, "schema file")?, path.display().to_string())
            }
            SchemaSource::Text(text) => (text.clone(), "schema".to_owned()),
        };
        let schema = Schema::from_toml(&text, &origin)?;
        let text = Schema::text_with_files(&text, &origin)?;
        Ok((schema, text))
    }
}
