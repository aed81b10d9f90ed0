//! Integer measurements with their noisy answers, written to a folder and read from it.

use std::io::BufRead;
use std::path::Path;

use super::files::{self, Files, NOISY, SCHEMA, STATEMENT, STRATEGIES};
use super::header::Header;
use super::inputs::Inputs;
use super::strategies::{Document, Measured, MeasuredList, write_noisy};
use crate::error::Result;
use crate::privacy::PrivacyUnit;
use crate::release::statement::PlanSections;

/// Integer measurements with their noisy answers.
#[derive(Debug, Clone)]
pub struct Measurements {
    /// Schema, statement and files.
    pub header: Header<PlanSections>,
    /// The reference measure ν = p/Σp of every measured attribute, as integers p; empty for the
    /// others.
    pub weights: Vec<Vec<i64>>,
    /// The privacy unit.
    pub unit: PrivacyUnit,
    /// The counts that the schema declares public, without noise.
    pub public_counts: Vec<u64>,
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
        let header = &self.header;
        let document = Document::of(&header.schema, &self.weights, self.unit, &self.list)
            .with_public_counts(self.public_counts.clone());
        files::write(
            folder,
            &[
                (NOISY, &|out| write_noisy(out, &self.list)),
                (SCHEMA, &|out| out.write_all(header.schema_text.as_bytes())),
                (STATEMENT, &|out| Ok(serde_json::to_writer(out, &header.statement)?)),
                (STRATEGIES, &|out| Ok(serde_json::to_writer(out, &document)?)),
            ],
            &header.inputs.files()?,
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
        let expected = "the statement of a release";
        let header = Header::read(schema?, &statement?, inputs, origin, expected)?;
        Self::from_texts(header, &strategies?, noisy, origin)
    }

    /// Reads strategies and noisy integers; messages name `origin` (the folder).
    ///
    /// # Errors
    /// As [`Measurements::read`].
    pub(in crate::release) fn from_texts(
        header: Header<PlanSections>,
        strategies: &str,
        noisy: impl BufRead,
        origin: &str,
    ) -> Result<Self> {
        let Measured { weights, unit, public_counts, list } =
            Document::read(&header.schema, strategies, noisy, origin)?;
        Ok(Measurements { header, weights, unit, public_counts, list })
    }
}
