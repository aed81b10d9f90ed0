//! The `[[compare]]` table of a config: the known values with which results are compared.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::columns::{self, Filter};
use crate::error::{Error, Result};

/// One `[[compare]]` entry of a config.
///
/// It selects rows of a file of known values. The result row of each has equal values in the `join`
/// columns and the metric that `metric_column` or `metric` names.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "toml::Table")]
pub struct CompareSpec {
    /// The keys of every entry.
    pub rows: ComparedRows,
    /// The file of known values and the rules for its values, with their keys.
    pub rule: Rule,
}

/// The keys of every `[[compare]]` entry.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ComparedRows {
    /// Column of the known values → the values that select a row. Empty selects every row.
    #[serde(default, deserialize_with = "columns::filter")]
    pub filter: Filter,
    /// Column of our rows → the values that select a row. Empty selects every row.
    #[serde(default, deserialize_with = "columns::filter")]
    pub ours: Filter,
    /// Columns of both files whose values must be equal.
    pub join: Vec<String>,
    /// Column of the known values that names the metric. Exactly one of `metric_column` and
    /// `metric` is given.
    pub metric_column: Option<String>,
    /// The metric of every row, for files without such a column.
    pub metric: Option<String>,
    /// Column of the printed value (default `value`).
    #[serde(default = "columns::value_column")]
    pub value_column: String,
    /// Factor from our unit to the printed unit (default 1), such as 0.001 for MB against GB.
    pub our_scale: Option<f64>,
    /// Name of the metric in the report, where the name in the result table lacks the unit or the
    /// compared quantity.
    pub label: Option<String>,
    /// Column → (spelling in the file of known values → our spelling).
    #[serde(default)]
    pub rename: BTreeMap<String, BTreeMap<String, String>>,
}

/// The keys of [`ComparedRows`].
const COMMON: [&str; 9] = [
    "filter",
    "ours",
    "join",
    "metric_column",
    "metric",
    "value_column",
    "our_scale",
    "label",
    "rename",
];

/// A kind of comparison.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Rule {
    /// Independently computed values, all of which must be reproduced.
    Reference {
        /// File in `data/expected`.
        reference: String,
    },
    /// Printed digits.
    Digits {
        /// File in `data/published`.
        published: String,
        /// Whether the supplied text of the paper lacks the values.
        #[serde(default)]
        recalled: bool,
        /// Decimals to which the paper rounded in turn, ending with the printed decimals, such as
        /// `[3, 2]`; empty if it rounded once.
        #[serde(default)]
        rounded: Vec<usize>,
        /// Methods, in our spelling, whose lower certified error counts as *improved*; others must
        /// be reproduced as published.
        #[serde(default)]
        improvable: Vec<String>,
        /// Methods, in our spelling, or ids whose variant was chosen because it gives the printed
        /// values, with the choice; they are *reproduced (reading fitted)*.
        #[serde(default)]
        fitted: BTreeMap<String, String>,
        /// Metrics that cannot be compared, with the reason, such as timing on other hardware.
        #[serde(default)]
        not_comparable: BTreeMap<String, String>,
        /// Why no run computes the values, which are then *not comparable*.
        without_result: Option<String>,
    },
    /// Ratios of times or memory, which are reproduced within a factor.
    Ratios {
        /// File in `data/published`.
        published: String,
        /// The factor.
        within_factor: f64,
        /// Ids, with the reason in one sentence why a ratio deviates, which `docs/deviations.md`
        /// explains; our value is not stated, as it depends on the machine.
        #[serde(default)]
        deviations: BTreeMap<String, String>,
        /// Ids among `deviations` whose reason is not proven, which are *unexplained*.
        #[serde(default)]
        unexplained: Vec<String>,
        /// Metrics that cannot be compared, with the reason.
        #[serde(default)]
        not_comparable: BTreeMap<String, String>,
    },
    /// Exponents of growth, which are reproduced within a distance.
    Exponents {
        /// File in `data/published`.
        published: String,
        /// The distance.
        within: f64,
        /// Ids, with the reason in one sentence why an exponent deviates.
        #[serde(default)]
        deviations: BTreeMap<String, String>,
        /// Ids among `deviations` whose reason is not proven, which are *unexplained*.
        #[serde(default)]
        unexplained: Vec<String>,
        /// Metrics that cannot be compared, with the reason.
        #[serde(default)]
        not_comparable: BTreeMap<String, String>,
    },
    /// A column of costs, for the time of a phase that is a metric.
    Costs {
        /// File in `data/published`.
        published: String,
        /// The column.
        our_column: OurColumn,
        /// Metrics that cannot be compared, with the reason.
        not_comparable: BTreeMap<String, String>,
    },
    /// A column of costs that is only an upper bound (`upper_bound = true`).
    ///
    /// Such as the peak memory of the process. Below the printed value the verdict is *lower*,
    /// above it *not comparable*.
    UpperBounds {
        /// File in `data/published`.
        published: String,
        /// The column.
        our_column: OurColumn,
    },
}

impl TryFrom<toml::Table> for CompareSpec {
    type Error = String;

    /// Reads an entry, whose kind is the first that has one of its keys.
    fn try_from(table: toml::Table) -> std::result::Result<Self, String> {
        let is_common = |key: &str| COMMON.contains(&key);
        let (rows, mut keys): (toml::Table, toml::Table) =
            table.into_iter().partition(|(key, _)| is_common(key));
        let is_upper = keys.get("upper_bound").and_then(toml::Value::as_bool) == Some(true);
        if is_upper {
            keys.remove("upper_bound");
        }
        let kind = [
            ("Reference", keys.contains_key("reference")),
            ("UpperBounds", is_upper),
            ("Ratios", keys.contains_key("within_factor")),
            ("Exponents", keys.contains_key("within")),
            ("Costs", keys.contains_key("our_column")),
        ];
        let kind = kind.iter().find(|(_, has_key)| *has_key).map_or("Digits", |(kind, _)| kind);
        let tagged = toml::Table::from_iter([(kind.to_owned(), toml::Value::Table(keys))]);
        let rule = tagged.try_into().map_err(|error: toml::de::Error| {
            format!("{} (in every [[compare]]: `{}`)", error.message(), COMMON.join("`, `"))
        })?;
        let rows: ComparedRows =
            rows.try_into().map_err(|error: toml::de::Error| error.to_string())?;
        if rows.metric.is_some() == rows.metric_column.is_some() {
            return Err(
                "expected one of the keys `metric_column` (a column that names the metric) \
                        and `metric` (one metric for all rows)"
                    .to_owned(),
            );
        }
        Ok(Self { rows, rule })
    }
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
    /// Checks the values of the keys.
    ///
    /// # Errors
    /// An invalid value, with its key relative to the `[[compare]]` table.
    pub fn validate(&self) -> Result<()> {
        let is_bare = !self.file_name().contains(['/', '\\']) && self.file_name().ends_with(".csv");
        let key = if self.is_reference() { "reference" } else { "published" };
        let found = format!("\"{}\"", self.file_name());
        let expected = "the bare name of a .csv file, without a folder";
        Error::check(is_bare, key, expected, found, "remove the folder")?;
        let (found, remedy) = ("an empty list", "name the columns of the key");
        let joined = &self.rows.join;
        Error::check(!joined.is_empty(), "join", "at least one column", found, remedy)?;
        let scale = self.rows.our_scale.unwrap_or(1.0);
        let remedy = "write e.g. 0.001 for MB against GB";
        let is_scale = scale > 0.0 && scale.is_finite();
        Error::check(is_scale, "our_scale", "a positive number", scale.to_string(), remedy)?;
        if let Rule::Digits { rounded, improvable, .. } = &self.rule {
            let falls = rounded.windows(2).all(|pair| pair[0] > pair[1]) && rounded.len() != 1;
            let expected = "at least two decreasing numbers of decimals, such as [3, 2]";
            let remedy = "write the decimals in the order of rounding, ending with those printed";
            Error::check(falls, "rounded", expected, format!("{rounded:?}"), remedy)?;
            let named = improvable.is_empty() || joined.iter().any(|c| c == columns::METHOD);
            let expected = "the column method in `join`";
            let remedy = "add method to `join`, or remove `improvable`";
            Error::check(named, "improvable", expected, "`improvable` without it", remedy)?;
        }
        let (key, value, least) = match self.tolerance() {
            Some(Tolerance::Factor(factor)) => ("within_factor", factor, 1.0),
            Some(Tolerance::Absolute(distance)) => ("within", distance, 0.0),
            None => return Ok(()),
        };
        let expected = format!("a number above {least}");
        let is_tolerance = value > least && value.is_finite();
        Error::check(is_tolerance, key, expected, value.to_string(), "write such a number")?;
        for id in self.unexplained() {
            let has_reason = self.deviations().any(|(known, _)| known == id);
            let expected = "ids of `deviations`";
            let remedy = "add the reason to `deviations`, or remove the id";
            Error::check(has_reason, "unexplained", expected, format!("\"{id}\""), remedy)?;
        }
        self.deviations().try_for_each(|(id, reason)| {
            let (key, found) = (format!("deviations.{id}"), format!("\"{reason}\""));
            let expected = "a sentence that ends with a full stop";
            let remedy = "state the reason in a full sentence";
            Error::check(reason.ends_with('.'), key, expected, found, remedy)
        })
    }

    /// Returns whether the known values are independently computed.
    #[must_use]
    pub fn is_reference(&self) -> bool {
        matches!(self.rule, Rule::Reference { .. })
    }

    /// Returns the tolerance of values computed from times or memory, if any.
    #[must_use]
    pub fn tolerance(&self) -> Option<Tolerance> {
        match self.rule {
            Rule::Ratios { within_factor, .. } => Some(Tolerance::Factor(within_factor)),
            Rule::Exponents { within, .. } => Some(Tolerance::Absolute(within)),
            _ => None,
        }
    }

    /// Iterates over the ids and reasons of values outside the tolerance.
    pub fn deviations(&self) -> impl Iterator<Item = (&String, &String)> {
        let deviations = match &self.rule {
            Rule::Ratios { deviations, .. } | Rule::Exponents { deviations, .. } => {
                Some(deviations)
            }
            _ => None,
        };
        deviations.into_iter().flatten()
    }

    /// Returns the ids of deviations whose reason is not proven.
    #[must_use]
    pub fn unexplained(&self) -> &[String] {
        match &self.rule {
            Rule::Ratios { unexplained, .. } | Rule::Exponents { unexplained, .. } => unexplained,
            _ => &[],
        }
    }

    /// Returns why a metric cannot be compared, if the table says so.
    #[must_use]
    pub fn not_comparable(&self, metric: &str) -> Option<&str> {
        match &self.rule {
            Rule::Digits { not_comparable, .. }
            | Rule::Ratios { not_comparable, .. }
            | Rule::Exponents { not_comparable, .. }
            | Rule::Costs { not_comparable, .. } => not_comparable.get(metric).map(String::as_str),
            _ => None,
        }
    }

    /// Returns the decimals to which the paper rounded in turn; empty if it rounded once.
    #[must_use]
    pub fn rounded(&self) -> &[usize] {
        match &self.rule {
            Rule::Digits { rounded, .. } => rounded,
            _ => &[],
        }
    }

    /// Returns why the variant of a value was chosen, if it was chosen to give the printed values.
    #[must_use]
    pub fn fitted(&self, method: Option<&str>, id: &str) -> Option<&str> {
        let Rule::Digits { fitted, .. } = &self.rule else { return None };
        let mut names = method.into_iter().chain([id]);
        names.find_map(|name| fitted.get(name)).map(String::as_str)
    }

    /// Iterates over the methods and ids whose variant was chosen to give the printed values.
    pub fn fitted_names(&self) -> impl Iterator<Item = &String> {
        let fitted = match &self.rule {
            Rule::Digits { fitted, .. } => Some(fitted),
            _ => None,
        };
        fitted.into_iter().flat_map(BTreeMap::keys)
    }

    /// Returns the compared column of costs, if any.
    #[must_use]
    pub fn our_column(&self) -> Option<OurColumn> {
        match self.rule {
            Rule::Costs { our_column, .. } | Rule::UpperBounds { our_column, .. } => {
                Some(our_column)
            }
            _ => None,
        }
    }

    /// Returns the file's path below the root, with `/`.
    #[must_use]
    pub fn relative_path(&self) -> String {
        let folder = if self.is_reference() { "expected" } else { "published" };
        format!("data/{folder}/{}", self.file_name())
    }

    /// Returns the bare file name.
    #[must_use]
    pub fn file_name(&self) -> &str {
        match &self.rule {
            Rule::Reference { reference: file }
            | Rule::Digits { published: file, .. }
            | Rule::Ratios { published: file, .. }
            | Rule::Exponents { published: file, .. }
            | Rule::Costs { published: file, .. }
            | Rule::UpperBounds { published: file, .. } => file,
        }
    }
}
