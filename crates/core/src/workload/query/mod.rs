//! Queries in words, such as `mean(income) where age >= 65 by region`.
//!
//! ```text
//! query      := term (("+" | "-") term)*
//! term       := "total" | measure ["where" conditions] ["by" name ("," name)*]
//! measure    := "count" | "sum" "(" name ")" | "mean" "(" name ")" | "median" "(" name ")"
//!             | "quantile" "(" name "," number ")" | "share" "of" conditions
//! conditions := condition ("and" condition)*
//! condition  := name | name ("=" | "!=" | "<" | "<=" | ">" | ">=") value
//!             | name "in" "(" value ("," value)* ")" | name "between" value "and" value
//! name       := WORD | WORD "of" WORD
//! ```
//!
//! A name is that of an attribute, of a level, or `LEVEL of ATTRIBUTE`. A condition that is only a
//! name means that the value is `true`. `by` gives one answer per combination of values; all terms
//! of a query have the same `by`.
//!
//! Words of letters, digits, `_`, `.`, `:`, `/` and inner `-` need no quotes; other words, and
//! words of the grammar as names or values, are written `"…"`, with `""` for a quote. The operators
//! `+` and `-` need spaces around them.
//!
//! Values are compared as the schema compares the texts of a CSV file. Limits are exact and must be
//! edges of bins. Sums and means take midpoints of bins, or the mean of the integers of a bin.
//! Missing values meet a condition only if it names their label, and sums, means and quantiles
//! leave out cells without numbers.
//!
//! Parsing and resolving use the schema only.

mod chosen;
mod groups;
mod lexer;
mod mistake;
mod parser;
mod product_rows;
mod quantity;
mod resolved;
mod rows;
mod spans;
mod syntax;

#[cfg(test)]
mod tests;

pub use product_rows::ProductRows;
pub use quantity::{Quantile, QuantileCell, Quantity};
pub use resolved::ResolvedQuery;
pub use rows::By;
pub use syntax::{Condition, Measure, Name, Operator, Query, Term, Test, Word};
