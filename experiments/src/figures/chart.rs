//! What a figure shows: series of points per panel, read from a result table.

use std::collections::BTreeMap;
use std::path::Path;

use crate::compare::InputError;
use crate::compare::printed::Printed;
use crate::compare::tables::Table;
use crate::config::{Aggregate, FigureKind, FigureSpec, PublishedOverlay};

/// One drawn value; `low` and `high` differ from `y` only for means of several rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Number on the x axis, or position of the category.
    pub x: f64,
    /// Value.
    pub y: f64,
    /// Smallest of the averaged values.
    pub low: f64,
    /// Largest of the averaged values.
    pub high: f64,
}

/// One of the panels side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Heading; empty in figures without panels.
    pub heading: String,
    /// Series → marks, ascending in x.
    pub marks: Vec<Vec<Mark>>,
    /// Series → published points.
    pub published: Vec<Vec<(f64, f64)>>,
}

/// All that is drawn, with its labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Labels of the series; one empty label if there is one series.
    pub series: Vec<String>,
    /// Labels of the categories; empty over a numeric x axis.
    pub categories: Vec<String>,
    /// The panels, at least one.
    pub panels: Vec<Panel>,
}

impl Chart {
    /// Every value that the y axis must show.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        self.panels.iter().flat_map(|panel| {
            let ours = panel.marks.iter().flatten().flat_map(|mark| [mark.low, mark.high]);
            ours.chain(panel.published.iter().flatten().map(|&(_, y)| y))
        })
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
/// A column or file that is not there, a value that the axes cannot show, several rows on one point.
pub fn chart(root: &Path, spec: &FigureSpec, table: &Table) -> Result<Option<Chart>, InputError> {
    table.require(&spec.x, "x")?;
    table.require("metric", "the layout of result tables")?;
    table.require(&spec.y_column, "y_column")?;
    for (column, key) in [(&spec.series, "series"), (&spec.panel, "panel")] {
        if let Some(column) = column {
            table.require(column, key)?;
        }
    }
    let rows: Vec<usize> = table
        .rows_where(&spec.filter, "where")?
        .into_iter()
        .filter(|&row| table.field("metric", row) == spec.y)
        .collect();
    if rows.is_empty() {
        return Ok(None);
    }
    let places = Places::new(spec, table, &rows);
    let mut cells: BTreeMap<(usize, usize, Sortable), Vec<f64>> = BTreeMap::new();
    for &row in &rows {
        let y = y_value(spec, table, row, table.field(&spec.y_column, row))?;
        let x = places.x(spec, table, row)?;
        let panel = place(&places.panels, column(table, &spec.panel, row));
        let series = place(&places.series, column(table, &spec.series, row));
        if let (Some(panel), Some(series)) = (panel, series) {
            let values = cells.entry((panel, series, Sortable(x))).or_default();
            values.push(y);
            if values.len() > 1 && spec.aggregate.is_none() {
                return Err(InputError::new(
                    table.file(),
                    format!("one row per point of figure \"{}\"", spec.file),
                    format!(
                        "line {} falls on the same point as an earlier one (metric {}, {} = {})",
                        Table::line(row),
                        spec.y,
                        spec.x,
                        table.field(&spec.x, row)
                    ),
                    "narrow the figure's `where`, add `series` or `panel`, or write aggregate = \"mean\"",
                ));
            }
        }
    }
    let mut panels: Vec<Panel> = places
        .panels
        .iter()
        .map(|panel| Panel {
            heading: named(&spec.panel_names, panel),
            marks: vec![Vec::new(); places.series.len()],
            published: vec![Vec::new(); places.series.len()],
        })
        .collect();
    for ((panel, series, Sortable(x)), values) in cells {
        panels[panel].marks[series].push(mark(x, &values));
    }
    if let Some(overlay) = &spec.published {
        add_published(root, spec, overlay, &places, &mut panels)?;
    }
    Ok(Some(Chart {
        series: places.series.iter().map(|series| named(&spec.series_names, series)).collect(),
        categories: places.categories.iter().map(|category| named(&spec.x_names, category)).collect(),
        panels,
    }))
}

fn mark(x: f64, values: &[f64]) -> Mark {
    Mark {
        x,
        y: values.iter().sum::<f64>() / values.len() as f64,
        low: values.iter().copied().fold(f64::INFINITY, f64::min),
        high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    }
}

/// The distinct panels, series and categories, in the order in which they are drawn.
struct Places {
    panels: Vec<String>,
    series: Vec<String>,
    categories: Vec<String>,
}

impl Places {
    fn new(spec: &FigureSpec, table: &Table, rows: &[usize]) -> Self {
        let distinct = |name: &Option<String>, order: &[String]| {
            let found = rows.iter().map(|&row| column(table, name, row));
            in_order(found, order)
        };
        Self {
            panels: distinct(&spec.panel, &spec.panel_order),
            series: distinct(&spec.series, &spec.series_order),
            categories: match spec.kind {
                FigureKind::Lines => Vec::new(),
                FigureKind::Bars => distinct(&Some(spec.x.clone()), &spec.x_order),
            },
        }
    }

    fn x(&self, spec: &FigureSpec, table: &Table, row: usize) -> Result<f64, InputError> {
        let field = table.field(&spec.x, row);
        self.x_of(spec, field).ok_or_else(|| {
            let expected = if spec.x_log { "a positive number" } else { "a number" };
            InputError::new(
                table.file(),
                format!(
                    "{expected} in column \"{}\" on line {} (x axis of figure \"{}\")",
                    spec.x,
                    Table::line(row),
                    spec.file
                ),
                format!("\"{field}\""),
                "choose another column for `x`, kind = \"bars\" for categories, or narrow `where`",
            )
        })
    }

    fn x_of(&self, spec: &FigureSpec, field: &str) -> Option<f64> {
        match spec.kind {
            FigureKind::Bars => place(&self.categories, field).map(|position| position as f64),
            FigureKind::Lines => {
                field.trim().parse::<f64>().ok().filter(|x| x.is_finite() && (!spec.x_log || *x > 0.0))
            }
        }
    }
}

fn y_value(spec: &FigureSpec, table: &Table, row: usize, field: &str) -> Result<f64, InputError> {
    let value = field.trim().parse::<f64>().ok();
    value.filter(|y| y.is_finite() && (!spec.y_log || *y > 0.0)).ok_or_else(|| {
        let expected = if spec.y_log { "a positive number" } else { "a finite number" };
        InputError::new(
            table.file(),
            format!(
                "{expected} as metric {} on line {} (y axis of figure \"{}\")",
                spec.y,
                Table::line(row),
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
) -> Result<(), InputError> {
    let file = format!("data/published/{}", overlay.file);
    let remedy = "put the file there, or correct `published` in the [[figure]] table";
    let table = Table::read(&root.join(&file), &file, remedy)?;
    table.require(&spec.x, "x")?;
    table.require(&overlay.value_column, "published.value_column")?;
    for (name, key) in [(&spec.series, "series"), (&spec.panel, "panel")] {
        if let Some(name) = name {
            table.require(name, key)?;
        }
    }
    for row in table.rows_where(&overlay.filter, "published.filter")? {
        let ours = |name: &str| {
            let field = table.field(name, row);
            overlay.rename.get(name).and_then(|names| names.get(field)).map_or(field, String::as_str)
        };
        let optional = |name: &Option<String>| name.as_deref().map_or("", ours);
        // Published series and categories that are not drawn have no place; values that are not numbers (NI) neither.
        let (Some(panel), Some(series), Some(x), Some(y)) = (
            place(&places.panels, optional(&spec.panel)),
            place(&places.series, optional(&spec.series)),
            places.x_of(spec, ours(&spec.x)),
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

/// The distinct values: first those that `order` names and that occur, then the others as they come.
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

/// A finite number as a key.
#[derive(Clone, Copy, PartialEq)]
struct Sortable(f64);

impl Eq for Sortable {}

impl PartialOrd for Sortable {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Sortable {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Whether means are drawn with whiskers.
#[must_use]
pub fn has_whiskers(spec: &FigureSpec) -> bool {
    spec.aggregate == Some(Aggregate::Mean)
}
