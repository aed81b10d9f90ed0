//! Marginals that an engine wrote to files.

use std::path::{Path, PathBuf};

use super::counted_marginals::{CountedMarginals, CountedRows};
use super::table::{CsvTable, FieldCounts, ParquetTable, TypedTable, Values, is_parquet};
use crate::domain::AttributeSet;
use crate::engine::{COUNT, cell_column};
use crate::error::{Error, Result};
use crate::schema::{Schema, Value};

/// Reads the marginals of all CSV and Parquet files of a folder.
///
/// A file has a column [`cell_column`] per attribute of its marginal, in any order, and a column
/// [`COUNT`].
///
/// # Errors
/// A folder or file that cannot be read, other columns, values that are no integers, or marginals
/// that [`CountedMarginals::add`] refuses. No message has a count.
pub fn read_marginals(folder: &Path, schema: &Schema) -> Result<CountedMarginals> {
    let unreadable =
        |error| Error::io(folder, "reading the folder", error, "give the folder of the counts");
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if matches!(extension, Some("csv" | "parquet")) {
            files.push(path);
        }
    }
    if files.is_empty() {
        let expected = "CSV or Parquet files of counts";
        let remedy = "run the statements of `matmech sql` and save each result there";
        return Err(Error::bad_input(folder.display().to_string(), expected, "none", remedy));
    }
    files.sort();
    let marginals = CountedMarginals::new(schema, None);
    for path in files {
        let (set, rows) = read_file(&path, schema.attributes().len())?;
        marginals.add(set, &rows)?;
    }
    Ok(marginals)
}

fn read_file(path: &Path, attributes: usize) -> Result<(AttributeSet, CountedRows)> {
    let mut table: Box<dyn TypedTable> = match is_parquet(path) {
        true => Box::new(ParquetTable::open(path)?),
        false => Box::new(CsvTable::open(path, FieldCounts::Any)?),
    };
    let refuse = |expected: &str| {
        let remedy = "save the results of the statements as they are, with their header";
        Error::bad_input(path.display().to_string(), expected, "others", remedy)
    };
    let header = || refuse("columns cell_N of attributes, each once, and count");
    let mut cells: Vec<(usize, usize)> = Vec::new();
    let mut count = None;
    for (index, column) in table.columns().iter().enumerate() {
        let name = column.name.as_deref().unwrap_or_default();
        match (0..attributes).find(|position| name == cell_column(*position)) {
            Some(position) => cells.push((position, index)),
            None if name == COUNT && count.is_none() => count = Some(index),
            None => return Err(header()),
        }
    }
    let count = count.ok_or_else(header)?;
    cells.sort_unstable();
    let positions: Vec<usize> = cells.iter().map(|(position, _)| *position).collect();
    if positions.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(header());
    }
    let columns: Vec<usize> = cells.iter().map(|(_, index)| *index).chain([count]).collect();
    let mut rows = CountedRows::new();
    while let Some(batch) =
        table.next_batch(&columns).map_err(|error| error.unquoted(&path.display().to_string()))?
    {
        let columns: Option<Vec<Vec<i128>>> = batch.columns.iter().map(integers).collect();
        let columns = columns.ok_or_else(|| refuse("integers"))?;
        rows.extend((0..batch.rows).map(|row| columns.iter().map(|c| c[row]).collect()));
    }
    Ok((AttributeSet::from_positions(&positions)?, rows))
}

/// Returns the integers of a column.
fn integers(values: &Values<'_>) -> Option<Vec<i128>> {
    let mut integers = Some(Vec::new());
    values.for_each(|value: Value<'_>| {
        let integer = match value {
            Value::Integer(integer) => Some(integer),
            Value::Text(text) => text.trim().parse::<i64>().ok().map(i128::from),
            _ => None,
        };
        match (integer, &mut integers) {
            (Some(integer), Some(integers)) => integers.push(integer),
            _ => integers = None,
        }
    });
    integers
}
