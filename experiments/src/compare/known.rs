//! Selects the known values of a config from their file.

use std::path::Path;

use crate::config::CompareSpec;
use crate::error::{Error, FileRole, Result};
use crate::printed::Printed;
use crate::table::Table;

/// A selected known value.
#[derive(Clone, Debug)]
pub struct KnownValue {
    /// Line number in the file.
    pub line: usize,
    /// The ids under which a deviation may be listed, the preferred id first.
    pub ids: Vec<String>,
    /// The part of the paper that states it.
    pub part: String,
    /// Values of the join columns, in our spelling.
    pub key: Vec<String>,
    /// The metric, in our spelling.
    pub metric: String,
    /// The words that the inequality of `printed` stands for, from the column `words`; empty if the
    /// paper prints the number.
    pub words: String,
    /// The value as printed; empty text for rows that state only a band.
    pub printed: Printed,
    /// The band, if the row states one.
    pub band: Option<(f64, f64)>,
}

/// Reads the file of a spec and returns its selected rows, in our spelling, with their values.
///
/// `config` names the config in messages.
///
/// # Errors
/// A missing or malformed file, a missing column, a filter that selects nothing, or a row without
/// a value.
pub fn read(root: &Path, spec: &CompareSpec, config: &str) -> Result<(Table, Vec<KnownValue>)> {
    let file = spec.relative_path();
    let remedy = format!(
        "add the file, or correct `published` or `reference` in the [[compare]] table of {config}"
    );
    let table = Table::read(&root.join(&file), &file, &remedy)?;
    for column in &spec.rows.join {
        table.require(column, "join")?;
    }
    table.require(&spec.rows.value_column, "value_column")?;
    if let Some(column) = &spec.rows.metric_column {
        table.require(column, "metric_column")?;
    }
    for column in spec.rows.rename.keys() {
        table.require(column, "rename")?;
    }
    let as_printed = table.filtered(&spec.rows.filter, "filter")?;
    if as_printed.is_empty() {
        return Err(Error::file(
            FileRole::Input,
            &file,
            format!("at least one row that the filter {:?} selects", spec.rows.filter),
            "none",
            format!("correct `filter` in the [[compare]] table of {config}"),
        ));
    }
    let in_our_spelling = spec
        .rows
        .rename
        .iter()
        .try_fold(as_printed.clone(), |table, (column, names)| table.renamed(column, names))?;
    let values = (0..as_printed.len())
        .map(|row| known_value(&as_printed, &in_our_spelling, spec, row))
        .collect::<Result<_>>()?;
    Ok((in_our_spelling, values))
}

fn known_value(
    as_printed: &Table,
    in_our_spelling: &Table,
    spec: &CompareSpec,
    row: usize,
) -> Result<KnownValue> {
    let line = as_printed.line(row);
    let printed = as_printed.field(&spec.rows.value_column, row).trim();
    let band = band(as_printed, row)?;
    if printed.is_empty() && band.is_none() {
        return Err(Error::file(
            FileRole::Input,
            as_printed.name(),
            format!("a value in column \"{}\" on line {line}", spec.rows.value_column),
            "an empty field",
            "write the value, write NI if the paper has none, or exclude the row with `filter`",
        ));
    }
    let printed = Printed::parse(printed);
    if let (Some(last), Some(_)) = (spec.rounded().last(), printed.number())
        && printed.decimals() != Some(*last)
    {
        return Err(Error::file(
            FileRole::Input,
            as_printed.name(),
            format!(
                "a number with {last} decimals on line {line}, as `rounded` in the [[compare]] \
                 table requires"
            ),
            printed,
            "correct `rounded`, or move the row to another [[compare]] with `filter`",
        ));
    }
    Ok(KnownValue {
        line,
        ids: ids(as_printed, spec, row),
        part: part(as_printed, row).to_owned(),
        key: spec
            .rows
            .join
            .iter()
            .map(|column| in_our_spelling.field(column, row).to_owned())
            .collect(),
        metric: match (&spec.rows.metric_column, &spec.rows.metric) {
            (Some(column), _) => in_our_spelling.field(column, row).to_owned(),
            (None, metric) => metric.clone().unwrap_or_default(),
        },
        words: as_printed.field("words", row).trim().to_owned(),
        printed,
        band,
    })
}

/// Returns the part of the paper of a row: its column `where` or `table`, else the file name.
#[must_use]
pub fn part(table: &Table, row: usize) -> &str {
    ["where", "table"]
        .iter()
        .map(|column| table.field(column, row))
        .find(|part| !part.is_empty())
        .unwrap_or_else(|| table.name())
}

/// Returns the ids of a row: `id`, or without that column `file:line` and `file:line:column`.
fn ids(table: &Table, spec: &CompareSpec, row: usize) -> Vec<String> {
    let id = table.field("id", row);
    if !id.is_empty() {
        return vec![id.to_owned()];
    }
    let (file, line) = (spec.file_name(), table.line(row));
    vec![format!("{file}:{line}"), format!("{file}:{line}:{}", spec.rows.value_column)]
}

/// Returns the band of a row, from its columns `low` and `high`.
fn band(table: &Table, row: usize) -> Result<Option<(f64, f64)>> {
    let (low, high) = (table.field("low", row).trim(), table.field("high", row).trim());
    if low.is_empty() && high.is_empty() {
        return Ok(None);
    }
    match (low.parse::<f64>(), high.parse::<f64>()) {
        (Ok(low), Ok(high)) if low <= high => Ok(Some((low, high))),
        _ => Err(Error::file(
            FileRole::Input,
            table.name(),
            format!("two numbers low <= high on line {}, or neither", table.line(row)),
            format!("low = \"{low}\", high = \"{high}\""),
            "correct the columns low and high",
        )),
    }
}
