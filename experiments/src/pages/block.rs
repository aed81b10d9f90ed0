//! A table of a page, and the fields of files that it shows.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::columns::{CELL, METRIC, VALUE};
use crate::config::{Config, Profile};
use crate::derive;
use crate::error::{Error, FileRole, Result};
use crate::table::Table;

/// The head of a block.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Block {
    /// The files, relative to the root. A result table has the rows of its config's `[[derive]]`.
    from: Vec<String>,
    /// Column → values: rows of other values are ignored. Rows are sorted by their key columns, in
    /// the order of these values, or of first occurrence.
    #[serde(default, rename = "where")]
    filter: BTreeMap<String, Vec<String>>,
    /// Key columns with their headings.
    rows: Vec<(String, String)>,
    /// Key → its spelling on the page.
    #[serde(default)]
    labels: BTreeMap<String, String>,
    /// A column whose values are the titles of the short columns.
    across: Option<String>,
    columns: Vec<Entry>,
}

/// A column of values, in full or as one name: the value of the column `across`, or, without it,
/// the column of the files that is shown as it is.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Entry {
    Short(String),
    Full(Column),
}

/// A column of values.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Column {
    title: String,
    /// The file, if not all of the block's.
    from: Option<String>,
    /// Column → value of the row that is shown.
    #[serde(default, rename = "where")]
    filter: BTreeMap<String, String>,
    /// The column of the files that is shown.
    #[serde(default = "value_column")]
    column: String,
    #[serde(default)]
    format: Format,
    /// The choice among several selected rows; without it, several rows are an error.
    pick: Option<Pick>,
    /// With `pick`: the column that names the row that was picked.
    label: Option<String>,
    /// Whether the standard error of a mean follows: that of the metric `…_se` of the same cell.
    #[serde(default)]
    standard_error: bool,
}

fn value_column() -> String {
    VALUE.to_owned()
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Pick {
    Smallest,
    Largest,
    /// The geometric mean.
    Mean,
}

/// How a number is written.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Format {
    /// This many decimals.
    Digits(usize),
    /// As the file has it.
    Text,
    /// The nearest power of ten with one digit; 0 below 1e-12.
    Power,
    /// Seconds, in ms below 0.1 s.
    Time,
}

impl Default for Format {
    fn default() -> Self {
        Format::Digits(4)
    }
}

/// What is shown where no row is selected.
const NONE: &str = "–";

impl Block {
    /// Returns the table in Markdown; `origin` is the block's page and line.
    ///
    /// # Errors
    /// A file that cannot be read, a column that no file has, a column of the block without any
    /// value, several rows for one value, or a block without rows.
    pub(super) fn table(&self, root: &Path, configs: &[Config], origin: &str) -> Result<String> {
        let refuse = |expected: String, found: &str| {
            Error::file(
                FileRole::Input,
                origin,
                expected,
                found,
                "correct the block or the results",
            )
        };
        let tables: Vec<Table> =
            self.from.iter().map(|file| self.read(root, configs, file)).collect::<Result<_>>()?;
        let columns: Vec<Column> = self.columns.iter().map(|entry| self.column(entry)).collect();
        let keys = self.keys(&tables);
        if keys.is_empty() {
            return Err(refuse("a row that the block selects".to_owned(), "none"));
        }
        let titles: Vec<&str> = (self.rows.iter().map(|(_, title)| title.as_str()))
            .chain(columns.iter().map(|column| column.title.as_str()))
            .collect();
        let rules = "---|".repeat(self.rows.len()) + &"---:|".repeat(columns.len());
        let mut lines: Vec<String> = Vec::new();
        let mut seen = vec![false; columns.len()];
        for key in &keys {
            let label =
                |field: &String| self.labels.get(field).unwrap_or(field).replace('|', "\\|");
            let mut fields: Vec<String> = key.iter().map(label).collect();
            for (column, seen) in columns.iter().zip(&mut seen) {
                let field = self.field(&tables, key, column).map_err(|found| {
                    refuse(format!("one row for {key:?} in the column `{}`", column.title), &found)
                })?;
                *seen |= field.is_some();
                fields.push(field.unwrap_or_else(|| NONE.to_owned()));
            }
            lines.push(format!("| {} |\n", fields.join(" | ")));
        }
        if let Some(index) = seen.iter().position(|seen| !seen) {
            let title = &columns[index].title;
            return Err(refuse(format!("a value in the column `{title}`"), "none"));
        }
        Ok(format!("| {} |\n|{rules}\n{}", titles.join(" | "), lines.concat()))
    }

    fn column(&self, entry: &Entry) -> Column {
        let name = match entry {
            Entry::Full(column) => return column.clone(),
            Entry::Short(name) => name,
        };
        let title = self.labels.get(name).unwrap_or(name).clone();
        let (filter, column, format) = match &self.across {
            Some(across) => {
                ([(across.clone(), name.clone())].into(), VALUE.to_owned(), Format::default())
            }
            None => (BTreeMap::new(), name.clone(), Format::Text),
        };
        let (pick, label) = (None, None);
        Column { title, from: None, filter, column, format, pick, label, standard_error: false }
    }

    fn read(&self, root: &Path, configs: &[Config], file: &str) -> Result<Table> {
        let id = file.strip_prefix("results/").and_then(|file| file.strip_suffix(".csv"));
        let config = id.and_then(|id| configs.iter().find(|config| config.experiment == id));
        let remedy = match config {
            Some(config) => format!("run `reproduce run {}`", config.experiment),
            None => "restore it, it is committed".to_owned(),
        };
        let table = Table::read(&root.join(file), file, &remedy)?;
        match config {
            Some(config) => derive::extended(&table, &config.derive, Profile::Standard),
            None => Ok(table),
        }
    }

    /// Returns the keys of the selected rows, each once.
    fn keys(&self, tables: &[Table]) -> Vec<Vec<String>> {
        let mut keys: Vec<Vec<String>> = Vec::new();
        for table in tables {
            let columns = table.columns();
            if !self.rows.iter().all(|(column, _)| columns.contains(&column.as_str())) {
                continue;
            }
            for row in (0..table.len()).filter(|&row| self.selects(table, row)) {
                let key = self.rows.iter().map(|(column, _)| table.field(column, row).to_owned());
                let key: Vec<String> = key.collect();
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
        let in_order = keys.clone();
        let rank = |key: &Vec<String>| -> Vec<usize> {
            let index = |(position, (column, _)): (usize, &(String, String))| {
                let field = &key[position];
                let listed = self.filter.get(column);
                let listed = listed.and_then(|values| values.iter().position(|x| x == field));
                listed.or_else(|| in_order.iter().position(|key| key[position] == *field))
            };
            self.rows.iter().enumerate().map(|pair| index(pair).unwrap_or(0)).collect()
        };
        keys.sort_by_key(rank);
        keys
    }

    /// Returns whether the block's filter selects a row. Columns that the table lacks are ignored.
    fn selects(&self, table: &Table, row: usize) -> bool {
        let columns = table.columns();
        self.filter.iter().all(|(column, values)| {
            !columns.contains(&column.as_str())
                || values.iter().any(|value| value == table.field(column, row))
        })
    }

    /// Returns the field of a key and a column, `None` without a row, or what was found instead.
    fn field(
        &self,
        tables: &[Table],
        key: &[String],
        column: &Column,
    ) -> std::result::Result<Option<String>, String> {
        let mut found: Vec<(&Table, usize)> = Vec::new();
        for table in tables
            .iter()
            .filter(|table| column.from.as_ref().is_none_or(|name| name == table.name()))
        {
            let is_wanted = |row: &usize| {
                let of_key = self
                    .rows
                    .iter()
                    .zip(key)
                    .all(|((name, _), value)| table.field(name, *row) == value);
                let of_column =
                    column.filter.iter().all(|(name, value)| table.field(name, *row) == value);
                let is_shown = match column.pick {
                    Some(_) => table.number(&column.column, *row).is_some(),
                    None => !table.field(&column.column, *row).is_empty(),
                };
                of_key && of_column && is_shown && self.selects(table, *row)
            };
            found.extend((0..table.len()).filter(is_wanted).map(|row| (table, row)));
        }
        let number =
            |(table, row): &(&Table, usize)| table.number(&column.column, *row).unwrap_or(f64::NAN);
        let by_number =
            |a: &&(&Table, usize), b: &&(&Table, usize)| number(a).total_cmp(&number(b));
        let picked = match column.pick {
            _ if found.is_empty() => return Ok(None),
            Some(Pick::Mean) => {
                let logarithms: f64 = found.iter().map(|row| number(row).ln()).sum();
                let mean = (logarithms / found.len() as f64).exp();
                return Ok(Some(column.format.written(mean, "")));
            }
            Some(Pick::Smallest) => found.iter().min_by(by_number),
            Some(Pick::Largest) => found.iter().max_by(by_number),
            None if found.len() == 1 => found.first(),
            None => return Err(format!("{} rows", found.len())),
        };
        let Some((table, row)) = picked else { return Ok(None) };
        let mut text =
            column.format.written(number(&(table, *row)), table.field(&column.column, *row));
        if column.standard_error
            && let Some(error) = standard_error(table, *row, &column.column)
        {
            text += &format!(" ± {}", column.format.of_error(error));
        }
        let label = column.label.as_ref().map(|label| format!(" ({})", table.field(label, *row)));
        Ok(Some(text + &label.unwrap_or_default()))
    }
}

/// Returns the standard error of a mean, in the row of the same cell; `None` for one trial.
fn standard_error(table: &Table, row: usize, column: &str) -> Option<f64> {
    let metric = format!("{}_se", table.field(METRIC, row));
    let of_cell = |other: &usize| {
        table.field(CELL, *other) == table.field(CELL, row) && table.field(METRIC, *other) == metric
    };
    (0..table.len()).find(of_cell).and_then(|other| table.number(column, other))
}

impl Format {
    /// Writes a standard error, with at least one digit that is not 0.
    fn of_error(self, error: f64) -> String {
        match self {
            Format::Digits(digits) if error > 0.0 => {
                let places = (-error.log10()).ceil().max(0.0) as usize;
                format!("{error:.*}", places.max(digits))
            }
            _ => self.written(error, &error.to_string()),
        }
    }

    fn written(self, number: f64, text: &str) -> String {
        match self {
            Format::Digits(digits) => format!("{number:.digits$}"),
            Format::Text => text.to_owned(),
            Format::Power if number < 1e-12 => "0".to_owned(),
            Format::Power => format!("{number:.0e}"),
            Format::Time if number < 0.1 => format!("{:.1} ms", number * 1e3),
            Format::Time => format!("{number:.2} s"),
        }
    }
}
