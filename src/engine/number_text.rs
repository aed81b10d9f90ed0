//! Numbers in columns of text.
//!
//! The normal form of a number is a sign, a point p and digits d without zeros at their ends:
//!
//! ```text
//! number = sign · 0.d · 10^p
//! ```
//!
//! Numbers of one sign are in the order of p, then of d as texts. So texts of any length are
//! compared exactly, with functions of text that all engines have.

use num_bigint::{BigInt, Sign};
use num_rational::Ratio;
use num_traits::{Signed, Zero};

use super::dialect::{Dialect, Side};
use crate::decimal::Decimal;

const DIGITS: &str = "0123456789";

/// Maximum length of the text of a number, that of [`Decimal::parse`].
const MAX_LENGTH: usize = 2000;

/// The columns of the normal form of one attribute.
#[derive(Debug)]
pub(super) struct TextNumber {
    suffix: usize,
}

impl TextNumber {
    pub(super) fn new(suffix: usize) -> Self {
        TextNumber { suffix }
    }

    fn column(&self, name: &str) -> String {
        format!("{name}_{}", self.suffix)
    }

    /// Returns the condition that the text is a number.
    pub(super) fn is_number(&self) -> String {
        format!("{} = 1", self.column("is_number"))
    }

    /// Returns the columns that are computed one level after the other from the text, which is a
    /// column `text_N`.
    pub(super) fn levels(&self, dialect: Dialect) -> Vec<Vec<(String, String)>> {
        let [text, unsigned, mantissa, mark, power, digits_of_power] =
            ["text", "unsigned", "mantissa", "mark", "power", "power_digits"]
                .map(|name| self.column(name));
        let [form, exponent, digits, number] =
            ["is_form", "exponent", "digits", "is_number"].map(|name| self.column(name));
        let [sign, point, significant] =
            ["sign", "point", "significant"].map(|name| self.column(name));
        let trim = |side, characters: &str, of: &str| dialect.trim(side, characters, of);
        let without_digits = |of: &str| trim(Side::Both, DIGITS, of);
        let without_point = format!("replace({mantissa}, '.', '')");
        let point_of_mantissa = dialect.position(&mantissa, ".");
        let short_power = trim(Side::Leading, "0", &digits_of_power);
        vec![
            vec![(
                unsigned.clone(),
                format!(
                    "CASE WHEN substr({text}, 1, 1) = '-' THEN substr({text}, 2) ELSE {text} END"
                ),
            )],
            vec![(mark.clone(), dialect.position(&format!("replace({unsigned}, 'E', 'e')"), "e"))],
            vec![
                (
                    mantissa.clone(),
                    format!(
                        "CASE WHEN {mark} = 0 THEN {unsigned} \
                         ELSE substr({unsigned}, 1, {mark} - 1) END"
                    ),
                ),
                (
                    power.clone(),
                    format!(
                        "CASE WHEN {mark} = 0 THEN '0' ELSE substr({unsigned}, {mark} + 1) END"
                    ),
                ),
            ],
            vec![(
                digits_of_power.clone(),
                format!(
                    "CASE WHEN substr({power}, 1, 1) IN ('-', '+') THEN substr({power}, 2) \
                     ELSE {power} END"
                ),
            )],
            vec![(
                form.clone(),
                format!(
                    "CASE WHEN length({text}) <= {MAX_LENGTH} AND {} IN ('', '.') \
                     AND {mantissa} NOT IN ('', '.') AND NOT (substr({mantissa}, 1, 1) = '0' \
                     AND substr({mantissa}, 2, 1) NOT IN ('', '.')) AND {digits_of_power} <> '' \
                     AND {} = '' AND length({short_power}) <= 5 THEN 1 ELSE 0 END",
                    without_digits(&mantissa),
                    without_digits(&digits_of_power),
                ),
            )],
            vec![
                (
                    exponent.clone(),
                    format!(
                        "CASE WHEN substr({power}, 1, 1) = '-' THEN -1 ELSE 1 END * \
                         CAST(CASE WHEN {form} = 1 THEN '0' || {short_power} ELSE '0' END \
                         AS INTEGER)"
                    ),
                ),
                (digits.clone(), trim(Side::Leading, "0", &without_point)),
            ],
            vec![
                (
                    number,
                    format!(
                        "CASE WHEN {form} = 1 AND {exponent} BETWEEN -10000 AND 10000 \
                         THEN 1 ELSE 0 END"
                    ),
                ),
                (
                    sign,
                    format!(
                        "CASE WHEN {digits} = '' THEN 0 WHEN substr({text}, 1, 1) = '-' THEN -1 \
                         ELSE 1 END"
                    ),
                ),
                (
                    point,
                    format!(
                        "CASE WHEN {point_of_mantissa} = 0 THEN length({mantissa}) \
                         ELSE {point_of_mantissa} - 1 END + {exponent} - \
                         length({without_point}) + length({digits})"
                    ),
                ),
                (significant, trim(Side::Trailing, "0", &digits)),
            ],
        ]
    }

    /// Returns the condition that the number is below a bound, or at most the bound.
    pub(super) fn up_to(&self, bound: &Ratio<BigInt>, is_included: bool) -> String {
        let [sign, point, digits] = ["sign", "point", "significant"].map(|name| self.column(name));
        let (p, d) = normal_form(bound);
        let equal = if is_included { "=" } else { "" };
        let and = |order: &str| {
            format!("({point} {order} {p} OR {point} = {p} AND {digits} {order}{equal} '{d}')")
        };
        match bound.numer().sign() {
            Sign::NoSign if is_included => format!("{sign} <= 0"),
            Sign::NoSign => format!("{sign} < 0"),
            Sign::Plus => format!("({sign} <= 0 OR {})", and("<")),
            Sign::Minus => format!("({sign} < 0 AND {})", and(">")),
        }
    }

    /// Returns the condition that the number is not an integer.
    pub(super) fn is_fraction(&self) -> String {
        let [sign, point, digits] = ["sign", "point", "significant"].map(|name| self.column(name));
        format!("{sign} <> 0 AND length({digits}) > {point}")
    }

    /// Returns the condition that the number equals another one.
    pub(super) fn equals(&self, number: &Decimal) -> String {
        let [sign, point, digits] = ["sign", "point", "significant"].map(|name| self.column(name));
        let ratio = number.to_ratio();
        let (p, d) = normal_form(&ratio);
        match ratio.numer().sign() {
            Sign::NoSign => format!("{sign} = 0"),
            Sign::Plus => format!("{sign} = 1 AND {point} = {p} AND {digits} = '{d}'"),
            Sign::Minus => format!("{sign} = -1 AND {point} = {p} AND {digits} = '{d}'"),
        }
    }
}

/// Returns the point and the digits of a magnitude. Of a fraction that is no decimal there is one
/// digit more than a text can have, so that no text has all of them.
pub(super) fn normal_form(number: &Ratio<BigInt>) -> (i64, String) {
    let (mut rest, denominator) = (number.numer().abs(), number.denom());
    if rest.is_zero() {
        return (0, String::new());
    }
    let whole = (&rest / denominator).to_string();
    let mut digits = if whole == "0" { String::new() } else { whole };
    let mut point = digits.len() as i64;
    rest %= denominator;
    while !rest.is_zero() && digits.len() <= MAX_LENGTH {
        rest *= 10;
        let digit = &rest / denominator;
        rest %= denominator;
        match digits.is_empty() && digit.is_zero() {
            true => point -= 1,
            false => digits += &digit.to_string(),
        }
    }
    digits.truncate(digits.trim_end_matches('0').len());
    (point, digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_have_more_digits_than_texts() {
        let form = |a: i64, b: i64| normal_form(&Ratio::new(BigInt::from(a), BigInt::from(b)));
        assert_eq!(form(0, 1), (0, String::new()));
        assert_eq!(form(1200, 1), (4, "12".into()));
        assert_eq!(form(-1, 40), (-1, "25".into()));
        assert_eq!(form(25, 2), (2, "125".into()));
        let (point, digits) = form(100, 3);
        assert!(point == 2 && digits.len() > MAX_LENGTH && digits.bytes().all(|b| b == b'3'));
    }
}
