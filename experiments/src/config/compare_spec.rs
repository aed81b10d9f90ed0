//! The `[[compare]]` table of a config: the known values with which results are compared.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::columns;
use crate::error::{Error, Result};

/// One `[[compare]]` entry of a config.
///
/// It selects rows of a file of known values. The result row of each has equal values in the `join`
/// columns and the metric that `metric_column` or `metric` names.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompareSpec {
    /// File in `data/published`: values printed in a paper. Exactly one of `published` and
    /// `reference` is given.
    #[serde(default)]
    pub published: Option<String>,
    /// File in `data/expected`: independently computed values, all of which must be reproduced.
    #[serde(default)]
    pub reference: Option<String>,
    /// Whether the printed values are recalled: the supplied text of the paper lacks them.
    #[serde(default)]
    pub recalled: bool,
    /// Column of the known values → the values that select a row. Empty selects every row.
    #[serde(default)]
    pub filter: BTreeMap<String, Vec<String>>,
    /// Column of our rows → the values that select a row. Empty selects every row.
    #[serde(default)]
    pub ours: BTreeMap<String, Vec<String>>,
    /// Columns of both files whose values must be equal.
    pub join: Vec<String>,
    /// Column of the known values that names the metric. Exactly one of `metric_column` and
    /// `metric` is given.
    #[serde(default)]
    pub metric_column: Option<String>,
    /// The metric of every row, for files without such a column.
    #[serde(default)]
    pub metric: Option<String>,
    /// Column of the printed value (default `value`).
    #[serde(default = "super::default_column::value_column")]
    pub value_column: String,
    /// Compared column of our rows (default `value`): `seconds` for the time of a phase that is a
    /// metric.
    #[serde(default)]
    pub our_column: Option<OurColumn>,
    /// Factor from our unit to the printed unit (default 1), such as 0.001 for MB against GB.
    #[serde(default)]
    pub our_scale: Option<f64>,
    /// Name of the metric in the report, where the name in the result table lacks the unit or the
    /// compared quantity.
    #[serde(default)]
    pub label: Option<String>,
    /// Whether our value is only an upper bound, such as the peak memory of the process. Below the
    /// printed value the verdict is *lower*, above it *not comparable*.
    #[serde(default)]
    pub upper_bound: bool,
    /// The decimals to which the paper rounded in turn, ending with the printed decimals, such as
    /// `[3, 2]`. Empty (the default) if it rounded once, to the printed digits.
    #[serde(default)]
    pub rounded: Vec<usize>,
    /// Factor within which a ratio of times or memory counts as reproduced. Outside it, the ratio
    /// deviates for the reason in `deviations`, or fails without a reason.
    #[serde(default)]
    pub within_factor: Option<f64>,
    /// Distance within which an exponent of growth counts as reproduced; outside it, as with
    /// `within_factor`.
    #[serde(default)]
    pub within: Option<f64>,
    /// Id → why a ratio of times or memory, or an exponent of growth, deviates, in one sentence.
    /// `docs/deviations.md` has the explanation. Our value is not stated, as it depends on the
    /// machine.
    #[serde(default)]
    pub deviations: BTreeMap<String, String>,
    /// Methods, in our spelling, whose lower certified error counts as *improved*. Other methods
    /// must be reproduced as published. Empty by default.
    #[serde(default)]
    pub improvable: Vec<String>,
    /// Column → (spelling in the file of known values → our spelling).
    #[serde(default)]
    pub rename: BTreeMap<String, BTreeMap<String, String>>,
    /// Metric → the reason why it cannot be compared, such as timing on other hardware.
    #[serde(default)]
    pub not_comparable: BTreeMap<String, String>,
    /// Why no run computes the values, which are then *not comparable*.
    #[serde(default)]
    pub without_result: Option<String>,
}

/// Tolerance of a value computed from times or memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Maximum factor between a ratio and the printed ratio.
    Factor(f64),
    /// Maximum distance between an exponent and the printed exponent.
    Absolute(f64),
}

/// A column of result tables, other than `value`, that can be compared with known values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OurColumn {
    /// The time of the row's phase.
    Seconds,
    /// The peak memory of the process.
    PeakMb,
}

impl OurColumn {
    /// Returns the column's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Seconds => columns::SECONDS,
            Self::PeakMb => columns::PEAK_MB,
        }
    }
}

impl CompareSpec {
    /// Checks the constraints between keys.
    ///
    /// # Errors
    /// An invalid value or combination, with its key relative to the `[[compare]]` table.
    pub fn validate(&self) -> Result<()> {
        let refuse = |key: &str, expected: &str, found: String, remedy: &str| {
            Err(Error::config(key, expected, found, remedy))
        };
        let one_file = "one of the keys `published` (a file in data/published) and `reference` (a \
                        file in data/expected)";
        let (key, file) = match (&self.published, &self.reference) {
            (Some(file), None) => ("published", file),
            (None, Some(file)) => ("reference", file),
            (Some(_), Some(_)) => {
                return refuse(
                    "reference",
                    one_file,
                    "both".to_owned(),
                    "add a second [[compare]] for the other file",
                );
            }
            (None, None) => {
                return refuse("", one_file, "neither".to_owned(), "name the file of known values");
            }
        };
        if file.contains(['/', '\\']) || !file.ends_with(".csv") {
            return refuse(
                key,
                "the bare name of a .csv file, without a folder",
                format!("\"{file}\""),
                "remove the folder",
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
                "at least two decreasing numbers of decimals, such as [3, 2], with `published`",
                format!("{:?} with `{key}`", self.rounded),
                "write the decimals in the order of rounding, ending with the printed decimals",
            );
        }
        self.validate_tolerance(key)?;
        let by_method = self.join.iter().any(|column| column == columns::METHOD);
        if !self.improvable.is_empty() && (key == "reference" || !by_method) {
            let expected = "`published` and the column method in `join`";
            return refuse(
                "improvable",
                expected,
                "`improvable` without them".to_owned(),
                "add method to `join`, or remove `improvable`",
            );
        }
        let one_metric = "one of the keys `metric_column` (a column that names the metric) and \
                          `metric` (one metric for all rows)";
        match (&self.metric_column, &self.metric) {
            (Some(_), Some(_)) => {
                return refuse("metric", one_metric, "both".to_owned(), "remove one of them");
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
                "`published` with `not_comparable` or `upper_bound`, because times and memory \
                 depend on the machine",
                "`our_column` without them".to_owned(),
                "state in `not_comparable` why the values cannot be compared, or write upper_bound \
                 = true",
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
            let expected = "`published` without `not_comparable`";
            return refuse(
                "upper_bound",
                expected,
                "`reference` or `not_comparable`".to_owned(),
                "remove one of the keys",
            );
        }
        let excuses = [
            ("not_comparable", !self.not_comparable.is_empty()),
            ("without_result", self.without_result.is_some()),
        ];
        if let Some((excuse, _)) = excuses.iter().find(|(_, used)| key == "reference" && *used) {
            let expected = "`published`, because reference values must be reproduced";
            let remedy = format!("remove `{excuse}`");
            return refuse(excuse, expected, "`reference`".to_owned(), &remedy);
        }
        Ok(())
    }

    fn validate_tolerance(&self, key: &str) -> Result<()> {
        let refuse = |name: &str, expected: &str, found: String, remedy: &str| {
            Err(Error::config(name, expected, format!("{found} with `{key}`"), remedy))
        };
        if let Some(factor) = self
            .within_factor
            .filter(|factor| !(*factor > 1.0 && factor.is_finite() && key == "published"))
        {
            let expected = "a factor above 1, such as 2, with `published`";
            return refuse(
                "within_factor",
                expected,
                factor.to_string(),
                "write such a factor, or remove the key",
            );
        }
        if let Some(distance) = self
            .within
            .filter(|distance| !(*distance > 0.0 && distance.is_finite() && key == "published"))
        {
            let expected = "a positive number, such as 0.1, with `published`";
            return refuse(
                "within",
                expected,
                distance.to_string(),
                "write such a number, or remove the key",
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
            let expected = "`within_factor` or `within` in the same table";
            let remedy =
                "list a value that does not depend on the machine in data/expected/deviations.toml";
            return refuse("deviations", expected, "neither".to_owned(), remedy);
        }
        if let Some((id, reason)) =
            self.deviations.iter().find(|(_, reason)| !reason.ends_with('.'))
        {
            let remedy = "state the reason in a full sentence";
            return refuse(
                &format!("deviations.{id}"),
                "a sentence that ends with a full stop",
                format!("\"{reason}\""),
                remedy,
            );
        }
        Ok(())
    }

    /// Returns the tolerance of values computed from times or memory, if any.
    #[must_use]
    pub fn tolerance(&self) -> Option<Tolerance> {
        self.within_factor.map(Tolerance::Factor).or(self.within.map(Tolerance::Absolute))
    }

    /// Returns the file's path below the root, with `/`.
    #[must_use]
    pub fn relative_path(&self) -> String {
        match (&self.published, &self.reference) {
            (_, Some(file)) => format!("data/expected/{file}"),
            (Some(file), None) => format!("data/published/{file}"),
            (None, None) => String::new(),
        }
    }

    /// Returns the bare file name.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.reference.as_deref().or(self.published.as_deref()).unwrap_or_default()
    }
}
