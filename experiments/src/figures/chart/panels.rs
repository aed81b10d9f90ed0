//! The panels of a figure, from the rows of a table.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use super::layout::{Layout, column, index_of};
use crate::columns;
use crate::config::{Aggregate, FigureSpec, PublishedOverlay};
use crate::error::{Error, FileRole, Result};
use crate::figures::theme::Form;
use crate::printed::Printed;
use crate::table::{Summary, Table};

/// One drawn value with its whisker, which is empty unless the figure has means, ranges or standard
/// errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Number on the x axis, or index of the category.
    pub x: f64,
    /// Value.
    pub y: f64,
    /// Lower end of the whisker.
    pub low: f64,
    /// Upper end of the whisker.
    pub high: f64,
    /// Index of its shade; 0 in figures without shades.
    pub shade: usize,
}

/// One of the panels side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Heading; empty in figures without panels.
    pub heading: String,
    /// Series → marks, sorted by shade and x.
    pub marks: Vec<Vec<Mark>>,
    /// Series → published points.
    pub published: Vec<Vec<(f64, f64)>>,
}

/// The data of a figure, with labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Labels of the series; one empty label without a series column.
    pub series: Vec<String>,
    /// Values of the shades, ascending; empty in figures without shades.
    pub shades: Vec<String>,
    /// Labels of the categories; empty for a numeric x axis.
    pub categories: Vec<String>,
    /// The panels, at least one.
    pub panels: Vec<Panel>,
    /// Number of series on the first y axis; the following series are on the second.
    pub on_first: usize,
    /// For each series, whether it is a line without markers.
    pub unmarked: Vec<bool>,
}

impl Chart {
    /// Iterates over the values that the first y axis must show.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.values_of(0..self.on_first)
    }

    /// Iterates over the values that the second y axis must show.
    pub fn second_values(&self) -> impl Iterator<Item = f64> {
        self.values_of(self.on_first..self.series.len())
    }

    fn values_of(&self, series: Range<usize>) -> impl Iterator<Item = f64> {
        self.panels.iter().flat_map(move |panel| {
            let ours =
                panel.marks[series.clone()].iter().flatten().flat_map(|mark| [mark.low, mark.high]);
            ours.chain(panel.published[series.clone()].iter().flatten().map(|&(_, y)| y))
        })
    }

    /// Appends the series of another chart on the second axis; its additional panels are dropped.
    fn with_second(mut self, second: Self) -> Self {
        let count = second.series.len();
        for panel in &mut self.panels {
            let matching = second.panels.iter().find(|other| other.heading == panel.heading);
            panel.marks.extend(
                matching.map_or_else(|| vec![Vec::new(); count], |panel| panel.marks.clone()),
            );
            panel.published.extend(vec![Vec::new(); count]);
        }
        self.series.extend(second.series);
        self.unmarked.extend(second.unmarked);
        self
    }

    /// Iterates over the numbers that the x axis must show.
    pub fn positions(&self) -> impl Iterator<Item = f64> {
        self.panels.iter().flat_map(|panel| {
            let ours = panel.marks.iter().flatten().map(|mark| mark.x);
            ours.chain(panel.published.iter().flatten().map(|&(x, _)| x))
        })
    }
}

/// Reads a chart from a result table; `None` if the table has no row for it.
///
/// # Errors
/// A missing column or file, a value that the axes cannot show, or several rows on one point.
pub fn chart(root: &Path, spec: &FigureSpec, form: Form, table: &Table) -> Result<Option<Chart>> {
    let first = of_one_axis(root, spec, form, table)?;
    let second = match &spec.second {
        Some(second) => of_one_axis(root, &spec.of_second(second), form, table)?,
        None => None,
    };
    Ok(match (first, second) {
        (Some(first), Some(second)) => Some(first.with_second(second)),
        (first, None) => first,
        (None, Some(_)) => None,
    })
}

/// Reads the series of one y axis.
fn of_one_axis(root: &Path, spec: &FigureSpec, form: Form, table: &Table) -> Result<Option<Chart>> {
    if spec.x_metric.is_none() {
        table.require(&spec.x, "x")?;
    }
    table.require(columns::METRIC, "the layout of result tables")?;
    table.require(&spec.y_column, "y_column")?;
    let split: Vec<&str> =
        [(&spec.panel, "panel"), (&spec.series, "series"), (&spec.shade, "shade")]
            .into_iter()
            .filter_map(|(column, key)| {
                column.as_deref().map(|column| table.require(column, key).map(|()| column))
            })
            .collect::<Result<_>>()?;
    let drawn = table.filtered(&spec.filter, "where")?;
    let table = &drawn.with(columns::METRIC, &spec.y)?;
    if table.is_empty() {
        return Ok(None);
    }
    let errors = match &spec.y_error {
        Some(metric) => of_cells(spec, &drawn, "y_error", metric)?,
        None => BTreeMap::new(),
    };
    let range = match &spec.y_range {
        Some([low, high]) => Some((
            of_cells(spec, &drawn, "y_range", low)?,
            of_cells(spec, &drawn, "y_range", high)?,
        )),
        None => None,
    };
    let x_by_cell = x_by_cell(spec, &drawn)?;
    let layout = Layout::new(spec, form, table);
    let numbers =
        |of: &dyn Fn(usize) -> Result<f64>| (0..table.len()).map(of).collect::<Result<Vec<f64>>>();
    let x = numbers(&|row| layout.x(spec, &x_by_cell, table, row))?;
    let y = numbers(&|row| y_value(spec, table, row, table.field(&spec.y_column, row)))?;
    let mut panels: Vec<Panel> = layout
        .panels
        .iter()
        .map(|panel| Panel {
            heading: named(&spec.panel_names, panel),
            marks: vec![Vec::new(); layout.series.len()],
            published: vec![Vec::new(); layout.series.len()],
        })
        .collect();
    for Summary { rows, mean, smallest, largest } in table.summarised(&split, &x, &y)? {
        if let (Some(row), None) = (rows.get(1), spec.aggregate) {
            return Err(several_rows(spec, table, *row));
        }
        let Some(&row) = rows.first() else {
            continue;
        };
        let panel = index_of(&layout.panels, column(table, &spec.panel, row));
        let series = index_of(&layout.series, column(table, &spec.series, row));
        if let (Some(panel), Some(series)) = (panel, series) {
            let error = errors.get(table.field(columns::CELL, row)).copied().unwrap_or(0.0);
            // A logarithmic axis cannot show a lower end that is not positive.
            let low =
                if spec.y_log && smallest - error <= 0.0 { smallest } else { smallest - error };
            let of_range =
                |ends: &BTreeMap<String, f64>| ends.get(table.field(columns::CELL, row)).copied();
            let (low, high) = match &range {
                Some((lows, highs)) => {
                    (of_range(lows).unwrap_or(low), of_range(highs).unwrap_or(largest))
                }
                None => (low, largest + error),
            };
            let shade = index_of(&layout.shades, column(table, &spec.shade, row)).unwrap_or(0);
            panels[panel].marks[series].push(Mark { x: x[row], y: mean, low, high, shade });
        }
    }
    for marks in panels.iter_mut().flat_map(|panel| &mut panel.marks) {
        marks.sort_by(|a, b| a.shade.cmp(&b.shade).then(a.x.total_cmp(&b.x)));
    }
    if let Some(overlay) = &spec.published {
        add_published(root, spec, overlay, &layout, &mut panels)?;
    }
    Ok(Some(Chart {
        on_first: layout.series.len(),
        unmarked: layout.series.iter().map(|series| spec.unmarked.contains(series)).collect(),
        shades: layout.shades.clone(),
        series: layout.series.iter().map(|series| named(&spec.series_names, series)).collect(),
        categories: layout
            .categories
            .iter()
            .map(|category| named(&spec.x_names, category))
            .collect(),
        panels,
    }))
}

/// Returns cell → value of the metric that `key` of the figure names.
fn of_cells(
    spec: &FigureSpec,
    drawn: &Table,
    key: &str,
    metric: &str,
) -> Result<BTreeMap<String, f64>> {
    let table = drawn.with(columns::METRIC, metric)?;
    if table.is_empty() {
        let expected = format!("rows of metric \"{metric}\" (`{key}` of figure \"{}\")", spec.file);
        let remedy = format!("correct `{key}` or remove it");
        return Err(Error::file(FileRole::Input, drawn.name(), expected, "none", remedy));
    }
    let value =
        |row| table.number(columns::VALUE, row).filter(|value| value.is_finite() && *value >= 0.0);
    Ok((0..table.len())
        .filter_map(|row| Some((table.field(columns::CELL, row).to_owned(), value(row)?)))
        .collect())
}

/// Returns cell → value of the metric on the x axis; empty if the x axis shows a column.
fn x_by_cell(spec: &FigureSpec, drawn: &Table) -> Result<BTreeMap<String, f64>> {
    let Some(metric) = &spec.x_metric else { return Ok(BTreeMap::new()) };
    drawn.require(&spec.x_column, "x_column")?;
    let table = drawn.with(columns::METRIC, metric)?;
    let number = |row| {
        Some((table.field(columns::CELL, row).to_owned(), table.number(&spec.x_column, row)?))
    };
    Ok((0..table.len()).filter_map(number).collect())
}

fn several_rows(spec: &FigureSpec, table: &Table, row: usize) -> Error {
    Error::file(
        FileRole::Input,
        table.name(),
        format!("one row per point of figure \"{}\"", spec.file),
        format!(
            "line {} on the same point as an earlier line (metric {}, {} = {})",
            table.line(row),
            spec.y,
            spec.x,
            table.field(&spec.x, row)
        ),
        "narrow the figure's `where`, add `series` or `panel`, or write aggregate = \"mean\"",
    )
}

fn y_value(spec: &FigureSpec, table: &Table, row: usize, field: &str) -> Result<f64> {
    let value = field.trim().parse::<f64>().ok();
    value.filter(|y| y.is_finite() && (!spec.y_log || *y > 0.0)).ok_or_else(|| {
        let expected = if spec.y_log { "a positive number" } else { "a finite number" };
        Error::file(
            FileRole::Input,
            table.name(),
            format!(
                "{expected} as metric {} on line {} (y axis of figure \"{}\")",
                spec.y,
                table.line(row),
                spec.file
            ),
            format!("\"{field}\""),
            "narrow the figure's `where`, or draw another metric",
        )
    })
}

fn add_published(
    root: &Path,
    spec: &FigureSpec,
    overlay: &PublishedOverlay,
    layout: &Layout,
    panels: &mut [Panel],
) -> Result<()> {
    let file = format!("data/published/{}", overlay.file);
    let remedy = "add the file, or correct `published` in the [[figure]] table";
    let table = Table::read(&root.join(&file), &file, remedy)?;
    if spec.x_metric.is_some() {
        return Err(Error::config(
            "published",
            "`x` in the same table",
            "`x_metric`",
            "remove one of them",
        ));
    }
    table.require(&spec.x, "x")?;
    table.require(&overlay.value_column, "published.value_column")?;
    for (name, key) in [(&spec.series, "series"), (&spec.panel, "panel")] {
        if let Some(name) = name {
            table.require(name, key)?;
        }
    }
    let table = table.filtered(&overlay.filter, "published.filter")?;
    let table = overlay
        .rename
        .iter()
        .try_fold(table, |table, (column, names)| table.renamed(column, names))?;
    for row in 0..table.len() {
        // Series and categories that are not drawn are skipped, and so are values that are not
        // numbers (NI).
        let (Some(panel), Some(series), Some(x), Some(y)) = (
            index_of(&layout.panels, column(&table, &spec.panel, row)),
            index_of(&layout.series, column(&table, &spec.series, row)),
            layout.x_of(spec, table.field(&spec.x, row)),
            Printed::parse(table.field(&overlay.value_column, row)).number(),
        ) else {
            continue;
        };
        let y = y_value(spec, &table, row, &(y * overlay.scale).to_string())?;
        panels[panel].published[series].push((x, y));
    }
    Ok(())
}

/// Returns the label of a value, or the value itself.
fn named(names: &BTreeMap<String, String>, value: &str) -> String {
    names.get(value).map_or(value, String::as_str).to_owned()
}

/// Returns the meaning of the whiskers for the legend, if there are any.
#[must_use]
pub fn whiskers(spec: &FigureSpec) -> Option<&'static str> {
    match (spec.aggregate, &spec.y_error, &spec.y_range) {
        (Some(Aggregate::Mean), ..) | (None, None, Some(_)) => Some("smallest to largest"),
        (None, Some(_), _) => Some("± standard error"),
        (None, None, None) => None,
    }
}
