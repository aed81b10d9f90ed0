//! Tables with typed columns, read in batches, and values of any type.

use std::fmt;
use std::path::Path;

use arrow_array::Array;

use super::arrow_values::{self, EachValue};
use crate::counted::counted;
use crate::decimal::Decimal;
use crate::error::{Error, Place};
use crate::schema::{ColumnType, Value};

/// The name and the type of a column. Both are public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnHeader {
    /// The name, without surrounding spaces; `None` if it is not UTF-8.
    pub name: Option<String>,
    /// The type.
    pub kind: ColumnType,
}

/// A table of which only the header, which is public, is known until batches are read.
///
/// A source does not convert its values to another type: a column of integers has integers. So the
/// same table has the same cells, whichever source it comes from.
pub trait TypedTable: Send {
    /// Returns the name of the source in messages.
    fn origin(&self) -> &str;

    /// Returns the columns.
    fn columns(&self) -> &[ColumnHeader];

    /// Returns the values of some columns, in the given order, of the next records; `None` at the
    /// end. Other columns are not read.
    ///
    /// # Errors
    /// The source cannot be read. Records before the error are returned by earlier calls.
    fn next_batch(&mut self, columns: &[usize]) -> Result<Option<Batch<'_>>, ReadError>;
}

/// Some columns of consecutive records.
///
/// `Debug` shows no value.
pub struct Batch<'a> {
    /// The number of records.
    pub(crate) rows: usize,
    /// The columns, all of this length.
    pub(crate) columns: Vec<Values<'a>>,
    /// The line of every record in a file, from 1; empty for other sources.
    pub(crate) lines: &'a [usize],
}

impl fmt::Debug for Batch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").finish_non_exhaustive()
    }
}

/// The values of one column.
#[derive(Clone, Copy)]
pub enum Values<'a> {
    /// Fields of a text file: ranges of bytes. A range that starts after its end is missing.
    Fields(&'a FieldBytes, &'a [(usize, usize)]),
    /// An Arrow array; NaN is a missing value.
    Array(&'a dyn Array),
    /// Values with types of their own.
    Any(&'a [OwnedValue]),
}

impl fmt::Debug for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Values")
    }
}

impl Values<'_> {
    /// Passes on the value of every record, in order.
    pub(in crate::data) fn for_each(&self, mut to: impl EachValue) {
        match *self {
            Values::Fields(bytes, ranges) => {
                ranges.iter().for_each(|&range| to.take(bytes.value(range)));
            }
            Values::Array(array) => arrow_values::for_each(array, &mut to),
            Values::Any(values) => values.iter().for_each(|value| to.take(value.as_value())),
        }
    }

    /// Returns the distinct values of a dictionary and the index of the value of every record.
    pub(in crate::data) fn dictionary(&self) -> Option<(Values<'_>, Vec<Option<usize>>)> {
        let Values::Array(array) = self else { return None };
        let (values, keys) = arrow_values::keys_of(*array)?;
        Some((Values::Array(values), keys))
    }

    /// Returns the value of a record in words, for a person who may see the data.
    pub(in crate::data) fn in_words(&self, row: usize) -> String {
        let (mut index, mut words) = (0, Value::Missing.to_string());
        self.for_each(|value: Value<'_>| {
            if index == row {
                words = value.to_string();
            }
            index += 1;
        });
        words
    }
}

/// The bytes of the fields of a batch, one after the other.
pub enum FieldBytes {
    /// UTF-8: no field is checked again.
    Text(String),
    /// Other bytes.
    Bytes(Vec<u8>),
}

impl fmt::Debug for FieldBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FieldBytes")
    }
}

impl Default for FieldBytes {
    fn default() -> Self {
        FieldBytes::Bytes(Vec::new())
    }
}

impl From<Vec<u8>> for FieldBytes {
    fn from(bytes: Vec<u8>) -> Self {
        String::from_utf8(bytes)
            .map_or_else(|error| FieldBytes::Bytes(error.into_bytes()), FieldBytes::Text)
    }
}

impl From<FieldBytes> for Vec<u8> {
    fn from(fields: FieldBytes) -> Self {
        match fields {
            FieldBytes::Text(text) => text.into_bytes(),
            FieldBytes::Bytes(bytes) => bytes,
        }
    }
}

impl FieldBytes {
    #[inline(always)]
    fn value(&self, (start, end): (usize, usize)) -> Value<'_> {
        // The bytes of two fields may be UTF-8 together only; then no field ends between them.
        if let FieldBytes::Text(text) = self
            && let Some(field) = text.get(start..end)
        {
            return Value::Text(field);
        }
        let bytes = match self {
            FieldBytes::Text(text) => text.as_bytes(),
            FieldBytes::Bytes(bytes) => bytes,
        };
        bytes.get(start..end).map_or(Value::Missing, Value::of_bytes)
    }
}

/// A failure of reading.
#[derive(Debug)]
pub enum ReadError {
    /// The operating system reports an error.
    Io(std::io::Error),
    /// Data of a binary file cannot be decoded. The text quotes no value.
    Undecodable(&'static str),
    /// The text is not a CSV file.
    Malformed {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        fault: Fault,
    },
}

impl ReadError {
    /// Returns the error of a table with private records: it has no line and no number.
    pub(in crate::data) fn unquoted(self, origin: &str) -> Error {
        let remedy = "make the whole file readable and well-formed; `matmech check-data` finds the \
                      line of a fault";
        match self {
            ReadError::Io(error) => Error::io(Path::new(origin), "reading", error, remedy),
            ReadError::Undecodable(format) => undecodable(origin, format),
            ReadError::Malformed { fault: Fault::FieldCount { .. }, .. } => {
                let expected = "lines with a value for every column";
                Error::bad_input(origin, expected, "another line", remedy)
            }
            ReadError::Malformed { fault, .. } => {
                let (expected, found) = fault.in_words();
                Error::bad_input(origin, expected, found, remedy)
            }
        }
    }

    /// Returns the error of a table that may be seen, with the line.
    pub(in crate::data) fn at_its_line(self, origin: &str) -> Error {
        let remedy = "correct the file: a header line, then one value per column on every line";
        match self {
            ReadError::Io(error) => Error::io(Path::new(origin), "reading", error, remedy),
            ReadError::Undecodable(format) => undecodable(origin, format),
            ReadError::Malformed { line, fault } => {
                let (expected, found) = fault.in_words();
                let place = Some(Place { line, column: 0 });
                Error::Parse {
                    origin: origin.to_owned(),
                    place,
                    expected,
                    found,
                    remedy: remedy.into(),
                }
            }
        }
    }
}

fn undecodable(origin: &str, format: &str) -> Error {
    Error::bad_input(
        origin,
        format!("{format} data that can be decoded to the end"),
        "damaged data, or an encoding that is not supported",
        "write the table again with the codec snappy, zstd, gzip or none, and check it by reading \
         it in the program that wrote it",
    )
}

/// What is wrong with a CSV file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A quotation mark is opened and never closed, or not in the line of the header.
    OpenQuotation,
    /// A carriage return outside quotation marks that no line feed follows. Some programs read it
    /// as the end of a record, others as a part of the value.
    CarriageReturn,
    /// The last line of a file with one column has no line end, so that an empty last value would
    /// be no record.
    NoLineEnd,
    /// The header is longer than 1 MiB.
    LongHeader,
    /// A line has another number of values than the header.
    FieldCount {
        /// The number of values of the header.
        expected: usize,
        /// The number of values of the line.
        found: usize,
    },
}

impl Fault {
    /// Returns what was expected, and what was found.
    ///
    /// The texts do not depend on records, except for [`Fault::FieldCount`].
    pub fn in_words(self) -> (String, String) {
        let (expected, found) = match self {
            Fault::OpenQuotation => {
                ("a quotation mark that is closed", "one that is opened and never closed")
            }
            Fault::CarriageReturn => (
                "lines that end with a line feed, and quotation marks around values with a \
                 carriage return",
                "a carriage return outside quotation marks",
            ),
            Fault::NoLineEnd => {
                ("a line end after the last line of a file with one column", "none")
            }
            Fault::LongHeader => ("a header of at most 1 MiB", "no end of the line"),
            Fault::FieldCount { expected, found } => {
                let values = |count| counted(count, ["value", "values"]);
                return (format!("{}, as in the header", values(expected)), values(found));
            }
        };
        (expected.into(), found.into())
    }
}

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
