//! Differences between two folders of results.
//!
//! Values must be identical. Times and memory may differ, optionally within a factor.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::columns;
use crate::error::{Error, FileRole, Result};
use crate::layout::RESERVED;
use crate::table::Table;

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The path of the table below both folders.
    pub table: String,
    /// The row, by its cell and metric; empty if the tables differ as a whole.
    pub row: String,
    /// The column; empty if the row or the table is in one folder only.
    pub column: String,
    /// The value in the first folder.
    pub first: String,
    /// The value in the second folder.
    pub second: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, row, column, first, second } = self;
        let address: Vec<&str> = [table, row, column]
            .into_iter()
            .map(String::as_str)
            .filter(|part| !part.is_empty())
            .collect();
        write!(f, "{}: {first} | {second}", address.join(" · "))
    }
}

/// The outcome of a comparison of two folders.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Number of tables in either folder.
    pub tables: usize,
    /// Number of rows in either folder.
    pub rows: usize,
    /// The differences, in the order of tables and rows.
    pub differences: Vec<Difference>,
}

/// Compares all result tables of two folders (`results/` or that of a profile).
///
/// Columns that are determined by config and seed must have identical text. Times, memory and the
/// values of the metrics of `is_timed` may differ; with `costs_within`, by at most that factor.
///
/// # Errors
/// Returns an error if a folder is missing or has no table, or if a table cannot be read.
pub fn between(
    first: &Path,
    second: &Path,
    is_timed: &dyn Fn(&str) -> bool,
    costs_within: Option<f64>,
) -> Result<Outcome> {
    let names = |folder: &Path| -> Result<BTreeSet<String>> {
        let found = tables_below(folder)?;
        if found.is_empty() {
            let remedy = "name a folder of results such as results/ or results/quick/";
            return Err(Error::file(
                FileRole::Input,
                folder,
                "result tables (*.csv) in subfolders",
                "none",
                remedy,
            ));
        }
        Ok(found)
    };
    let (ours, theirs) = (names(first)?, names(second)?);
    let mut outcome = Outcome::default();
    for name in ours.union(&theirs) {
        outcome.tables += 1;
        if !(ours.contains(name) && theirs.contains(name)) {
            let presence = |has| if has { "present" } else { "no such table" }.to_owned();
            outcome.differences.push(Difference {
                table: name.clone(),
                row: String::new(),
                column: String::new(),
                first: presence(ours.contains(name)),
                second: presence(theirs.contains(name)),
            });
            continue;
        }
        let read =
            |folder: &Path| Table::read(&folder.join(name), name, "run the experiment again");
        compare_tables(name, &read(first)?, &read(second)?, is_timed, costs_within, &mut outcome);
    }
    Ok(outcome)
}

/// Returns the paths of the tables below a folder of results, separated by `/`.
///
/// Folders of other profiles and of cells are skipped.
///
/// # Errors
/// Returns an error if a folder cannot be read.
pub fn tables_below(folder: &Path) -> Result<BTreeSet<String>> {
    files_below(folder, &["csv"])
}

/// Returns the paths of the files with these extensions in subfolders of a folder, separated by
/// `/`.
///
/// Folders of other profiles and of cells are skipped.
///
/// # Errors
/// Returns an error if a folder cannot be read.
pub fn files_below(folder: &Path, extensions: &[&str]) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    collect(folder, Path::new(""), extensions, &mut found)?;
    Ok(found)
}

fn collect(
    folder: &Path,
    below: &Path,
    extensions: &[&str],
    found: &mut BTreeSet<String>,
) -> Result<()> {
    let path = folder.join(below);
    let unreadable = |error: std::io::Error| {
        Error::file(
            FileRole::Input,
            &path,
            "a folder of results",
            error,
            "name a folder of results such as results/",
        )
    };
    for entry in fs::read_dir(&path).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let relative: PathBuf = below.join(&name);
        if entry.path().is_dir() {
            if !(below.as_os_str().is_empty()
                && (RESERVED.contains(&name.as_str()) || name == "figures"))
            {
                collect(folder, &relative, extensions, found)?;
            }
        } else if Path::new(&name)
            .extension()
            .is_some_and(|found| extensions.iter().any(|extension| found == *extension))
            && !below.as_os_str().is_empty()
        {
            // Tables of experiments are in subfolders. Files of the top folder, such as bench.csv,
            // are not tables of experiments.
            found.insert(relative.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(())
}

fn compare_tables(
    name: &str,
    first: &Table,
    second: &Table,
    is_timed: &dyn Fn(&str) -> bool,
    costs_within: Option<f64>,
    outcome: &mut Outcome,
) {
    if first.columns() != second.columns() {
        let only = |left: &Table, right: &Table| {
            let known = right.columns();
            let extra: Vec<&str> =
                left.columns().into_iter().filter(|column| !known.contains(column)).collect();
            if extra.is_empty() { "none".to_owned() } else { extra.join(", ") }
        };
        let order =
            if only(first, second) == only(second, first) { ", in a different order" } else { "" };
        outcome.rows += first.len().max(second.len());
        outcome.differences.push(Difference {
            table: name.to_owned(),
            row: "different columns, rows not compared".to_owned(),
            column: String::new(),
            first: format!("only here: {}{order}", only(first, second)),
            second: format!("only here: {}", only(second, first)),
        });
        return;
    }
    // A cell can have several derived rows of one metric, and times can decide which cell has one.
    let is_derived = first.columns().contains(&columns::FROM);
    let from_cost = |row: usize| {
        is_derived
            && (columns::COSTS.contains(&first.field(columns::COLUMN, row))
                || is_timed(first.field(columns::FROM, row)))
    };
    let by_row = |table: &Table| -> BTreeMap<(String, String), usize> {
        let key = |row| {
            let cell = table.field(columns::CELL, row).to_owned();
            let row_of = if is_derived { format!("line {}", table.line(row)) } else { cell };
            (row_of, table.field(columns::METRIC, row).to_owned())
        };
        (0..table.len()).map(|row| (key(row), row)).collect()
    };
    let (ours, theirs) = (by_row(first), by_row(second));
    let columns: BTreeSet<&str> = first.columns().into_iter().collect();
    let keys: BTreeSet<&(String, String)> = ours.keys().chain(theirs.keys()).collect();
    for key in keys {
        outcome.rows += 1;
        let row = format!("{} {}", key.0, key.1);
        let mut differs = |column: &str, first: &str, second: &str| {
            outcome.differences.push(Difference {
                table: name.to_owned(),
                row: row.clone(),
                column: column.to_owned(),
                first: first.to_owned(),
                second: second.to_owned(),
            });
        };
        let (Some(&first_row), Some(&second_row)) = (ours.get(key), theirs.get(key)) else {
            let presence = |has| if has { "present" } else { "no such row" };
            differs("", presence(ours.contains_key(key)), presence(theirs.contains_key(key)));
            continue;
        };
        for column in &columns {
            let (a, b) = (first.field(column, first_row), second.field(column, second_row));
            let is_value = *column == columns::VALUE;
            let timed = from_cost(first_row);
            let cost = columns::COSTS.contains(column) || (is_value && (timed || is_timed(&key.1)));
            let equal = match cost {
                true => near(a, b, costs_within),
                false => a == b || timed,
            };
            if !equal {
                differs(column, a, b);
            }
        }
    }
}

/// Returns whether two costs differ by at most a factor. Without a factor, it is always true.
fn near(a: &str, b: &str, factor: Option<f64>) -> bool {
    let Some(factor) = factor else { return true };
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => a == b || (a > 0.0 && b > 0.0 && a / b <= factor && b / a <= factor),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "experiment,cell,method,metric,value,seconds,peak_mb\n";

    fn folder(rows: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for subfolder in ["s9", "quick/s9"] {
            fs::create_dir_all(folder.path().join(subfolder)).unwrap();
        }
        fs::write(folder.path().join("s9/t.csv"), format!("{HEAD}{rows}")).unwrap();
        fs::write(
            folder.path().join("quick/s9/t.csv"),
            format!("{HEAD}another,profile,m,x,1,1,1\n"),
        )
        .unwrap();
        folder
    }

    fn differences(first: &str, second: &str, factor: Option<f64>) -> Vec<String> {
        let (first, second) = (folder(first), folder(second));
        let outcome =
            between(first.path(), second.path(), &|metric| metric == "speedup", factor).unwrap();
        assert_eq!(outcome.tables, 1);
        outcome.differences.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn values_must_be_equal_and_costs_may_differ() {
        let ours = "s9/t,a,m,error,0.1,5,1\ns9/t,a,m,speedup,3,5,1\n";
        let theirs = ours.replace(",5,1", ",7,2").replace("speedup,3", "speedup,4");
        assert_eq!(differences(ours, &theirs, None), [""; 0]);
        assert_eq!(differences(ours, &theirs, Some(2.0)), [""; 0]);
        assert_eq!(
            differences(ours, &theirs, Some(1.35)).len(),
            2 * 2,
            "seconds and memory of two rows"
        );
        let other = ours.replace("error,0.1", "error,0.10000000000000002");
        assert_eq!(
            differences(ours, &other, None),
            ["s9/t.csv · a error · value: 0.1 | 0.10000000000000002"]
        );
    }

    #[test]
    fn tables_with_different_columns_differ_once() {
        let rows = "s9/t,a,m,error,0.1,5,1\ns9/t,b,m,error,0.1,5,1\n";
        let (first, second) = (folder(rows), folder(rows));
        let renamed = format!("{}{rows}", HEAD.replace("method", "data"));
        fs::write(second.path().join("s9/t.csv"), renamed).unwrap();
        let outcome = between(first.path(), second.path(), &|_| false, None).unwrap();
        let found: Vec<String> = outcome.differences.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            ["s9/t.csv · different columns, rows not compared: \
                 only here: method | only here: data"]
        );
    }

    #[test]
    fn rows_and_tables_of_one_folder_only_are_differences() {
        let ours = "s9/t,a,m,error,0.1,5,1\n";
        let both = format!("{ours}s9/t,b,m,error,0.1,5,1\n");
        assert_eq!(differences(ours, &both, None), ["s9/t.csv · b error: no such row | present"]);
        let (first, second) = (folder(ours), folder(ours));
        fs::rename(second.path().join("s9/t.csv"), second.path().join("s9/u.csv")).unwrap();
        let outcome = between(first.path(), second.path(), &|_| false, None).unwrap();
        let tables: Vec<&str> =
            outcome.differences.iter().map(|difference| difference.table.as_str()).collect();
        assert_eq!(tables, ["s9/t.csv", "s9/u.csv"]);
        let empty = tempfile::tempdir().unwrap();
        let error = between(first.path(), empty.path(), &|_| false, None).unwrap_err().to_string();
        assert!(error.contains("result tables"), "{error}");
    }
}
