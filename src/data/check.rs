//! What a release would make of a file, for those who may see the file. **Not private.**

use std::fs::File;
use std::path::Path;

use super::csv_bytes::CsvBytes;
use super::out_of_domain::OutOfDomain;
use super::person_limit::{PersonLimit, Persons};
use super::private_csv::PrivateCsv;
use super::record_coder::{Outcome, RecordCoder};
use crate::error::Result;
use crate::schema::Schema;

/// Lines that are described.
const MAX_SHOWN: usize = 10;

/// What happens to the values of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct AttributeCheck {
    /// The name.
    pub attribute: String,
    /// Values without a cell: their records are left out.
    pub outside: usize,
    /// Numbers out of range that get the nearest cell.
    pub clamped: usize,
    /// Values that get the cell that the schema declares for others.
    pub other: usize,
}

/// A value that has no cell of its own.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Offence {
    /// The line of the file, from 1, that its record starts in.
    pub line: usize,
    /// The attribute; none for the file as a whole.
    pub attribute: Option<String>,
    /// The values that have a cell.
    pub expected: String,
    /// The value.
    pub found: String,
}

/// What a release would make of a file.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DataCheck {
    /// Records in the file.
    pub records: usize,
    /// Records that a release would count.
    pub kept: usize,
    /// Records with a value outside the schema, which are left out.
    pub dropped: usize,
    /// Records beyond the limit of their person.
    pub over_limit: usize,
    /// Per attribute of the schema.
    pub attributes: Vec<AttributeCheck>,
    /// The first lines with a value that has no cell of its own.
    pub offences: Vec<Offence>,
}

/// Counts what a release would do with every record of a file. **Not private**: all counts are
/// exact, and values of the file are quoted.
///
/// # Errors
/// A file that cannot be opened or read, or a header without exactly one column per attribute.
pub fn check_csv(
    path: &Path,
    schema: &Schema,
    rule: OutOfDomain,
    person: Option<PersonLimit>,
) -> Result<DataCheck> {
    let mut csv = PrivateCsv::open(path, schema, person)?;
    check(&mut csv, schema, rule)
}

fn check(csv: &mut PrivateCsv<File>, schema: &Schema, rule: OutOfDomain) -> Result<DataCheck> {
    let coder = RecordCoder::new(schema, &csv.columns, rule);
    let mut persons = csv.person.as_ref().map(|(limit, column)| Persons::new(limit, *column));
    let attribute = |name: &str| AttributeCheck {
        attribute: name.to_owned(),
        outside: 0,
        clamped: 0,
        other: 0,
    };
    let attributes = schema.attributes().iter().map(|own| attribute(&own.name)).collect();
    let mut found = DataCheck {
        records: 0,
        kept: 0,
        dropped: 0,
        over_limit: 0,
        attributes,
        offences: Vec::new(),
    };
    let mut line = csv::ByteRecord::new();
    loop {
        match csv.reader.read_byte_record(&mut line) {
            Ok(true) => {}
            Ok(false) => return Ok(found),
            Err(error) => {
                let Some(opened) = csv.reader.get_ref().open_quotation() else {
                    return Err(csv.unreadable(error));
                };
                let expected = "a quotation mark that is closed".to_owned();
                let value = "one that is opened and never closed: a release fails".to_owned();
                found
                    .offences
                    .insert(0, Offence { line: opened, attribute: None, expected, found: value });
                return Ok(found);
            }
        }
        found.records += 1;
        if persons.as_mut().is_some_and(|persons| !persons.admit(&line)) {
            found.over_limit += 1;
            continue;
        }
        let at = line.position().map_or(0, |at| at.line() as usize);
        let mut is_inside = true;
        for (position, outcome) in coder.outcomes(&line).enumerate() {
            let own = &mut found.attributes[position];
            match outcome {
                Outcome::Cell(_) => continue,
                Outcome::Clamped(_) => own.clamped += 1,
                Outcome::Other(_) => own.other += 1,
                Outcome::Outside => {
                    own.outside += 1;
                    is_inside = false;
                }
            }
            if found.offences.len() < MAX_SHOWN {
                let (column, expected) = coder.described(position);
                let value = match line.get(column) {
                    Some(bytes) => format!("`{}`", String::from_utf8_lossy(bytes.trim_ascii())),
                    None => "no value".to_owned(),
                };
                let attribute = Some(own.attribute.clone());
                found.offences.push(Offence { line: at, attribute, expected, found: value });
            }
        }
        if is_inside {
            found.kept += 1;
        } else {
            found.dropped += 1;
        }
    }
}

impl<R> CsvBytes<R> {
    /// The line in which the quotation mark was opened that is open now.
    pub(super) fn open_quotation(&self) -> Option<usize> {
        self.is_quoted().then_some(self.opened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = "[[attribute]]\nname = \"age\"\nsize = 4\nkind = \"numeric\"\nbins = { low = 0, high = 40, count = 4 }\n\
                          [[attribute]]\nname = \"job\"\nsize = 2\nkind = \"categorical\"\nvalues = [\"clerk\", \"baker\"]\nother = \"baker\"\n";

    fn check_of(text: &str, rule: OutOfDomain, person: Option<PersonLimit>) -> DataCheck {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        check_csv(file.path(), &Schema::from_toml(SCHEMA, "S.toml").unwrap(), rule, person).unwrap()
    }

    #[test]
    fn every_record_is_counted_once() {
        let text = "id,age,job\np,5,clerk\np,99,clerk\nq,old,cook\np,15,clerk\nq,25\n";
        let found = check_of(text, OutOfDomain::Drop, None);
        assert_eq!((found.records, found.kept, found.dropped, found.over_limit), (5, 3, 2, 0));
        let counts: Vec<_> =
            found.attributes.iter().map(|own| (own.outside, own.clamped, own.other)).collect();
        assert_eq!(counts, [(2, 0, 0), (0, 0, 2)]);
        let lines: Vec<_> =
            found.offences.iter().map(|own| (own.line, own.found.as_str())).collect();
        assert_eq!(lines, [(3, "`99`"), (4, "`old`"), (4, "`cook`"), (6, "no value")]);
        let found =
            check_of(text, OutOfDomain::Clamp, Some(PersonLimit { column: "id".into(), rows: 2 }));
        assert_eq!((found.records, found.kept, found.dropped, found.over_limit), (5, 3, 1, 1));
        assert_eq!(found.attributes[0].clamped, 1);
    }

    #[test]
    fn a_quotation_mark_that_is_never_closed_is_found() {
        let found =
            check_of("age,job\n5,clerk\n6,\"a\nb\"\n7,\"clerk\n8,clerk\n", OutOfDomain::Drop, None);
        assert_eq!((found.offences[0].line, &found.offences[0].attribute), (5, &None));
        assert_eq!(found.records, 2);
    }
}
