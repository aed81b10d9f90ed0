//! The records that a command reads.

use std::path::PathBuf;

use matmech::data::table::{
    CsvTable, FieldCounts, MemoryTable, ParquetTable, TypedTable, is_parquet,
};
use matmech::error::Result;

/// The records: a CSV or Parquet file, or a table in memory. `Debug` shows no record.
#[derive(Debug, Clone)]
pub enum Data {
    /// A CSV file with a header, or a Parquet file.
    File(PathBuf),
    /// A table in memory.
    Memory(MemoryTable),
}

impl Data {
    /// Opens the table; of a file, only the header or the schema is read. A file that starts as
    /// Parquet files do is one, whatever its name.
    ///
    /// # Errors
    /// A file that cannot be opened, or whose header cannot be read.
    pub fn open(&self, field_counts: FieldCounts) -> Result<Box<dyn TypedTable>> {
        Ok(match self {
            Data::File(path) if is_parquet(path) => Box::new(ParquetTable::open(path)?),
            Data::File(path) => Box::new(CsvTable::open(path, field_counts)?),
            Data::Memory(table) => Box::new(table.reader()),
        })
    }
}
