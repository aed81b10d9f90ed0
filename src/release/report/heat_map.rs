//! The heat map of a pair of attributes.

use super::published::{Intervals, PublishedMarginal, decimals_of, number, value};
use crate::schema::Schema;

/// Maximum values of the attribute with more values, of the other one, and of pairs of them.
const MAX_ROWS: usize = 100;
const MAX_COLUMNS: usize = 40;
const MAX_CELLS: usize = 2000;

/// The estimates of a pair of attributes.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatMap {
    /// The attribute with more values, or the first one, and its values.
    pub rows: (String, Vec<String>),
    /// The other attribute, and its values.
    pub columns: (String, Vec<String>),
    /// The estimates with their intervals, if every estimate has one, row-major.
    pub cells: Vec<(f64, Option<(f64, f64)>)>,
}

impl HeatMap {
    /// Returns the heat map of a marginal on two attributes, and what its colours mean.
    ///
    /// `None` for other marginals, and for more values than are readable.
    pub(super) fn of(schema: &Schema, marginal: &PublishedMarginal) -> Option<(Self, String)> {
        let positions: Vec<usize> = marginal.attributes.positions().collect();
        let &[first, second] = positions.as_slice() else { return None };
        let sizes = marginal.attributes.select(&schema.sizes());
        let &[m, n] = sizes.as_slice() else { return None };
        let (row, column) = if n > m { (second, first) } else { (first, second) };
        let (rows, columns) = (m.max(n), m.min(n));
        if rows > MAX_ROWS || columns > MAX_COLUMNS || rows * columns > MAX_CELLS {
            return None;
        }
        let axis = |position: usize, size: usize| {
            let name = schema.attributes()[position].name.clone();
            (name, (0..size).map(|cell| value(schema, position, cell)).collect())
        };
        let cell = |index: usize| {
            let (i, j) = (index / columns, index % columns);
            let cell = if n > m { j * n + i } else { i * n + j };
            let is_each = matches!(marginal.intervals, Intervals::Each(_));
            (marginal.estimates[cell], is_each.then(|| marginal.interval(cell)).flatten())
        };
        let heat_map = HeatMap {
            rows: axis(row, rows),
            columns: axis(column, columns),
            cells: (0..rows * columns).map(cell).collect(),
        };
        let note = heat_map.note(&marginal.intervals);
        Some((heat_map, note))
    }

    /// Returns the number of decimals of its numbers.
    pub(super) fn decimals(&self) -> usize {
        decimals_of(self.cells.iter().map(|(estimate, _)| *estimate))
    }

    /// Returns the largest absolute estimate.
    pub(super) fn largest(&self) -> f64 {
        self.cells.iter().map(|(estimate, _)| estimate.abs()).fold(0.0, f64::max)
    }

    fn note(&self, intervals: &Intervals) -> String {
        let decimals = self.decimals();
        let mut note = format!(
            "Rows: {}; columns: {}. Darkest: {} records, on a square-root scale.",
            self.rows.0,
            self.columns.0,
            number(self.largest(), decimals)
        );
        if self.cells.iter().any(|(estimate, _)| *estimate < 0.0) {
            note.push_str(" Negative estimates have another colour.");
        }
        if let Intervals::Each(widths) = intervals {
            let largest = widths.iter().copied().fold(0.0, f64::max);
            note.push_str(&format!(
                " 95 % intervals: at most ± {}. Dot: the interval contains 0.",
                number(largest, decimals.max(1))
            ));
        }
        note
    }
}
