//! How a release would handle the records of a table. **Not private.**

use super::open_table::OpenTable;
use super::out_of_domain::OutOfDomain;
use super::person_limit::Persons;
use super::record_coder::{Outcome, RecordCoder};
use super::table::{Batch, ReadError};
use crate::domain::Attribute;
use crate::error::Result;
use crate::schema::{Schema, Value};

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
    /// Missing values, wherever they are counted.
    pub missing: usize,
}

/// A value that is not valid for its attribute, or a fault of the file.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct InvalidValue {
    /// The first line of its record in a file, from 1.
    pub line: Option<usize>,
    /// The number of its record, from 1; `None` for a fault of the file.
    pub record: Option<usize>,
    /// The attribute; `None` for a fault of the file.
    pub attribute: Option<String>,
    /// The valid values.
    pub expected: String,
    /// The value found.
    pub found: String,
}

/// How a release would handle the records of a table.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct DataCheck {
    /// Records in the table.
    pub records: usize,
    /// Records that a release would count.
    pub kept: usize,
    /// Records with a value outside the schema, which are dropped.
    pub dropped: usize,
    /// Records that exceed the limit of their person.
    pub over_limit: usize,
    /// Records without an identifier of a person.
    pub without_person: usize,
    /// Kept records that meet every `[[impossible]]` condition of the schema, in its order.
    pub impossible: Vec<usize>,
    /// The counts per attribute of the schema.
    pub attributes: Vec<AttributeCheck>,
    /// The first invalid values.
    pub offences: Vec<InvalidValue>,
}

/// Checks how a release would handle every record of a table.
///
/// **Not private**: all counts are exact, and values of the table are quoted. Reading ends at the
/// first fault of a file, which is the first of the offences.
///
/// # Errors
/// The table cannot be read.
pub fn check(mut table: OpenTable, schema: &Schema, rule: OutOfDomain) -> Result<DataCheck> {
    let coder = RecordCoder::new(schema, rule);
    let mut persons = table.person().map(Persons::new);
    let distinct = table.distinct();
    let attribute = |attribute: &Attribute| AttributeCheck {
        attribute: attribute.name.clone(),
        outside: 0,
        clamped: 0,
        other: 0,
        missing: 0,
    };
    let attributes: Vec<_> = schema.attributes().iter().map(attribute).collect();
    let mut found = DataCheck {
        records: 0,
        kept: 0,
        dropped: 0,
        over_limit: 0,
        without_person: 0,
        impossible: vec![0; schema.impossible().len()],
        attributes,
        offences: Vec::new(),
    };
    let mut coded = Vec::new();
    let origin = table.origin().to_owned();
    loop {
        let batch = match table.next_batch() {
            Ok(Some(batch)) => batch,
            Ok(None) => return Ok(found),
            Err(ReadError::Malformed { line, fault }) => {
                let (expected, value) = fault.in_words();
                let offence = InvalidValue {
                    line: Some(line),
                    record: None,
                    attribute: None,
                    expected,
                    found: format!("{value}: a release fails"),
                };
                found.offences.insert(0, offence);
                return Ok(found);
            }
            Err(error) => return Err(error.at_its_line(&origin)),
        };
        coder.code(&batch, &mut coded);
        let missing: Vec<Vec<bool>> = (0..found.attributes.len())
            .map(|position| tested(&batch, position, |value| coder.is_missing(position, value)))
            .collect();
        let mut admitted = vec![true; batch.rows];
        let mut has_person = vec![true; batch.rows];
        if let (Some(persons), Some(identifiers)) =
            (&mut persons, batch.columns.get(schema.attributes().len()))
        {
            let distinct = distinct.and_then(|position| coded.get(position));
            persons.admit_all(identifiers, distinct, &mut admitted);
            has_person = tested(&batch, schema.attributes().len(), Persons::is_identifier);
        }
        for (row, is_admitted) in admitted.into_iter().enumerate() {
            found.records += 1;
            if !has_person[row] {
                found.without_person += 1;
                continue;
            }
            if !is_admitted {
                found.over_limit += 1;
                continue;
            }
            let mut is_inside = true;
            for (position, coded) in coded.iter().enumerate() {
                let check = &mut found.attributes[position];
                check.missing += usize::from(missing[position][row]);
                match coded.outcomes[row] {
                    Outcome::Cell => continue,
                    Outcome::Clamped => check.clamped += 1,
                    Outcome::Other => check.other += 1,
                    Outcome::Outside => {
                        check.outside += 1;
                        is_inside = false;
                    }
                }
                if found.offences.len() < MAX_SHOWN {
                    found.offences.push(InvalidValue {
                        line: batch.lines.get(row).copied(),
                        record: Some(found.records),
                        attribute: Some(check.attribute.clone()),
                        expected: coder.allowed(position),
                        found: batch.columns[position].in_words(row),
                    });
                }
            }
            if is_inside {
                found.kept += 1;
                for (count, condition) in found.impossible.iter_mut().zip(schema.impossible()) {
                    let meets = condition.contains(|position| coded[position].cells[row] as usize);
                    *count += usize::from(meets);
                }
            } else {
                found.dropped += 1;
            }
        }
    }
}

/// Returns a property of every value of a column.
fn tested(batch: &Batch<'_>, column: usize, test: impl Fn(Value<'_>) -> bool) -> Vec<bool> {
    let mut found = Vec::with_capacity(batch.rows);
    if let Some(values) = batch.columns.get(column) {
        values.for_each(|value: Value<'_>| found.push(test(value)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::PersonLimit;
    use crate::test_support::open_csv;

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
        let schema = Schema::from_toml(SCHEMA, "S.toml").unwrap();
        check(open_csv(text, &schema, person).unwrap(), &schema, rule).unwrap()
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
            found.offences.iter().map(|o| (o.line.unwrap(), o.found.as_str())).collect();
        assert_eq!(lines, [(3, "`99`"), (4, "`old`"), (4, "`cook`"), (6, "no value")]);
        let records: Vec<_> = found.offences.iter().map(|o| o.record.unwrap()).collect();
        assert_eq!(records, [2, 3, 3, 5]);
        let found = check_of(text, OutOfDomain::Clamp, Some(PersonLimit::new("id", 2)));
        assert_eq!((found.records, found.kept, found.dropped, found.over_limit), (5, 3, 1, 1));
        assert_eq!(found.attributes[0].clamped, 1);
    }

    /// Missing values are counted wherever they are; a record without an identifier is not over the
    /// limit.
    #[test]
    fn missing_values_and_identifiers_are_counted() {
        let text = "id,age,job\np,,clerk\np,5,\n,5,clerk\nq,,\n\" \",,x\n";
        let found = check_of(text, OutOfDomain::Drop, None);
        let missing: Vec<_> = found.attributes.iter().map(|check| check.missing).collect();
        assert_eq!((missing, found.without_person), (vec![3, 2], 0));
        let found = check_of(text, OutOfDomain::Drop, Some(PersonLimit::new("id", 1)));
        assert_eq!((found.records, found.without_person, found.over_limit), (5, 2, 1));
        let missing: Vec<_> = found.attributes.iter().map(|check| check.missing).collect();
        assert_eq!(missing, [2, 1]);
    }

    #[test]
    fn records_that_the_schema_calls_impossible_are_counted() {
        let conditions = "[[impossible]]\nwhere = { age = { from = 0, to = 9 }, job = \"clerk\" }\n\
                          [[impossible]]\nwhere = { age = { from = 30, to = 40 } }\n";
        let schema = Schema::from_toml(&format!("{SCHEMA}{conditions}"), "S.toml").unwrap();
        let text = "age,job\n5,clerk\n5,cook\n15,clerk\n35,clerk\n99,clerk\n";
        let table = open_csv(text, &schema, None).unwrap();
        let found = check(table, &schema, OutOfDomain::Drop).unwrap();
        assert_eq!((found.kept, found.impossible), (4, vec![1, 1]));
    }

    #[test]
    fn faults_are_found_at_their_lines() {
        for (fault, part) in
            [("7,\"clerk", "quotation mark"), ("7,clerk\rclerk", "carriage return")]
        {
            let text = format!("age,job\n5,clerk\n6,\"a\nb\"\n{fault}\n8,clerk\n");
            let found = check_of(&text, OutOfDomain::Drop, None);
            let offence = &found.offences[0];
            assert_eq!((offence.line, &offence.attribute), (Some(5), &None));
            assert!(offence.expected.contains(part), "{}", offence.expected);
            assert_eq!(found.records, 2);
        }
    }
}
