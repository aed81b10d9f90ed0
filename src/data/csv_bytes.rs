//! A byte source for CSV readers with stricter rules than the reader.

use std::io::{Error, ErrorKind, Read, Result};

/// Bytes read per call.
const BLOCK: usize = 1 << 16;

const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

fn invalid(reason: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, reason)
}

/// A source of CSV bytes that handles cases that the reader does not report.
///
/// - A quotation mark that is opened and never closed is an error at the end of the file. The
///   reader would treat the rest of the file as one value. In the header it is an error at the end
///   of the line.
/// - A blank line of a file with one column is a record with an empty value. The reader skips it,
///   so replacing a value by nothing would remove a record. For the same reason the last line of
///   such a file must have a line end. The header may follow blank lines.
///
/// The header is read byte by byte, so that no record is read before it is asked for.
///
/// The states are those of the reader: a field is quoted if its first byte is a quotation mark, two
/// quotation marks in a quoted field stand for one, and `\n`, `\r\n` and `\r` end a record. A byte
/// order mark is skipped.
#[derive(Debug)]
pub(super) struct CsvBytes<R> {
    source: R,
    state: State,
    header: Header,
    after_carriage_return: bool,
    out: Vec<u8>,
    used: usize,
    /// Bytes of the byte order mark found so far; all of them once the search has ended.
    mark: usize,
    ended: bool,
    /// The current line, from 1, and the line of the last quotation mark that opened a field.
    line: usize,
    pub(super) opened: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    RecordStart,
    FieldStart,
    Unquoted,
    Quoted,
    /// After a quotation mark in a quoted field: the end of the field, or the first of two marks.
    QuoteInQuoted,
}

/// What is known about the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Header {
    Open { columns: usize },
    OneColumn,
    MoreColumns,
}

impl<R> CsvBytes<R> {
    /// Returns whether the last byte is inside quotation marks.
    pub(super) fn is_quoted(&self) -> bool {
        self.state == State::Quoted
    }
}

impl<R: Read> CsvBytes<R> {
    pub(super) fn new(source: R) -> Self {
        CsvBytes {
            source,
            state: State::RecordStart,
            header: Header::Open { columns: 1 },
            after_carriage_return: false,
            out: Vec::new(),
            used: 0,
            mark: 0,
            ended: false,
            line: 1,
            opened: 0,
        }
    }

    /// Reads the next block of the source into `out`.
    ///
    /// The header is read byte by byte, so that no record is read with it.
    fn refill(&mut self) -> Result<()> {
        self.out.clear();
        self.used = 0;
        let is_header = matches!(self.header, Header::Open { .. });
        let mut block = vec![0; if is_header { 1 } else { BLOCK }];
        let filled = loop {
            match self.source.read(&mut block) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        for &byte in &block[..filled] {
            if self.mark == BYTE_ORDER_MARK.len() {
                self.take(byte);
            } else if byte == BYTE_ORDER_MARK[self.mark] {
                self.mark += 1;
            } else {
                self.end_of_mark();
                self.take(byte);
            }
            let is_quoted = self.is_quoted() && matches!(self.header, Header::Open { .. });
            if is_quoted && matches!(byte, b'\n' | b'\r') {
                return Err(invalid("a quotation mark of the header is not closed in its line"));
            }
        }
        if filled == 0 {
            self.ended = true;
            self.end_of_mark();
            if self.is_quoted() {
                return Err(invalid("a quotation mark is opened and never closed"));
            }
            if self.header == Header::OneColumn && self.state != State::RecordStart {
                return Err(invalid("the last line of a file with one column has no line end"));
            }
        }
        Ok(())
    }

    /// Ends the search for a byte order mark; a part of one belongs to the text.
    fn end_of_mark(&mut self) {
        let found = std::mem::replace(&mut self.mark, BYTE_ORDER_MARK.len());
        if found < BYTE_ORDER_MARK.len() {
            BYTE_ORDER_MARK[..found].iter().for_each(|&byte| self.take(byte));
        }
    }

    fn take(&mut self, byte: u8) {
        let ends_line = matches!(byte, b'\n' | b'\r');
        let second_half = byte == b'\n' && self.after_carriage_return;
        self.after_carriage_return = byte == b'\r';
        let next = match (self.state, byte) {
            (State::Quoted, b'"') => State::QuoteInQuoted,
            (State::Quoted, _) => State::Quoted,
            (State::QuoteInQuoted, b'"') => State::Quoted,
            (State::RecordStart | State::FieldStart, b'"') => State::Quoted,
            (_, b',') => {
                if let Header::Open { columns } = &mut self.header {
                    *columns += 1;
                }
                State::FieldStart
            }
            (_, b'\n' | b'\r') => State::RecordStart,
            _ => State::Unquoted,
        };
        if ends_line && self.state == State::RecordStart {
            if self.header == Header::OneColumn && !second_half {
                self.out.extend_from_slice(b"\"\"");
            }
        } else if next == State::RecordStart {
            match self.header {
                Header::Open { columns: 1 } => self.header = Header::OneColumn,
                Header::Open { .. } => self.header = Header::MoreColumns,
                Header::OneColumn | Header::MoreColumns => {}
            }
        }
        if next == State::Quoted && matches!(self.state, State::RecordStart | State::FieldStart) {
            self.opened = self.line;
        }
        self.line += usize::from(byte == b'\n');
        self.state = next;
        self.out.push(byte);
    }
}

impl<R: Read> Read for CsvBytes<R> {
    fn read(&mut self, to: &mut [u8]) -> Result<usize> {
        while self.used == self.out.len() {
            if self.ended {
                return Ok(0);
            }
            self.refill()?;
        }
        let count = to.len().min(self.out.len() - self.used);
        to[..count].copy_from_slice(&self.out[self.used..self.used + count]);
        self.used += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn records(source: impl Read) -> std::result::Result<Vec<csv::ByteRecord>, csv::Error> {
        let reader =
            csv::ReaderBuilder::new().flexible(true).has_headers(false).from_reader(source);
        reader.into_byte_records().collect()
    }

    /// A source that returns one byte per call.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, to: &mut [u8]) -> Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            self.0 = rest;
            to[0] = *first;
            Ok(1)
        }
    }

    /// Returns whether the reader is inside quotation marks at the end of the file: then an
    /// appended line becomes part of a value and not a separate record.
    fn is_open_at_the_end(bytes: &[u8]) -> bool {
        let marked = [bytes, b"\n\"mark\"\n"].concat();
        let all = records(marked.as_slice()).unwrap();
        all.last().is_none_or(|last| last.len() != 1 || &last[0] != b"mark")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn records_of_several_columns_match_the_reader(
            bytes in prop::collection::vec(prop::sample::select(b"ab,,\"\"\n\r ".to_vec()), 0..40),
        ) {
            let bytes = [b"x,y\n", bytes.as_slice()].concat();
            let fast = records(CsvBytes::new(bytes.as_slice()));
            let slow = records(CsvBytes::new(Slow(&bytes)));
            for source in [fast, slow] {
                match source {
                    Ok(found) => {
                        prop_assert!(!is_open_at_the_end(&bytes));
                        prop_assert_eq!(found, records(bytes.as_slice()).unwrap());
                    }
                    Err(error) => {
                        prop_assert!(is_open_at_the_end(&bytes), "{error}");
                        prop_assert!(error.to_string().contains("never closed"));
                    }
                }
            }
        }

        /// Without quotation marks, every line after the header is a record.
        #[test]
        fn blank_lines_of_one_column_are_records(
            lines in prop::collection::vec(
                (
                    prop::sample::select(vec!["", "a", "b c"]),
                    prop::sample::select(vec!["\n", "\r\n"]),
                ),
                0..12,
            ),
            blank in 0usize..3,
        ) {
            let text: String = lines.iter().map(|(line, end)| format!("{line}{end}")).collect();
            let text = format!("\u{feff}{}job\n{text}", "\n".repeat(blank));
            let found = records(CsvBytes::new(text.as_bytes())).unwrap();
            let values: Vec<String> =
                found.iter().map(|r| String::from_utf8(r[0].to_vec()).unwrap()).collect();
            let lines = lines.iter().map(|(line, _)| *line);
            let expected: Vec<&str> = std::iter::once("job").chain(lines).collect();
            prop_assert_eq!(values, expected);
        }
    }

    #[test]
    fn headers_and_last_lines_are_told_from_records() {
        for (text, count) in
            [("\"a\",b\nx\n\ny\n", 3), ("a\r\n\r\nx\r\n", 3), ("a,b\nx", 2), ("a", 1), ("", 0)]
        {
            assert_eq!(records(CsvBytes::new(text.as_bytes())).unwrap().len(), count, "{text:?}");
        }
        // Without a line end an empty last value would be no record.
        for (text, part) in [("a\nx\ny", "no line end"), ("\"a\nb\"\nx\n", "header")] {
            let error = records(CsvBytes::new(text.as_bytes())).unwrap_err().to_string();
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }

    /// The header is complete when nothing after its line has been read.
    #[test]
    fn no_record_is_read_with_the_header() {
        for header in ["job\n", "\u{feff}job\n", "id,job\n", "\njob\n"] {
            let text = format!("{header}secret\n");
            let mut source = text.as_bytes();
            let mut reader = csv::Reader::from_reader(CsvBytes::new(&mut source));
            assert!(reader.byte_headers().unwrap().iter().any(|name| name == b"job"));
            drop(reader);
            assert_eq!(source, b"secret\n", "{header:?}");
        }
    }
}
