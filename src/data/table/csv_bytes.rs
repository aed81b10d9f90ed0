//! A byte source for CSV readers with stricter rules than the reader.

use std::fmt;
use std::io::{Error, ErrorKind, Read, Result};

use super::typed::Fault;

/// Bytes read per call.
const BLOCK: usize = 1 << 16;

/// Maximum length of the header in bytes.
const MAX_HEADER: usize = 1 << 20;

const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// A fault with its line, inside an error of reading.
#[derive(Debug, Clone, Copy)]
pub(super) struct FaultAt {
    pub(super) line: usize,
    pub(super) fault: Fault,
}

impl fmt::Display for FaultAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (expected, found) = self.fault.in_words();
        write!(f, "expected {expected}, found {found}")
    }
}

impl std::error::Error for FaultAt {}

/// A source of CSV bytes that handles cases that the reader does not report.
///
/// - A carriage return outside quotation marks is an error unless a line feed follows. The reader
///   would end a record there, so that a value of one record could add records.
/// - A quotation mark that is opened and never closed is an error at the end of the file. The
///   reader would treat the rest of the file as one value. In the header it is an error at the end
///   of the line.
/// - A blank line of a file with one column is a record with an empty value. The reader skips it,
///   so replacing a value by nothing would remove a record. For the same reason the last line of
///   such a file must have a line end. The header may follow blank lines.
///
/// The header is read byte by byte, so that no record is read before it is asked for, and has at
/// most 1 MiB.
///
/// The states are those of the reader: a field is quoted if its first byte is a quotation mark, two
/// quotation marks in a quoted field stand for one, and `\n` and `\r\n` end a record. A byte order
/// mark is skipped.
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
    /// Bytes of the header.
    header_length: usize,
    /// The current line, from 1, and the line of the last quotation mark that opened a field.
    line: usize,
    opened: usize,
    /// The fault after the bytes in `out`.
    fault: Option<FaultAt>,
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
            header_length: 0,
            line: 1,
            opened: 0,
            fault: None,
        }
    }

    /// Records a fault, unless there is one.
    fn fail(&mut self, line: usize, fault: Fault) {
        self.fault.get_or_insert(FaultAt { line, fault });
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
        let mut rest = &block[..filled];
        while let Some((&byte, after)) = rest.split_first() {
            let plain = self.plain_bytes(rest);
            if plain > 0 {
                self.take_plain(&rest[..plain]);
                rest = &rest[plain..];
                continue;
            }
            rest = after;
            if self.mark == BYTE_ORDER_MARK.len() {
                self.take(byte);
            } else if byte == BYTE_ORDER_MARK[self.mark] {
                self.mark += 1;
            } else {
                self.end_of_mark();
                self.take(byte);
            }
            if self.fault.is_some() {
                return Ok(());
            }
        }
        if filled == 0 {
            self.ended = true;
            self.end_of_mark();
            if self.state == State::Quoted {
                self.fail(self.opened, Fault::OpenQuotation);
            } else if self.after_carriage_return {
                self.fail(self.line, Fault::CarriageReturn);
            } else if self.header == Header::OneColumn && self.state != State::RecordStart {
                self.fail(self.line, Fault::NoLineEnd);
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

    /// Returns the number of first bytes that are passed on as they are, in one piece: those up to
    /// a quotation mark or a carriage return, after the header of a file with several columns.
    fn plain_bytes(&self, bytes: &[u8]) -> usize {
        if self.header != Header::MoreColumns
            || self.after_carriage_return
            || self.state == State::QuoteInQuoted
        {
            return 0;
        }
        memchr::memchr2(b'"', b'\r', bytes).unwrap_or(bytes.len())
    }

    /// Takes bytes that [`CsvBytes::plain_bytes`] has found.
    fn take_plain(&mut self, bytes: &[u8]) {
        self.line += memchr::memchr_iter(b'\n', bytes).count();
        if self.state != State::Quoted {
            self.state = match bytes.last() {
                Some(b',') => State::FieldStart,
                Some(b'\n') => State::RecordStart,
                _ => State::Unquoted,
            };
        }
        self.out.extend_from_slice(bytes);
    }

    fn take(&mut self, byte: u8) {
        let is_quoted = self.state == State::Quoted;
        if matches!(self.header, Header::Open { .. }) {
            self.header_length += 1;
            if is_quoted && matches!(byte, b'\n' | b'\r') {
                return self.fail(self.opened, Fault::OpenQuotation);
            }
            if self.header_length > MAX_HEADER {
                return self.fail(self.line, Fault::LongHeader);
            }
        }
        if std::mem::take(&mut self.after_carriage_return) && byte != b'\n' {
            return self.fail(self.line, Fault::CarriageReturn);
        }
        if byte == b'\r' && !is_quoted {
            // `\r\n` becomes `\n`.
            self.after_carriage_return = true;
            return;
        }
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
            (_, b'\n') => State::RecordStart,
            _ => State::Unquoted,
        };
        if byte == b'\n' && self.state == State::RecordStart {
            if self.header == Header::OneColumn {
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
            if let Some(fault) = self.fault {
                return Err(Error::new(ErrorKind::InvalidData, fault));
            }
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

    /// Returns whether the reader is inside quotation marks at the end of the bytes: then an
    /// appended line becomes part of a value and not a separate record.
    fn is_open_at_the_end(bytes: &[u8]) -> bool {
        let marked = [bytes, b"\n\"mark\"\n"].concat();
        let all = records(marked.as_slice()).unwrap();
        all.last().is_none_or(|last| last.len() != 1 || &last[0] != b"mark")
    }

    /// Returns whether a carriage return is outside quotation marks and not before a line feed.
    fn has_lone_carriage_return(bytes: &[u8]) -> bool {
        (0..bytes.len()).any(|i| {
            bytes[i] == b'\r'
                && bytes.get(i + 1) != Some(&b'\n')
                && !is_open_at_the_end(&bytes[..i])
        })
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
                        prop_assert!(!has_lone_carriage_return(&bytes));
                        prop_assert_eq!(found, records(bytes.as_slice()).unwrap());
                    }
                    Err(error) if has_lone_carriage_return(&bytes) => {
                        prop_assert!(error.to_string().contains("carriage return"), "{error}");
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
        for (text, part) in [
            ("a\nx\ny", "a line end after the last line"),
            ("\"a\nb\"\nx\n", "never closed"),
            ("a,b\rx,y\r", "carriage return"),
            ("a,b\r\r\nx,y\r\n", "carriage return"),
            ("a,b\r", "carriage return"),
        ] {
            let error = records(CsvBytes::new(text.as_bytes())).unwrap_err().to_string();
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }

    /// A value with a carriage return cannot add records, wherever it is.
    #[test]
    fn lone_carriage_returns_are_found_in_their_lines() {
        for (text, line) in [
            ("a,b\n1,2\nclerk\rclerk\rclerk,3\n", 3),
            ("a,b\n1,2\n3,\"x\"\ry\n", 3),
            ("a,b\n1,\"\r\n\r\"\n\r5,6\n", 4),
            ("a,b\n1,2\n3,4\r", 3),
        ] {
            let mut bytes = CsvBytes::new(text.as_bytes());
            let error = std::io::copy(&mut bytes, &mut Vec::new()).unwrap_err();
            let fault = error.get_ref().and_then(|e| e.downcast_ref::<FaultAt>()).unwrap();
            assert_eq!((fault.line, fault.fault), (line, Fault::CarriageReturn), "{text:?}");
        }
        assert_eq!(records(CsvBytes::new("a,b\n\"1\r\r\",2\n".as_bytes())).unwrap().len(), 2);
    }

    #[test]
    fn the_header_has_a_limit() {
        let mut bytes = CsvBytes::new(std::io::repeat(0));
        let error = std::io::copy(&mut bytes, &mut std::io::sink()).unwrap_err();
        assert!(error.to_string().contains("1 MiB"), "{error}");
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
