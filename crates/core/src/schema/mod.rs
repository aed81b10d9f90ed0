//! Schemas: the attributes of a table, and the mapping from values in a file to cells.
//!
//! ```toml
//! [[attribute]]
//! name = "age"
//! kind = "numeric"   # or "categorical"
//! # The alternatives are edges = [0, 20, 65, 100], values = ["a", "b"], and size = 100 for cell
//! # numbers.
//! bins = { low = 0, high = 100, count = 100 }
//! # Optional: values outside the attribute are treated as this value.
//! other = 0
//! # Optional, for a categorical attribute: levels = { region = ["N", "S"] }.
//! ```

mod attribute_codings;
mod bins;
mod coding;
mod entry;
mod integer_table;
mod levels;
mod source;
mod text_file;
mod value;

pub use attribute_codings::Schema;
pub use bins::Bins;
pub use coding::{Coded, Coder, Coding};
pub use source::SchemaSource;
pub use text_file::read_text;
pub use value::{ColumnType, ListedValue, Value};
