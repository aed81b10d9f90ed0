//! How a release would handle the records of a file. **Not private.**

use std::path::Path;

use super::csv_bytes::CsvBytes;
use super::out_of_domain::OutOfDomain;
use super::person_limit::{PersonLimit, Persons};
use super::private_csv::PrivateCsv;
use super::record_coder::{Outcome, RecordCoder};
use crate::domain::Attribute;
use crate::error::Result;
use crate::schema::Schema;

/// Maximum number of invalid values that are described.
const MAX_SHOWN: usize = 10;

/// How the values of an attribute are handled.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct AttributeCheck {
    /// The attribute's name.
    pub attribute: String,
    /// Values without a cell, whose records are dropped.
    pub outside: usize,
    /// Numbers out of range that are moved to the nearest cell.
    pub clamped: usize,
    /// Values that are counted in the attribute's cell for other values.
    pub other: usize,
}

/// A value that is not valid for its attribute, or an unclosed quotation mark.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct InvalidValue {
    /// The first line of its record, from 1.
    pub line: usize,
    /// The attribute; `None` for an unclosed quotation mark.
    pub attribute: Option<String>,
    /// The valid values.
    pub expected: String,
    /// The value found.
    pub found: String,
}

/// How a release would handle the records of a file.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DataCheck {
    /// Records in the file.
    pub records: usize,
    /// Records that a release would count.
    pub kept: usize,
    /// Records with a value outside the schema, which are dropped.
    pub dropped: usize,
    /// Records that exceed the limit of their person.
    pub over_limit: usize,
    /// The counts per attribute of the schema.
    pub attributes: Vec<AttributeCheck>,
    /// The first invalid values.
    pub offences: Vec<InvalidValue>,
}

/// Checks how a release would handle every record of a file.
///
/// **Not private**: all counts are exact, and values of the file are quoted.
///
/// # Errors
/// The file cannot be opened or read, or its header does not have exactly one column per attribute.
pub fn check_csv(
    path: &Path,
    schema: &Schema,
    rule: OutOfDomain,
    person: Option<PersonLimit>,
) -> Result<DataCheck> {
    let mut csv = PrivateCsv::open(path, schema, person)?;
    check(&mut csv, schema, rule)
}

fn check(csv: &mut PrivateCsv, schema: &Schema, rule: OutOfDomain) -> Result<DataCheck> {
    let coder = RecordCoder::new(schema, &csv.columns, rule);
    let mut persons = csv.person.as_ref().map(|(limit, column)| Persons::new(limit, *column));
    let attribute = |attribute: &Attribute| AttributeCheck {
        attribute: attribute.name.clone(),
        outside: 0,
        clamped: 0,
        other: 0,
    };
    let attributes = schema.attributes().iter().map(attribute).collect();
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
                found.offences.insert(
                    0,
                    InvalidValue { line: opened, attribute: None, expected, found: value },
                );
                return Ok(found);
            }
        }
        found.records += 1;
        if persons.as_mut().is_some_and(|persons| !persons.admit(&line)) {
            found.over_limit += 1;
            continue;
        }
        let line_number = line.position().map_or(0, |position| position.line() as usize);
        let mut is_inside = true;
        for (position, outcome) in coder.outcomes(&line).enumerate() {
            let check = &mut found.attributes[position];
            match outcome {
                Outcome::Cell(_) => continue,
                Outcome::Clamped(_) => check.clamped += 1,
                Outcome::Other(_) => check.other += 1,
                Outcome::Outside => {
                    check.outside += 1;
                    is_inside = false;
                }
            }
            if found.offences.len() < MAX_SHOWN {
                let (column, expected) = coder.described(position);
                let value = match line.get(column) {
                    Some(bytes) => format!("`{}`", String::from_utf8_lossy(bytes.trim_ascii())),
                    None => "no value".to_owned(),
                };
                let attribute = Some(check.attribute.clone());
                let line = line_number;
                found.offences.push(InvalidValue { line, attribute, expected, found: value });
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
    /// Returns the line of the quotation mark that is open now.
    pub(super) fn open_quotation(&self) -> Option<usize> {
        self.is_quoted().then_some(self.opened)
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
        other = "baker"
    "#;

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
        let counts: Vec<_> = found
            .attributes
            .iter()
            .map(|check| (check.outside, check.clamped, check.other))
            .collect();
        assert_eq!(counts, [(2, 0, 0), (0, 0, 2)]);
        let lines: Vec<_> =
            found.offences.iter().map(|offence| (offence.line, offence.found.as_str())).collect();
        assert_eq!(lines, [(3, "`99`"), (4, "`old`"), (4, "`cook`"), (6, "no value")]);
        let found =
            check_of(text, OutOfDomain::Clamp, Some(PersonLimit { column: "id".into(), rows: 2 }));
        assert_eq!((found.records, found.kept, found.dropped, found.over_limit), (5, 3, 1, 1));
        assert_eq!(found.attributes[0].clamped, 1);
    }

    #[test]
    fn an_open_quotation_mark_is_found() {
        let found =
            check_of("age,job\n5,clerk\n6,\"a\nb\"\n7,\"clerk\n8,clerk\n", OutOfDomain::Drop, None);
        assert_eq!((found.offences[0].line, &found.offences[0].attribute), (5, &None));
        assert_eq!(found.records, 2);
    }
}
