//! Discretised files with a domain inferred from the data, as in S4.
//!
//! **For experiments only**: the values that occur are private information. Releases use the domain
//! of a public schema ([`matmech::data::read_csv`]).

use std::collections::HashMap;
use std::path::Path;

use matmech::data::{Column, Records};
use matmech::domain::{Attribute, AttributeKind};
use matmech::schema::Schema;
use matmech::{Error, Place, Result};

/// Maximum number of distinct values of a discretised column.
const MAX_VALUES: usize = 1 << 16;

/// Reads a CSV file with a header and infers the domain.
///
/// Each column is a categorical attribute. Its distinct values, in order (numbers by size, then
/// text), are the cells 0, 1, ….
///
/// *Memory*: at most two bytes per value. *Time*: one hash look-up per value.
///
/// # Errors
/// Returns an error if the file cannot be read, lines have different lengths, there is no record, a
/// value is empty, or a column has more than 2¹⁶ values.
pub fn read_inferring_domain(path: &Path) -> Result<(Schema, Records)> {
    let remedy = "use a CSV file with a header line and one value per column on every line";
    let failed = |error: csv::Error| Error::csv(path, error, remedy);
    let file = || path.display().to_string();
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).from_path(path).map_err(failed)?;
    let names: Vec<String> = reader.headers().map_err(failed)?.iter().map(str::to_owned).collect();
    let mut attributes: Vec<Interned> = names.iter().map(|_| Interned::new()).collect();
    let mut line = csv::StringRecord::new();
    while reader.read_record(&mut line).map_err(failed)? {
        for (k, ((attribute, value), name)) in
            attributes.iter_mut().zip(&line).zip(&names).enumerate()
        {
            attribute.push(value).map_err(|(expected, found)| {
                let place =
                    line.position().map(|at| Place { line: at.line() as usize, column: k + 1 });
                let found = format!("{found} in column `{name}`");
                let remedy = "discretise the column, with a code for missing values".into();
                Error::Parse { origin: file(), place, expected, found, remedy }
            })?;
        }
    }
    if attributes.first().is_some_and(|attribute| attribute.numbered.is_empty()) {
        let (expected, found) = ("at least one record".into(), "a header only".into());
        let remedy = "check that the file is complete".into();
        return Err(Error::Parse { origin: file(), place: None, expected, found, remedy });
    }
    let columns = attributes.into_iter().map(Interned::sorted).collect();
    table(names, columns).map_err(|error| match error {
        Error::BadInput { what, expected, found, remedy } => {
            Error::BadInput { what: format!("{}: {what}", file()), expected, found, remedy }
        }
        error => error,
    })
}

/// A column whose values are numbered in the order of their first occurrence.
struct Interned {
    numbers: HashMap<String, u32>,
    numbered: Column,
}

impl Interned {
    fn new() -> Self {
        Interned { numbers: HashMap::new(), numbered: Column::default() }
    }

    /// Appends a value. An invalid value returns what was expected and found.
    fn push(&mut self, value: &str) -> std::result::Result<(), (String, String)> {
        let number = match self.numbers.get(value) {
            Some(&number) => number,
            None if value.is_empty() => return Err(("a value".into(), "an empty field".into())),
            None if self.numbers.len() == MAX_VALUES => {
                return Err((format!("at most {MAX_VALUES} different values"), "one more".into()));
            }
            None => {
                let number = self.numbers.len() as u32;
                self.numbers.insert(value.to_owned(), number);
                number
            }
        };
        self.numbered.push(number);
        Ok(())
    }

    /// Returns the number of values, and the column with the values numbered in their order.
    fn sorted(self) -> (usize, Column) {
        let mut values: Vec<(&String, u32)> =
            self.numbers.iter().map(|(value, &number)| (value, number)).collect();
        values.sort_by_key(|&(value, _)| {
            (value.parse::<i64>().map_or((1, 0), |number| (0, number)), value.clone())
        });
        let mut codes = vec![0; values.len()];
        for (code, &(_, number)) in values.iter().enumerate() {
            codes[number as usize] = code as u32;
        }
        (codes.len(), recoded(&self.numbered, &codes))
    }
}

/// Renumbers the codes that occur as 0, 1, … in their order.
///
/// All codes are below `bound`. Returns the number of codes and the column.
pub(super) fn keep_what_occurs(bound: usize, column: &Column) -> (usize, Column) {
    let mut codes = vec![0; bound];
    for value in column.iter() {
        codes[value as usize] = 1;
    }
    let mut size = 0;
    for code in &mut codes {
        let occurs = *code;
        *code = size;
        size += occurs;
    }
    (size as usize, recoded(column, &codes))
}

/// Replaces every value of a column by its code.
pub(super) fn recoded(column: &Column, codes: &[u32]) -> Column {
    column.iter().map(|value| codes[value as usize]).collect()
}

/// Builds a table of categorical attributes from their names, sizes and columns.
pub(super) fn table(
    names: Vec<String>,
    columns: Vec<(usize, Column)>,
) -> Result<(Schema, Records)> {
    let (sizes, columns): (Vec<usize>, Vec<Column>) = columns.into_iter().unzip();
    let attributes = names
        .into_iter()
        .zip(sizes)
        .map(|(name, size)| Attribute::new(name, size.max(1), AttributeKind::Categorical))
        .collect();
    let schema = Schema::new(attributes)?;
    let records = Records::new(&schema, columns)?;
    Ok((schema, records))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(text: &str) -> Result<(Schema, Records)> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("table.csv");
        fs::write(&path, text).unwrap();
        read_inferring_domain(&path)
    }

    #[test]
    fn values_are_numbered_in_order() {
        let (schema, records) = read("age,job\n10, clerk\n9,baker\n-1,clerk\n10,?\n").unwrap();
        let sizes: Vec<_> = schema.attributes().iter().map(|a| (a.name.as_str(), a.size)).collect();
        assert_eq!(sizes, [("age", 3), ("job", 3)]);
        let column = |p| records.column(p).unwrap().collect::<Vec<u32>>();
        assert_eq!((column(0), column(1)), (vec![2, 1, 0, 2], vec![2, 1, 2, 0]));
    }

    #[test]
    fn wide_columns_keep_their_values() {
        let lines: String = (0..400).rev().map(|k| format!("{k}\n")).collect();
        let (schema, records) = read(&format!("k\n{lines}")).unwrap();
        assert_eq!(schema.attributes()[0].size, 400);
        assert_eq!(
            records.column(0).unwrap().collect::<Vec<_>>(),
            (0..400).rev().collect::<Vec<u32>>()
        );
    }

    #[test]
    fn errors_name_file_line_and_column() {
        for (text, parts) in [
            ("a,b\n", vec!["table.csv", "at least one record"]),
            ("", vec!["table.csv", "1 to 128 attributes"]),
            ("a,b\n1,2\n3\n", vec!["table.csv, line 3"]),
            ("a,b\n1,2\n3,\n", vec!["table.csv, line 3, column 2", "an empty field in column `b`"]),
            ("a,a\n1,2\n", vec!["table.csv", "twice"]),
        ] {
            let message = read(text).unwrap_err().to_string();
            for part in parts {
                assert!(message.contains(part), "{part} in {message}");
            }
        }
        assert!(
            read_inferring_domain(Path::new("missing.csv"))
                .unwrap_err()
                .to_string()
                .contains("missing.csv")
        );
    }
}
