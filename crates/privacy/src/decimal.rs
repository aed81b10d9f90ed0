//! Exact decimal numbers.

use std::cmp::Ordering;
use std::fmt;

use num_bigint::{BigInt, Sign};
use num_rational::Ratio;

/// Maximum length of the text of a number, in bytes. The longest shortest decimal of a double has
/// 24 bytes, and its longest exact decimal has 1,077.
const MAX_LENGTH: usize = 2000;

/// Maximum magnitude of a decimal exponent, so that exact arithmetic stays small.
const MAX_EXPONENT: i64 = 10_000;

/// Exponents up to which numbers are written without an exponent.
const MAX_PLAIN: i64 = 20;

/// A number `digits · 10^exponent`, exactly. Equal numbers have equal fields.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// Not divisible by ten.
    digits: BigInt,
    /// Zero for zero.
    exponent: i64,
}

impl Decimal {
    /// Returns digits · 10^exponent.
    fn of(mut digits: BigInt, mut exponent: i64) -> Self {
        if digits.sign() == Sign::NoSign {
            return Decimal { digits, exponent: 0 };
        }
        let ten = BigInt::from(10);
        while &digits % &ten == BigInt::ZERO {
            digits /= &ten;
            exponent += 1;
        }
        Decimal { digits, exponent }
    }

    /// Returns `digits · 10^exponent`, for exponents up to ±10,000 in magnitude.
    pub fn of_digits(digits: i128, exponent: i64) -> Self {
        Self::of(digits.into(), exponent.clamp(-MAX_EXPONENT, MAX_EXPONENT))
    }

    /// Reads a number as in JSON: `3`, `-0.25`, `1e-05`; also `.5` and `5.`.
    ///
    /// Returns `None` for other text. Leading zeros, a plus sign and spaces are other text, so that
    /// `02139` is not a number. Text above 2000 bytes and exponents beyond ±10,000 are other text
    /// too.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_LENGTH {
            return None;
        }
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            None => (unsigned, 0),
            Some((mantissa, exponent)) => (mantissa, signed_exponent(exponent)?),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let has_leading_zero = whole.len() > 1 && whole.starts_with('0');
        let is_empty = whole.is_empty() && fraction.is_empty();
        if is_empty || has_leading_zero || !are_digits(whole) || !are_digits(fraction) {
            return None;
        }
        let digits = format!("{whole}{fraction}").parse::<BigInt>().ok()?;
        let digits = if unsigned.len() < text.len() { -digits } else { digits };
        Some(Self::of(digits, exponent - fraction.len() as i64))
    }

    /// Returns the number of the shortest decimal that rounds to a double; `None` if it is not
    /// finite.
    pub fn shortest(number: f64) -> Option<Self> {
        number.is_finite().then(|| Self::parse(&format!("{number:e}")))?
    }

    /// Returns digits and a nonnegative scale with `self = digits / 10^scale`.
    pub fn scaled(&self) -> (BigInt, u32) {
        let power = |exponent: i64| BigInt::from(10).pow(exponent.unsigned_abs() as u32);
        match self.exponent {
            exponent if exponent >= 0 => (&self.digits * power(exponent), 0),
            exponent => (self.digits.clone(), exponent.unsigned_abs() as u32),
        }
    }

    /// Returns the number as a fraction.
    pub fn to_ratio(&self) -> Ratio<BigInt> {
        let (digits, scale) = self.scaled();
        Ratio::new(digits, BigInt::from(10).pow(scale))
    }

    /// Returns the integer; `None` for a fraction or an integer beyond 64 bits.
    pub fn to_i64(&self) -> Option<i64> {
        if !(0..=MAX_PLAIN).contains(&self.exponent) {
            return None;
        }
        i64::try_from(self.scaled().0).ok()
    }

    /// Returns `self · 10^exponent` and `other · 10^exponent` as integers, with the exponent.
    fn aligned(&self, other: &Self) -> (BigInt, BigInt, i64) {
        let exponent = self.exponent.min(other.exponent);
        let shifted = |number: &Decimal| {
            let zeros = (number.exponent - exponent).unsigned_abs() as u32;
            &number.digits * BigInt::from(10).pow(zeros)
        };
        (shifted(self), shifted(other), exponent)
    }

    /// Returns the sum.
    pub fn plus(&self, other: &Self) -> Self {
        let (a, b, exponent) = self.aligned(other);
        Self::of(a + b, exponent)
    }

    /// Returns the difference.
    pub fn minus(&self, other: &Self) -> Self {
        let (a, b, exponent) = self.aligned(other);
        Self::of(a - b, exponent)
    }

    /// Returns the smallest multiple of 10^−decimals that is at least this number.
    pub fn ceiling(&self, decimals: u32) -> Self {
        let unit = -i64::from(decimals);
        if self.exponent >= unit {
            return self.clone();
        }
        let power = BigInt::from(10).pow((unit - self.exponent).unsigned_abs() as u32);
        let down = &self.digits / &power;
        let is_above = self.digits.sign() == Sign::Plus && &down * &power != self.digits;
        Self::of(down + u8::from(is_above), unit)
    }

    /// Returns the largest double whose shortest decimal is at most this number.
    pub fn rounded_down(&self) -> f64 {
        let mut double = self.to_f64();
        while Self::shortest(double).is_some_and(|decimal| decimal > *self) {
            double = double.next_down();
        }
        double
    }

    /// Returns the smallest double whose shortest decimal is at least this number.
    pub fn rounded_up(&self) -> f64 {
        let mut double = self.to_f64();
        while Self::shortest(double).is_some_and(|decimal| decimal < *self) {
            double = double.next_up();
        }
        double
    }

    /// Returns the nearest double.
    pub fn to_f64(&self) -> f64 {
        // The text has digits and an exponent only, so it parses.
        format!("{}e{}", self.digits, self.exponent).parse().unwrap_or(f64::NAN)
    }

    /// Returns whether the number is negative.
    pub(crate) fn is_negative(&self) -> bool {
        self.digits.sign() == Sign::Minus
    }

    /// Returns whether the number is an integer.
    pub fn is_integer(&self) -> bool {
        self.exponent >= 0
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b, _) = self.aligned(other);
        a.cmp(&b)
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<i64> for Decimal {
    fn from(number: i64) -> Self {
        Self::of(number.into(), 0)
    }
}

impl From<i128> for Decimal {
    fn from(number: i128) -> Self {
        Self::of(number.into(), 0)
    }
}

/// Reads the digits of an exponent after `e`, with an optional sign.
fn signed_exponent(text: &str) -> Option<i64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let exponent: i64 = text.strip_prefix('+').unwrap_or(text).parse().ok()?;
    (exponent.abs() <= MAX_EXPONENT).then_some(exponent)
}

/// Writes the digits without an exponent, unless that would add more than 20 zeros.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.digits.magnitude().to_string();
        let sign = if self.is_negative() { "-" } else { "" };
        let point = digits.len() as i64 + self.exponent;
        if self.exponent >= 0 && self.exponent <= MAX_PLAIN {
            write!(f, "{sign}{digits}{}", "0".repeat(self.exponent as usize))
        } else if self.exponent < 0 && point > 0 {
            let (whole, fraction) = digits.split_at(point as usize);
            write!(f, "{sign}{whole}.{fraction}")
        } else if self.exponent < 0 && point > -MAX_PLAIN {
            write!(f, "{sign}0.{}{digits}", "0".repeat(point.unsigned_abs() as usize))
        } else {
            write!(f, "{sign}{digits}e{}", self.exponent)
        }
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_numbers_are_equal_whatever_their_text() {
        let equal = [
            vec!["3", "3.0", "3.", "3e0", "0.3e1", "30e-1", "3E+00"],
            vec!["0", "-0", "0.0", "0e99", ".0"],
            vec!["0.1", ".1", "1e-1", "1e-01"],
            vec!["-1200", "-1.2e3", "-12e2"],
            vec!["9007199254740993", "9007199254740993.0"],
        ];
        let numbers: Vec<Vec<Decimal>> = equal
            .iter()
            .map(|texts| texts.iter().map(|text| Decimal::parse(text).unwrap()).collect())
            .collect();
        for (i, group) in numbers.iter().enumerate() {
            assert!(group.iter().all(|number| *number == group[0]), "{group:?}");
            for other in &numbers[i + 1..] {
                assert_ne!(group[0], other[0]);
            }
        }
    }

    #[test]
    fn other_text_is_no_number() {
        for text in [
            "", "-", ".", "e5", "02139", "03", "00", "+5", " 5", "5 ", "1_000", "1,5", "0x10",
            "inf", "nan", "NaN", "1e", "1e+", "1e5.0", "1e10001", "--1", "1-", "٣",
        ] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
        assert_eq!(Decimal::parse(&"1".repeat(2001)), None);
    }

    proptest! {
        #[test]
        fn the_text_of_a_number_is_read_back(digits in any::<i64>(), exponent in -40i64..40) {
            let number = Decimal::parse(&format!("{digits}e{exponent}")).unwrap();
            prop_assert_eq!(Decimal::parse(&number.to_string()), Some(number.clone()));
            prop_assert_eq!(number.to_f64(), format!("{digits}e{exponent}").parse::<f64>().unwrap());
        }

        /// Oracle: the standard library reads the shortest decimal back to the same double.
        #[test]
        fn doubles_are_their_shortest_decimals(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            match Decimal::shortest(number) {
                Some(decimal) => prop_assert_eq!(decimal.to_f64(), number + 0.0),
                None => prop_assert!(!number.is_finite()),
            }
        }
    }

    proptest! {
        /// Oracle: integers in units 10^−6.
        #[test]
        fn arithmetic_is_exact(a in any::<i32>(), b in any::<i32>()) {
            let number = |millionths: i64| Decimal::parse(&format!("{millionths}e-6")).unwrap();
            let (x, y) = (number(a.into()), number(b.into()));
            prop_assert_eq!(x.plus(&y), number(i64::from(a) + i64::from(b)));
            prop_assert_eq!(x.minus(&y), number(i64::from(a) - i64::from(b)));
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        }

        #[test]
        fn doubles_are_next_to_the_number(digits in 1i64..1_000_000_000, more in any::<u32>()) {
            let number = Decimal::parse(&format!("{digits}{more:010}e-17")).unwrap();
            let (down, up) = (number.rounded_down(), number.rounded_up());
            let exact = |double: f64| Decimal::shortest(double).unwrap();
            prop_assert!(exact(down) <= number && exact(down.next_up()) > number);
            prop_assert!(exact(up) >= number && exact(up.next_down()) < number);
        }
    }

    #[test]
    fn ceilings_are_not_below() {
        for (number, decimals, expected) in [
            ("0.02", 1, "0.1"),
            ("0.10000001", 1, "0.2"),
            ("0.1", 1, "0.1"),
            ("-0.19", 1, "-0.1"),
            ("0", 1, "0"),
            ("1e-300", 6, "0.000001"),
            ("123", 0, "123"),
        ] {
            let number = Decimal::parse(number).unwrap();
            assert_eq!(number.ceiling(decimals), Decimal::parse(expected).unwrap(), "{number}");
        }
    }

    #[test]
    fn numbers_are_written_as_people_write_them() {
        for (text, expected) in [
            ("0.30000000000000004", "0.30000000000000004"),
            ("1e-05", "0.00001"),
            ("-2.50", "-2.5"),
            ("1e6", "1000000"),
            ("12e30", "12e30"),
            ("5e-324", "5e-324"),
            ("-0.0", "0"),
        ] {
            assert_eq!(Decimal::parse(text).unwrap().to_string(), expected);
        }
    }
}
