//! The `[[compare]]` table of a config: which published values a result is held against.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::columns;
use crate::error::{Error, Result};

/// One `[[compare]]` entry of a config.
///
/// It selects rows of a file of known values, and says how each of them finds its result row: equal
/// values in the `join` columns, and the metric that `metric_column` or `metric` names.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompareSpec {
    /// File in `data/published`: values printed in a paper. Exactly one of `published` and
    /// `reference` is given.
    #[serde(default)]
    pub published: Option<String>,
    /// File in `data/expected`: independently computed values, every one of which must be
    /// reproduced.
    #[serde(default)]
    pub reference: Option<String>,
    /// Column of the known values → the values that select a row. Empty selects every row.
    #[serde(default)]
    pub filter: BTreeMap<String, Vec<String>>,
    /// Column of our rows → the values that select a row. Empty selects every row.
    #[serde(default)]
    pub ours: BTreeMap<String, Vec<String>>,
    /// Columns that both files have and in which they must be equal.
    pub join: Vec<String>,
    /// Column of the known values that names the metric. Exactly one of `metric_column` and
    /// `metric` is given.
    #[serde(default)]
    pub metric_column: Option<String>,
    /// The metric of every row, for files that have no such column.
    #[serde(default)]
    pub metric: Option<String>,
    /// Column that holds the printed value (default `value`).
    #[serde(default = "default_value_column")]
    pub value_column: String,
    /// Column of our rows that is compared (default `value`): `seconds` for the time of a phase
    /// that is a metric.
    #[serde(default)]
    pub our_column: Option<OurColumn>,
    /// Factor from our unit to the printed one (default 1): 0.001 holds MB against GB.
    #[serde(default)]
    pub our_scale: Option<f64>,
    /// What the report calls the metric, where its name in the result table would not say what is
    /// compared, or its unit.
    #[serde(default)]
    pub label: Option<String>,
    /// Whether ours is an upper bound only, such as the largest memory of the process: a lower one
    /// than printed is *lower*, a higher one says nothing.
    #[serde(default)]
    pub upper_bound: bool,
    /// The decimals to which the paper rounded in turn, the printed ones last, e.g. `[3, 2]`. Empty
    /// (the default) if it rounded once, to the printed digits.
    #[serde(default)]
    pub rounded: Vec<usize>,
    /// The factor up to which a ratio of times or of memory counts as reproduced. Beyond it, it
    /// deviates for the reason that `deviations` gives, and fails without one.
    #[serde(default)]
    pub within_factor: Option<f64>,
    /// How far from the printed value an exponent of growth counts as reproduced; beyond it as with
    /// `within_factor`.
    #[serde(default)]
    pub within: Option<f64>,
    /// Id → why a ratio of times or of memory, or an exponent of growth, is not the printed one, in
    /// one sentence. Its explanation is in `docs/deviations.md`. Unlike a listed deviation, it does
    /// not say what comes out: that differs from machine to machine.
    #[serde(default)]
    pub deviations: BTreeMap<String, String>,
    /// Methods, in our spelling, whose error may be lower than the published one if it is
    /// certified. The others are to be reproduced as they were published. By default none may.
    #[serde(default)]
    pub improvable: Vec<String>,
    /// Column → (spelling in the file of known values → our spelling).
    #[serde(default)]
    pub rename: BTreeMap<String, BTreeMap<String, String>>,
    /// Metric → why it cannot be compared (timing on other hardware, stand-in data).
    #[serde(default)]
    pub not_comparable: BTreeMap<String, String>,
}

/// How far from the printed value what is made of times or memory counts as reproduced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// A ratio: by no more than this factor.
    Factor(f64),
    /// An exponent: by no more than this.
    Absolute(f64),
}

/// A column of result tables, other than `value`, that known values can be held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OurColumn {
    /// The time of the row's own phase.
    Seconds,
    /// The largest memory of the process so far.
    PeakMb,
}

impl OurColumn {
    /// The column's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Seconds => columns::SECONDS,
            Self::PeakMb => columns::PEAK_MB,
        }
    }
}

fn default_value_column() -> String {
    columns::VALUE.to_owned()
}

impl CompareSpec {
    /// Checks what the types alone cannot.
    ///
    /// # Errors
    /// The key, relative to the `[[compare]]` table, and what was expected there.
    pub fn validate(&self) -> Result<()> {
        let refuse = |key: &str, expected: &str, found: String, remedy: &str| {
            Err(Error::config(key, expected, found, remedy))
        };
        let one_file = "one of the keys `published` (a file in data/published) and `reference` (a file in data/expected)";
        let (key, file) = match (&self.published, &self.reference) {
            (Some(file), None) => ("published", file),
            (None, Some(file)) => ("reference", file),
            (Some(_), Some(_)) => {
                return refuse(
                    "reference",
                    one_file,
                    "both".to_owned(),
                    "write a second [[compare]] for the other file",
                );
            }
            (None, None) => {
                return refuse("", one_file, "neither".to_owned(), "name the file of known values");
            }
        };
        if file.contains(['/', '\\']) || !file.ends_with(".csv") {
            return refuse(
                key,
                "the bare name of a .csv file",
                format!("\"{file}\""),
                "leave out the folder",
            );
        }
        if self.join.is_empty() {
            return refuse(
                "join",
                "at least one column",
                "an empty list".to_owned(),
                "name the columns of the key",
            );
        }
        let falling = self.rounded.windows(2).all(|pair| pair[0] > pair[1]);
        if !self.rounded.is_empty() && (self.rounded.len() < 2 || !falling || key == "reference") {
            return refuse(
                "rounded",
                "at least two falling numbers of decimals, such as [3, 2], beside `published`",
                format!("{:?} beside `{key}`", self.rounded),
                "write the decimals in the order of rounding, the printed ones last",
            );
        }
        self.validate_tolerance(key)?;
        let by_method = self.join.iter().any(|column| column == columns::METHOD);
        if !self.improvable.is_empty() && (key == "reference" || !by_method) {
            let expected = "to stand beside `published` and a join of the column method";
            return refuse(
                "improvable",
                expected,
                "it without".to_owned(),
                "join the method, or leave it out",
            );
        }
        let one_metric = "one of the keys `metric_column` (a column that names the metric) and `metric` (one metric for all rows)";
        match (&self.metric_column, &self.metric) {
            (Some(_), Some(_)) => {
                return refuse("metric", one_metric, "both".to_owned(), "leave out one of them");
            }
            (None, None) => {
                return refuse("", one_metric, "neither".to_owned(), "write one of them");
            }
            _ => {}
        }
        let explained = !self.not_comparable.is_empty() || self.upper_bound;
        if self.our_column.is_some() && (key == "reference" || !explained) {
            return refuse(
                "our_column",
                "to stand beside `published` and `not_comparable` or `upper_bound`, because times and memory differ from machine to machine",
                "it without".to_owned(),
                "say in `not_comparable` why the values cannot be compared, or write upper_bound = true",
            );
        }
        if self.our_scale.is_some_and(|scale| !(scale > 0.0 && scale.is_finite())) {
            let found = format!("{:?}", self.our_scale);
            return refuse(
                "our_scale",
                "a positive number",
                found,
                "write e.g. 0.001 for MB against GB",
            );
        }
        if self.upper_bound && (key == "reference" || !self.not_comparable.is_empty()) {
            let expected = "to stand beside `published`, without `not_comparable`";
            return refuse(
                "upper_bound",
                expected,
                "it otherwise".to_owned(),
                "leave one of the two out",
            );
        }
        if key == "reference" && !self.not_comparable.is_empty() {
            let expected = "to stand beside `published` only; reference values must be reproduced";
            return refuse(
                "not_comparable",
                expected,
                "it beside `reference`".to_owned(),
                "leave it out",
            );
        }
        Ok(())
    }

    fn validate_tolerance(&self, key: &str) -> Result<()> {
        let refuse = |name: &str, expected: &str, found: String, remedy: &str| {
            Err(Error::config(name, expected, format!("{found} beside `{key}`"), remedy))
        };
        if let Some(factor) = self
            .within_factor
            .filter(|factor| !(*factor > 1.0 && factor.is_finite() && key == "published"))
        {
            let expected = "a factor above 1, such as 2, beside `published`";
            return refuse(
                "within_factor",
                expected,
                factor.to_string(),
                "write such a factor, or leave it out",
            );
        }
        if let Some(distance) = self
            .within
            .filter(|distance| !(*distance > 0.0 && distance.is_finite() && key == "published"))
        {
            let expected = "a positive number, such as 0.1, beside `published`";
            return refuse(
                "within",
                expected,
                distance.to_string(),
                "write such a number, or leave it out",
            );
        }
        if self.within.is_some() && self.within_factor.is_some() {
            let remedy = "keep `within_factor` for ratios, `within` for exponents";
            return refuse(
                "within",
                "one of the keys `within_factor` and `within`",
                "both".to_owned(),
                remedy,
            );
        }
        if !self.deviations.is_empty() && self.tolerance().is_none() {
            let expected = "to stand beside `within_factor` or `within`";
            let remedy = "list a value that comes out the same everywhere in data/expected/deviations.toml instead";
            return refuse("deviations", expected, "neither".to_owned(), remedy);
        }
        if let Some((id, reason)) =
            self.deviations.iter().find(|(_, reason)| !reason.ends_with('.'))
        {
            let remedy = "say why the value deviates, in a full sentence";
            return refuse(
                &format!("deviations.{id}"),
                "a sentence that ends with a full stop",
                format!("\"{reason}\""),
                remedy,
            );
        }
        Ok(())
    }

    /// How far from the printed value the value of a row may be, if it is made of times or memory.
    #[must_use]
    pub fn tolerance(&self) -> Option<Tolerance> {
        self.within_factor.map(Tolerance::Factor).or(self.within.map(Tolerance::Absolute))
    }

    /// The file's path below the root, with `/`.
    #[must_use]
    pub fn relative_path(&self) -> String {
        match (&self.published, &self.reference) {
            (_, Some(file)) => format!("data/expected/{file}"),
            (Some(file), None) => format!("data/published/{file}"),
            (None, None) => String::new(),
        }
    }

    /// The bare file name.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.reference.as_deref().or(self.published.as_deref()).unwrap_or_default()
    }
}
