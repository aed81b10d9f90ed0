//! Values of tables and schemas, and when two of them are equal.

use std::fmt;

use jiff::civil::{Date, DateTime, Time};

use crate::decimal::Decimal;

/// The type of a column of a table. It is public, and it does not depend on values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Text, such as every column of a CSV file.
    Text,
    /// Integers.
    Integer,
    /// Floating-point numbers.
    Float,
    /// `true` and `false`.
    Boolean,
    /// Dates, or times without a time zone.
    Time,
    /// Every value has a type of its own, such as a list of Python objects.
    Any,
    /// A type, in words, whose values equal no value of a schema.
    Unsupported(&'static str),
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ColumnType::Text => "text",
            ColumnType::Integer => "integers",
            ColumnType::Float => "floating-point numbers",
            ColumnType::Boolean => "booleans",
            ColumnType::Time => "dates or times",
            ColumnType::Any => "any values",
            ColumnType::Unsupported(words) => words,
        })
    }
}

/// A value of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// No value: null, NaN, NaT, NA, None, or a masked entry.
    Missing,
    /// Text. Surrounding spaces do not count.
    Text(&'a str),
    /// An integer.
    Integer(i128),
    /// A double, which stands for its shortest decimal: 0.1 is one tenth.
    Float(f64),
    /// Another number, exactly.
    Number(&'a Decimal),
    /// A boolean.
    Boolean(bool),
    /// A time in nanoseconds after 1970-01-01; a date is its midnight.
    Time(i128),
    /// Bytes that are not UTF-8. They equal no value of a schema.
    Bytes(&'a [u8]),
    /// A value of another type. It equals no value of a schema.
    Other,
}

impl<'a> Value<'a> {
    /// Returns the text of bytes, if they are UTF-8.
    pub fn of_bytes(bytes: &'a [u8]) -> Self {
        std::str::from_utf8(bytes).map_or(Value::Bytes(bytes), Value::Text)
    }
}

/// Shows a value for a person who may see the data.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Missing => f.write_str("no value"),
            Value::Text(text) => write!(f, "`{}`", text.trim()),
            Value::Integer(number) => write!(f, "`{number}`"),
            Value::Float(number) => write!(f, "`{number}`"),
            Value::Number(number) => write!(f, "`{number}`"),
            Value::Boolean(boolean) => write!(f, "`{boolean}`"),
            Value::Time(time) => match date_time(*time) {
                Some(time) => write!(f, "`{}`", Shown(time)),
                None => write!(f, "`{time} ns after 1970-01-01`"),
            },
            Value::Bytes(bytes) => write!(f, "`{}`", String::from_utf8_lossy(bytes)),
            Value::Other => f.write_str("a value of another type"),
        }
    }
}

/// A value listed in a schema.
#[derive(Debug, Clone, PartialEq)]
pub enum ListedValue {
    /// Text, without surrounding spaces.
    Text(String),
    /// A number: `1`, `1.0` and `1e0` are equal.
    Number(Decimal),
    /// A boolean.
    Boolean(bool),
    /// A time in nanoseconds after 1970-01-01; a date is its midnight.
    Time(i128),
}

impl ListedValue {
    /// Returns the value of a table that equals this one.
    pub(super) fn as_value(&self) -> Value<'_> {
        match self {
            ListedValue::Text(text) => Value::Text(text),
            ListedValue::Number(number) => Value::Number(number),
            ListedValue::Boolean(boolean) => Value::Boolean(*boolean),
            ListedValue::Time(time) => Value::Time(*time),
        }
    }
}

impl fmt::Display for ListedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListedValue::Text(text) => f.write_str(text),
            ListedValue::Number(number) => number.fmt(f),
            ListedValue::Boolean(boolean) => boolean.fmt(f),
            ListedValue::Time(time) => match date_time(*time) {
                Some(time) => Shown(time).fmt(f),
                None => time.fmt(f),
            },
        }
    }
}

/// Writes a midnight as a date.
struct Shown(DateTime);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(time) = self;
        match *time == time.start_of_day() {
            true => time.date().fmt(f),
            false => time.fmt(f),
        }
    }
}

/// Nanoseconds of a day.
const DAY: i128 = 86_400_000_000_000;

/// 1970-01-01.
const EPOCH: Date = Date::constant(1970, 1, 1);

fn date_time(nanoseconds: i128) -> Option<DateTime> {
    let days = i32::try_from(nanoseconds.div_euclid(DAY)).ok()?;
    let date = EPOCH.checked_add(jiff::Span::new().try_days(days).ok()?).ok()?;
    let time = jiff::Span::new().try_nanoseconds(i64::try_from(nanoseconds.rem_euclid(DAY)).ok()?);
    date.to_datetime(Time::midnight()).checked_add(time.ok()?).ok()
}

/// Returns the boolean of a text: `true`, `True` and `TRUE`, or `false`, `False` and `FALSE`.
pub fn boolean_of(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// Returns the time of a text `YYYY-MM-DD`, optionally with `THH:MM:SS` and a fraction, in
/// nanoseconds after 1970-01-01. A space can replace the `T`. There is no time zone.
pub fn time_of(text: &str) -> Option<i128> {
    let bytes = text.as_bytes();
    let has_form = bytes.len() >= 10
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && bytes.get(10).is_none_or(|byte| matches!(byte, b'T' | b' '))
        && bytes.iter().all(|byte| byte.is_ascii_digit() || b"-:. T".contains(byte));
    if !has_form {
        return None;
    }
    let time: DateTime = match bytes.len() {
        10 => text.parse::<jiff::civil::Date>().ok()?.into(),
        _ => text.parse().ok()?,
    };
    let days = time.date().since(EPOCH).ok()?.get_days();
    let within = time.since(time.start_of_day()).ok()?.total(jiff::Unit::Nanosecond).ok()?;
    Some(i128::from(days) * DAY + within as i128)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_midnights() {
        for (text, expected) in [
            ("1970-01-01", Some(0)),
            ("1970-01-02", Some(DAY)),
            ("1970-01-02 00:00:00", Some(DAY)),
            ("1970-01-02T00:00:00.000", Some(DAY)),
            ("1969-12-31", Some(-DAY)),
            ("2024-02-29", Some(19_782 * DAY)),
            ("1970-01-01T00:00:00.000000001", Some(1)),
            ("2023-02-29", None),
            ("19700102", None),
            ("1970-1-2", None),
            ("1970-01-02Z", None),
            ("1970-01-02T00:00:00+01:00", None),
            ("1970-01-02 ", None),
            ("", None),
        ] {
            assert_eq!(time_of(text), expected, "{text}");
        }
        let shown = |time| ListedValue::Time(time).to_string();
        assert_eq!(shown(19_782 * DAY), "2024-02-29");
        assert_eq!(shown(3_600_000_000_000), "1970-01-01T01:00:00");
        for text in ["9999-12-31", "9999-12-31T23:59:59.999999999", "0001-01-01", "0000-02-29"] {
            assert_eq!(shown(time_of(text).unwrap()), text);
        }
        assert_eq!(shown(2_932_897 * DAY), (2_932_897 * DAY).to_string(), "10000-01-01");
    }
}
