//! Tables with typed columns, read in batches.

use std::fmt;
use std::path::Path;

use super::owned_value::OwnedValue;
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
    Fields(&'a [u8], &'a [(usize, usize)]),
    /// Integers.
    Integer(&'a [i64]),
    /// Integers without a sign.
    Unsigned(&'a [u64]),
    /// Doubles; NaN is a missing value.
    Float(&'a [f64]),
    /// Single-precision numbers, which stand for their shortest decimals; NaN is a missing value.
    Single(&'a [f32]),
    /// Booleans.
    Boolean(&'a [bool]),
    /// Times as multiples of a number of nanoseconds; the smallest integer is a missing value.
    Time(&'a [i64], i64),
    /// Values with types of their own.
    Any(&'a [OwnedValue]),
}

impl fmt::Debug for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Values")
    }
}

impl<'a> Values<'a> {
    /// Returns the value of a record; missing past the end.
    pub fn get(&self, row: usize) -> Value<'a> {
        let value = match *self {
            Values::Fields(bytes, ranges) => {
                ranges.get(row).and_then(|&(start, end)| bytes.get(start..end).map(Value::of_bytes))
            }
            Values::Integer(values) => values.get(row).map(|&v| Value::Integer(v.into())),
            Values::Unsigned(values) => values.get(row).map(|&v| Value::Integer(v.into())),
            Values::Float(values) => {
                values.get(row).filter(|v| !v.is_nan()).map(|&v| Value::Float(v))
            }
            Values::Single(values) => {
                values.get(row).filter(|v| !v.is_nan()).map(|&v| Value::Float(widened(v)))
            }
            Values::Boolean(values) => values.get(row).map(|&v| Value::Boolean(v)),
            Values::Time(values, unit) => values
                .get(row)
                .filter(|&&v| v != i64::MIN)
                .map(|&v| Value::Time(i128::from(v) * i128::from(unit))),
            Values::Any(values) => values.get(row).map(OwnedValue::as_value),
        };
        value.unwrap_or(Value::Missing)
    }
}

/// Returns the double of the shortest decimal of a single-precision number.
fn widened(single: f32) -> f64 {
    let double = f64::from(single);
    // Integers below 2²⁴ are their own shortest decimals.
    if single.fract() == 0.0 && single.abs() < 16_777_216.0 {
        return double;
    }
    format!("{single:e}").parse().unwrap_or(double)
}

/// A failure of reading.
#[derive(Debug)]
pub enum ReadError {
    /// The operating system reports an error.
    Io(std::io::Error),
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
                return (format!("{expected} values, as in the header"), format!("{found} values"));
            }
        };
        (expected.into(), found.into())
    }
}
