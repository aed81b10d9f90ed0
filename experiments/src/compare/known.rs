//! Selects the known values of a config from their file.

use std::path::Path;

use super::subject::Subject;
use crate::config::CompareSpec;
use crate::error::{Error, FileRole, Result};
use crate::printed::Printed;
use crate::table::Table;

/// A selected known value.
#[derive(Clone, Debug)]
pub struct KnownValue {
    /// Line number in the file.
    pub line: usize,
    /// The id, under which a deviation may be listed.
    pub id: String,
    /// The part of the paper that states it.
    pub part: String,
    /// Values of the join columns, in our spelling.
    pub key: Vec<String>,
    /// The metric, in our spelling.
    pub metric: String,
    /// The words that the inequality of `printed` stands for, from the column `words`; empty if the
    /// paper prints the number.
    pub words: String,
    /// What the value is about, from the column `subject`; without it, the metric decides.
    pub subject: Option<Subject>,
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
        id: id(as_printed, spec, row),
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
        words: words(as_printed, row),
        subject: subject(as_printed, row)?,
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

/// Returns the words of a row, and the threshold that was chosen for them.
fn words(table: &Table, row: usize) -> String {
    let field = |column| table.field(column, row).trim();
    match (field("words"), field("threshold")) {
        (words, "") => words.to_owned(),
        (words, threshold) => format!("{words} (threshold chosen here: {threshold})"),
    }
}

/// Returns the subject of a row, from its column `subject`.
fn subject(table: &Table, row: usize) -> Result<Option<Subject>> {
    let name = table.field("subject", row).trim();
    if name.is_empty() {
        return Ok(None);
    }
    let subject = Subject::ALL.into_iter().find(|subject| subject.key() == name);
    subject.map(Some).ok_or_else(|| {
        Error::file(
            FileRole::Input,
            table.name(),
            format!(
                "one of {} in column \"subject\" on line {}, or an empty field",
                Subject::ALL.map(Subject::key).join(", "),
                table.line(row)
            ),
            format!("\"{name}\""),
            "correct the field",
        )
    })
}

/// Returns the id of a row: `id`, or without that column table, key and column of the value, such as
/// `s3-table2/Adult/2-way/RP+/rmse`.
fn id(table: &Table, spec: &CompareSpec, row: usize) -> String {
    let id = table.field("id", row);
    if !id.is_empty() {
        return id.to_owned();
    }
    let file = spec.file_name().trim_end_matches(".csv").replace('_', "-");
    let key = spec.rows.join.iter().map(|column| table.field(column, row));
    let parts: Vec<&str> =
        [file.as_str()].into_iter().chain(key).chain([spec.rows.value_column.as_str()]).collect();
    // Ids are anchors of pages: `<=3-way` is `up-to-3-way`.
    parts.join("/").replace("<=", "up-to-").replace(' ', "-")
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
