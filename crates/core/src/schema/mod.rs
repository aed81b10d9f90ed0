//! Schemas: the attributes of a table, and the mapping from values in a file to cells.
//!
//! ```toml
//! [[attribute]]
//! name = "age"
//! size = 100
//! kind = "numeric"   # or "categorical"
//! # Only needed to read a table. The alternative is values = ["a", "b"].
//! bins = { low = 0.0, high = 100.0, count = 100 }
//! # Optional: values outside the attribute are treated as this value.
//! other = 0.0
//! ```

mod attribute_codings;
mod bins;
mod coding;
mod entry;
mod integer_table;
mod source;
mod text_file;
mod value;

pub use attribute_codings::Schema;
pub use bins::Bins;
pub use coding::{Coded, Coder, Coding};
pub use source::SchemaSource;
pub use text_file::read_text;
pub use value::{ColumnType, ListedValue, Value};
