//! Locations in TOML documents.

use std::fmt;
use std::path::PathBuf;

/// The TOML documents of a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Document {
    /// A config of an experiment.
    #[default]
    Config,
    /// The list of data sets.
    Manifest,
    /// The list of documented deviations.
    Deviations,
    /// The list of bands of noisy values.
    Bands,
}

impl Document {
    /// Returns the exit code of an error in such a document.
    ///
    /// The comparison reads deviations and bands; the others are read before anything runs.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Config | Self::Manifest => 2,
            Self::Deviations | Self::Bands => 6,
        }
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Config => "config",
            Self::Manifest => "list of data sets",
            Self::Deviations => "list of deviations",
            Self::Bands => "list of bands",
        })
    }
}

/// A location: document, file, line and key. Unknown parts are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// The document.
    pub document: Document,
    /// Its file.
    pub file: Option<PathBuf>,
    /// The line in the file, from 1.
    pub line: Option<usize>,
    /// The full key, `grid.workloads[0]`; empty for the document as a whole.
    pub key: String,
}

impl Location {
    /// Returns the location of a key, relative to a table that is added later.
    pub fn key(key: impl Into<String>) -> Self {
        Self { key: key.into(), ..Self::default() }
    }

    /// Prefixes the key with a table.
    #[must_use]
    pub fn under(self, table: &str) -> Self {
        let key = match (table, self.key.as_str()) {
            ("", _) => self.key,
            (_, "") => table.to_owned(),
            (table, key) => format!("{table}.{key}"),
        };
        Self { key, ..self }
    }
}

impl fmt::Display for Location {
    /// Writes "config FILE, line N" and the key on separate lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.document)?;
        if let Some(file) = &self.file {
            write!(f, " {}", file.display())?;
        }
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        writeln!(f)?;
        if self.key.is_empty() { Ok(()) } else { writeln!(f, "  key:      {}", self.key) }
    }
}
