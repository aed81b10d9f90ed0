//! Sources of tables with typed columns.
//!
//! | file | purpose |
//! |---|---|
//! | `typed` | the trait of a source, and batches of records |
//! | `csv_table`, `csv_bytes` | CSV files, whose columns are text |
//! | `parquet_table` | Parquet files |
//! | `memory`, `owned_value` | columns in memory, and values of any type |
//! | `arrow_values`, `each_value` | types and values of Arrow arrays, and what is done with each |

mod arrow_values;
mod csv_bytes;
mod csv_table;
mod each_value;
mod memory;
mod owned_value;
mod parquet_table;
mod typed;

pub use csv_table::{CsvTable, FieldCounts};
pub(super) use each_value::EachValue;
pub use memory::{MemoryColumn, MemoryReader, MemoryTable};
pub use owned_value::OwnedValue;
pub use parquet_table::{ParquetTable, is_parquet};
pub use typed::{Batch, ColumnHeader, Fault, FieldBytes, ReadError, TypedTable, Values};

#[cfg(test)]
mod tests;
