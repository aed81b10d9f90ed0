//! CSV files with a header: every column is text.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::csv_bytes::{CsvBytes, FaultAt};
use super::typed::{Batch, ColumnHeader, Fault, FieldBytes, ReadError, TypedTable, Values};
use crate::error::{Error, Result};
use crate::schema::ColumnType;

/// Records per batch.
const BATCH: usize = 1024;

/// Bytes that the reader splits at a time.
const BUFFER: usize = 1 << 16;

/// A range that starts after its end: the line has no value for the column.
const NO_FIELD: (usize, usize) = (1, 0);

/// How lines with another number of values than the header are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldCounts {
    /// Missing values are missing, and additional values are ignored.
    Any,
    /// They are errors.
    Equal,
}

/// A CSV file of which only the header has been read.
///
/// An empty field is an empty text. `Debug` shows the path only.
pub struct CsvTable {
    origin: String,
    reader: csv::Reader<CsvBytes<Box<dyn Read + Send>>>,
    headers: Vec<ColumnHeader>,
    field_counts: FieldCounts,
    /// The fields of the last batch.
    bytes: FieldBytes,
    ranges: Vec<Vec<(usize, usize)>>,
    lines: Vec<usize>,
    record: csv::ByteRecord,
    /// The error after the last batch.
    error: Option<ReadError>,
}

impl std::fmt::Debug for CsvTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CsvTable").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl CsvTable {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// The file cannot be opened or read, or its header is malformed. No message quotes the file.
    pub fn open(path: &Path, field_counts: FieldCounts) -> Result<Self> {
        let remedy = "give the path of a CSV file with a header line that this user can read";
        let failed = |e| Error::io(path, "opening", e, remedy);
        let file = File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.is_dir() {
            return Err(Error::bad_input(path.display().to_string(), "a file", "a folder", remedy));
        }
        Self::from_source(Box::new(file), &path.display().to_string(), field_counts)
    }

    /// [`CsvTable::open`] for any source of bytes; messages name `origin`.
    ///
    /// # Errors
    /// As [`CsvTable::open`].
    pub fn from_source(
        source: Box<dyn Read + Send>,
        origin: &str,
        field_counts: FieldCounts,
    ) -> Result<Self> {
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .buffer_capacity(BUFFER)
            .from_reader(CsvBytes::new(source));
        let mut header =
            reader.byte_headers().map_err(|error| read_error(error).unquoted(origin))?.clone();
        header.trim();
        let column = |name: &[u8]| ColumnHeader {
            name: std::str::from_utf8(name).ok().map(str::to_owned),
            kind: ColumnType::Text,
        };
        let headers = header.iter().map(column).collect();
        Ok(CsvTable {
            origin: origin.to_owned(),
            reader,
            headers,
            field_counts,
            bytes: FieldBytes::default(),
            ranges: Vec::new(),
            lines: Vec::new(),
            record: csv::ByteRecord::new(),
            error: None,
        })
    }

    /// Reads the next record; `false` at the end.
    fn read(&mut self) -> std::result::Result<bool, ReadError> {
        if !self.reader.read_byte_record(&mut self.record).map_err(read_error)? {
            return Ok(false);
        }
        let (expected, found) = (self.headers.len(), self.record.len());
        if self.field_counts == FieldCounts::Equal && expected != found {
            let fault = Fault::FieldCount { expected, found };
            return Err(ReadError::Malformed { line: self.line(), fault });
        }
        Ok(true)
    }

    /// Returns the first line of the record.
    fn line(&self) -> usize {
        self.record.position().map_or(0, |position| position.line() as usize)
    }
}

fn read_error(error: csv::Error) -> ReadError {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => {
            match error.get_ref().and_then(|inner| inner.downcast_ref::<FaultAt>()) {
                Some(&FaultAt { line, fault }) => ReadError::Malformed { line, fault },
                None => ReadError::Io(error),
            }
        }
        // A flexible reader of bytes reports no other errors.
        other => ReadError::Io(std::io::Error::other(format!("{other:?}"))),
    }
}

impl TypedTable for CsvTable {
    fn origin(&self) -> &str {
        &self.origin
    }

    fn columns(&self) -> &[ColumnHeader] {
        &self.headers
    }

    fn next_batch(
        &mut self,
        columns: &[usize],
    ) -> std::result::Result<Option<Batch<'_>>, ReadError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut bytes: Vec<u8> = std::mem::take(&mut self.bytes).into();
        bytes.clear();
        self.lines.clear();
        self.ranges.resize_with(columns.len(), Vec::new);
        self.ranges.iter_mut().for_each(Vec::clear);
        while self.lines.len() < BATCH {
            match self.read() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if self.lines.is_empty() => return Err(error),
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            }
            self.lines.push(self.line());
            for (&column, ranges) in columns.iter().zip(&mut self.ranges) {
                let start = bytes.len();
                ranges.push(match self.record.get(column) {
                    Some(field) => {
                        bytes.extend_from_slice(field);
                        (start, bytes.len())
                    }
                    None => NO_FIELD,
                });
            }
        }
        if self.lines.is_empty() {
            return Ok(None);
        }
        self.bytes = bytes.into();
        let columns =
            self.ranges.iter().map(|ranges| Values::Fields(&self.bytes, ranges)).collect();
        Ok(Some(Batch { rows: self.lines.len(), columns, lines: &self.lines }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str, field_counts: FieldCounts) -> CsvTable {
        let source = Box::new(std::io::Cursor::new(text.to_owned()));
        CsvTable::from_source(source, "X.csv", field_counts).unwrap()
    }

    #[test]
    fn fields_are_found_by_column() {
        let mut table = table("a,b,c\n1,,\"x\ny\"\n2\n", FieldCounts::Any);
        let names: Vec<_> = table.columns().iter().map(|c| c.name.clone().unwrap()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        let batch = table.next_batch(&[2, 0, 1]).unwrap().unwrap();
        assert_eq!((batch.rows, batch.lines), (2, &[2, 4][..]));
        let values = |row| [0, 1, 2].map(|column| batch.columns[column].in_words(row));
        assert_eq!(values(0), ["`x\ny`", "`1`", "``"]);
        assert_eq!(values(1), ["no value", "`2`", "no value"]);
        assert!(table.next_batch(&[0]).unwrap().is_none());
    }

    /// Records before an error are returned first.
    #[test]
    fn errors_follow_the_records_before_them() {
        for (text, field_counts, fault) in [
            ("a,b\n1,2\n3\n", FieldCounts::Equal, Fault::FieldCount { expected: 2, found: 1 }),
            ("a,b\n1,2\n3,\"4\n", FieldCounts::Any, Fault::OpenQuotation),
            ("a,b\n1,2\n3,4\r5\n", FieldCounts::Any, Fault::CarriageReturn),
        ] {
            let mut table = table(text, field_counts);
            assert_eq!(table.next_batch(&[0]).unwrap().unwrap().rows, 1, "{text:?}");
            let Err(ReadError::Malformed { line, fault: found }) = table.next_batch(&[0]) else {
                panic!("{text:?}");
            };
            assert_eq!((line, found), (3, fault), "{text:?}");
        }
    }
}
