//! The roles of files.

use std::fmt;

/// The role of a file or folder: the start of messages, and the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileRole {
    /// The folder of an experiment's stored cells.
    StoredCells,
    /// The result of one cell.
    StoredCell,
    /// The folder of result tables.
    Results,
    /// A result table.
    ResultTable,
    /// The provenance record of a result table.
    Provenance,
    /// The certificates of a result table.
    Certificates,
    /// A data set.
    DataSet,
    /// An input file of the comparison or of a figure.
    Input,
    /// A report of the comparison.
    Report,
    /// A figure.
    Figure,
}

impl FileRole {
    /// Returns whether runs write results to it.
    #[must_use]
    pub fn is_storage_error(self) -> bool {
        matches!(
            self,
            Self::StoredCells
                | Self::StoredCell
                | Self::Results
                | Self::ResultTable
                | Self::Provenance
                | Self::Certificates
        )
    }

    /// Returns the exit code of an error about such a file.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::DataSet => 5,
            Self::Input | Self::Report | Self::Figure => 6,
            _ => 4,
        }
    }
}

impl fmt::Display for FileRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StoredCells => "folder of stored cells",
            Self::StoredCell => "stored cell",
            Self::Results => "folder of results",
            Self::ResultTable => "result table",
            Self::Provenance => "provenance",
            Self::Certificates => "certificates",
            Self::DataSet => "data set",
            Self::Input => "file",
            Self::Report => "report",
            Self::Figure => "figure",
        })
    }
}
