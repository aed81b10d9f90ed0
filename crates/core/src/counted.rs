//! Numbers with nouns in messages.

use std::fmt::Display;

/// Returns a number with the singular or the plural of a noun: `1 query`, `2 queries`.
///
/// ```
/// use matmech_core::counted::counted;
/// assert_eq!(counted(1, ["query", "queries"]), "1 query");
/// assert_eq!(counted(0, ["query", "queries"]), "0 queries");
/// ```
pub fn counted(count: impl Display, [one, several]: [&str; 2]) -> String {
    let count = count.to_string();
    let noun = if count == "1" { one } else { several };
    format!("{count} {noun}")
}
