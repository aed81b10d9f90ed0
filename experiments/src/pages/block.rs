//! A table of a page, and the fields of files that it shows.

use std::path::Path;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::columns::{self, Filter};
use crate::entry::{Entry, Format, Value};
use crate::error::{Error, FileRole, Result};
use crate::table::Table;

/// The head of a block.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Block {
    /// The files, relative to the root.
    from: Vec<String>,
    /// Column → values: rows of other values are ignored. Rows are sorted by their key columns, in
    /// the order of these values, or of first occurrence.
    #[serde(default, rename = "where", deserialize_with = "columns::filter")]
    filter: Filter,
    /// Key columns with their headings.
    rows: Vec<(String, String)>,
    #[serde(deserialize_with = "columns")]
    columns: Vec<Entry>,
}

/// Reads the columns. A name alone is a column of the files that is shown as it is.
fn columns<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Vec<Entry>, D::Error> {
    let column = |value| match value {
        toml::Value::String(name) => Ok(Entry {
            metric: name.clone(),
            column: name,
            format: Some(Format::Text),
            ..Entry::default()
        }),
        keys => keys.try_into().map_err(|error: toml::de::Error| D::Error::custom(error.message())),
    };
    Vec::deserialize(deserializer)?.into_iter().map(column).collect()
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
        let remedy = "correct the block or the results";
        let refuse = |expected: String, found: &str| {
            Error::file(FileRole::Input, origin, expected, found, remedy)
        };
        let read = |file: &String| Table::read(&root.join(file), file, "restore or compute it");
        let tables: Vec<Table> = self.from.iter().map(read).collect::<Result<_>>()?;
        for column in &self.columns {
            let invalid = |error: Error| refuse("valid columns".to_owned(), &error.to_string());
            column.validate(false).map_err(invalid)?;
        }
        let keys = self.keys(&tables);
        if keys.is_empty() {
            return Err(refuse("a row that the block selects".to_owned(), "none"));
        }
        let titles: Vec<&str> = (self.rows.iter().map(|(_, title)| title.as_str()))
            .chain(self.columns.iter().map(|column| column.metric.as_str()))
            .collect();
        let rules = "---|".repeat(self.rows.len()) + &"---:|".repeat(self.columns.len());
        let mut lines: Vec<String> = Vec::new();
        let mut seen = vec![false; self.columns.len()];
        for key in &keys {
            let mut fields: Vec<String> =
                key.iter().map(|field| field.replace('|', "\\|")).collect();
            for (column, seen) in self.columns.iter().zip(&mut seen) {
                let field = self.field(&tables, key, column).map_err(|found| {
                    refuse(format!("one row for {key:?} in the column `{}`", column.metric), &found)
                })?;
                *seen |= field.is_some();
                fields.push(field.unwrap_or_else(|| NONE.to_owned()));
            }
            lines.push(format!("| {} |\n", fields.join(" | ")));
        }
        if let Some(index) = seen.iter().position(|seen| !seen) {
            let title = &self.columns[index].metric;
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
        column: &Entry,
    ) -> std::result::Result<Option<String>, String> {
        let of_column = |table: &&Table| column.from.as_ref().is_none_or(|n| n == table.name());
        let values = tables.iter().filter(of_column).flat_map(|table| {
            column.values(table, |row| {
                let mut of_key = self.rows.iter().zip(key);
                of_key.all(|((name, _), value)| table.field(name, row) == value)
                    && table.selects(&self.filter, row)
            })
        });
        match column.kept(values.collect()).as_slice() {
            several @ [_, _, ..] => Err(format!("{} rows", several.len())),
            value => Ok(value.first().map(Value::text)),
        }
    }
}
