//! Reading of records that may be seen.
//!
//! Every value is coded as the schema says. Values outside the schema are handled by a rule that
//! depends on the record alone.

use std::fmt;
use std::path::Path;

use super::Records;
use super::column::Column;
use super::open_table::OpenTable;
use super::out_of_domain::OutOfDomain;
use super::record_coder::{CodedValues, Outcome, RecordCoder};
use super::table::{CsvTable, FieldCounts, TypedTable};
use crate::error::{Error, Place, Result};
use crate::schema::Schema;

/// A table, with counts of dropped records and clamped values.
///
/// The counts are exact and therefore **not private**.
#[derive(Clone)]
pub struct CodedTable {
    /// The kept records.
    pub records: Records,
    /// The number of dropped records.
    pub dropped: usize,
    /// The number of values of kept records that were moved to the nearest cell.
    pub clamped: usize,
}

/// Shows the debug output of [`Records`]; the counts are exact and therefore omitted.
impl fmt::Debug for CodedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodedTable").field("records", &self.records).finish_non_exhaustive()
    }
}

/// Reads a CSV file with a header; see [`read_table`].
///
/// # Errors
/// As [`read_table`]; a file that cannot be read, or has lines of different lengths.
pub fn read_csv(path: &Path, schema: &Schema, rule: Option<OutOfDomain>) -> Result<CodedTable> {
    read_table(Box::new(CsvTable::open(path, FieldCounts::Equal)?), schema, rule)
}

/// Reads a table that may be seen.
///
/// Columns are found by the names of the schema's attributes; other columns are ignored, and so are
/// spaces around values. Codings without `values` or `bins` expect the cell numbers themselves.
///
/// A value outside the schema is handled by the rule. Without a rule it is an error that names the
/// record and the column; do not use that if the success of reading is itself published.
///
/// *Memory*: 1, 2 or 4 bytes per value. *Time*: O(values).
///
/// # Errors
/// The table cannot be read, an attribute without a column or with several, a column of an
/// unsuitable type, no record, no record inside the schema, or, without a rule, a value outside the
/// schema.
pub fn read_table(
    table: Box<dyn TypedTable>,
    schema: &Schema,
    rule: Option<OutOfDomain>,
) -> Result<CodedTable> {
    OpenTable::of_public(table, schema)?.read_public(schema, rule)
}

impl OpenTable {
    fn read_public(mut self, schema: &Schema, rule: Option<OutOfDomain>) -> Result<CodedTable> {
        rule.map_or(Ok(()), |rule| rule.check(schema))?;
        let origin = self.origin().to_owned();
        let fields: Vec<usize> =
            (0..schema.attributes().len()).map(|position| self.column_of(position) + 1).collect();
        let coder = RecordCoder::new(schema, rule.unwrap_or(OutOfDomain::Drop));
        let mut table: Vec<Column> =
            schema.attributes().iter().map(|a| Column::for_size(a.size)).collect();
        let (mut read, mut dropped, mut clamped) = (0, 0, 0);
        let mut coded = Vec::new();
        while let Some(batch) = self.next_batch().map_err(|error| error.at_its_line(&origin))? {
            let inside = coder.code(&batch, &mut coded);
            if let (None, Some(row)) = (rule, inside.iter().position(|inside| !inside)) {
                let is_outside = |coded: &CodedValues| coded.outcomes[row] == Outcome::Outside;
                let position = coded.iter().position(is_outside).unwrap_or_default();
                let column = fields[position];
                return Err(Error::Parse {
                    origin,
                    place: batch.lines.get(row).map(|&line| Place { line, column }),
                    expected: coder.allowed(position),
                    found: format!(
                        "{} in column `{}` of record {}",
                        batch.columns[position].in_words(row),
                        schema.attributes()[position].name,
                        read + row + 1
                    ),
                    remedy: "correct the value or the schema, choose to drop or to clamp values \
                             outside the schema (`--out-of-domain` on the command line), or \
                             declare a cell for other values (`other` in the schema)"
                        .into(),
                });
            }
            read += batch.rows;
            dropped += inside.iter().filter(|inside| !**inside).count();
            for (column, coded) in table.iter_mut().zip(&coded) {
                let outcomes = coded.outcomes.iter().zip(&inside);
                clamped += outcomes
                    .filter(|(outcome, inside)| **inside && **outcome == Outcome::Clamped)
                    .count();
                column.extend(&coded.cells, Some(&inside));
            }
        }
        if read == dropped {
            let found = if read == 0 {
                "a header only".into()
            } else {
                format!("{read} records, all outside the schema")
            };
            let remedy = "check that the table is complete and that the schema describes it";
            return Err(Error::bad_input(
                origin,
                "at least one record of the schema",
                found,
                remedy,
            ));
        }
        Ok(CodedTable { records: Records::new(schema, table)?, dropped, clamped })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SCHEMA: &str = r#"
        [[attribute]]
        name = "age"
        size = 4
        kind = "numeric"
        bins = { low = 0, high = 80, count = 4 }
        [[attribute]]
        name = "job"
        size = 3
        kind = "categorical"
        values = ["clerk", "baker", 7]
        [[attribute]]
        name = "code"
        size = 2
        kind = "categorical"
        [[attribute]]
        name = "level"
        size = 300
        kind = "numeric"
    "#;

    fn read(text: &str, rule: Option<OutOfDomain>) -> Result<CodedTable> {
        let source = Box::new(std::io::Cursor::new(text.to_owned()));
        let table = CsvTable::from_source(source, "X.csv", FieldCounts::Equal)?;
        read_table(Box::new(table), &Schema::from_toml(SCHEMA, "S.toml").unwrap(), rule)
    }

    fn columns(table: &CodedTable) -> Vec<Vec<u32>> {
        (0..4).map(|p| table.records.column(p).unwrap().collect()).collect()
    }

    const GOOD: &str = "code,unused,age,level,job\n0,x,0,299, baker \n1,y,19.99,0,clerk\n\
                        1,,79.999,256,7\n0,z,2e1,1,7\n";

    #[test]
    fn values_are_coded_by_the_schema_and_columns_found_by_name() {
        let table = read(GOOD, None).unwrap();
        assert_eq!(columns(&table), [[0, 0, 3, 1], [1, 0, 2, 2], [0, 1, 1, 0], [299, 0, 256, 1]]);
        assert_eq!((table.dropped, table.clamped), (0, 0));
    }

    #[test]
    fn a_value_outside_the_schema_is_named_with_record_line_and_column() {
        for (from, to, parts) in [
            (
                "19.99",
                "80.5",
                vec![
                    "X.csv, line 3, column 3: ",
                    "column `age` of record 2",
                    "from 0 to 80",
                    "`80.5`",
                ],
            ),
            ("19.99", "-1", vec!["column `age`", "`-1`"]),
            ("19.99", "NaN", vec!["column `age`", "`NaN`"]),
            ("19.99", "old", vec!["column `age`", "`old`"]),
            ("19.99", "", vec!["column `age`", "``"]),
            (
                "clerk",
                "Clerk",
                vec!["line 3, column 5", "`Clerk` in column `job`", "clerk, baker, 7"],
            ),
            (
                "0,x",
                "2,x",
                vec!["line 2", "`2` in column `code` of record 1", "cell number from 0 to 1"],
            ),
            ("0,x", "0.5,x", vec!["column `code`", "`0.5`"]),
            ("299", "300", vec!["column `level`", "from 0 to 299", "`300`"]),
        ] {
            let text = GOOD.replacen(from, to, 1);
            assert_ne!(text, GOOD);
            let message = read(&text, None).unwrap_err().to_string();
            for part in parts.into_iter().chain(["remedy", "drop or to clamp"]) {
                assert!(message.contains(part), "{part} in {message}");
            }
        }
    }

    const OUTSIDE: &str = "age,job,code,level\n-5,clerk,0,3\n500,baker,1,-1\n10,cook,0,5\n\
                           10,clerk,2,5\nold,clerk,0,5\n10,clerk,0,1000\n10,clerk,0,2\n";

    #[test]
    fn drop_omits_records_and_clamp_moves_values_to_the_nearest_cell() {
        let table = read(OUTSIDE, Some(OutOfDomain::Drop)).unwrap();
        assert_eq!(columns(&table), [[0], [0], [0], [2]]);
        assert_eq!((table.dropped, table.clamped), (6, 0));
        let table = read(OUTSIDE, Some(OutOfDomain::Clamp)).unwrap();
        assert_eq!(columns(&table), [[0, 3, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [3, 0, 299, 2]]);
        assert_eq!((table.dropped, table.clamped), (3, 4));
    }

    proptest! {
        /// Adding a record changes the table by at most that record, whatever the others are.
        #[test]
        fn records_are_handled_independently(
            rows in prop::collection::vec((-30i32..110, 0usize..4, -1i32..3, -2i32..303), 1..20),
            index in any::<prop::sample::Index>(),
        ) {
            let text = |rows: &[(i32, usize, i32, i32)]| {
                let job = |k: usize| ["clerk", "baker", "7", "cook"][k];
                let lines = rows.iter().map(|r| format!("{},{},{},{}\n", r.0, job(r.1), r.2, r.3));
                // A record that is always kept, so that no table is empty.
                format!("age,job,code,level\n0,clerk,0,0\n{}", lines.collect::<String>())
            };
            let index = index.index(rows.len());
            let mut others = rows.clone();
            let added = others.remove(index);
            for rule in [Some(OutOfDomain::Drop), Some(OutOfDomain::Clamp)] {
                let all = columns(&read(&text(&rows), rule).unwrap());
                let mut without = columns(&read(&text(&others), rule).unwrap());
                let before = columns(&read(&text(&rows[..index]), rule).unwrap())[0].len();
                let alone = columns(&read(&text(&[added]), rule).unwrap());
                for (column, alone) in without.iter_mut().zip(alone) {
                    let tail = column.split_off(before);
                    column.extend(&alone[1..]);
                    column.extend(tail);
                }
                prop_assert_eq!(all, without);
            }
        }
    }

    #[test]
    fn files_that_do_not_match_the_schema_are_refused() {
        for (text, parts) in [
            ("age,job,code,level\n", vec!["X.csv", "at least one record", "a header only"]),
            ("", vec!["X.csv, header", "no column `age`, `job`, `code`, `level`"]),
            ("age,jobs,code,level\n1,clerk,0,0\n", vec!["`job`", "age, jobs, code, level"]),
            ("age,job,code,level,age\n1,clerk,0,0,1\n", vec!["several columns `age`"]),
            ("age,job,code,level\n1,clerk,0\n", vec!["X.csv, line 2", "3 values", "4"]),
        ] {
            let message = read(text, None).unwrap_err().to_string();
            for part in parts {
                assert!(message.contains(part), "{part} in {message}");
            }
        }
        let message = read("age,job,code,level\n1,cook,0,0\n", Some(OutOfDomain::Drop))
            .unwrap_err()
            .to_string();
        assert!(message.contains("1 records, all outside the schema"), "{message}");
        let schema = Schema::from_toml(SCHEMA, "S.toml").unwrap();
        let error =
            read_csv(Path::new("nowhere.csv"), &schema, Some(OutOfDomain::Drop)).unwrap_err();
        assert!(error.to_string().contains("nowhere.csv"));
    }
}
