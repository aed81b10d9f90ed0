//! Integer measurements with their noisy answers, written to a folder and read from it.

use std::io::BufRead;
use std::path::Path;

use super::files::{self, Files};
use super::inputs::Inputs;
use super::layout::{NOISY, REMEDY, SCHEMA, STATEMENT, STRATEGIES};
use super::strategies::{Document, Measured, MeasuredList, write_noisy};
use crate::error::{Error, Result};
use crate::privacy::PrivacyUnit;
use crate::release::statement::Statement;
use crate::schema::Schema;

/// Integer measurements with their noisy answers.
#[derive(Debug, Clone)]
pub struct Measurements {
    /// The schema.
    pub schema: Schema,
    /// The text of the schema.
    pub schema_text: String,
    /// The statement of the release.
    pub statement: Statement,
    /// The files that workload and planner name.
    pub inputs: Inputs,
    /// The reference measure ν = p/Σp of every measured attribute, as integers p; empty for the
    /// others.
    pub weights: Vec<Vec<i64>>,
    /// The privacy unit.
    pub unit: PrivacyUnit,
    /// Every measurement with its noisy answers.
    pub list: MeasuredList,
}

impl Measurements {
    /// Writes the files to an existing folder and syncs them to the disk.
    ///
    /// The checksums are written last: a folder with checksums is complete.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let document = Document::of(&self.schema, &self.weights, self.unit, &self.list);
        files::write(
            folder,
            &[
                (NOISY, &|out| write_noisy(out, &self.list)),
                (SCHEMA, &|out| out.write_all(self.schema_text.as_bytes())),
                (STATEMENT, &|out| Ok(serde_json::to_writer(out, &self.statement)?)),
                (STRATEGIES, &|out| Ok(serde_json::to_writer(out, &document)?)),
            ],
            &self.inputs.files()?,
        )
    }

    /// Reads a folder that [`Measurements::write`] wrote.
    ///
    /// Checks files against checksums, rows against measures, and numbers of answers against rows.
    ///
    /// # Errors
    /// Files that cannot be read, were edited, or do not fit each other.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut files = Files::read(folder, &[NOISY, SCHEMA, STATEMENT, STRATEGIES])?;
        let inputs = Inputs::read(folder, &files)?;
        let noisy = files.bytes(NOISY);
        let [schema, statement, strategies] =
            [SCHEMA, STATEMENT, STRATEGIES].map(|name| files.text(name));
        let (noisy, origin) = (noisy.as_slice(), files.origin());
        let read = Self::from_texts(&schema?, &statement?, &strategies?, noisy, origin)?;
        Ok(Measurements { inputs, ..read })
    }

    /// [`Measurements::read`] from texts without checksums; messages name `origin` (the folder).
    ///
    /// # Errors
    /// As [`Measurements::read`].
    pub(in crate::release) fn from_texts(
        schema_text: &str,
        statement: &str,
        strategies: &str,
        noisy: impl BufRead,
        origin: &str,
    ) -> Result<Self> {
        let schema = Schema::from_toml(schema_text, &format!("{origin}/{SCHEMA}"))?;
        let statement: Statement = serde_json::from_str(statement).map_err(|e| {
            let expected = "the statement of a release";
            Error::bad_input(format!("{origin}/{STATEMENT}"), expected, e.to_string(), REMEDY)
        })?;
        let Measured { weights, unit, list } = Document::read(&schema, strategies, noisy, origin)?;
        let schema_text = schema_text.to_owned();
        let inputs = Inputs::default();
        Ok(Measurements { schema, schema_text, statement, inputs, weights, unit, list })
    }
}
