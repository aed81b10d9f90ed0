//! Entries: the `[[derive]]` tables of configs and the columns of tables in pages.
//!
//! Both select rows of result tables, divide them by partners or not, and keep all values or one.
//! [`crate::derive`] writes the values as rows, [`crate::pages`] as the fields of a column.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use crate::columns::{self, CELL, Filter, METHOD, METRIC, VALUE};
use crate::error::{Error, Result};
use crate::table::Table;

/// Values of result tables: those of the rows that `where` selects, or their ratios.
///
/// With `over`, each selected row is divided by its partner: the row with the values of `over` in
/// those columns and equal values in all other key columns. A row without a partner has no value.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Metric of the derived rows, or title of the column of a page.
    #[serde(alias = "title")]
    pub metric: String,
    /// The file of the rows, if not all files of the block (pages).
    pub from: Option<String>,
    /// Column → allowed values of the selected rows.
    #[serde(default, rename = "where", deserialize_with = "columns::filter")]
    pub filter: Filter,
    /// Column of the values (default `value`; `seconds` for ratios of times).
    #[serde(default = "columns::value_column")]
    pub column: String,
    /// Key column, or `metric`, → its value in the partner. `*` selects the partner with the smallest number,
    /// `a|b` the smaller of the two.
    #[serde(default)]
    pub over: BTreeMap<String, String>,
    /// The value of a row and its partner.
    #[serde(default)]
    pub formula: Formula,
    /// The value that is kept; all by default, which must be one for a field of a page.
    pub take: Option<Take>,
    /// Whether the standard error of each value is added ([`Value::standard_error`]).
    #[serde(default)]
    pub standard_error: bool,
    /// Column → its value in the derived rows (`[[derive]]`). A column that the table lacks is
    /// added, empty in all other rows.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// How numbers are written (pages; default four decimals).
    pub format: Option<Format>,
    /// Column that names the row of the value, in parentheses after it (pages).
    pub label: Option<String>,
}

/// The value that is computed from a row and its partner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Formula {
    /// row/partner.
    #[default]
    Ratio,
    /// partner/row, such as a speed-up.
    Inverse,
    /// The saving in percent: 100·(1 − row/partner).
    Saving,
    /// The excess in percent: 100·(row/partner − 1).
    Excess,
    /// The excess of the square roots in percent, such as root mean square errors.
    RootExcess,
    /// The exponent of growth in a numeric key column x: ln(row/partner) / ln(x/x of the partner).
    Exponent(String),
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ratio => f.write_str("row/partner"),
            Self::Inverse => f.write_str("partner/row"),
            Self::Saving => f.write_str("100 (1 - row/partner)"),
            Self::Excess => f.write_str("100 (row/partner - 1)"),
            Self::RootExcess => f.write_str("100 (sqrt(row/partner) - 1)"),
            Self::Exponent(x) => write!(f, "ln(row/partner) / ln({x} of row/{x} of partner)"),
        }
    }
}

/// The value that is kept of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Take {
    /// The smallest.
    Smallest,
    /// The largest.
    Largest,
    /// The share of values below 1, with the first row.
    Share,
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// This many decimals.
    Digits(usize),
    /// As the file has it.
    Text,
}

/// A value of an entry.
#[derive(Clone, Copy, Debug)]
pub struct Value<'t> {
    entry: &'t Entry,
    table: &'t Table,
    /// The selected row.
    pub row: usize,
    /// The row by which it is divided.
    pub partner: Option<usize>,
    /// The number; NaN for text.
    pub number: f64,
}

/// In `over`: the value of the column with the smallest number.
const ANY: &str = "*";

/// In `over`: separates values, of which the one with the smallest number is taken.
const OR: char = '|';

/// The suffix of the metric of a standard error.
pub const STANDARD_ERROR: &str = "_se";

impl Entry {
    /// Checks the constraints between keys of a `[[derive]]` table or of a column of a page.
    ///
    /// # Errors
    /// An invalid value or combination, with its key relative to the entry.
    pub fn validate(&self, is_derived: bool) -> Result<()> {
        for (key, is_foreign) in [
            ("from", is_derived && self.from.is_some()),
            ("format", is_derived && self.format.is_some()),
            ("label", is_derived && self.label.is_some()),
            ("set", !is_derived && !self.set.is_empty()),
        ] {
            let expected = "`from`, `format` and `label` only in pages, `set` only in [[derive]]";
            Error::check(!is_foreign, key, expected, format!("`{key}`"), "remove it")?;
        }
        let plain = self.formula == Formula::Ratio && self.take.is_none() && self.column == VALUE;
        let has_error = self.over.is_empty() || plain || !self.standard_error;
        let expected = "with `over`, no take, column and formula";
        let (found, remedy) = ("one of these keys", "remove one of the keys");
        Error::check(has_error, "standard_error", expected, found, remedy)?;
        if !is_derived {
            return Ok(());
        }
        let expected = "the key columns in which the partner row differs";
        let remedy = "write e.g. over = { method = \"identity\" }";
        Error::check(!self.over.is_empty(), "over", expected, "none", remedy)?;
        let is_free = |column: &&String| {
            *column == METHOD
                || !(columns::is_fixed(column) || columns::OF_DERIVED.contains(&column.as_str()))
        };
        let is_partner = |column: &&String| *column == METRIC || is_free(column);
        let fixed = self.over.keys().find(|column| !is_partner(column));
        if let Some(column) = fixed.or_else(|| self.set.keys().find(|column| !is_free(column))) {
            let expected = "key columns of the experiment, `method`, or in `over` `metric`";
            let found = format!("\"{column}\"");
            return Err(Error::config("over", expected, found, "name a key column"));
        }
        let expected =
            "columns other than data, which states whether a table is real or a stand-in";
        let is_real = self.set.contains_key(columns::DATA);
        Error::check(!is_real, "set.data", expected, "data", "remove it")?;
        let is_other = self.filter.get(METRIC).is_some_and(|of| !of.contains(&self.metric));
        let expected = "`metric`, other than that of the derived rows";
        let remedy = "name the metric of the divided rows";
        Error::check(is_other, "where", expected, "none, or the same", remedy)
    }

    /// Returns the values of the selected rows of a table for which `is_shown` holds.
    ///
    /// A table without a column of `where` has none.
    pub fn values<'t>(
        &'t self,
        table: &'t Table,
        is_shown: impl Fn(usize) -> bool,
    ) -> Vec<Value<'t>> {
        let columns = table.columns();
        let has_columns = self.filter.keys().all(|column| columns.contains(&column.as_str()));
        let is_partner = |row: &usize| {
            let is_named = |(column, choice): (&String, &String)| {
                choice == ANY || choice.split(OR).any(|value| value == table.field(column, *row))
            };
            !self.over.is_empty() && self.over.iter().all(is_named)
        };
        let partners = (0..table.len()).filter(is_partner);
        let partners = partners.filter_map(|row| Some((row, table.number(&self.column, row)?)));
        let partners: Vec<(usize, f64)> = partners.collect();
        let keys = columns.into_iter().filter(|column| !columns::is_fixed(column));
        let mut keys: Vec<&str> = [METRIC, METHOD].into_iter().chain(keys).collect();
        keys.retain(|column| !self.over.contains_key(*column));
        // Of several partners, the one with the smallest number.
        let partner = |row: usize| {
            let is_equal = |(other, _): &&(usize, f64)| {
                keys.iter().all(|key| table.field(key, row) == table.field(key, *other))
            };
            Some(partners.iter().filter(is_equal).min_by(|a, b| a.1.total_cmp(&b.1))?.0)
        };
        let value = |row: usize| {
            let partner = partner(row);
            let number = match partner {
                Some(partner) => self.ratio(table, row, partner)?,
                None if !self.over.is_empty() => return None,
                None if self.take.is_some() => table.number(&self.column, row)?,
                None => table.number(&self.column, row).unwrap_or(f64::NAN),
            };
            Some(Value { entry: self, table, row, partner, number })
        };
        let is_selected = |row: &usize| {
            has_columns
                && is_shown(*row)
                && table.selects(&self.filter, *row)
                && !table.field(&self.column, *row).is_empty()
        };
        (0..table.len()).filter(is_selected).filter_map(value).collect()
    }

    /// Returns the formula's value of a row and its partner, if it is finite.
    fn ratio(&self, table: &Table, row: usize, partner: usize) -> Option<f64> {
        let ratio =
            |column: &str| Some(table.number(column, row)? / table.number(column, partner)?);
        let of_column = ratio(&self.column)?;
        let value = match &self.formula {
            Formula::Ratio => of_column,
            Formula::Inverse => of_column.recip(),
            Formula::Saving => 100.0 * (1.0 - of_column),
            Formula::Excess => 100.0 * (of_column - 1.0),
            Formula::RootExcess => 100.0 * (of_column.sqrt() - 1.0),
            Formula::Exponent(x) => of_column.ln() / ratio(x)?.ln(),
        };
        value.is_finite().then_some(value)
    }

    /// Returns the values that are kept: at most one with `take`, all without it.
    #[must_use]
    pub fn kept<'t>(&self, values: Vec<Value<'t>>) -> Vec<Value<'t>> {
        let by_number = |a: &&Value<'_>, b: &&Value<'_>| a.number.total_cmp(&b.number);
        let kept = match self.take {
            None => return values,
            Some(Take::Smallest) => values.iter().min_by(by_number).copied(),
            Some(Take::Largest) => values.iter().max_by(by_number).copied(),
            Some(Take::Share) => values.first().map(|first| {
                let below = values.iter().filter(|value| value.number < 1.0).count();
                Value { number: below as f64 / values.len() as f64, ..*first }
            }),
        };
        kept.into_iter().collect()
    }
}

impl Value<'_> {
    /// Returns the standard error of a mean or of a ratio of means.
    ///
    /// That of a mean is the metric `…_se` of the same cell. For r = a/b of independent means with
    /// standard errors s, it is r·√((s_a/a)² + (s_b/b)²) to first order. `None` for one trial.
    #[must_use]
    pub fn standard_error(&self) -> Option<f64> {
        let Some(partner) = self.partner else { return self.error_of_mean(self.row) };
        // The ratio of a row to itself is exact.
        if partner == self.row {
            return Some(0.0);
        }
        let relative =
            |row| Some(self.error_of_mean(row)? / self.table.number(&self.entry.column, row)?);
        Some(self.number * relative(self.row)?.hypot(relative(partner)?))
    }

    fn error_of_mean(&self, row: usize) -> Option<f64> {
        let field = |column, row| self.table.field(column, row);
        let metric = format!("{}{STANDARD_ERROR}", field(METRIC, row));
        let of_cell = |other: &usize| {
            field(CELL, *other) == field(CELL, row) && field(METRIC, *other) == metric
        };
        let error = (0..self.table.len()).find(of_cell)?;
        self.table.number(&self.entry.column, error)
    }

    /// Returns the field of a page: the number, its standard error and its label.
    #[must_use]
    pub fn text(&self) -> String {
        let error = self.entry.standard_error.then(|| self.standard_error()).flatten();
        let is_field = self.partner.is_none() && self.entry.take != Some(Take::Share);
        let (mut text, error) = match self.entry.format.unwrap_or(Format::Digits(4)) {
            Format::Digits(digits) => {
                // At least one digit of the error is not 0.
                let places = |error: f64| (-error.log10()).ceil().max(0.0) as usize;
                let places = |error| if error > 0.0 { places(error).max(digits) } else { digits };
                let error = error.map(|error| format!("{error:.*}", places(error)));
                (format!("{:.digits$}", self.number), error)
            }
            Format::Text => {
                let field = self.table.field(&self.entry.column, self.row).to_owned();
                let text = if is_field { field } else { self.number.to_string() };
                (text, error.map(|error| error.to_string()))
            }
        };
        if let Some(error) = error {
            text += &format!(" ± {error}");
        }
        if let Some(label) = &self.entry.label {
            text += &format!(" ({})", self.table.field(label, self.row));
        }
        text
    }
}
