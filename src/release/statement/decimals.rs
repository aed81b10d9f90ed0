//! Numbers of statements as decimals: exact, or rounded up.

use crate::decimal::Decimal;

/// Returns the shortest text that reads back as the same double, such as `1`, `0.25` and `1e-9`.
pub fn shortest(number: f64) -> String {
    let text = serde_json::to_string(&number).unwrap_or_else(|_| number.to_string());
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Returns the number of decimals, at least 6, that show four digits of a number of this size.
pub fn decimals_of(size: f64) -> usize {
    let places = (-size.abs().log10()).ceil() + 4.0;
    // NaN, infinity and numbers that are 0 have 6.
    if places.is_finite() { (places as usize).max(6) } else { 6 }
}

/// Returns a number with [`decimals_of`] its size.
pub fn in_digits(number: f64) -> String {
    format!("{number:.*}", decimals_of(number))
}

/// Returns an upper bound with a number of decimals, rounded up.
pub fn at_most(bound: f64, decimals: u32) -> String {
    match Decimal::shortest(bound) {
        Some(bound) => bound.ceiling(decimals).to_string(),
        None => bound.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_keep_four_digits() {
        for (number, text) in [
            (0.0, "0.000000"),
            (12.25, "12.250000"),
            (0.0123456789, "0.012346"),
            (0.00123456789, "0.0012346"),
            (-1.23456e-8, "-0.000000012346"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(in_digits(number), text);
        }
    }
}
