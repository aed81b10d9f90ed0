//! The panels, series, categories and shades of a figure, and the x coordinates of its rows.

use std::collections::BTreeMap;

use crate::columns;
use crate::config::FigureSpec;
use crate::error::{Error, FileRole, Result};
use crate::figures::theme::{Form, XAxis};
use crate::table::Table;

/// The distinct panels, series, categories and shades, in drawing order.
pub(super) struct Layout {
    pub(super) panels: Vec<String>,
    pub(super) series: Vec<String>,
    pub(super) categories: Vec<String>,
    pub(super) shades: Vec<String>,
    x: XAxis,
}

impl Layout {
    /// Returns the layout of the rows of a table.
    pub(super) fn new(spec: &FigureSpec, form: Form, table: &Table) -> Self {
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

    /// Returns the x coordinate of a row.
    pub(super) fn x(
        &self,
        spec: &FigureSpec,
        x_by_cell: &BTreeMap<String, f64>,
        table: &Table,
        row: usize,
    ) -> Result<f64> {
        let number = x_by_cell.get(table.field(columns::CELL, row)).map(f64::to_string);
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

    /// Returns the x coordinate of a field; `None` if the axis cannot show it.
    pub(super) fn x_of(&self, spec: &FigureSpec, field: &str) -> Option<f64> {
        match self.x {
            XAxis::Categories => index_of(&self.categories, field).map(|index| index as f64),
            XAxis::Numbers => field
                .trim()
                .parse::<f64>()
                .ok()
                .filter(|x| x.is_finite() && (!spec.x_log || *x > 0.0)),
        }
    }
}

/// Returns the values of the shade column, in numeric order.
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

/// Returns the field of an optional column; empty without the column.
pub(super) fn column<'t>(table: &'t Table, name: &Option<String>, row: usize) -> &'t str {
    name.as_deref().map_or("", |name| table.field(name, row))
}

/// Returns the index of a value.
pub(super) fn index_of(known: &[String], value: &str) -> Option<usize> {
    known.iter().position(|name| name == value)
}

/// Returns the distinct values: first those that `order` names, then the others in order of
/// appearance.
fn in_order<'v>(found: impl Iterator<Item = &'v str>, order: &[String]) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for value in found {
        if index_of(&distinct, value).is_none() {
            distinct.push(value.to_owned());
        }
    }
    let rank = |value: &String| index_of(order, value).unwrap_or(order.len());
    distinct.sort_by_key(rank);
    distinct
}
