//! Sources of tables with typed columns.
//!
//! | file | purpose |
//! |---|---|
//! | `typed` | the trait of a source, and batches of records |
//! | `csv_table`, `csv_bytes` | CSV files, whose columns are text |
//! | `memory` | columns in memory |

mod csv_bytes;
mod csv_table;
mod memory;
mod typed;

pub use csv_table::{CsvTable, FieldCounts};
pub use memory::{MemoryColumn, MemoryReader, MemoryTable, OwnedValue};
pub use typed::{Batch, ColumnHeader, Fault, ReadError, TypedTable, Values};
