//! Values with types of their own.

use std::fmt;

use crate::decimal::Decimal;
use crate::schema::Value;

/// A value with a type of its own.
#[derive(Clone, PartialEq)]
pub enum OwnedValue {
    /// No value.
    Missing,
    /// Text.
    Text(Box<str>),
    /// An integer.
    Integer(i128),
    /// A double; NaN is a missing value.
    Float(f64),
    /// Another number.
    Number(Decimal),
    /// A boolean.
    Boolean(bool),
    /// A time in nanoseconds after 1970-01-01.
    Time(i128),
    /// Bytes, as text if they are UTF-8.
    Bytes(Box<[u8]>),
    /// A value of another type.
    Other,
}

impl OwnedValue {
    pub(super) fn as_value(&self) -> Value<'_> {
        match self {
            OwnedValue::Missing => Value::Missing,
            OwnedValue::Text(text) => Value::Text(text),
            OwnedValue::Integer(number) => Value::Integer(*number),
            OwnedValue::Float(number) if number.is_nan() => Value::Missing,
            OwnedValue::Float(number) => Value::Float(*number),
            OwnedValue::Number(number) => Value::Number(number),
            OwnedValue::Boolean(boolean) => Value::Boolean(*boolean),
            OwnedValue::Time(time) => Value::Time(*time),
            OwnedValue::Bytes(bytes) => Value::of_bytes(bytes),
            OwnedValue::Other => Value::Other,
        }
    }
}

/// Shows no value.
impl fmt::Debug for OwnedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnedValue")
    }
}
