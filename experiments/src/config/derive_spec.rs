//! The `[[derive]]` table of a config: rows computed from the rows of the result table.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::columns;
use crate::error::{Error, Result};

/// The ratio that is kept of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Take {
    /// The smallest.
    Smallest,
    /// The largest.
    Largest,
    /// The geometric mean.
    Mean,
    /// The share of ratios below 1.
    Share,
}

/// One `[[derive]]` entry of a config: ratios of values of one run, for comparison and figures.
///
/// Each row of the metric `from` that `where` selects is divided by its partner: the row with the
/// values of `over` in those columns and equal values in all other key columns. A row without a
/// partner has no ratio.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeriveSpec {
    /// Metric of the derived rows.
    pub metric: String,
    /// Metric of the rows from which they are computed.
    pub from: String,
    /// Divided column of those rows (default `value`; `seconds` for ratios of times).
    #[serde(default = "super::default_column::value_column")]
    pub column: String,
    /// Column → allowed values: selects the rows that are divided.
    #[serde(default, rename = "where")]
    pub filter: BTreeMap<String, Vec<String>>,
    /// Key column → its value in the partner. `*` selects the partner with the smallest number,
    /// `a|b` the smaller of the two.
    pub over: BTreeMap<String, String>,
    /// The ratio that is kept; all ratios by default.
    #[serde(default)]
    pub take: Option<Take>,
    /// Whether the ratio is inverted: partner/row, such as a speed-up.
    #[serde(default)]
    pub inverse: bool,
    /// Whether to compute the saving in percent instead: 100·(1 − row/partner).
    #[serde(default)]
    pub saving: bool,
    /// Whether to compute the excess in percent instead: 100·(row/partner − 1).
    #[serde(default)]
    pub excess: bool,
    /// Whether the square roots of row and partner are divided, such as root mean square errors.
    #[serde(default)]
    pub root: bool,
    /// A numeric column x of `over`. The result is the exponent of growth in x,
    /// ln(row/partner) / ln(x/x of the partner), instead of the ratio.
    #[serde(default)]
    pub exponent_of: Option<String>,
    /// Metric of the standard errors s of `from`. The metric `<metric>_se` then has the standard
    /// error of each ratio r = a/b: to first order r·√((s_a/a)² + (s_b/b)²), for means of
    /// independent runs.
    #[serde(default)]
    pub error: Option<String>,
    /// Column → its value in the derived rows. A column that the table lacks is added, empty in all
    /// other rows.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
}

impl DeriveSpec {
    /// Checks the constraints between keys.
    ///
    /// # Errors
    /// An invalid value or combination, with its key relative to the `[[derive]]` table.
    pub fn validate(&self) -> Result<()> {
        if self.over.is_empty() {
            let expected = "the key columns in which the partner row differs";
            return Err(Error::config(
                "over",
                expected,
                "none",
                "write e.g. over = { method = \"identity\" }",
            ));
        }
        let fixed = self
            .over
            .keys()
            .chain(self.set.keys())
            .find(|column| columns::is_fixed(column) && column.as_str() != columns::METHOD);
        if let Some(column) = fixed {
            let expected = "key columns of the experiment, or `method`";
            return Err(Error::config(
                "over",
                expected,
                format!("\"{column}\""),
                "name a key column",
            ));
        }
        if let Some(column) = &self.exponent_of
            && self
                .over
                .get(column)
                .is_none_or(|value| !value.parse::<f64>().is_ok_and(|x| x > 0.0))
        {
            let expected = "a column for which `over` has a positive number";
            return Err(Error::config(
                "exponent_of",
                expected,
                format!("\"{column}\""),
                "add the column to `over`",
            ));
        }
        if self.set.contains_key(columns::DATA) {
            let expected =
                "columns other than data, which states whether a table is real or a stand-in";
            return Err(Error::config("set.data", expected, "data", "remove it"));
        }
        let forms = [self.inverse, self.saving, self.excess, self.exponent_of.is_some()];
        if forms.iter().filter(|form| **form).count() > 1 {
            let found = "several of these keys";
            return Err(Error::config(
                "inverse",
                "one of inverse, saving, excess, exponent_of",
                found,
                "write two [[derive]] tables",
            ));
        }
        let plain = forms.iter().all(|form| !form)
            && !self.root
            && self.take.is_none()
            && self.column == columns::VALUE;
        if self.error.is_some() && !plain {
            let expected =
                "a table without take, column, inverse, saving, excess, root and exponent_of";
            return Err(Error::config(
                "error",
                expected,
                "one of these keys",
                "remove one of the keys",
            ));
        }
        if self.metric == self.from {
            let found = format!("\"{}\" twice", self.metric);
            return Err(Error::config(
                "metric",
                "a name other than `from`",
                found,
                "choose another name for the ratio",
            ));
        }
        Ok(())
    }
}
