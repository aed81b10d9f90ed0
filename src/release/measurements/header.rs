//! What the measurements of every release start with: schema, statement and the files they name.

use serde::de::DeserializeOwned;

use super::files::{REMEDY, SCHEMA, STATEMENT};
use super::inputs::{Inputs, Sources};
use crate::error::{Error, Result};
use crate::release::statement::ReleaseStatement;
use crate::schema::Schema;

/// The schema, the statement and the files of a release.
#[derive(Debug, Clone)]
pub struct Header<S> {
    /// The schema.
    pub schema: Schema,
    /// The text of the schema.
    pub schema_text: String,
    /// The statement, as known before records are read.
    pub statement: ReleaseStatement<S>,
    /// The files that workload and planner name.
    pub inputs: Inputs,
}

impl<S> Header<S> {
    /// Returns the header of a release over a schema.
    pub(in crate::release) fn new(
        schema: &Schema,
        statement: ReleaseStatement<S>,
        sources: Sources<'_>,
    ) -> Self {
        let (schema_text, inputs) = (sources.schema.to_owned(), sources.inputs.clone());
        Header { schema: schema.clone(), schema_text, statement, inputs }
    }
}

impl<S: DeserializeOwned> Header<S> {
    /// Reads the texts of schema and statement; messages name `origin` (the folder).
    ///
    /// # Errors
    /// Texts that are not those of a release; `expected` says of which.
    pub(in crate::release) fn read(
        schema_text: String,
        statement: &str,
        inputs: Inputs,
        origin: &str,
        expected: &str,
    ) -> Result<Self> {
        let schema = Schema::from_toml(&schema_text, &format!("{origin}/{SCHEMA}"))?;
        let statement = serde_json::from_str(statement).map_err(|e| {
            Error::bad_input(format!("{origin}/{STATEMENT}"), expected, e.to_string(), REMEDY)
        })?;
        Ok(Header { schema, schema_text, statement, inputs })
    }
}
