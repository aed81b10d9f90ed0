//! What differs between two folders of results: what must be equal bit by bit, and what it costs
//! within a factor.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::columns;
use crate::error::{Error, FileRole, Result};
use crate::layout::RESERVED;
use crate::table::Table;

/// One thing that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The table, below both folders.
    pub table: String,
    /// The row, by its cell and metric; empty if the tables differ as a whole.
    pub row: String,
    /// The column; empty if the row or the table is in one folder only.
    pub column: String,
    /// What the first folder has.
    pub first: String,
    /// What the second one has.
    pub second: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, row, column, first, second } = self;
        let place: Vec<&str> = [table, row, column]
            .into_iter()
            .map(String::as_str)
            .filter(|part| !part.is_empty())
            .collect();
        write!(f, "{}: {first} | {second}", place.join(" · "))
    }
}

/// How much was compared, and what differs.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Tables in either folder.
    pub tables: usize,
    /// Rows in either folder.
    pub rows: usize,
    /// What differs, in the order of tables and rows.
    pub differences: Vec<Difference>,
}

/// Compares all result tables of two folders (`results/`, or that of a profile). Columns that are a
/// function of config and seed must be equal as they are written. Times and memory, and the values
/// of the metrics that `is_timed` names, may differ; with `costs_within` by no more than that
/// factor.
///
/// # Errors
/// A folder that is not there or has no table, a table that cannot be read.
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
            let there = |has| if has { "there" } else { "no such table" }.to_owned();
            outcome.differences.push(Difference {
                table: name.clone(),
                row: String::new(),
                column: String::new(),
                first: there(ours.contains(name)),
                second: there(theirs.contains(name)),
            });
            continue;
        }
        let read =
            |folder: &Path| Table::read(&folder.join(name), name, "run the experiment again");
        tables(name, &read(first)?, &read(second)?, is_timed, costs_within, &mut outcome);
    }
    Ok(outcome)
}

/// The tables below a folder of results, by their paths with `/`; those of other profiles and of
/// cells are not part of it.
///
/// # Errors
/// A folder that cannot be read.
pub fn tables_below(folder: &Path) -> Result<BTreeSet<String>> {
    files_below(folder, &["csv"])
}

/// The files with these extensions in subfolders of a folder, by their paths with `/`; folders of
/// other profiles and of cells are not part of it.
///
/// # Errors
/// A folder that cannot be read.
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
        let place: PathBuf = below.join(&name);
        if entry.path().is_dir() {
            if !(below.as_os_str().is_empty()
                && (RESERVED.contains(&name.as_str()) || name == "figures"))
            {
                collect(folder, &place, extensions, found)?;
            }
        } else if Path::new(&name)
            .extension()
            .is_some_and(|found| extensions.iter().any(|one| found == *one))
            && !below.as_os_str().is_empty()
        {
            // Tables of experiments are in folders; bench.csv, which is none, is not.
            found.insert(place.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(())
}

fn tables(
    name: &str,
    first: &Table,
    second: &Table,
    is_timed: &dyn Fn(&str) -> bool,
    costs_within: Option<f64>,
    outcome: &mut Outcome,
) {
    if first.columns() != second.columns() {
        let only = |one: &Table, other: &Table| {
            let theirs = other.columns();
            let mine: Vec<&str> =
                one.columns().into_iter().filter(|column| !theirs.contains(column)).collect();
            if mine.is_empty() { "no others".to_owned() } else { mine.join(", ") }
        };
        let order =
            if only(first, second) == only(second, first) { ", in another order" } else { "" };
        outcome.rows += first.len().max(second.len());
        outcome.differences.push(Difference {
            table: name.to_owned(),
            row: "other columns, so no row is compared".to_owned(),
            column: String::new(),
            first: format!("only here: {}{order}", only(first, second)),
            second: format!("only here: {}", only(second, first)),
        });
        return;
    }
    let by_row = |table: &Table| -> BTreeMap<(String, String), usize> {
        let key = |row| {
            (
                table.field(columns::CELL, row).to_owned(),
                table.field(columns::METRIC, row).to_owned(),
            )
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
        let (Some(&one), Some(&other)) = (ours.get(key), theirs.get(key)) else {
            let there = |has| if has { "there" } else { "no such row" };
            differs("", there(ours.contains_key(key)), there(theirs.contains_key(key)));
            continue;
        };
        for column in &columns {
            let (a, b) = (first.field(column, one), second.field(column, other));
            let cost =
                columns::COSTS.contains(column) || (*column == columns::VALUE && is_timed(&key.1));
            let equal = if cost { near(a, b, costs_within) } else { a == b };
            if !equal {
                differs(column, a, b);
            }
        }
    }
}

/// Whether two costs are within a factor of each other; without one, always.
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
        for place in ["s9", "quick/s9"] {
            fs::create_dir_all(folder.path().join(place)).unwrap();
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
    fn tables_with_other_columns_differ_once() {
        let rows = "s9/t,a,m,error,0.1,5,1\ns9/t,b,m,error,0.1,5,1\n";
        let (first, second) = (folder(rows), folder(rows));
        let renamed = format!("{}{rows}", HEAD.replace("method", "data"));
        fs::write(second.path().join("s9/t.csv"), renamed).unwrap();
        let outcome = between(first.path(), second.path(), &|_| false, None).unwrap();
        let found: Vec<String> = outcome.differences.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "s9/t.csv · other columns, so no row is compared: only here: method | only here: data"
            ]
        );
    }

    #[test]
    fn what_is_in_one_folder_only_differs() {
        let ours = "s9/t,a,m,error,0.1,5,1\n";
        let both = format!("{ours}s9/t,b,m,error,0.1,5,1\n");
        assert_eq!(differences(ours, &both, None), ["s9/t.csv · b error: no such row | there"]);
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
