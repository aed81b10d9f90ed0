//! The `[[figure]]` table of a config: what is drawn from a result table, and how.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::columns;
use crate::error::{Error, Result};

/// What happens when several result rows fall on one point of the figure.
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
    /// Text beside the line.
    pub label: String,
}

/// Values of a published table, drawn as hollow markers over our own.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedOverlay {
    /// File in `data/published`.
    pub file: String,
    /// Column of that file → the values that select a row. Empty selects every row.
    #[serde(default)]
    pub filter: BTreeMap<String, Vec<String>>,
    /// Column with the printed value (default `value`).
    #[serde(default = "default_value_column")]
    pub value_column: String,
    /// Factor from the published unit to the figure's (default 1): 1000 draws GB in MB.
    #[serde(default = "default_scale")]
    pub scale: f64,
    /// Column → (spelling in the published file → our spelling).
    #[serde(default)]
    pub rename: BTreeMap<String, BTreeMap<String, String>>,
}

/// Series on a y axis of their own at the right: `[figure.second]`. What is not said here is as on
/// the first axis.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecondAxis {
    /// Metric on the axis.
    pub y: String,
    /// Column of that metric's rows that is drawn (default `value`; `seconds` for times).
    #[serde(default = "default_value_column")]
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
    /// Column → allowed values; other result rows are left out.
    #[serde(default, rename = "where")]
    pub filter: BTreeMap<String, Vec<String>>,
}

/// One `[[figure]]` entry of a config. Columns are those of the experiment's result table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureSpec {
    /// Path below `figures/`, without extension: `s1/fig2` gives `figures/s1/fig2.svg` and `.png`.
    pub file: String,
    /// Heading of the figure.
    pub title: String,
    /// Longer text under the figure in reports.
    #[serde(default)]
    pub caption: Option<String>,
    /// Name of a kind of figure in [`crate::registry`], which knows the keys that go with it.
    pub kind: String,
    /// Column of the x axis. Exactly one of `x` and `x_metric` is given.
    #[serde(default)]
    pub x: String,
    /// Metric on the x axis: that of the same cell as the metric on the y axis.
    #[serde(default)]
    pub x_metric: Option<String>,
    /// Column of that metric's rows that is drawn (default `value`; `seconds` for times).
    #[serde(default = "default_value_column")]
    pub x_column: String,
    /// Label of the x axis, with the unit.
    pub x_label: String,
    /// Metric on the y axis.
    pub y: String,
    /// Column of that metric's rows that is drawn (default `value`; `seconds` for times).
    #[serde(default = "default_value_column")]
    pub y_column: String,
    /// Metric of the same cells whose value is drawn as a whisker of so much up and down: the
    /// standard error of what `y` and `y_column` name.
    #[serde(default)]
    pub y_error: Option<String>,
    /// Two metrics of the same cells, the smallest and the largest value that `y` is the mean of:
    /// drawn as a whisker.
    #[serde(default)]
    pub y_range: Option<[String; 2]>,
    /// Label of the y axis, with the unit.
    pub y_label: String,
    /// Column that tells series apart; without it there is one series.
    #[serde(default)]
    pub series: Option<String>,
    /// Value of the series column → its label in the legend.
    #[serde(default)]
    pub series_names: BTreeMap<String, String>,
    /// Order of the series; series not named here follow in the order of the table.
    #[serde(default)]
    pub series_order: Vec<String>,
    /// Values of the series column whose lines have no marks, such as a bound that is no strategy
    /// or an optimum that does not depend on x, of kinds that draw lines.
    #[serde(default)]
    pub unmarked: Vec<String>,
    /// Column whose values, as numbers, shade the marks, of kinds that have shades.
    #[serde(default)]
    pub shade: Option<String>,
    /// What the shades stand for, with the unit.
    #[serde(default)]
    pub shade_label: String,
    /// All values that the colours of `shade` stand for, those of other figures too, so that a
    /// value has one colour in all of them. Empty (the default): those that the figure shows.
    #[serde(default)]
    pub shade_scale: Vec<String>,
    /// Logarithmic x axis, of kinds that have numbers there.
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
    /// Column → allowed values; other result rows are left out.
    #[serde(default, rename = "where")]
    pub filter: BTreeMap<String, Vec<String>>,
    /// Order of the categories, of kinds that have them; categories not named here follow in the
    /// order of the table.
    #[serde(default)]
    pub x_order: Vec<String>,
    /// Value of the x column → its label, for categories.
    #[serde(default)]
    pub x_names: BTreeMap<String, String>,
    /// Lower end of the y axis; chosen from the values when absent.
    #[serde(default)]
    pub y_min: Option<f64>,
    /// Upper end of the y axis; chosen from the values when absent.
    #[serde(default)]
    pub y_max: Option<f64>,
    /// Labelled horizontal lines.
    #[serde(default)]
    pub reference_lines: Vec<ReferenceLine>,
    /// Published values to draw over ours.
    #[serde(default)]
    pub published: Option<PublishedOverlay>,
    /// Write each value beside its mark, of kinds that have room for it.
    #[serde(default)]
    pub value_labels: bool,
    /// What to do with several rows on one point; without it they are an error.
    #[serde(default)]
    pub aggregate: Option<Aggregate>,
    /// A second y axis, of kinds that have room for it.
    #[serde(default)]
    pub second: Option<SecondAxis>,
}

fn default_value_column() -> String {
    columns::VALUE.to_owned()
}

fn default_scale() -> f64 {
    1.0
}

impl FigureSpec {
    /// The figure that has only the second axis, drawn over the same x axis and panels.
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

    /// Checks what the types alone cannot; what depends on the kind of figure is checked there.
    ///
    /// # Errors
    /// The key, relative to the `[[figure]]` table, and what was expected there.
    pub fn validate(&self) -> Result<()> {
        let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        let extended = self.file.ends_with(".svg") || self.file.ends_with(".png");
        if self.file.contains('\\') || !self.file.split('/').all(plain) || extended {
            return Err(Error::config(
                "file",
                "a path below figures/ without extension, such as \"s1/fig2\"",
                format!("\"{}\"", self.file),
                "write folder and name only; both .svg and .png are written",
            ));
        }
        if self.x.is_empty() == self.x_metric.is_none() {
            let found = if self.x.is_empty() { "neither" } else { "both" };
            let expected =
                "one of the keys `x` (a column) and `x_metric` (a metric of the same cells)";
            return Err(Error::config("x", expected, found, "write one of them"));
        }
        if !self.unmarked.is_empty() && self.series.is_none() {
            let expected = "to stand beside `series`, of whose values it names some";
            return Err(Error::config(
                "unmarked",
                expected,
                "it without",
                "name the column, or leave it out",
            ));
        }
        if self.y_error.is_some() && self.aggregate.is_some() {
            return Err(Error::config(
                "y_error",
                "to stand without `aggregate`",
                "it beside that",
                "leave one of them out: a whisker has one meaning",
            ));
        }
        if self.y_range.is_some() && (self.aggregate.is_some() || self.y_error.is_some()) {
            let (expected, found) =
                ("to stand without `aggregate` and `y_error`", "it beside one of them");
            return Err(Error::config(
                "y_range",
                expected,
                found,
                "leave one of them out: a whisker has one meaning",
            ));
        }
        for (key, end) in [("y_min", self.y_min), ("y_max", self.y_max)] {
            if let Some(value) = end {
                self.check_on_y_axis(key, value)?;
            }
        }
        if let (Some(low), Some(high)) = (self.y_min, self.y_max)
            && low >= high
        {
            let found = format!("{low} and {high}");
            return Err(Error::config(
                "y_max",
                "y_min < y_max",
                found,
                "swap the two, or leave one out",
            ));
        }
        if let Some(overlay) = &self.published
            && !(overlay.scale > 0.0 && overlay.scale.is_finite())
        {
            let found = overlay.scale.to_string();
            return Err(Error::config(
                "published.scale",
                "a positive number",
                found,
                "write e.g. 1000 for GB in MB",
            ));
        }
        for (index, line) in self.reference_lines.iter().enumerate() {
            self.check_on_y_axis(&format!("reference_lines[{index}].value"), line.value)?;
        }
        Ok(())
    }

    fn check_on_y_axis(&self, key: &str, value: f64) -> Result<()> {
        if value.is_finite() && (!self.y_log || value > 0.0) {
            return Ok(());
        }
        let expected = if self.y_log {
            "a positive number (the axis is logarithmic)"
        } else {
            "a finite number"
        };
        Err(Error::config(
            key,
            expected,
            value.to_string(),
            "write a value that the y axis can show",
        ))
    }
}
