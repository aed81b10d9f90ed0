//! CSV files with a public schema.
//!
//! Every value is coded as the schema says. Values outside the schema are handled by a rule that
//! depends on the record alone.

use std::fmt;
use std::io::Read;
use std::path::Path;

use super::Records;
use super::column::Column;
use super::csv_bytes::CsvBytes;
use super::out_of_domain::OutOfDomain;
use super::record_coder::{Outcome, RecordCoder, columns_named};
use crate::error::{Error, Place, Result};
use crate::schema::Schema;

/// A table, with counts of dropped records and clamped values.
///
/// The counts are exact and therefore **not private**.
#[derive(Clone)]
pub struct CsvTable {
    /// The kept records.
    pub records: Records,
    /// The number of dropped records.
    pub dropped: usize,
    /// The number of values of kept records that were moved to the nearest cell.
    pub clamped: usize,
}

/// Shows the debug output of [`Records`]; the counts are exact and therefore omitted.
impl fmt::Debug for CsvTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CsvTable").field("records", &self.records).finish_non_exhaustive()
    }
}

/// Reads a CSV file with a header.
///
/// Columns are found by the names of the schema's attributes; other columns are ignored, and so are
/// spaces around values. Codings without `values` or `bins` expect the cell numbers themselves.
///
/// A value outside the schema is handled by the rule. Without a rule it is an error that names the
/// record and the column; do not use that if the success of reading is itself published.
///
/// The file is streamed. *Memory*: that of the table, 1, 2 or 4 bytes per value. *Time*: O(values ·
/// log size).
///
/// # Errors
/// The file cannot be read, has lines of different lengths, an attribute without a column or with
/// two, no record, no record inside the schema, or, without a rule, a value outside the schema.
pub fn read_csv(path: &Path, schema: &Schema, rule: Option<OutOfDomain>) -> Result<CsvTable> {
    let origin = path.display().to_string();
    let file = std::fs::File::open(path).map_err(|e| {
        Error::io(path, "opening", e, "give the path of a CSV file with a header line")
    })?;
    read_csv_from(file, &origin, schema, rule)
}

/// [`read_csv`] from any source of bytes; messages name `origin` (the file).
///
/// # Errors
/// As [`read_csv`].
pub fn read_csv_from(
    source: impl Read,
    origin: &str,
    schema: &Schema,
    rule: Option<OutOfDomain>,
) -> Result<CsvTable> {
    let malformed = |e: csv::Error| {
        Error::csv(
            Path::new(origin),
            e,
            "correct the file: a header line, then one value per column on every line",
        )
    };
    let mut reader = csv::ReaderBuilder::new().from_reader(CsvBytes::new(source));
    let mut header = reader.byte_headers().map_err(malformed)?.clone();
    header.trim();
    let attributes = schema.attributes();
    let columns: Vec<usize> =
        attributes.iter().map(|a| column_named(&header, &a.name, origin)).collect::<Result<_>>()?;
    let coder = RecordCoder::new(schema, &columns, rule.unwrap_or(OutOfDomain::Drop));
    let mut table: Vec<Column> = attributes.iter().map(|a| Column::for_size(a.size)).collect();
    let (mut read, mut dropped, mut clamped) = (0, 0, 0);
    let mut line = csv::ByteRecord::new();
    let mut outcomes = Vec::with_capacity(table.len());
    while reader.read_byte_record(&mut line).map_err(malformed)? {
        read += 1;
        outcomes.clear();
        outcomes.extend(coder.outcomes(&line));
        let Some(outside) = outcomes.iter().position(|outcome| *outcome == Outcome::Outside) else {
            clamped +=
                outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Clamped(_))).count();
            let cells = outcomes.iter().filter_map(|outcome| outcome.cell());
            table.iter_mut().zip(cells).for_each(|(column, cell)| column.push(cell));
            continue;
        };
        if rule.is_none() {
            let line_number = line.position().map_or(0, |position| position.line() as usize);
            let (column, allowed) = coder.described(outside);
            let value = String::from_utf8_lossy(line.get(column).unwrap_or_default().trim_ascii())
                .into_owned();
            return Err(Error::Parse {
                origin: origin.to_owned(),
                place: Some(Place { line: line_number, column: column + 1 }),
                expected: allowed,
                found: format!(
                    "`{value}` in column `{}` of record {read}",
                    attributes[outside].name
                ),
                remedy: "correct the value or the schema, choose to drop or to clamp values \
                         outside the schema (`--out-of-domain` on the command line), or declare a \
                         cell for other values (`other` in the schema)"
                    .into(),
            });
        }
        dropped += 1;
    }
    if read == dropped {
        let found = if read == 0 {
            "a header only".into()
        } else {
            format!("{read} records, all outside the schema")
        };
        let remedy = "check that the file is complete and that the schema describes it";
        return Err(Error::bad_input(origin, "at least one record of the schema", found, remedy));
    }
    Ok(CsvTable { records: Records::new(schema, table)?, dropped, clamped })
}

/// Returns the column with an attribute's name.
fn column_named(header: &csv::ByteRecord, name: &str, origin: &str) -> Result<usize> {
    let shown = || header.iter().map(String::from_utf8_lossy).collect::<Vec<_>>().join(", ");
    match columns_named(header, name).as_slice() {
        [column] => Ok(*column),
        [] => Err(Error::bad_input(
            format!("{origin}, header"),
            format!("a column `{name}`, an attribute of the schema"),
            format!("the columns {}", shown()),
            "rename the column or the attribute",
        )),
        _ => Err(Error::bad_input(
            format!("{origin}, header"),
            format!("one column `{name}`"),
            format!("several among {}", shown()),
            "rename or remove the others",
        )),
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

    fn read(text: &str, rule: Option<OutOfDomain>) -> Result<CsvTable> {
        read_csv_from(text.as_bytes(), "X.csv", &Schema::from_toml(SCHEMA, "S.toml").unwrap(), rule)
    }

    fn columns(table: &CsvTable) -> Vec<Vec<u32>> {
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
                "80",
                vec![
                    "X.csv, line 3, column 3: ",
                    "column `age` of record 2",
                    "from 0 to below 80",
                    "`80`",
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
            ("", vec!["X.csv, header", "a column `age`"]),
            ("age,jobs,code,level\n1,clerk,0,0\n", vec!["`job`", "age, jobs, code, level"]),
            ("age,job,code,level,age\n1,clerk,0,0,1\n", vec!["one column `age`", "several"]),
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
