//! Statements of SQL that count marginals, for tables that an engine holds.
//!
//! | file | purpose |
//! |---|---|
//! | `dialect` | the spellings of every dialect, with safe names and texts |
//! | `sql_type` | types of columns |
//! | `cases` | the cells of an attribute as an ordered list of tests |
//! | `numbers` | tests of numbers, exact for every type of column |
//! | `number_text` | numbers in columns of text |
//! | `counting` | the view of all cells, and the statement of a marginal |

mod cases;
mod counting;
mod dialect;
mod number_text;
mod numbers;
mod sql_type;

pub use counting::{COUNT, CountingSql, PersonColumn, cell_column};
pub use dialect::Dialect;
pub use sql_type::SqlType;
