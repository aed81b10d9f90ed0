//! Values of a column that are not public, published if enough records have them.
//!
//! | file | purpose |
//! |---|---|
//! | `published_values` | the values and their noisy counts, and their file |
//! | `statement` | what was released, and its guarantee |

mod published_values;
mod statement;

pub use published_values::PublishedValues;
pub use statement::{OpenValuesSections, OpenValuesStatement, without_new_values};
