//! The `[[figure]]` table of a config: a figure drawn from a result table.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::columns::{self, Filter};
use crate::error::{Error, Result};

/// How several result rows on one point of the figure are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregate {
    /// Draw the mean, with a whisker from the smallest to the largest value.
    Mean,
}

/// A labelled horizontal line.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReferenceLine {
    /// Position on the y axis.
    pub value: f64,
    /// Label of the line.
    pub label: String,
}

/// Values of a published table, drawn as hollow markers over ours.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedOverlay {
    /// File in `data/published`.
    pub file: String,
    /// Column of that file → the values that select a row. Empty selects every row.
    #[serde(default, deserialize_with = "columns::filter")]
    pub filter: Filter,
    /// Column of the printed value (default `value`).
    #[serde(default = "columns::value_column")]
    pub value_column: String,
    /// Factor from the published unit to the figure's unit (default 1), such as 1000 for GB in MB.
    #[serde(default = "default_scale")]
    pub scale: f64,
    /// Column → (spelling in the published file → our spelling).
    #[serde(default)]
    pub rename: BTreeMap<String, BTreeMap<String, String>>,
}

/// Series on a second y axis at the right: `[figure.second]`. All other keys are as on the first
/// axis.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecondAxis {
    /// Metric on the axis.
    pub y: String,
    /// Drawn column of that metric's rows (default `value`; `seconds` for times).
    #[serde(default = "columns::value_column")]
    pub y_column: String,
    /// Label of the axis, with the unit.
    pub y_label: String,
    /// Logarithmic axis.
    #[serde(default)]
    pub y_log: bool,
    /// Value of the series column → its label in the legend.
    #[serde(default)]
    pub series_names: BTreeMap<String, String>,
    /// Order of the series.
    #[serde(default)]
    pub series_order: Vec<String>,
    /// Column → allowed values; other result rows are omitted.
    #[serde(default, rename = "where", deserialize_with = "columns::filter")]
    pub filter: Filter,
}

/// One `[[figure]]` entry of a config; columns are those of the experiment's result table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// Path below `figures/`, without extension: `s1/fig2` gives `figures/s1/fig2.svg` and `.png`.
    pub file: String,
    /// Heading of the figure.
    pub title: String,
    /// Caption in reports.
    #[serde(default)]
    pub caption: Option<String>,
    /// Name of a kind of figure in [`crate::registry`], which checks the keys that it supports.
    pub kind: String,
    /// Column of the x axis. Exactly one of `x` and `x_metric` is given.
    #[serde(default)]
    pub x: String,
    /// Metric on the x axis, of the same cell as the metric on the y axis.
    #[serde(default)]
    pub x_metric: Option<String>,
    /// Drawn column of that metric's rows (default `value`; `seconds` for times).
    #[serde(default = "columns::value_column")]
    pub x_column: String,
    /// Label of the x axis, with the unit.
    pub x_label: String,
    /// Metric on the y axis.
    pub y: String,
    /// Drawn column of that metric's rows (default `value`; `seconds` for times).
    #[serde(default = "columns::value_column")]
    pub y_column: String,
    /// Metric of the same cells with the standard error of the drawn values, shown as whiskers of
    /// that length up and down.
    #[serde(default)]
    pub y_error: Option<String>,
    /// Two metrics of the same cells, the smallest and the largest of the values averaged in `y`,
    /// shown as whiskers.
    #[serde(default)]
    pub y_range: Option<[String; 2]>,
    /// Label of the y axis, with the unit.
    pub y_label: String,
    /// Column whose values are the series; without it there is one series.
    #[serde(default)]
    pub series: Option<String>,
    /// Value of the series column → its label in the legend.
    #[serde(default)]
    pub series_names: BTreeMap<String, String>,
    /// Order of the series; series not named here follow in the order of the table.
    #[serde(default)]
    pub series_order: Vec<String>,
    /// Values of the series column whose lines have no markers (kinds with lines).
    ///
    /// Such as a bound or an optimum that does not depend on x.
    #[serde(default)]
    pub unmarked: Vec<String>,
    /// Numeric column that determines the shade of the markers (kinds with shades).
    #[serde(default)]
    pub shade: Option<String>,
    /// Name of the shaded quantity, with the unit.
    #[serde(default)]
    pub shade_label: String,
    /// All values on the colour scale of `shade`, so that several figures share one scale. Empty
    /// (the default): the values in this figure.
    #[serde(default)]
    pub shade_scale: Vec<String>,
    /// Logarithmic x axis (kinds with a numeric x axis).
    #[serde(default)]
    pub x_log: bool,
    /// Logarithmic y axis.
    #[serde(default)]
    pub y_log: bool,
    /// Column that splits the figure into panels side by side, which share the y axis.
    #[serde(default)]
    pub panel: Option<String>,
    /// Value of the panel column → the panel's heading.
    #[serde(default)]
    pub panel_names: BTreeMap<String, String>,
    /// Order of the panels; panels not named here follow in the order of the table.
    #[serde(default)]
    pub panel_order: Vec<String>,
    /// Maximum number of panels in a row (default: all).
    #[serde(default)]
    pub panel_columns: Option<usize>,
    /// Column → allowed values; other result rows are omitted.
    #[serde(default, rename = "where", deserialize_with = "columns::filter")]
    pub filter: Filter,
    /// Order of the categories (kinds with categories); categories not named here follow in the
    /// order of the table.
    #[serde(default)]
    pub x_order: Vec<String>,
    /// Value of the x column → label of the category.
    #[serde(default)]
    pub x_names: BTreeMap<String, String>,
    /// Lower end of the y axis; chosen from the values by default.
    #[serde(default)]
    pub y_min: Option<f64>,
    /// Upper end of the y axis; chosen from the values by default.
    #[serde(default)]
    pub y_max: Option<f64>,
    /// Labelled horizontal lines.
    #[serde(default)]
    pub reference_lines: Vec<ReferenceLine>,
    /// Published values to draw over ours.
    #[serde(default)]
    pub published: Option<PublishedOverlay>,
    /// Write each value at its bar (kind `bars`).
    #[serde(default)]
    pub value_labels: bool,
    /// How several rows on one point are combined; by default they are an error.
    #[serde(default)]
    pub aggregate: Option<Aggregate>,
    /// A second y axis (kind `lines`).
    #[serde(default)]
    pub second: Option<SecondAxis>,
}

fn default_scale() -> f64 {
    1.0
}

impl FigureSpec {
    /// Returns the figure of the second axis only, with the same x axis and panels.
    #[must_use]
    pub fn of_second(&self, second: &SecondAxis) -> Self {
        Self {
            y: second.y.clone(),
            y_column: second.y_column.clone(),
            y_label: second.y_label.clone(),
            y_log: second.y_log,
            series_names: second.series_names.clone(),
            series_order: second.series_order.clone(),
            filter: second.filter.clone(),
            y_error: None,
            y_range: None,
            y_min: None,
            y_max: None,
            reference_lines: Vec::new(),
            published: None,
            second: None,
            ..self.clone()
        }
    }

    /// Checks the constraints between keys, except those that depend on the kind of figure.
    ///
    /// # Errors
    /// An invalid value or combination, with its key relative to the `[[figure]]` table.
    pub fn validate(&self) -> Result<()> {
        let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        let extended = self.file.ends_with(".svg") || self.file.ends_with(".png");
        let is_path = !self.file.contains('\\') && self.file.split('/').all(plain) && !extended;
        let expected = "a path below figures/ without extension, such as \"s1/fig2\"";
        let remedy = "write folder and name only; both .svg and .png are written";
        Error::check(is_path, "file", expected, format!("\"{}\"", self.file), remedy)?;
        let found = if self.x.is_empty() { "neither" } else { "both" };
        let expected = "one of the keys `x` (a column) and `x_metric` (a metric of the same cells)";
        let is_one = self.x.is_empty() != self.x_metric.is_none();
        Error::check(is_one, "x", expected, found, "write one of them")?;
        let expected = "`series` in the same table, whose values `unmarked` names";
        let is_named = self.unmarked.is_empty() || self.series.is_some();
        let remedy = "add `series`, or remove `unmarked`";
        Error::check(is_named, "unmarked", expected, "no `series`", remedy)?;
        let expected = "one of the keys `y_error` and `aggregate`, because both draw whiskers";
        let is_one = self.y_error.is_none() || self.aggregate.is_none();
        Error::check(is_one, "y_error", expected, "both", "remove one of them")?;
        let expected =
            "one of the keys `y_range`, `aggregate` and `y_error`, because all draw whiskers";
        let is_one = self.y_range.is_none() || (self.aggregate.is_none() && self.y_error.is_none());
        Error::check(is_one, "y_range", expected, "several", "keep one of them")?;
        let is_positive = self.panel_columns != Some(0);
        let remedy = "write the number of panels in a row, or remove it";
        Error::check(is_positive, "panel_columns", "a positive whole number", "0", remedy)?;
        for (key, end) in [("y_min", self.y_min), ("y_max", self.y_max)] {
            if let Some(value) = end {
                self.check_on_y_axis(key, value)?;
            }
        }
        if let (Some(low), Some(high)) = (self.y_min, self.y_max) {
            let found = format!("{low} and {high}");
            Error::check(low < high, "y_max", "y_min < y_max", found, "swap them, or remove one")?;
        }
        let scale = self.published.as_ref().map_or(1.0, |overlay| overlay.scale);
        let (is_scale, found) = (scale > 0.0 && scale.is_finite(), scale.to_string());
        let remedy = "write e.g. 1000 for GB in MB";
        Error::check(is_scale, "published.scale", "a positive number", found, remedy)?;
        for (index, line) in self.reference_lines.iter().enumerate() {
            self.check_on_y_axis(&format!("reference_lines[{index}].value"), line.value)?;
        }
        Ok(())
    }

    fn check_on_y_axis(&self, key: &str, value: f64) -> Result<()> {
        let is_on_axis = value.is_finite() && (!self.y_log || value > 0.0);
        let expected = if self.y_log {
            "a positive number (the axis is logarithmic)"
        } else {
            "a finite number"
        };
        let remedy = "write a value that is on the y axis";
        Error::check(is_on_axis, key, expected, value.to_string(), remedy)
    }
}
