//! A table of a page, and the fields of files that it shows.

use std::path::Path;

use serde::Deserialize;

use crate::columns::VALUE;
use crate::error::{Error, FileRole, Result};
use crate::selection::{self, Filter, Take, standard_error};
use crate::table::Table;

/// The head of a block.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Block {
    /// The files, relative to the root.
    from: Vec<String>,
    /// Column → values: rows of other values are ignored. Rows are sorted by their key columns, in
    /// the order of these values, or of first occurrence.
    #[serde(default, rename = "where", deserialize_with = "selection::filter")]
    filter: Filter,
    /// Key columns with their headings.
    rows: Vec<(String, String)>,
    columns: Vec<Entry>,
}

/// A column of values, or the name of a column of the files that is shown as it is.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "the name of a column, or a table with only known keys")]
enum Entry {
    Name(String),
    Column(Column),
}

/// A column of values.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Column {
    title: String,
    /// The file, if not all of the block's.
    from: Option<String>,
    /// Column → values of the row that is shown.
    #[serde(default, rename = "where", deserialize_with = "selection::filter")]
    filter: Filter,
    /// The column of the files that is shown.
    #[serde(default = "value_column")]
    column: String,
    #[serde(default)]
    format: Format,
    /// The choice among several selected rows; without it, several rows are an error.
    take: Option<Take>,
    /// With `take`: the column that names the row that is shown.
    label: Option<String>,
    /// Whether the standard error of a mean follows: that of the metric `…_se` of the same cell.
    #[serde(default)]
    standard_error: bool,
}

fn value_column() -> String {
    VALUE.to_owned()
}

impl Entry {
    fn column(&self) -> Column {
        match self {
            Self::Column(column) => column.clone(),
            Self::Name(name) => Column {
                title: name.clone(),
                from: None,
                filter: Filter::new(),
                column: name.clone(),
                format: Format::Text,
                take: None,
                label: None,
                standard_error: false,
            },
        }
    }
}

/// How a number is written.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Format {
    /// This many decimals.
    Digits(usize),
    /// As the file has it.
    Text,
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
    pub(super) fn table(&self, root: &Path, origin: &str) -> Result<String> {
        let refuse = |expected: String, found: &str| {
            Error::file(
                FileRole::Input,
                origin,
                expected,
                found,
                "correct the block or the results",
            )
        };
        let read = |file: &String| Table::read(&root.join(file), file, "restore or compute it");
        let tables: Vec<Table> = self.from.iter().map(read).collect::<Result<_>>()?;
        let columns: Vec<Column> = self.columns.iter().map(Entry::column).collect();
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
            let mut fields: Vec<String> =
                key.iter().map(|field| field.replace('|', "\\|")).collect();
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

    /// Returns the keys of the selected rows, each once.
    fn keys(&self, tables: &[Table]) -> Vec<Vec<String>> {
        let mut keys: Vec<Vec<String>> = Vec::new();
        for table in tables {
            let columns = table.columns();
            if !self.rows.iter().all(|(column, _)| columns.contains(&column.as_str())) {
                continue;
            }
            for row in (0..table.len()).filter(|&row| table.selects(&self.filter, row)) {
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

    /// Returns the field of a key and a column, `None` without a row, or what was found instead.
    fn field(
        &self,
        tables: &[Table],
        key: &[String],
        column: &Column,
    ) -> std::result::Result<Option<String>, String> {
        let mut found: Vec<((&Table, usize), f64)> = Vec::new();
        let of_column = |table: &&Table| column.from.as_ref().is_none_or(|n| n == table.name());
        for table in tables.iter().filter(of_column) {
            let is_wanted = |row: &usize| {
                let mut of_key = self.rows.iter().zip(key);
                let field = table.field(&column.column, *row);
                let is_shown = match column.take {
                    Some(_) => table.number(&column.column, *row).is_some(),
                    None => !field.is_empty(),
                };
                of_key.all(|((name, _), value)| table.field(name, *row) == value)
                    && column.filter.keys().all(|name| table.columns().contains(&name.as_str()))
                    && table.selects(&column.filter, *row)
                    && is_shown
                    && table.selects(&self.filter, *row)
            };
            let number = |row| table.number(&column.column, row).unwrap_or(f64::NAN);
            let rows = (0..table.len()).filter(is_wanted);
            found.extend(rows.map(|row| ((table, row), number(row))));
        }
        let kept = match (column.take, found.as_slice()) {
            (Some(take), found) => take.of(found),
            (None, [] | [_]) => found.first().copied(),
            (None, several) => return Err(format!("{} rows", several.len())),
        };
        let Some(((table, row), number)) = kept else { return Ok(None) };
        let mut text = column.format.written(number, table.field(&column.column, row));
        if column.standard_error
            && let Some(error) = standard_error(table, row, &column.column)
        {
            text += &format!(" ± {}", column.format.of_error(error));
        }
        let label = column.label.as_ref().map(|label| format!(" ({})", table.field(label, row)));
        Ok(Some(text + &label.unwrap_or_default()))
    }
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
        }
    }
}
