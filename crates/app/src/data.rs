//! The records that a command reads.

use std::path::PathBuf;
use std::sync::Arc;

use crate::sql::{Counted, EngineTable, SqlEngine};
use matmech::data::table::{
    CsvTable, FieldCounts, MemoryTable, ParquetTable, TypedTable, is_parquet,
};
use matmech::data::{CountedMarginals, OutOfDomain, PersonLimit, read_marginals};
use matmech::error::{Error, Result};
use matmech::schema::Schema;

/// The records, or what counts them. `Debug` shows no record.
#[derive(Clone)]
pub enum Data {
    /// A CSV file with a header, or a Parquet file.
    File(PathBuf),
    /// A table in memory.
    Memory(MemoryTable),
    /// A folder of counted marginals.
    Counts(PathBuf),
    /// A table of an engine, which counts marginals when they are needed.
    Engine(EngineTable, Arc<dyn SqlEngine>),
}

impl std::fmt::Debug for Data {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Data")
    }
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
            Data::Counts(_) | Data::Engine(..) => {
                let found = "a table that an engine counts";
                let remedy = "export the table as a Parquet file; only releases use counts";
                return Err(Error::bad_input("data", "records that can be read", found, remedy));
            }
        })
    }

    /// Returns the marginals that an engine counts, or counted; `None` for records.
    ///
    /// # Errors
    /// A folder that cannot be read, marginals that are not those of one table, or a table whose
    /// columns do not fit the schema.
    pub(crate) fn counted(
        &self,
        schema: &Schema,
        person: Option<PersonLimit>,
        rule: OutOfDomain,
    ) -> Result<Option<CountedMarginals>> {
        Ok(match self {
            Data::File(_) | Data::Memory(_) => None,
            Data::Counts(folder) => Some(read_marginals(folder, schema)?),
            Data::Engine(table, engine) => {
                let sql = table.counting(schema, person, rule)?;
                let counted = Counted { sql, engine: engine.clone() };
                Some(CountedMarginals::new(schema, Some(Arc::new(counted))))
            }
        })
    }
}
