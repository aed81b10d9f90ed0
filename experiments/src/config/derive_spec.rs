//! The `[[derive]]` table of a config: rows computed from the rows of the result table.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use crate::columns;
use crate::error::{Error, Result};
use crate::selection::{self, Filter, Take};

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
    #[serde(default, rename = "where", deserialize_with = "selection::filter")]
    pub filter: Filter,
    /// Key column → its value in the partner. `*` selects the partner with the smallest number,
    /// `a|b` the smaller of the two.
    pub over: BTreeMap<String, String>,
    /// The value that is kept; all values by default.
    #[serde(default)]
    pub take: Option<Take>,
    /// The value of a row and its partner.
    #[serde(default)]
    pub formula: Formula,
    /// Whether the metric `<metric>_se` has the standard error of each ratio r = a/b. With the
    /// standard errors s of the metric `<from>_se`, it is to first order r·√((s_a/a)² + (s_b/b)²),
    /// for means of independent runs.
    #[serde(default)]
    pub standard_error: bool,
    /// Column → its value in the derived rows. A column that the table lacks is added, empty in all
    /// other rows.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
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

impl DeriveSpec {
    /// Checks the constraints between keys.
    ///
    /// # Errors
    /// An invalid value or combination, with its key relative to the `[[derive]]` table.
    pub fn validate(&self) -> Result<()> {
        let expected = "the key columns in which the partner row differs";
        let remedy = "write e.g. over = { method = \"identity\" }";
        Error::check(!self.over.is_empty(), "over", expected, "none", remedy)?;
        let is_free = |column: &&String| {
            *column == columns::METHOD
                || !(columns::is_fixed(column) || columns::OF_DERIVED.contains(&column.as_str()))
        };
        if let Some(column) = self.over.keys().chain(self.set.keys()).find(|c| !is_free(c)) {
            let expected = "key columns of the experiment, or `method`";
            let found = format!("\"{column}\"");
            return Err(Error::config("over", expected, found, "name a key column"));
        }
        let expected =
            "columns other than data, which states whether a table is real or a stand-in";
        let is_real = self.set.contains_key(columns::DATA);
        Error::check(!is_real, "set.data", expected, "data", "remove it")?;
        let plain =
            self.formula == Formula::Ratio && self.take.is_none() && self.column == columns::VALUE;
        let expected = "a table without take, column and formula";
        let (found, remedy) = ("one of these keys", "remove one of the keys");
        Error::check(plain || !self.standard_error, "standard_error", expected, found, remedy)?;
        let found = format!("\"{}\" twice", self.metric);
        let remedy = "choose another name for the ratio";
        let expected = "a name other than `from`";
        Error::check(self.metric != self.from, "metric", expected, found, remedy)
    }
}
