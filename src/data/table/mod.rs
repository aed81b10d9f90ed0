//! Sources of tables with typed columns.
//!
//! | file | purpose |
//! |---|---|
//! | `typed` | the trait of a source, batches of records, and values of any type |
//! | `csv_table`, `csv_bytes` | CSV files, whose columns are text |
//! | `parquet_table` | Parquet files |
//! | `memory` | columns in memory |
//! | `arrow_values` | types and values of Arrow arrays, and what is done with each |

mod arrow_values;
mod csv_bytes;
mod csv_table;
mod memory;
mod parquet_table;
mod typed;

pub(super) use arrow_values::EachValue;
pub use csv_table::{CsvTable, FieldCounts};
pub use memory::{MemoryColumn, MemoryReader, MemoryTable};
pub use parquet_table::{ParquetTable, is_decoding, is_parquet};
pub use typed::{
    Batch, ColumnHeader, Fault, FieldBytes, OwnedValue, ReadError, TypedTable, Values,
};

#[cfg(test)]
mod tests;
