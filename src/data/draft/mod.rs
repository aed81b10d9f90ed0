//! Schemas drafted from a table that may be seen, **not private**, or from noisy counts.
//!
//! | file | purpose |
//! |---|---|
//! | `profile` | types, distinct values, range and missing values of a column |
//! | `grid` | edges of bins on a 1–2–5 grid |
//! | `literal` | names, values and numbers as TOML |
//! | `draft_schema` | the text of the schema |
//! | `noisy_bins` | bins from noisy counts, which are published |

mod draft_schema;
mod grid;
mod literal;
pub mod noisy_bins;
mod profile;

pub use draft_schema::draft_schema;

#[cfg(test)]
mod tests;
