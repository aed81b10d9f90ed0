//! Tests of numbers, exact for every type of column.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use num_rational::Ratio;

use super::dialect::{Dialect, Side};
use super::number_text::{TextNumber, normal_form};
use crate::decimal::Decimal;

/// A column of numbers, and how its values are compared with constants.
#[derive(Debug)]
pub(super) enum Numbers<'a> {
    /// Multiples of 10^−scale, of at most `limit` such units.
    Grid { scale: u32, limit: BigInt },
    /// Floating-point numbers, each of which stands for its shortest decimal.
    Float { is_single: bool },
    /// Texts, in normal form.
    Text(&'a TextNumber),
}

impl Numbers<'_> {
    /// Returns the condition that a value is below a bound, or at most the bound.
    pub(super) fn up_to(
        &self,
        dialect: Dialect,
        value: &str,
        bound: &Ratio<BigInt>,
        is_included: bool,
    ) -> String {
        match self {
            Numbers::Grid { scale, limit } => {
                let scaled = bound * BigInt::from(10).pow(*scale);
                let first_above = match is_included {
                    true => scaled.floor().to_integer() + 1,
                    false => scaled.ceil().to_integer(),
                };
                match first_above {
                    first if first > *limit => "TRUE".into(),
                    first if first < -limit.clone() => "FALSE".into(),
                    first => format!("{value} < {}", on_grid(&first, *scale)),
                }
            }
            Numbers::Float { is_single } => {
                let first = first_float(bound, is_included, *is_single);
                match first {
                    first if first == f64::INFINITY => "TRUE".into(),
                    first => format!("{value} < {}", float(dialect, first, *is_single)),
                }
            }
            Numbers::Text(text) => text.up_to(bound, is_included),
        }
    }

    /// Returns the condition that a value equals a number; `None` if no value does.
    pub(super) fn equals(&self, dialect: Dialect, value: &str, number: &Decimal) -> Option<String> {
        match self {
            Numbers::Grid { scale, limit } => {
                let scaled = number.to_ratio() * BigInt::from(10).pow(*scale);
                let digits = scaled.is_integer().then(|| scaled.to_integer())?;
                if digits == -limit.clone() - 1 && *scale == 0 {
                    // The smallest integer is no constant of every engine.
                    return Some(format!("{value} = -{limit} - 1"));
                }
                let fits = digits <= *limit && digits >= -limit.clone();
                fits.then(|| format!("{value} = {}", on_grid(&digits, *scale)))
            }
            Numbers::Float { is_single } => {
                let nearest = nearest(number, *is_single);
                let is_equal = decimal_of(nearest, *is_single).as_ref() == Some(number);
                is_equal.then(|| format!("{value} = {}", float(dialect, nearest, *is_single)))
            }
            Numbers::Text(text) => Some(text.equals(number)),
        }
    }

    /// Returns the condition that a finite value is not an integer; `None` if every value is one.
    pub(super) fn is_fraction(&self, dialect: Dialect, value: &str) -> Option<String> {
        match self {
            Numbers::Grid { scale: 0, .. } => None,
            Numbers::Grid { .. } => {
                // Remainders of decimals are floating-point numbers in DuckDB.
                let text = dialect.trim(Side::Trailing, "0", &dialect.as_text(value));
                Some(format!("{value} <> 0 AND {text} NOT LIKE '%.'"))
            }
            Numbers::Float { .. } => Some(format!("{value} <> {}", dialect.rounded(value))),
            Numbers::Text(text) => Some(text.is_fraction()),
        }
    }
}

/// Returns the condition that a floating-point number is infinite.
pub(super) fn is_infinite(dialect: Dialect, value: &str, is_single: bool) -> String {
    let largest = if is_single { f64::from(f32::MAX) } else { f64::MAX };
    let [low, high] = [-largest, largest].map(|number| float(dialect, number, is_single));
    format!("{value} < {low} OR {value} > {high}")
}

/// Writes digits · 10^−scale with `scale` digits after the point.
fn on_grid(digits: &BigInt, scale: u32) -> String {
    let sign = if digits.sign() == Sign::Minus { "-" } else { "" };
    let width = scale as usize + 1;
    let digits = format!("{:0>width$}", digits.magnitude().to_string());
    let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
    match fraction {
        "" => format!("{sign}{whole}"),
        fraction => format!("{sign}{whole}.{fraction}"),
    }
}

fn float(dialect: Dialect, number: f64, is_single: bool) -> String {
    let text = if is_single { format!("{:e}", number as f32) } else { format!("{number:e}") };
    dialect.float(&text, is_single)
}

/// Returns the decimal that a floating-point number stands for.
fn decimal_of(number: f64, is_single: bool) -> Option<Decimal> {
    match is_single {
        true => Decimal::parse(&format!("{:e}", number as f32)),
        false => Decimal::shortest(number),
    }
}

fn nearest(number: &Decimal, is_single: bool) -> f64 {
    match is_single {
        // The text of a decimal parses.
        true => number.to_string().parse::<f32>().map_or(f64::NAN, f64::from),
        false => number.to_f64(),
    }
}

/// Returns the first floating-point number that is not up to a bound.
fn first_float(bound: &Ratio<BigInt>, is_included: bool, is_single: bool) -> f64 {
    let next = |x: f64| if is_single { (x as f32).next_up().into() } else { x.next_up() };
    let previous = |x: f64| if is_single { (x as f32).next_down().into() } else { x.next_down() };
    let is_up_to = |x: f64| match decimal_of(x, is_single) {
        None => x < 0.0,
        Some(decimal) => match decimal.to_ratio().cmp(bound) {
            Ordering::Less => true,
            Ordering::Equal => is_included,
            Ordering::Greater => false,
        },
    };
    let (point, mut digits) = normal_form(bound);
    digits.truncate(40);
    let sign = if bound.numer().sign() == Sign::Minus { "-" } else { "" };
    let near = format!("{sign}0.0{digits}e{}", point + 1).parse().unwrap_or(0.0);
    let mut first = if is_single { f64::from(near as f32) } else { near };
    while first < f64::INFINITY && is_up_to(first) {
        first = next(first);
    }
    while first > f64::NEG_INFINITY && !is_up_to(previous(first)) {
        first = previous(first);
    }
    first
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Oracle: the exact comparison of shortest decimals.
        #[test]
        fn floats_are_compared_as_their_decimals(
            numerator in -1000i64..1000, denominator in 1i64..1000, steps in -3i32..4,
            is_included: bool,
        ) {
            let bound = Ratio::new(BigInt::from(numerator), BigInt::from(denominator));
            let first = first_float(&bound, is_included, false);
            let mut near = numerator as f64 / denominator as f64;
            for _ in 0..steps.abs() {
                near = if steps < 0 { near.next_down() } else { near.next_up() };
            }
            let exact = Decimal::shortest(near).unwrap().to_ratio();
            let expected = exact < bound || (is_included && exact == bound);
            prop_assert_eq!(near < first, expected);
        }
    }

    #[test]
    fn constants_are_on_the_grid_of_the_column() {
        let bound = Ratio::new(BigInt::from(100), BigInt::from(3));
        let up_to = |scale, limit: i64, is_included| {
            let numbers = Numbers::Grid { scale, limit: limit.into() };
            numbers.up_to(Dialect::DuckDb, "v", &bound, is_included)
        };
        assert_eq!(up_to(0, 1000, false), "v < 34");
        assert_eq!(up_to(2, 1_000_000, false), "v < 33.34");
        assert_eq!(up_to(2, 100, false), "TRUE");
        assert_eq!(on_grid(&(-5).into(), 2), "-0.05");
        let whole = Numbers::Grid { scale: 0, limit: 127.into() };
        let equals = |text| whole.equals(Dialect::DuckDb, "v", &Decimal::parse(text).unwrap());
        assert_eq!(equals("7.0").as_deref(), Some("v = 7"));
        assert_eq!(equals("7.5"), None);
        assert_eq!(equals("128"), None);
    }
}
