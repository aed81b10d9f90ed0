//! Sources of tables with typed columns.
//!
//! | file | purpose |
//! |---|---|
//! | `typed` | the trait of a source, and batches of records |
//! | `csv_table`, `csv_bytes` | CSV files, whose columns are text |
//! | `memory`, `owned_value` | columns in memory, and values of any type |

mod csv_bytes;
mod csv_table;
mod memory;
mod owned_value;
mod typed;

pub use csv_table::{CsvTable, FieldCounts};
pub use memory::{MemoryColumn, MemoryReader, MemoryTable};
pub use owned_value::OwnedValue;
pub use typed::{Batch, ColumnHeader, Fault, ReadError, TypedTable, Values};
