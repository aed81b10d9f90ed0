//! Known values as a config selects them from a file.

use std::path::Path;

use super::input::InputError;
use super::printed::Printed;
use super::tables::Table;
use crate::config::CompareSpec;

/// One selected value.
#[derive(Clone, Debug)]
pub struct KnownValue {
    /// Position of the record in the file.
    pub row: usize,
    /// The ids under which a deviation may be listed, the usual one first.
    pub ids: Vec<String>,
    /// Where the paper states it.
    pub place: String,
    /// Values of the join columns, in our spelling.
    pub key: Vec<String>,
    /// The metric, in our spelling.
    pub metric: String,
    /// The value as printed, also of rows that state a band only (then empty text).
    pub printed: Printed,
    /// The band, if the row states one.
    pub band: Option<(f64, f64)>,
}

/// Reads the file of a spec and selects its values.
///
/// # Errors
/// A missing or malformed file, a column that is not there, a filter that selects nothing, a row without value.
pub fn read(root: &Path, spec: &CompareSpec) -> Result<(Table, Vec<KnownValue>), InputError> {
    let file = spec.relative_path();
    let remedy = "put the file there, or correct `published` or `reference` in the [[compare]] table";
    let table = Table::read(&root.join(&file), &file, remedy)?;
    for column in &spec.join {
        table.require(column, "join")?;
    }
    table.require(&spec.value_column, "value_column")?;
    if let Some(column) = &spec.metric_column {
        table.require(column, "metric_column")?;
    }
    for column in spec.rename.keys() {
        table.require(column, "rename")?;
    }
    let rows = table.rows_where(&spec.filter, "filter")?;
    if rows.is_empty() {
        return Err(InputError::new(
            &file,
            format!("at least one row that the filter {:?} selects", spec.filter),
            "none",
            "correct `filter` in the [[compare]] table",
        ));
    }
    let values = rows.into_iter().map(|row| known_value(&table, spec, row)).collect::<Result<_, _>>()?;
    Ok((table, values))
}

fn known_value(table: &Table, spec: &CompareSpec, row: usize) -> Result<KnownValue, InputError> {
    let line = Table::line(row);
    let printed = table.field(&spec.value_column, row).trim();
    let band = band(table, row)?;
    if printed.is_empty() && band.is_none() {
        return Err(InputError::new(
            table.file(),
            format!("a value in column \"{}\" on line {line}", spec.value_column),
            "an empty field",
            "write the value, NI if the paper has none, or leave the row out with `filter`",
        ));
    }
    let printed = Printed::parse(printed);
    if let (Some(last), Some(_)) = (spec.rounded.last(), printed.number())
        && printed.decimals() != Some(*last)
    {
        return Err(InputError::new(
            table.file(),
            format!("a number with {last} decimals on line {line}, as `rounded` in the [[compare]] table says"),
            printed.to_string(),
            "correct `rounded`, or leave the row to another [[compare]] with `filter`",
        ));
    }
    Ok(KnownValue {
        row,
        ids: ids(table, spec, row),
        place: place(table, row).to_owned(),
        key: spec.join.iter().map(|column| renamed(spec, column, table.field(column, row))).collect(),
        metric: match (&spec.metric_column, &spec.metric) {
            (Some(column), _) => renamed(spec, column, table.field(column, row)),
            (None, metric) => metric.clone().unwrap_or_default(),
        },
        printed,
        band,
    })
}

/// The part of the paper that a row belongs to: its column `where` or `table`, else the file.
#[must_use]
pub fn place(table: &Table, row: usize) -> &str {
    ["where", "table"]
        .iter()
        .map(|column| table.field(column, row))
        .find(|part| !part.is_empty())
        .unwrap_or_else(|| table.file())
}

/// `id`, or for files without ids `file:line` and, to tell several value columns apart, `file:line:column`.
fn ids(table: &Table, spec: &CompareSpec, row: usize) -> Vec<String> {
    let id = table.field("id", row);
    if !id.is_empty() {
        return vec![id.to_owned()];
    }
    let (file, line) = (spec.file_name(), Table::line(row));
    vec![format!("{file}:{line}"), format!("{file}:{line}:{}", spec.value_column)]
}

fn renamed(spec: &CompareSpec, column: &str, value: &str) -> String {
    spec.rename.get(column).and_then(|names| names.get(value)).map_or(value, String::as_str).to_owned()
}

fn band(table: &Table, row: usize) -> Result<Option<(f64, f64)>, InputError> {
    let (low, high) = (table.field("low", row).trim(), table.field("high", row).trim());
    if low.is_empty() && high.is_empty() {
        return Ok(None);
    }
    match (low.parse::<f64>(), high.parse::<f64>()) {
        (Ok(low), Ok(high)) if low <= high => Ok(Some((low, high))),
        _ => Err(InputError::new(
            table.file(),
            format!("two numbers low <= high on line {}, or neither", Table::line(row)),
            format!("low = \"{low}\", high = \"{high}\""),
            "correct the columns low and high",
        )),
    }
}
