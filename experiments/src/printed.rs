//! Published values: the printed number and the interval of values that round to it.

use std::fmt;

/// A printed number with the position of its last digit.
#[derive(Clone, Debug, PartialEq)]
pub struct Digits {
    /// The number as printed.
    pub value: f64,
    /// Half a unit of the last printed digit; 0.005e6 for `5.32e6`.
    pub half_unit: f64,
    decimals: usize,
    significant: usize,
    scientific: bool,
}

/// A published value: a number, a bound, text, or the mark for a method that the paper did not run.
#[derive(Clone, Debug, PartialEq)]
pub enum Printed {
    /// `5.32e6`, `33`, `2.0004`, `3,694.7`.
    Number(Digits),
    /// `<0.1`.
    Below(Digits),
    /// `<=1.00`: a value below, or one that rounds to these digits.
    AtMost(Digits),
    /// `>10`.
    Above(Digits),
    /// `>=1.00`: a value above, or one that rounds to these digits.
    AtLeast(Digits),
    /// `1.15 to 1.37`.
    Range(Digits, Digits),
    /// `NI`: the paper has no implementation of this method for this case.
    NotImplemented,
    /// Anything else, such as the formula `sqrt(log n)`.
    Text(String),
}

impl Printed {
    /// Parses a published value.
    ///
    /// Everything that is not a number, a bound or `NI` is text.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        if text == "NI" {
            return Self::NotImplemented;
        }
        let parsed = if let Some(rest) = text.strip_prefix("<=") {
            Digits::parse(rest).map(Self::AtMost)
        } else if let Some(rest) = text.strip_prefix(">=") {
            Digits::parse(rest).map(Self::AtLeast)
        } else if let Some(rest) = text.strip_prefix('<') {
            Digits::parse(rest).map(Self::Below)
        } else if let Some(rest) = text.strip_prefix('>') {
            Digits::parse(rest).map(Self::Above)
        } else if let Some((low, high)) = text.split_once(" to ") {
            Digits::parse(low).zip(Digits::parse(high)).map(|(low, high)| Self::Range(low, high))
        } else {
            Digits::parse(text).map(Self::Number)
        };
        parsed.unwrap_or_else(|| Self::Text(text.to_owned()))
    }

    /// Returns whether a computed number rounds to this value, or satisfies this bound.
    #[must_use]
    pub fn accepts(&self, ours: f64) -> bool {
        match self {
            Self::Number(digits) => digits.accepts(ours),
            Self::Below(digits) => ours < digits.value,
            Self::AtMost(digits) => ours < digits.value || digits.accepts(ours),
            Self::Above(digits) => ours > digits.value,
            Self::AtLeast(digits) => ours > digits.value || digits.accepts(ours),
            Self::Range(low, high) => {
                (low.value..=high.value).contains(&ours) || low.accepts(ours) || high.accepts(ours)
            }
            Self::NotImplemented | Self::Text(_) => false,
        }
    }

    /// Returns whether a text result equals this value, up to white space.
    #[must_use]
    pub fn accepts_text(&self, ours: &str) -> bool {
        let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        matches!(self, Self::Text(text) if squeeze(text) == squeeze(ours))
    }

    /// Returns the number, if the value is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(digits) => Some(digits.value),
            _ => None,
        }
    }

    /// Returns the number of decimals of a number without exponent.
    #[must_use]
    pub fn decimals(&self) -> Option<usize> {
        match self {
            Self::Number(digits) if !digits.scientific => Some(digits.decimals),
            _ => None,
        }
    }

    /// Returns whether it states a bound or a range, not a value.
    #[must_use]
    pub fn is_inequality(&self) -> bool {
        !matches!(self, Self::Number(_) | Self::NotImplemented | Self::Text(_))
    }

    /// Formats a computed number in the style of this value, with two more digits.
    #[must_use]
    pub fn format_like(&self, ours: f64) -> String {
        match self {
            Self::Number(digits)
            | Self::Below(digits)
            | Self::AtMost(digits)
            | Self::Above(digits)
            | Self::AtLeast(digits)
            | Self::Range(digits, _) => digits.format_like(ours),
            Self::NotImplemented | Self::Text(_) => significant(ours, 6),
        }
    }

    /// Describes the computed values that this value accepts, for messages.
    #[must_use]
    pub fn expectation(&self) -> String {
        match self {
            Self::Number(digits) => format!("{self} ± {}", significant(digits.half_unit, 2)),
            Self::Below(_) | Self::AtMost(_) | Self::Above(_) | Self::AtLeast(_) => {
                format!("a value {self}")
            }
            Self::Range(..) => format!("a value from {self}"),
            Self::NotImplemented => "nothing (not implemented in the paper)".to_owned(),
            Self::Text(text) => format!("the text \"{text}\""),
        }
    }
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(digits) => write!(f, "{digits}"),
            Self::Below(digits) => write!(f, "< {digits}"),
            Self::AtMost(digits) => write!(f, "<= {digits}"),
            Self::Above(digits) => write!(f, "> {digits}"),
            Self::AtLeast(digits) => write!(f, ">= {digits}"),
            Self::Range(low, high) => write!(f, "{low} to {high}"),
            Self::NotImplemented => write!(f, "NI"),
            Self::Text(text) => write!(f, "{text}"),
        }
    }
}

impl Digits {
    /// Parses `[-+]digits[.digits][e[-+]digits]`.
    ///
    /// Commas between groups of three digits are allowed.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().replace('\u{2212}', "-");
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa.to_owned(), exponent.parse::<i32>().ok()?),
            None => (text.clone(), 0),
        };
        let unsigned = mantissa.strip_prefix(['-', '+']).unwrap_or(&mantissa);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let whole = without_group_commas(whole)?;
        let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() && fraction.is_empty() || !all_digits(&whole) || !all_digits(fraction) {
            return None;
        }
        let value: f64 = format!("{}e{exponent}", mantissa.replace(',', "")).parse().ok()?;
        let last = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        // Parsing "5e-4" rounds once. Multiplying 0.5 by a power of ten would round twice.
        let half_unit: f64 = format!("5e{}", last.checked_sub(1)?).parse().ok()?;
        if !value.is_finite() {
            return None;
        }
        let significant = format!("{whole}{fraction}").trim_start_matches('0').len().max(1);
        Some(Self {
            value,
            half_unit,
            decimals: fraction.len(),
            significant,
            scientific: text.contains(['e', 'E']),
        })
    }

    fn accepts(&self, ours: f64) -> bool {
        // The slack covers only the rounding of the printed decimal and of the difference.
        let slack = self.half_unit * 1e-9 + 2.0 * f64::EPSILON * self.value.abs();
        (ours - self.value).abs() <= self.half_unit + slack
    }

    fn format_like(&self, ours: f64) -> String {
        if !ours.is_finite() {
            return ours.to_string();
        }
        if self.scientific {
            return format!("{ours:.*e}", self.significant + 1);
        }
        if self.decimals == 0 && ours.fract() == 0.0 {
            return format!("{ours}");
        }
        let fixed = format!("{ours:.*}", self.decimals + 2);
        let shows_zero =
            ours != 0.0 && fixed.bytes().all(|byte| matches!(byte, b'0' | b'.' | b'-'));
        if shows_zero { significant(ours, 3) } else { fixed }
    }
}

impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scientific {
            write!(f, "{:.*e}", self.significant.saturating_sub(1), self.value)
        } else {
            write!(f, "{:.*}", self.decimals, self.value)
        }
    }
}

/// Removes commas between groups of three digits; `None` if a comma is elsewhere.
fn without_group_commas(whole: &str) -> Option<String> {
    let mut groups = whole.split(',');
    let first = groups.next()?;
    let mut digits = first.to_owned();
    for group in groups {
        if group.len() != 3 || first.is_empty() || first.len() > 3 {
            return None;
        }
        digits.push_str(group);
    }
    Some(digits)
}

/// Formats a number with `digits` significant digits.
///
/// The notation is scientific below 10⁻⁴ and from 10⁷ on.
#[must_use]
pub fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let last = digits.saturating_sub(1);
    let rounded = format!("{value:.last$e}");
    let exponent: i32 =
        rounded.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    if !(-4..7).contains(&exponent) {
        return rounded;
    }
    let decimals = i32::try_from(last).unwrap_or(i32::MAX).saturating_sub(exponent).max(0);
    format!("{value:.*}", usize::try_from(decimals).unwrap_or(0))
}

/// Formats a time in seconds, minutes or hours.
#[must_use]
pub fn duration(seconds: f64) -> String {
    if seconds < 90.0 {
        format!("{seconds:.0} s")
    } else if seconds < 5400.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{:.1} h", seconds / 3600.0)
    }
}

/// Formats an amount of memory, given in MB of 10⁶ bytes.
#[must_use]
pub fn memory(mb: f64) -> String {
    if mb < 1000.0 { format!("{mb:.0} MB") } else { format!("{:.1} GB", mb / 1000.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn half_unit_of_the_last_digit() {
        for (text, value, half) in [
            ("5.32e6", 5.32e6, 0.005e6),
            ("33", 33.0, 0.5),
            ("1.26", 1.26, 0.005),
            ("2.0004", 2.0004, 0.00005),
            ("3,694.7", 3694.7, 0.05),
            ("1,234,567", 1_234_567.0, 0.5),
            ("5e-5", 5e-5, 0.5e-5),
            (".630", 0.63, 0.0005),
            ("-1.50", -1.5, 0.005),
            ("\u{2212}2", -2.0, 0.5),
            ("+4E+2", 400.0, 50.0),
        ] {
            let digits = Digits::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(digits.value, value, "{text}");
            assert!((digits.half_unit / half - 1.0).abs() < 1e-14, "{text}: {}", digits.half_unit);
        }
    }

    #[test]
    fn numbers_are_accepted_if_they_round_to_the_printed_digits() {
        let published = Printed::parse("5.32e6");
        assert!(published.accepts(5_315_000.0) && published.accepts(5_325_000.0));
        assert!(!published.accepts(5_314_999.0) && !published.accepts(5_325_001.0));
        assert!(!published.accepts(f64::NAN));
        let published = Printed::parse("1.26");
        assert!(
            published.accepts(1.264125) && published.accepts(1.265) && !published.accepts(1.26501)
        );
    }

    #[test]
    fn bounds_marks_and_text() {
        assert!(Printed::parse("<0.1").accepts(0.05) && !Printed::parse("<0.1").accepts(0.1));
        assert!(Printed::parse("> 10").accepts(11.0) && !Printed::parse("> 10").accepts(9.0));
        let at_most = Printed::parse("<= 1.00");
        assert!(at_most.accepts(0.2) && at_most.accepts(1.0049) && !at_most.accepts(1.0051));
        let at_least = Printed::parse(">=2");
        assert!(at_least.accepts(9.0) && at_least.accepts(1.51) && !at_least.accepts(1.49));
        assert_eq!([at_most.to_string(), at_least.to_string()], ["<= 1.00", ">= 2"]);
        let range = Printed::parse("1.15 to 1.37");
        assert!([1.146, 1.2, 1.374].iter().all(|&value| range.accepts(value)));
        assert!(![1.144, 1.376].iter().any(|&value| range.accepts(value)));
        assert_eq!(Printed::parse(" NI "), Printed::NotImplemented);
        assert!(
            ["<1", ">1", "<=1", ">=1", "1 to 2"]
                .iter()
                .all(|text| Printed::parse(text).is_inequality())
        );
        assert!(["1", "NI", "n"].iter().all(|text| !Printed::parse(text).is_inequality()));
        assert!(Printed::parse("sqrt(log n)").accepts_text("sqrt(log  n)"));
        assert!(!Printed::parse("sqrt(log n)").accepts_text("2 ln n"));
        assert!(!Printed::parse("33").accepts_text("33"));
        for text in [
            "",
            "1,23",
            "12,3456",
            "1234,567",
            ",123",
            "1.2.3",
            "0x10",
            "inf",
            "NaN",
            "1e",
            "e5",
            ".",
            "-",
            "1 2",
            "1e999999999999",
        ] {
            assert!(matches!(Printed::parse(text), Printed::Text(_)), "{text:?}");
        }
    }

    #[test]
    fn formats_in_the_published_style_with_two_more_digits() {
        for (published, ours, text) in [
            ("5.32e6", 6_400_693.77, "6.4007e6"),
            ("1.26", 1.264_125_3, "1.2641"),
            ("33", 33.0, "33"),
            ("33", 33.25, "33.25"),
            ("2.23", 1e-9, "1.00e-9"),
            ("NI", 23.456_789, "23.4568"),
            ("sqrt(log n)", 1.0 / 3.0, "0.333333"),
        ] {
            assert_eq!(Printed::parse(published).format_like(ours), text, "{published} {ours}");
        }
        assert_eq!(significant(0.005, 2), "0.0050");
        assert_eq!(significant(9.999, 2), "10");
    }

    proptest! {
        #[test]
        fn a_value_accepts_itself_and_its_rounding_interval(
            value in -1e6f64..1e6, decimals in 0usize..7, offset in -0.499f64..0.499
        ) {
            let text = format!("{value:.decimals$}");
            let printed = Printed::parse(&text);
            let unit = 10f64.powi(-(decimals as i32));
            let centre: f64 = text.parse().unwrap();
            prop_assert!(printed.accepts(centre));
            prop_assert!(printed.accepts(value));
            prop_assert!(printed.accepts(centre + offset * unit));
            prop_assert!(!printed.accepts(centre + 0.51 * unit));
            prop_assert!(!printed.accepts(centre - 0.51 * unit));
        }

        #[test]
        fn scientific_and_plain_spellings_agree(mantissa in 100u32..999, exponent in 0i32..9) {
            let text = format!("{}.{:02}e{exponent}", mantissa / 100, mantissa % 100);
            let scientific = Printed::parse(&text);
            let value = f64::from(mantissa) / 100.0 * 10f64.powi(exponent);
            let unit = 10f64.powi(exponent - 2);
            prop_assert!(scientific.accepts(value + 0.49 * unit));
            prop_assert!(!scientific.accepts(value + 0.51 * unit));
            prop_assert_eq!(Printed::parse(&scientific.to_string()), scientific);
        }

        #[test]
        fn never_panics_and_keeps_text(text in "\\PC{0,20}") {
            if let Printed::Text(kept) = Printed::parse(&text) {
                prop_assert_eq!(kept, text.trim());
            }
        }
    }

    #[test]
    fn costs_have_readable_units() {
        assert_eq!(duration(12.4), "12 s");
        assert_eq!(duration(600.0), "10 min");
        assert_eq!(duration(9000.0), "2.5 h");
        assert_eq!(memory(400.0), "400 MB");
        assert_eq!(memory(2500.0), "2.5 GB");
    }
}
