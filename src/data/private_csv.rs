//! CSV files with private records: no message and no count depends on the records.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::Records;
use super::column::Column;
use super::csv_bytes::CsvBytes;
use super::out_of_domain::OutOfDomain;
use super::person_limit::{PersonLimit, Persons};
use super::record_coder::{Outcome, RecordCoder, columns_named};
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::schema::Schema;

/// A CSV file of which only the header, which is public, has been read.
///
/// Columns are found by the names of the schema's attributes; other columns are ignored, and so are
/// spaces around values.
pub struct PrivateCsv<R = Box<dyn Read + Send>> {
    path: PathBuf,
    pub(super) reader: csv::Reader<CsvBytes<R>>,
    /// The column of every attribute of the schema.
    pub(super) columns: Vec<usize>,
    pub(super) person: Option<(PersonLimit, usize)>,
}

/// Omits the reader, whose buffer contains records.
impl<R> std::fmt::Debug for PrivateCsv<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PrivateCsv").field("path", &self.path).finish_non_exhaustive()
    }
}

impl PrivateCsv {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// The file cannot be opened or read, or its header does not have exactly one column for every
    /// attribute of the schema and for the person. No message quotes the file.
    pub fn open(path: &Path, schema: &Schema, person: Option<PersonLimit>) -> Result<Self> {
        let remedy = "give the path of a CSV file that this user can read";
        let failed = |e| Error::io(path, "opening", e, remedy);
        let file = File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.is_dir() {
            return Err(Error::bad_input(path.display().to_string(), "a file", "a folder", remedy));
        }
        Self::from_source(Box::new(file), path, schema, person)
    }
}

impl<R: Read> PrivateCsv<R> {
    /// [`PrivateCsv::open`] for any source of bytes; messages name `path`.
    ///
    /// # Errors
    /// As [`PrivateCsv::open`].
    pub fn from_source(
        source: R,
        path: &Path,
        schema: &Schema,
        person: Option<PersonLimit>,
    ) -> Result<Self> {
        let mut reader =
            csv::ReaderBuilder::new().flexible(true).from_reader(CsvBytes::new(source));
        let mut header = reader.byte_headers().map_err(|e| unreadable(path, e))?.clone();
        header.trim();
        let attributes = schema.attributes().iter().map(|a| a.name.as_str());
        let names: Vec<&str> =
            attributes.chain(person.as_ref().map(|limit| limit.column.as_str())).collect();
        let found: Vec<Vec<usize>> =
            names.iter().map(|name| columns_named(&header, name)).collect();
        let listed = |count: &dyn Fn(usize) -> bool| {
            let wrong = names.iter().zip(&found).filter(|(_, columns)| count(columns.len()));
            wrong.map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        let (missing, repeated) = (listed(&|n| n == 0), listed(&|n| n > 1));
        if !missing.is_empty() || !repeated.is_empty() {
            let mut wrong = Vec::new();
            if !missing.is_empty() {
                wrong.push(format!("no column {missing}"));
            }
            if !repeated.is_empty() {
                wrong.push(format!("several columns {repeated}"));
            }
            return Err(Error::bad_input(
                format!("{}, header", path.display()),
                "a first line in UTF-8 that names every attribute of the schema once, separated \
                 by commas",
                wrong.join(" and "),
                "add a header line, export the file as CSV with commas, or rename columns or \
                 attributes; the header is public, so this check costs nothing",
            ));
        }
        let mut columns: Vec<usize> = found.into_iter().flatten().collect();
        let person = match person {
            Some(limit) => columns.pop().map(|column| (limit, column)),
            None => None,
        };
        Ok(PrivateCsv { path: path.to_owned(), reader, columns, person })
    }

    /// Returns the error of reading, which does not quote the file.
    pub(super) fn unreadable(&self, error: csv::Error) -> Error {
        unreadable(&self.path, error)
    }

    /// Reads all records and keeps the values of the attributes `kept`.
    ///
    /// A record is kept if every attribute of the schema has a cell for its value, including the
    /// attributes that are not kept. A missing value, or one that is not UTF-8, is outside its
    /// attribute. A table may be empty.
    ///
    /// *Memory*: 1, 2 or 4 bytes per record and kept attribute, depending on its size, and the
    /// identifiers of persons. *Time*: O(values · log size).
    ///
    /// # Errors
    /// The file cannot be read to its end, ends within quotation marks, or has more than 2³² − 1
    /// records.
    pub fn read(
        mut self,
        schema: &Schema,
        rule: OutOfDomain,
        kept: AttributeSet,
    ) -> Result<Records> {
        let coder = RecordCoder::new(schema, &self.columns, rule);
        let mut persons = self.person.as_ref().map(|(limit, column)| Persons::new(limit, *column));
        let attributes = schema.attributes().iter().enumerate();
        let mut table: Vec<Option<Column>> =
            attributes.map(|(p, a)| kept.contains(p).then(|| Column::for_size(a.size))).collect();
        let mut count = 0usize;
        let mut line = csv::ByteRecord::new();
        let mut cells = Vec::with_capacity(table.len());
        while self.reader.read_byte_record(&mut line).map_err(|e| unreadable(&self.path, e))? {
            if persons.as_mut().is_some_and(|persons| !persons.admit(&line)) {
                continue;
            }
            cells.clear();
            cells.extend(coder.outcomes(&line).map_while(Outcome::cell));
            if cells.len() < table.len() {
                continue;
            }
            count += 1;
            if count > u32::MAX as usize {
                let remedy = "release parts of the table one by one";
                return Err(Error::too_large(
                    "table",
                    "records",
                    u32::MAX.into(),
                    count as f64,
                    remedy,
                ));
            }
            for (column, &cell) in table.iter_mut().zip(&cells) {
                if let Some(column) = column {
                    column.push(cell);
                }
            }
        }
        Records::of_some_attributes(schema, table, count)
    }
}

fn unreadable(path: &Path, error: csv::Error) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(source) => {
            let remedy = "make the whole file readable and end its last line; `matmech check-data` \
                          finds the line of a quotation mark that is not closed";
            Error::io(path, "reading", source, remedy)
        }
        // Other errors of the reader would quote the file.
        _ => Error::bad_input(
            path.display().to_string(),
            "a CSV file",
            "another",
            "export the file as CSV",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"
        [[attribute]]
        name = "age"
        size = 4
        kind = "numeric"
        bins = { low = 0, high = 40, count = 4 }
        [[attribute]]
        name = "job"
        size = 2
        kind = "categorical"
        values = ["clerk", "baker"]
    "#;

    fn schema() -> Schema {
        Schema::from_toml(SCHEMA, "S.toml").unwrap()
    }

    fn read_with(
        bytes: &[u8],
        schema: &Schema,
        rule: OutOfDomain,
        person: Option<PersonLimit>,
    ) -> Result<Records> {
        let kept = AttributeSet::first(schema.attributes().len());
        PrivateCsv::from_source(bytes, Path::new("X.csv"), schema, person)?.read(schema, rule, kept)
    }

    fn read(bytes: &[u8], rule: OutOfDomain) -> Result<Vec<Vec<u32>>> {
        let records = read_with(bytes, &schema(), rule, None)?;
        Ok((0..2).map(|p| records.column(p).unwrap().collect()).collect())
    }

    const TEXT: &[u8] = b"age,job,id\n5,clerk,1\n, ,\n15\n35,baker,7,8,9\n99,clerk,2\n\
                          \xff\xfe,clerk,3\n25,\xff,3\n20,cook,1\n 25 , baker ,4\n";

    #[test]
    fn records_outside_the_schema_do_not_affect_others() {
        assert_eq!(read(TEXT, OutOfDomain::Drop).unwrap(), [[0, 3, 2], [0, 1, 1]]);
        assert_eq!(read(TEXT, OutOfDomain::Clamp).unwrap(), [[0, 3, 3, 2], [0, 1, 0, 1]]);
        let none: [Vec<u32>; 2] = [vec![], vec![]];
        for empty in [&b"age,job\n"[..], b"age,job", b"job,age\nx,y\n"] {
            assert_eq!(read(empty, OutOfDomain::Drop).unwrap(), none);
        }
    }

    /// If every attribute has a cell for other values, no line is dropped.
    #[test]
    fn other_values_are_counted_in_their_cell() {
        let text = SCHEMA
            .replace("count = 4 }", "count = 4 }\nother = 10")
            .replace("\"baker\"]", "\"baker\"]\nother = \"baker\"");
        let schema = Schema::from_toml(&text, "S.toml").unwrap();
        assert!(schema.has_cells_for_all_values());
        let of = |rule| {
            let records = read_with(TEXT, &schema, rule, None).unwrap();
            [0, 1].map(|p| records.column(p).unwrap().collect::<Vec<_>>())
        };
        assert_eq!(
            of(OutOfDomain::Drop),
            [[0, 1, 1, 3, 1, 1, 2, 2, 2], [0, 1, 1, 1, 0, 0, 1, 1, 1]]
        );
        assert_eq!(
            of(OutOfDomain::Clamp),
            [[0, 1, 1, 3, 3, 1, 2, 2, 2], [0, 1, 1, 1, 0, 0, 1, 1, 1]]
        );
        let job = "[[attribute]]\nname = \"job\"\nsize = 2\nkind = \"categorical\"\n\
                   values = [\"a\", \"b\"]\nother = \"b\"\n";
        let job = Schema::from_toml(job, "S.toml").unwrap();
        let records = read_with(b"job\na\n\na\n?\n", &job, OutOfDomain::Drop, None).unwrap();
        assert_eq!(records.column(0).unwrap().collect::<Vec<_>>(), [0, 1, 0, 1]);
    }

    /// The width of a column does not depend on the records, and attributes that are not kept take
    /// no memory.
    #[test]
    fn only_counted_attributes_are_kept() {
        let schema = schema();
        let csv = PrivateCsv::from_source(TEXT, Path::new("X.csv"), &schema, None).unwrap();
        let records = csv.read(&schema, OutOfDomain::Drop, AttributeSet::single(1)).unwrap();
        assert!(records.column(0).is_none() && records.len() == 3);
        assert_eq!(records.marginal(AttributeSet::single(1)).unwrap(), [1.0, 2.0]);
        assert_eq!(records.marginal(AttributeSet::EMPTY).unwrap(), [3.0]);
        assert!(records.marginal(AttributeSet::single(0)).is_err());
    }

    #[test]
    fn the_first_records_of_a_person_are_kept() {
        // Records without an identifier belong to no person and are not kept.
        let text = b"id,age,job\np,5,clerk\nq,15,clerk\np,99,clerk\n p ,25,clerk\nq,35,clerk\n\
                     ,5,baker\n,15,baker\nr\n";
        let ages = |rows| {
            let limit = PersonLimit { column: "id".into(), rows };
            let records = read_with(text, &schema(), OutOfDomain::Drop, Some(limit)).unwrap();
            records.column(0).unwrap().collect::<Vec<_>>()
        };
        assert_eq!(ages(1), [0, 1]);
        // The record outside the schema counts as one of p's.
        assert_eq!(ages(2), [0, 1, 3]);
        assert_eq!(ages(3), [0, 1, 2, 3]);
        let limit = PersonLimit { column: "ssn".into(), rows: 1 };
        let refused =
            read_with(text, &schema(), OutOfDomain::Drop, Some(limit)).unwrap_err().to_string();
        assert!(refused.contains("no column `ssn`") && !refused.contains("id"), "{refused}");
    }

    /// No message quotes the file, whatever is wrong with it.
    #[test]
    fn invalid_headers_are_refused_without_quoting_the_file() {
        for text in [
            &b""[..],
            b"age\nsecret\n",
            b"age,job,age\n5,clerk,5\n",
            b"secret,37\n",
            b"age;job\nsecret;clerk\n",
            b"a\xffge,job\nsecret,clerk\n",
            b"\xff\xfea\0g\0e\0,\0j\0o\0b\0\n\0secret",
            b"age\x0bjob\x0bsecret\x0b37",
            b"PK\x03\x04secret",
        ] {
            let message = read(text, OutOfDomain::Drop).unwrap_err().to_string();
            assert!(message.contains("X.csv") && message.contains("remedy"), "{message}");
            assert!(!message.contains("secret") && !message.contains("37"), "{message}");
        }
        // A column whose name is not UTF-8 is not an attribute of the schema.
        assert!(read(b"age,job,\xff\n5,clerk,1\n", OutOfDomain::Drop).is_ok());
        let message = read(b"age,job\n5,clerk\n6,\"secret\n7,clerk\n", OutOfDomain::Drop)
            .unwrap_err()
            .to_string();
        assert!(message.contains("never closed") && !message.contains("secret"), "{message}");
    }
}
