//! Types of columns.

use std::fmt;
use std::str::FromStr;

use crate::decimal::Decimal;
use crate::error::{Error, Result};
use crate::schema::{Coding, ColumnType, ListedValue, Schema};

/// Maximum number of digits of a decimal.
const MAX_DIGITS: u32 = 38;

/// The type of a column, which decides how its values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlType {
    /// Text.
    Text,
    /// Integers.
    Integer,
    /// Decimals with a fixed number of digits, `scale` of them after the point.
    Decimal {
        /// All digits.
        digits: u32,
        /// Digits after the point.
        scale: u32,
    },
    /// Floating-point numbers of 64 bits.
    Double,
    /// Floating-point numbers of 32 bits.
    Single,
    /// Booleans.
    Boolean,
    /// Dates, or times without a time zone.
    Time,
    /// Every value has a type of its own, as in SQLite.
    Any,
}

impl SqlType {
    /// Returns the type of a schema for a column without a declared one: that of the listed values,
    /// and floating-point numbers for bins and cell numbers.
    pub fn of_attribute(schema: &Schema, position: usize) -> Self {
        let Some(Coding::Values(values)) = schema.coding(position) else { return SqlType::Double };
        let all = |is: fn(&ListedValue) -> bool| values.iter().all(is);
        let is_integer = |value: &ListedValue| match value {
            ListedValue::Number(number) => number.is_integer(),
            _ => false,
        };
        match () {
            () if all(is_integer) => SqlType::Integer,
            () if all(|value| matches!(value, ListedValue::Number(_))) => SqlType::Double,
            () if all(|value| matches!(value, ListedValue::Boolean(_))) => SqlType::Boolean,
            () if all(|value| matches!(value, ListedValue::Time(_))) => SqlType::Time,
            () => SqlType::Text,
        }
    }

    /// Returns the type as that of a table that is read.
    pub(super) fn column_type(self) -> ColumnType {
        match self {
            SqlType::Text => ColumnType::Text,
            SqlType::Integer | SqlType::Decimal { scale: 0, .. } => ColumnType::Integer,
            SqlType::Decimal { .. } | SqlType::Double | SqlType::Single => ColumnType::Float,
            SqlType::Boolean => ColumnType::Boolean,
            SqlType::Time => ColumnType::Time,
            SqlType::Any => ColumnType::Any,
        }
    }
}

impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SqlType::Decimal { digits, scale } => write!(f, "decimal({digits},{scale})"),
            SqlType::Text => f.write_str("text"),
            SqlType::Integer => f.write_str("integer"),
            SqlType::Double => f.write_str("double"),
            SqlType::Single => f.write_str("real"),
            SqlType::Boolean => f.write_str("boolean"),
            SqlType::Time => f.write_str("timestamp"),
            SqlType::Any => f.write_str("any"),
        }
    }
}

/// Reads the name of a type as an engine writes it, such as `BIGINT` or `decimal(10,2)`.
impl FromStr for SqlType {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let lower = name.trim().to_lowercase();
        let (base, arguments) = lower.split_once('(').unwrap_or((&lower, ""));
        let numbers: Vec<&str> =
            arguments.trim_end_matches(')').split(',').map(str::trim).collect();
        let found = match base.trim() {
            "text" | "varchar" | "string" | "char" | "character varying" | "character" | "enum" => {
                SqlType::Text
            }
            "tinyint" | "smallint" | "int" | "integer" | "bigint" | "hugeint" | "utinyint"
            | "usmallint" | "uinteger" | "ubigint" => SqlType::Integer,
            "double" | "double precision" => SqlType::Double,
            "float" | "real" => SqlType::Single,
            "boolean" | "bool" => SqlType::Boolean,
            "date"
            | "timestamp"
            | "timestamp_ntz"
            | "timestamp_s"
            | "timestamp_ms"
            | "timestamp without time zone"
                if !lower.contains("with time zone") =>
            {
                SqlType::Time
            }
            "any" => SqlType::Any,
            "decimal" | "numeric" => {
                match numbers.iter().map(|n| n.parse()).collect::<Vec<_>>()[..] {
                    [Ok(digits), Ok(scale)] if digits <= MAX_DIGITS && scale <= digits => {
                        SqlType::Decimal { digits, scale }
                    }
                    _ => return Err(unsupported(name)),
                }
            }
            _ => return Err(unsupported(name)),
        };
        Ok(found)
    }
}

fn unsupported(name: &str) -> Error {
    Error::bad_input(
        "type of a column",
        "text, integer, decimal(DIGITS,SCALE), double, real, boolean, date or timestamp, or \
         another name of them",
        format!("`{name}`"),
        "convert the column in a view of the engine; types are public, so this check costs nothing",
    )
}

/// Returns the number of a listed value, also of a text that denotes one.
pub(super) fn number_of(value: &ListedValue) -> Option<Decimal> {
    match value {
        ListedValue::Number(number) => Some(number.clone()),
        ListedValue::Text(text) => Decimal::parse(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_the_names_of_engines() {
        for (name, expected) in [
            ("BIGINT", Some(SqlType::Integer)),
            ("ENUM('a', 'b')", Some(SqlType::Text)),
            ("DECIMAL(10,2)", Some(SqlType::Decimal { digits: 10, scale: 2 })),
            ("numeric(5, 0)", Some(SqlType::Decimal { digits: 5, scale: 0 })),
            ("double precision", Some(SqlType::Double)),
            ("timestamp without time zone", Some(SqlType::Time)),
            ("timestamp(6) without time zone", Some(SqlType::Time)),
            ("TIMESTAMP WITH TIME ZONE", None),
            ("timestamp(6) with time zone", None),
            ("TIMESTAMP_NS", None),
            ("numeric", None),
            ("decimal(39,1)", None),
            ("BLOB", None),
            ("INTEGER[]", None),
            ("STRUCT(a INTEGER)", None),
        ] {
            assert_eq!(name.parse::<SqlType>().ok(), expected, "{name}");
        }
        for name in ["text", "integer", "decimal(9,3)", "double", "real", "boolean", "timestamp"] {
            assert_eq!(name.parse::<SqlType>().unwrap().to_string(), name);
        }
    }
}
