//! Schemas drafted from a table that may be seen, **not private**, or from noisy counts.
//!
//! | file | purpose |
//! |---|---|
//! | `profile` | types, distinct values, range and missing values of a column |
//! | `grid` | edges of bins on a 1–2–5 grid |
//! | `literal` | names, values, numbers and lists as TOML |
//! | `draft_schema` | the text of the schema |
//! | `noisy_bins` | bins from noisy counts, which are published |
//! | `open_values` | attributes of published values |

mod draft_schema;
mod grid;
mod literal;
pub mod noisy_bins;
pub mod open_values;
mod profile;

pub use draft_schema::draft_schema;

#[cfg(test)]
mod tests;
