//! The records that a command reads.

use std::path::PathBuf;

use matmech::data::table::{CsvTable, FieldCounts, MemoryTable, TypedTable};
use matmech::error::Result;

/// The records: a CSV file, or a table in memory. `Debug` shows no record.
#[derive(Debug, Clone)]
pub enum Data {
    /// A CSV file with a header.
    File(PathBuf),
    /// A table in memory.
    Memory(MemoryTable),
}

impl Data {
    /// Opens the table; of a file, only the header is read.
    ///
    /// # Errors
    /// A file that cannot be opened, or whose header cannot be read.
    pub fn open(&self, field_counts: FieldCounts) -> Result<Box<dyn TypedTable>> {
        Ok(match self {
            Data::File(path) => Box::new(CsvTable::open(path, field_counts)?),
            Data::Memory(table) => Box::new(table.reader()),
        })
    }
}
