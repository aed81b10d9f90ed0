//! Schemas: the attributes of a table, and the mapping from values in a file to cells.
//!
//! ```toml
//! [[attribute]]
//! name = "age"
//! kind = "numeric"   # or "integer", or "categorical"
//! # The alternatives are edges = [0, 20, 65, 100], values = ["a", "b"], and size = 100 for cell
//! # numbers.
//! bins = { low = 0, high = 100, count = 100 }
//! # Optional: a first cell of all numbers below the bins, a last one of all numbers above them.
//! below = true
//! above = true
//! # Optional: the cells of missing values and of values outside the attribute. A text that is no
//! # value of the attribute adds a cell outside the order, with this label.
//! missing = "unknown"
//! other = 0
//! # Optional, for a categorical attribute: levels = { region = ["N", "S"] }.
//! ```
//!
//! `[[impossible]]` tables list combinations of values that cannot occur, `[[public]]` tables counts that
//! are published without noise, both with `where = { age = { from = 0, to = 14 }, sex = ["f"] }`.
//!
//! `size` counts the values, bins or cell numbers without the cells that `below`, `above`, `missing`
//! and `other` add.

mod attribute_codings;
mod bins;
mod cell_box;
mod coding;
mod entry;
mod integer_table;
mod level_schema;
mod levels;
mod listed;
mod source;
mod text_file;
mod value;

#[cfg(test)]
mod tests;

pub use attribute_codings::Schema;
pub use bins::Bins;
pub(crate) use bins::exact as exact_decimal;
pub use cell_box::CellBox;
pub use coding::{Coded, Coder, Coding};
pub use level_schema::{LevelSchema, Refinement};
pub use source::SchemaSource;
pub use text_file::read_text;
pub use value::{ColumnType, ListedValue, Value, boolean_of, time_of};
