//! Result tables and tables of known values, as data frames (polars).
//!
//! Every column is read as text, because the printed digits state the precision of a value.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use polars_core::prelude::*;

use crate::error::{Error, FileRole, Result};

/// A data frame with a name for messages and the file line of every row.
#[derive(Clone, Debug)]
pub struct Table {
    name: String,
    frame: DataFrame,
}

/// The column with the file lines. No file has a column of this name.
const LINE: &str = "line in the file";

/// The column with the names of the files. No file has a column of this name.
const FILE: &str = "name of the file";

/// A summary of the rows of one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The rows, ascending.
    pub rows: Vec<usize>,
    /// Mean of their numbers.
    pub mean: f64,
    /// Smallest of their numbers.
    pub smallest: f64,
    /// Largest of their numbers.
    pub largest: f64,
}

impl Table {
    /// Reads a CSV file with a header.
    ///
    /// Messages use `name` for the table and `remedy` if the file is missing.
    ///
    /// # Errors
    /// Returns an error if the file is missing or malformed.
    pub fn read(path: &Path, name: &str, remedy: &str) -> Result<Self> {
        let expected = "a CSV file with a header line";
        if !path.is_file() {
            return Err(Error::file(FileRole::Input, name, expected, "no such file", remedy));
        }
        let malformed = |error: &dyn std::fmt::Display| {
            Error::file(FileRole::Input, name, expected, error, "correct or rewrite the file")
        };
        let (header, records) =
            csv::Reader::from_path(path).and_then(read_csv).map_err(|error| malformed(&error))?;
        Self::of_records(name, &header, &records).map_err(|error| malformed(&error))
    }

    /// Reads a CSV text with a header.
    ///
    /// # Errors
    /// Returns an error if the text is malformed.
    pub fn of_csv(text: &[u8], name: &str) -> Result<Self> {
        let malformed = |error: &dyn std::fmt::Display| {
            Error::bug(format!("table {name}"), "CSV with a header line", error)
        };
        let (header, records) =
            read_csv(csv::Reader::from_reader(text)).map_err(|error| malformed(&error))?;
        Self::of_records(name, &header, &records).map_err(|error| malformed(&error))
    }

    fn of_records(
        name: &str,
        header: &csv::StringRecord,
        records: &[csv::StringRecord],
    ) -> PolarsResult<Self> {
        let column = |(index, name): (usize, &str)| {
            Column::new(name.into(), records.iter().map(|r| &r[index]).collect::<Vec<_>>())
        };
        let lines: Vec<IdxSize> = records
            .iter()
            .map(|record| record.position().map_or(0, |position| position.line() as IdxSize))
            .collect();
        let files = vec![name; records.len()];
        let mut columns = vec![Column::new(LINE.into(), lines), Column::new(FILE.into(), files)];
        columns.extend(header.iter().enumerate().map(column));
        Ok(Self { name: name.to_owned(), frame: DataFrame::new_infer_height(columns)? })
    }

    /// Creates a table without rows.
    ///
    /// # Errors
    /// Returns an error if two columns have the same name.
    pub fn without_rows<'c>(
        name: &str,
        columns: impl IntoIterator<Item = &'c str>,
    ) -> Result<Self> {
        let lines = Column::new(LINE.into(), Vec::<IdxSize>::new());
        let columns =
            columns.into_iter().map(|name| Column::new(name.into(), Vec::<String>::new()));
        let frame = DataFrame::new_infer_height([lines].into_iter().chain(columns).collect());
        let expected = "distinct columns";
        let frame = frame.map_err(|error| Error::bug(name, expected, error))?;
        Ok(Self { name: name.to_owned(), frame })
    }

    /// Returns the name for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds a column, one value per row.
    ///
    /// # Errors
    /// Returns an error if the number of values differs.
    pub fn with_column(mut self, name: &str, values: &[String]) -> Result<Self> {
        let column = Column::new(name.into(), values);
        match self.frame.with_column(column) {
            Ok(_) => Ok(self),
            Err(error) => Err(self.defect(&error)),
        }
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frame.height()
    }

    /// Returns whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the name of the file of a row, which is another one for a derived row.
    #[must_use]
    pub fn file(&self, row: usize) -> &str {
        self.field(FILE, row)
    }

    /// Returns the file line of a row.
    #[must_use]
    pub fn line(&self, row: usize) -> usize {
        let lines = self.frame.column(LINE).and_then(|lines| lines.idx());
        lines.ok().and_then(|lines| lines.get(row)).map_or(0, |line| line as usize)
    }

    /// Returns the names of the columns, in the order of the file.
    #[must_use]
    pub fn columns(&self) -> Vec<&str> {
        self.frame
            .get_column_names()
            .into_iter()
            .map(PlSmallStr::as_str)
            .filter(|name| *name != LINE && *name != FILE)
            .collect()
    }

    /// Returns a field; empty if the row or the column is absent.
    #[must_use]
    pub fn field(&self, column: &str, row: usize) -> &str {
        self.frame
            .column(column)
            .ok()
            .and_then(|values| values.str().ok())
            .and_then(|values| values.get(row))
            .unwrap_or_default()
    }

    /// Returns a field as a number, if it is one.
    #[must_use]
    pub fn number(&self, column: &str, row: usize) -> Option<f64> {
        self.field(column, row).trim().parse().ok()
    }

    /// Returns the fields of a column; all empty if the column is absent.
    pub fn fields<'t>(&'t self, column: &'t str) -> impl Iterator<Item = &'t str> {
        (0..self.len()).map(move |row| self.field(column, row))
    }

    /// Refuses a table without `column`, which the config key `key` names.
    ///
    /// # Errors
    /// Returns an error if the column is absent.
    pub fn require(&self, column: &str, key: &str) -> Result<()> {
        let columns = self.columns();
        if columns.contains(&column) {
            return Ok(());
        }
        Err(Error::file(
            FileRole::Input,
            &self.name,
            format!("a column \"{column}\" (named by the config key `{key}`)"),
            format!("the columns {}", columns.join(", ")),
            format!("correct `{key}` in the config or the header of the file"),
        ))
    }

    /// Returns the rows whose fields have one of the allowed values.
    ///
    /// `key` is the config key of the filter.
    ///
    /// # Errors
    /// Returns an error if a column of the filter is absent.
    pub fn filtered(&self, filter: &BTreeMap<String, Vec<String>>, key: &str) -> Result<Self> {
        let mut table = self.clone();
        for (column, allowed) in filter {
            table.require(column, key)?;
            table = table.among(column, allowed)?;
        }
        Ok(table)
    }

    /// Returns the rows with a value in a column; none if the column is absent.
    ///
    /// # Errors
    /// Returns an error if the column does not contain text, which is a bug in this program.
    pub fn with(&self, column: &str, value: &str) -> Result<Self> {
        self.among(column, &[value])
    }

    fn among<V: AsRef<str>>(&self, column: &str, allowed: &[V]) -> Result<Self> {
        let rows = || -> PolarsResult<DataFrame> {
            let mut mask = BooleanChunked::full(column.into(), false, self.len());
            if let Ok(values) = self.frame.column(column) {
                for value in allowed {
                    mask = mask | values.str()?.equal(value.as_ref());
                }
            }
            self.frame.filter(&mask)
        };
        Ok(Self { name: self.name.clone(), frame: rows().map_err(|error| self.defect(&error))? })
    }

    /// Returns the table with values of a column replaced by those of `names`.
    ///
    /// An absent column stays absent.
    ///
    /// # Errors
    /// Returns an error if the column does not contain text, which is a bug in this program.
    pub fn renamed(&self, column: &str, names: &BTreeMap<String, String>) -> Result<Self> {
        let renamed = || -> PolarsResult<DataFrame> {
            let mut frame = self.frame.clone();
            if let Ok(values) = self.frame.column(column) {
                let renamed = values.str()?.apply(|value| {
                    value.map(|value| {
                        names.get(value).map_or(value, String::as_str).to_owned().into()
                    })
                });
                frame.with_column(renamed.into_column())?;
            }
            Ok(frame)
        };
        Ok(Self { name: self.name.clone(), frame: renamed().map_err(|error| self.defect(&error))? })
    }

    /// Returns whether a row has allowed values. Columns that the table lacks are ignored.
    #[must_use]
    pub fn selects(&self, filter: &BTreeMap<String, Vec<String>>, row: usize) -> bool {
        let allows = |(column, allowed): (&String, &Vec<String>)| {
            let is_absent = self.frame.column(column).is_err();
            is_absent || allowed.iter().any(|value| value == self.field(column, row))
        };
        filter.iter().all(allows)
    }

    /// Returns the table followed by the rows of another.
    ///
    /// Columns of one table only are empty in the rows of the other.
    ///
    /// # Errors
    /// Returns an error only for a bug in this program.
    pub fn followed_by(&self, other: &Self) -> Result<Self> {
        let frame = || -> PolarsResult<DataFrame> {
            let frame = self.framed_with(&other.columns())?;
            let names: Vec<PlSmallStr> = frame.get_column_names().into_iter().cloned().collect();
            frame.vstack(&other.framed_with(&self.columns())?.select(names)?)
        };
        Ok(Self { name: self.name.clone(), frame: frame().map_err(|error| self.defect(&error))? })
    }

    fn framed_with(&self, names: &[&str]) -> PolarsResult<DataFrame> {
        let mut frame = self.frame.clone();
        for &name in names {
            if frame.column(name).is_err() {
                frame.with_column(Column::new(name.into(), vec![""; self.len()]))?;
            }
        }
        Ok(frame)
    }

    /// Returns, for each row, the rows of `ours` with equal values in the columns `on` (a left
    /// join), ascending.
    ///
    /// # Errors
    /// Returns an error if a column is absent from a table.
    pub fn matches(&self, ours: &Self, on: &[String]) -> Result<Vec<Vec<usize>>> {
        for (table, column) in
            [self, ours].into_iter().flat_map(|table| on.iter().map(move |column| (table, column)))
        {
            table.require(column, "join")?;
        }
        if on.is_empty() {
            return Ok(vec![Vec::new(); self.len()]);
        }
        let mut rows: HashMap<Vec<&str>, Vec<usize>> = HashMap::new();
        for row in 0..ours.len() {
            rows.entry(ours.fields_of(row, on)).or_default().push(row);
        }
        let found = |row| rows.get(&self.fields_of(row, on)).cloned().unwrap_or_default();
        Ok((0..self.len()).map(found).collect())
    }

    fn fields_of(&self, row: usize, columns: &[String]) -> Vec<&str> {
        columns.iter().map(|column| self.field(column, row)).collect()
    }

    /// Summarises the rows by point, in the order of their first occurrence.
    ///
    /// Rows of one point agree in `x` and in the columns `by`; absent columns are ignored. `x` and
    /// `y` have one number per row.
    ///
    /// # Errors
    /// Returns an error if the lengths of `x` or `y` differ from the number of rows, which is a bug
    /// in this program.
    pub fn summarised(&self, by: &[&str], x: &[f64], y: &[f64]) -> Result<Vec<Summary>> {
        let summaries = || -> PolarsResult<Vec<Summary>> {
            let keys = by.iter().filter_map(|column| self.frame.column(column).ok()).enumerate();
            let mut columns: Vec<Column> = keys
                .map(|(index, column)| column.clone().with_name(format!("key {index}").into()))
                .collect();
            columns.push(Column::new("x".into(), x));
            let names: Vec<PlSmallStr> =
                columns.iter().map(|column| column.name().clone()).collect();
            let y = Float64Chunked::from_slice("y".into(), y);
            let frame = DataFrame::new_infer_height(columns)?;
            let groups = frame.group_by_stable(names)?.into_groups();
            groups
                .iter()
                .map(|group| {
                    let rows: Vec<IdxSize> = match group {
                        GroupsIndicator::Idx((_, rows)) => rows.as_slice().to_vec(),
                        GroupsIndicator::Slice([first, count]) => (first..first + count).collect(),
                    };
                    let numbers = y.take(rows.as_slice())?;
                    Ok(Summary {
                        rows: rows.into_iter().map(|row| row as usize).collect(),
                        mean: numbers.mean().unwrap_or(f64::NAN),
                        smallest: numbers.min().unwrap_or(f64::NAN),
                        largest: numbers.max().unwrap_or(f64::NAN),
                    })
                })
                .collect()
        };
        summaries().map_err(|error| self.defect(&error))
    }

    fn defect(&self, error: &PolarsError) -> Error {
        Error::bug(format!("table {}", self.name), "columns of text", error)
    }
}

/// Returns the header and the records of a CSV file.
fn read_csv<R: std::io::Read>(
    mut reader: csv::Reader<R>,
) -> csv::Result<(csv::StringRecord, Vec<csv::StringRecord>)> {
    let header = reader.headers()?.clone();
    Ok((header, reader.records().collect::<csv::Result<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, text).unwrap();
        Table::read(&path, "t.csv", "none").unwrap()
    }

    #[test]
    fn matches_returns_all_equal_rows() {
        let known = table("name,kind\na,x\nb,x\nc,\na,y\n");
        let ours = table("kind,more,name\n,1,c\nx,2,a\nx,3,a\nz,4,a\n");
        let on = ["name".to_owned(), "kind".to_owned()];
        assert_eq!(known.matches(&ours, &on).unwrap(), [vec![1, 2], vec![], vec![0], vec![]]);
        let none = ours.with("name", "nobody").unwrap();
        assert_eq!(known.matches(&none, &on).unwrap(), vec![Vec::<usize>::new(); 4]);
        let error = known.matches(&ours, &["more".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("a column \"more\""), "{error}");
    }

    #[test]
    fn fields_keep_their_text() {
        let table = table("id,value,note\na,5.320e6,\nb,\"3,694.70\",\"x, y\"\n");
        assert_eq!((table.len(), table.columns()), (2, vec!["id", "value", "note"]));
        assert_eq!(table.fields("value").collect::<Vec<_>>(), ["5.320e6", "3,694.70"]);
        assert_eq!((table.field("note", 0), table.field("note", 1)), ("", "x, y"));
        assert_eq!((table.field("absent", 0), table.number("value", 0)), ("", Some(5.32e6)));
        let error = table.require("absent", "join").unwrap_err().to_string();
        assert!(error.contains("id, value, note") && error.contains("`join`"), "{error}");
    }

    #[test]
    fn filtered_rows_keep_their_lines() {
        let table = table("a,b\n1,x\n2,\n3,x\n4,y\n");
        let filter = |column: &str, values: &[&str]| {
            BTreeMap::from([(
                column.to_owned(),
                values.iter().map(|value| (*value).to_owned()).collect(),
            )])
        };
        let lines = |table: &Table| (0..table.len()).map(|row| table.line(row)).collect::<Vec<_>>();
        assert_eq!(lines(&table.filtered(&filter("b", &["y", "x"]), "where").unwrap()), [2, 4, 5]);
        assert_eq!(lines(&table.filtered(&filter("b", &[""]), "where").unwrap()), [3]);
        assert!(table.filtered(&filter("b", &[]), "where").unwrap().is_empty());
        assert!(
            table
                .filtered(&filter("c", &["y"]), "where")
                .unwrap_err()
                .to_string()
                .contains("`where`")
        );
        assert_eq!(lines(&table.with("b", "x").unwrap()), [2, 4]);
        assert!(table.with("c", "x").unwrap().is_empty());
        let renamed =
            table.renamed("b", &BTreeMap::from([("x".to_owned(), "ours".to_owned())])).unwrap();
        assert_eq!(renamed.fields("b").collect::<Vec<_>>(), ["ours", "", "ours", "y"]);
    }

    #[test]
    fn points_are_summarised_in_the_order_of_their_first_occurrence() {
        let table = table("series\nb\na\nb\nb\n");
        let found = table
            .summarised(&["series", "absent"], &[2.0, 1.0, 1.0, 2.0], &[1.0, 7.0, 9.0, 4.0])
            .unwrap();
        let summary = |rows: &[usize], mean, smallest, largest| Summary {
            rows: rows.to_vec(),
            mean,
            smallest,
            largest,
        };
        assert_eq!(
            found,
            [
                summary(&[0, 3], 2.5, 1.0, 4.0),
                summary(&[1], 7.0, 7.0, 7.0),
                summary(&[2], 9.0, 9.0, 9.0)
            ]
        );
    }
}
