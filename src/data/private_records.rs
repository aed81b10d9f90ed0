//! Reading of private records: no message and no count depends on them.

use super::Records;
use super::column::Column;
use super::open_table::OpenTable;
use super::out_of_domain::OutOfDomain;
use super::person_limit::Persons;
use super::record_coder::RecordCoder;
use crate::domain::AttributeSet;
use crate::error::{Error, Result};
use crate::schema::Schema;

impl OpenTable {
    /// Reads all records and keeps the values of the attributes `kept`.
    ///
    /// A record is kept if every attribute of the schema has a cell for its value, including the
    /// attributes that are not kept. The table may be empty.
    ///
    /// *Memory*: 1, 2 or 4 bytes per record and kept attribute, depending on its size, and the
    /// identifiers of persons. *Time*: O(values).
    ///
    /// # Errors
    /// The rule does not allow the schema: then nothing is read. The table cannot be read to its
    /// end, or has more than 2³² − 1 records. No message quotes the
    /// table.
    pub fn read_private(
        mut self,
        schema: &Schema,
        rule: OutOfDomain,
        kept: AttributeSet,
    ) -> Result<Records> {
        rule.check(schema)?;
        let origin = self.origin().to_owned();
        let coder = RecordCoder::new(schema, rule);
        let mut persons = self.person().map(Persons::new);
        let distinct = self.distinct();
        let attributes = schema.attributes().iter().enumerate();
        let mut table: Vec<Option<Column>> =
            attributes.map(|(p, a)| kept.contains(p).then(|| Column::for_size(a.size))).collect();
        let mut count = 0usize;
        let mut coded = Vec::new();
        while let Some(batch) = self.next_batch().map_err(|error| error.unquoted(&origin))? {
            let mut kept = coder.code(&batch, &mut coded);
            if let (Some(persons), Some(identifiers)) =
                (&mut persons, batch.columns.get(table.len()))
            {
                // Records outside the schema count as records of their person.
                let distinct = distinct.and_then(|position| coded.get(position));
                persons.admit_all(identifiers, distinct, &mut kept);
            }
            let kept_count = kept.iter().filter(|kept| **kept).count();
            let kept = (kept_count < batch.rows).then_some(kept.as_slice());
            count += kept_count;
            for (column, coded) in table.iter_mut().zip(&coded) {
                if let Some(column) = column {
                    column.extend(&coded.cells, kept);
                }
            }
            if count > u32::MAX as usize {
                let remedy = "release parts of the table one by one";
                let limit = u32::MAX.into();
                return Err(Error::too_large("table", "records", limit, count as f64, remedy));
            }
        }
        Records::of_some_attributes(schema, table, count)
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::PersonLimit;
    use crate::test_support::{open_csv, read_csv};

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
        read_csv(bytes, schema, rule, person)
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
        let table = open_csv(TEXT, &schema, None).unwrap();
        let kept = AttributeSet::single(1);
        let records = table.read_private(&schema, OutOfDomain::Drop, kept).unwrap();
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
            let limit = PersonLimit::new("id", rows);
            let records = read_with(text, &schema(), OutOfDomain::Drop, Some(limit)).unwrap();
            records.column(0).unwrap().collect::<Vec<_>>()
        };
        assert_eq!(ages(1), [0, 1]);
        // The record outside the schema counts as one of p's.
        assert_eq!(ages(2), [0, 1, 3]);
        assert_eq!(ages(3), [0, 1, 2, 3]);
        let limit = PersonLimit::new("ssn", 1);
        let refused =
            read_with(text, &schema(), OutOfDomain::Drop, Some(limit)).unwrap_err().to_string();
        assert!(refused.contains("no column `ssn`") && !refused.contains("id"), "{refused}");
    }

    /// Of every person and age the first record counts, whether its other values are inside the
    /// schema or not. Records without a cell of age count for nobody.
    #[test]
    fn the_first_record_of_every_value_is_kept() {
        let text = b"id,age,job\np,5,clerk\np,7,baker\np,15,clerk\np,99,baker\np,,clerk\n\
                     p,25,clerk\nq,5,cook\nq,5,clerk\nq,15,clerk\n,5,clerk\n";
        let ages = |rows, rule| {
            let distinct = Some("age".to_owned());
            let limit = PersonLimit { distinct, ..PersonLimit::new("id", rows) };
            let records = read_with(text, &schema(), rule, Some(limit)).unwrap();
            records.column(0).unwrap().collect::<Vec<_>>()
        };
        assert_eq!(ages(1, OutOfDomain::Drop), [0]);
        assert_eq!(ages(2, OutOfDomain::Drop), [0, 1, 1]);
        assert_eq!(ages(3, OutOfDomain::Drop), [0, 1, 2, 1]);
        // Clamped to the last cell, 99 has a value of its own.
        assert_eq!(ages(3, OutOfDomain::Clamp), [0, 1, 3, 1]);
        let limit = PersonLimit { distinct: Some("year".into()), ..PersonLimit::new("id", 2) };
        let refused = read_with(text, &schema(), OutOfDomain::Drop, Some(limit)).unwrap_err();
        assert!(refused.to_string().contains("age, job"), "{refused}");
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
