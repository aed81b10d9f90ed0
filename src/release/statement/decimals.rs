//! Numbers of statements as decimals: exact, or rounded up.

use crate::decimal::Decimal;

/// Returns the shortest text that reads back as the same double, such as `1`, `0.25` and `1e-9`.
pub fn shortest(number: f64) -> String {
    let text = serde_json::to_string(&number).unwrap_or_else(|_| number.to_string());
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Returns an upper bound with a number of decimals, rounded up.
pub fn at_most(bound: f64, decimals: u32) -> String {
    match Decimal::shortest(bound) {
        Some(bound) => bound.ceiling(decimals).to_string(),
        None => bound.to_string(),
    }
}
