//! What a figure shows: series of points per panel, read from a result table.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use super::form::{Form, XAxis};
use crate::columns;
use crate::config::{Aggregate, FigureSpec, PublishedOverlay};
use crate::datasets::STAND_IN;
use crate::error::{Error, FileRole, Result};
use crate::printed::Printed;
use crate::table::{Summary, Table};

/// One drawn value; `low` and `high` are the ends of its whisker, and differ from `y` only for
/// means of several rows and values with a standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Number on the x axis, or position of the category.
    pub x: f64,
    /// Value.
    pub y: f64,
    /// Smallest of the averaged values, or one standard error less.
    pub low: f64,
    /// Largest of the averaged values, or one standard error more.
    pub high: f64,
    /// Position of its shade; 0 in figures without shades.
    pub shade: usize,
}

/// One of the panels side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Heading; empty in figures without panels.
    pub heading: String,
    /// Series → marks, ascending in x; in figures with shades, in their order.
    pub marks: Vec<Vec<Mark>>,
    /// Series → published points.
    pub published: Vec<Vec<(f64, f64)>>,
}

/// All that is drawn, with its labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Labels of the series; one empty label if there is one series.
    pub series: Vec<String>,
    /// The shades that colours stand for, ascending; empty in figures without.
    pub shades: Vec<String>,
    /// Labels of the categories; empty over a numeric x axis.
    pub categories: Vec<String>,
    /// The panels, at least one.
    pub panels: Vec<Panel>,
    /// How many of the series, the first ones, belong to the first y axis; all the others to the
    /// second.
    pub on_first: usize,
    /// Of each series, whether it is a line without marks.
    pub unmarked: Vec<bool>,
}

impl Chart {
    /// Every value that the first y axis must show.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.values_of(0..self.on_first)
    }

    /// Every value that the second y axis must show.
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

    /// Puts the series of another chart behind these, on the second axis. Panels that only the
    /// other has are left out.
    fn with_second(mut self, second: Self) -> Self {
        let count = second.series.len();
        for panel in &mut self.panels {
            let theirs = second.panels.iter().find(|theirs| theirs.heading == panel.heading);
            panel.marks.extend(
                theirs.map_or_else(|| vec![Vec::new(); count], |panel| panel.marks.clone()),
            );
            panel.published.extend(vec![Vec::new(); count]);
        }
        self.series.extend(second.series);
        self.unmarked.extend(second.unmarked);
        self
    }

    /// Every number that the x axis must show.
    pub fn positions(&self) -> impl Iterator<Item = f64> {
        self.panels.iter().flat_map(|panel| {
            let ours = panel.marks.iter().flatten().map(|mark| mark.x);
            ours.chain(panel.published.iter().flatten().map(|&(x, _)| x))
        })
    }
}

/// Reads a chart from a result table; `None` if no row belongs to it.
///
/// # Errors
/// A column or file that is not there, a value that the axes cannot show, several rows on one
/// point.
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
    let across = across(spec, &drawn)?;
    let places = Places::new(spec, form, table);
    let numbers =
        |of: &dyn Fn(usize) -> Result<f64>| (0..table.len()).map(of).collect::<Result<Vec<f64>>>();
    let x = numbers(&|row| places.x(spec, &across, table, row))?;
    let y = numbers(&|row| y_value(spec, table, row, table.field(&spec.y_column, row)))?;
    let mut panels: Vec<Panel> = places
        .panels
        .iter()
        .map(|panel| Panel {
            heading: heading(spec, table, panel),
            marks: vec![Vec::new(); places.series.len()],
            published: vec![Vec::new(); places.series.len()],
        })
        .collect();
    for Summary { rows, mean, smallest, largest } in table.summarised(&split, &x, &y)? {
        if let (Some(row), None) = (rows.get(1), spec.aggregate) {
            return Err(several_rows(spec, table, *row));
        }
        let Some(&row) = rows.first() else {
            continue;
        };
        let panel = place(&places.panels, column(table, &spec.panel, row));
        let series = place(&places.series, column(table, &spec.series, row));
        if let (Some(panel), Some(series)) = (panel, series) {
            let error = errors.get(table.field(columns::CELL, row)).copied().unwrap_or(0.0);
            // A logarithmic axis has no place for a lower end that is not positive.
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
            let shade = place(&places.shades, column(table, &spec.shade, row)).unwrap_or(0);
            panels[panel].marks[series].push(Mark { x: x[row], y: mean, low, high, shade });
        }
    }
    for marks in panels.iter_mut().flat_map(|panel| &mut panel.marks) {
        marks.sort_by(|one, other| one.shade.cmp(&other.shade).then(one.x.total_cmp(&other.x)));
    }
    if let Some(overlay) = &spec.published {
        add_published(root, spec, overlay, &places, &mut panels)?;
    }
    Ok(Some(Chart {
        on_first: places.series.len(),
        unmarked: places.series.iter().map(|series| spec.unmarked.contains(series)).collect(),
        shades: places.shades.clone(),
        series: places.series.iter().map(|series| named(&spec.series_names, series)).collect(),
        categories: places
            .categories
            .iter()
            .map(|category| named(&spec.x_names, category))
            .collect(),
        panels,
    }))
}

/// Cell → a metric beside `y`, which `key` of the figure names.
fn of_cells(
    spec: &FigureSpec,
    drawn: &Table,
    key: &str,
    metric: &str,
) -> Result<BTreeMap<String, f64>> {
    let table = drawn.with(columns::METRIC, metric)?;
    if table.is_empty() {
        let expected = format!("rows of metric \"{metric}\" (`{key}` of figure \"{}\")", spec.file);
        let remedy = format!("correct `{key}`, or leave it out");
        return Err(Error::file(FileRole::Input, drawn.name(), expected, "none", remedy));
    }
    let value =
        |row| table.number(columns::VALUE, row).filter(|error| error.is_finite() && *error >= 0.0);
    Ok((0..table.len())
        .filter_map(|row| Some((table.field(columns::CELL, row).to_owned(), value(row)?)))
        .collect())
}

/// Whether every panel is either of real tables or of stand-ins, so that their headings say all
/// there is to say.
pub fn panels_tell(spec: &FigureSpec, drawn: &Table) -> bool {
    let mut labels: BTreeMap<&str, &str> = BTreeMap::new();
    spec.panel.is_some()
        && (0..drawn.len()).all(|row| {
            let label = drawn.field(columns::DATA, row);
            *labels.entry(column(drawn, &spec.panel, row)).or_insert(label) == label
        })
}

/// The name of a panel, with a word on its data if they are all from stand-ins.
fn heading(spec: &FigureSpec, table: &Table, panel: &str) -> String {
    let name = named(&spec.panel_names, panel);
    let mut rows = (0..table.len()).filter(|&row| column(table, &spec.panel, row) == panel);
    let stand_in =
        spec.panel.is_some() && rows.all(|row| table.field(columns::DATA, row) == STAND_IN);
    if stand_in { format!("{name} (stand-in)") } else { name }
}

/// Cell → the metric on the x axis; nothing if it shows a column.
fn across(spec: &FigureSpec, drawn: &Table) -> Result<BTreeMap<String, f64>> {
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
            "line {} falls on the same point as an earlier one (metric {}, {} = {})",
            table.line(row),
            spec.y,
            spec.x,
            table.field(&spec.x, row)
        ),
        "narrow the figure's `where`, add `series` or `panel`, or write aggregate = \"mean\"",
    )
}

/// The distinct panels, series and categories, in the order in which they are drawn.
struct Places {
    panels: Vec<String>,
    series: Vec<String>,
    categories: Vec<String>,
    shades: Vec<String>,
    x: XAxis,
}

impl Places {
    fn new(spec: &FigureSpec, form: Form, table: &Table) -> Self {
        let distinct = |name: &Option<String>, order: &[String]| {
            in_order((0..table.len()).map(|row| column(table, name, row)), order)
        };
        Self {
            panels: distinct(&spec.panel, &spec.panel_order),
            series: distinct(&spec.series, &spec.series_order),
            shades: shades(spec, table),
            x: form.x,
            categories: match form.x {
                XAxis::Numbers => Vec::new(),
                XAxis::Categories => distinct(&Some(spec.x.clone()), &spec.x_order),
            },
        }
    }

    fn x(
        &self,
        spec: &FigureSpec,
        across: &BTreeMap<String, f64>,
        table: &Table,
        row: usize,
    ) -> Result<f64> {
        let number = across.get(table.field(columns::CELL, row)).map(f64::to_string);
        let field = if spec.x_metric.is_some() {
            number.as_deref().unwrap_or("")
        } else {
            table.field(&spec.x, row)
        };
        self.x_of(spec, field).ok_or_else(|| {
            let expected = if spec.x_log { "a positive number" } else { "a number" };
            Error::file(
                FileRole::Input,
                table.name(),
                format!(
                    "{expected} in column \"{}\" on line {} (x axis of figure \"{}\")",
                    spec.x_metric.as_ref().unwrap_or(&spec.x),
                    table.line(row),
                    spec.file
                ),
                format!("\"{field}\""),
                "choose another column for `x`, kind = \"bars\" for categories, or narrow `where`",
            )
        })
    }

    fn x_of(&self, spec: &FigureSpec, field: &str) -> Option<f64> {
        match self.x {
            XAxis::Categories => place(&self.categories, field).map(|position| position as f64),
            XAxis::Numbers => field
                .trim()
                .parse::<f64>()
                .ok()
                .filter(|x| x.is_finite() && (!spec.x_log || *x > 0.0)),
        }
    }
}

/// The values of the column of shades, in the order of their numbers.
fn shades(spec: &FigureSpec, table: &Table) -> Vec<String> {
    let Some(column) = &spec.shade else { return Vec::new() };
    let mut shades = in_order(table.fields(column), &[]);
    shades.extend(
        spec.shade_scale
            .iter()
            .filter(|value| !shades.contains(value))
            .cloned()
            .collect::<Vec<_>>(),
    );
    shades.sort_by(|a, b| a.parse().unwrap_or(f64::NAN).total_cmp(&b.parse().unwrap_or(f64::NAN)));
    shades
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
    places: &Places,
    panels: &mut [Panel],
) -> Result<()> {
    let file = format!("data/published/{}", overlay.file);
    let remedy = "put the file there, or correct `published` in the [[figure]] table";
    let table = Table::read(&root.join(&file), &file, remedy)?;
    if spec.x_metric.is_some() {
        return Err(Error::config(
            "published",
            "to stand beside `x`",
            "it beside `x_metric`",
            "leave one of them out",
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
        // Published series and categories that are not drawn have no place; values that are not
        // numbers (NI) neither.
        let (Some(panel), Some(series), Some(x), Some(y)) = (
            place(&places.panels, column(&table, &spec.panel, row)),
            place(&places.series, column(&table, &spec.series, row)),
            places.x_of(spec, table.field(&spec.x, row)),
            Printed::parse(table.field(&overlay.value_column, row)).number(),
        ) else {
            continue;
        };
        let y = y_value(spec, &table, row, &(y * overlay.scale).to_string())?;
        panels[panel].published[series].push((x, y));
    }
    Ok(())
}

/// The field of an optional column; without the column, everything has the same empty field.
fn column<'t>(table: &'t Table, name: &Option<String>, row: usize) -> &'t str {
    name.as_deref().map_or("", |name| table.field(name, row))
}

fn place(known: &[String], value: &str) -> Option<usize> {
    known.iter().position(|name| name == value)
}

fn named(names: &BTreeMap<String, String>, value: &str) -> String {
    names.get(value).map_or(value, String::as_str).to_owned()
}

/// The distinct values: first those that `order` names and that occur, then the others as they
/// come.
fn in_order<'v>(found: impl Iterator<Item = &'v str>, order: &[String]) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for value in found {
        if place(&distinct, value).is_none() {
            distinct.push(value.to_owned());
        }
    }
    let rank = |value: &String| place(order, value).unwrap_or(order.len());
    distinct.sort_by_key(rank);
    distinct
}

/// What whiskers show, if there are any.
#[must_use]
pub fn whiskers(spec: &FigureSpec) -> Option<&'static str> {
    match (spec.aggregate, &spec.y_error, &spec.y_range) {
        (Some(Aggregate::Mean), ..) | (None, None, Some(_)) => Some("smallest to largest"),
        (None, Some(_), _) => Some("± standard error"),
        (None, None, None) => None,
    }
}
