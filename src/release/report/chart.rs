//! The chart of one marginal.

use super::heat_map::HeatMap;
use super::published::{PublishedMarginal, decimals_of, number, value};
use crate::schema::Schema;

/// Charts of more cells show the largest ones only.
const MAX_CELLS: usize = 40;

/// Number of cells that are shown of larger marginals.
const CELLS_SHOWN: usize = 30;

/// One cell of a marginal.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// The values of the attributes.
    pub label: String,
    /// The published estimate.
    pub estimate: f64,
    /// Its interval, if it has one.
    pub interval: Option<(f64, f64)>,
}

/// The drawing of one marginal: bars, or a heat map.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The attributes.
    pub title: String,
    /// What is omitted, and error bounds.
    pub notes: Vec<String>,
    /// The bars, in the order of the cells; none if there is a heat map.
    pub bars: Vec<Bar>,
    /// The estimates of a pair of attributes.
    pub heat_map: Option<HeatMap>,
}

impl Chart {
    /// Returns the number of decimals of its numbers: three significant digits of the largest.
    pub fn decimals(&self) -> usize {
        decimals_of(self.bars.iter().map(|bar| bar.estimate))
    }

    /// Returns the chart of a marginal: a heat map of two attributes of not too many values.
    ///
    /// Of more than 40 cells, the 30 of the largest estimates are shown, largest first.
    pub fn of(schema: &Schema, title: String, marginal: &PublishedMarginal) -> Self {
        let positions: Vec<usize> = marginal.attributes.positions().collect();
        let sizes = marginal.attributes.select(&schema.sizes());
        let mut notes: Vec<String> = marginal.intervals.in_words().into_iter().collect();
        if let Some((heat_map, note)) = HeatMap::of(schema, marginal) {
            notes.push(note);
            return Chart { title, notes, bars: Vec::new(), heat_map: Some(heat_map) };
        }
        let mut cells: Vec<usize> = (0..marginal.estimates.len()).collect();
        if cells.len() > MAX_CELLS {
            let estimate = |cell: usize| marginal.estimates[cell];
            cells.sort_by(|a, b| estimate(*b).total_cmp(&estimate(*a)).then(a.cmp(b)));
            notes.push(format!(
                "The {CELLS_SHOWN} largest estimates of {} cells.",
                number(cells.len() as f64, 0)
            ));
            cells.truncate(CELLS_SHOWN);
        }
        let label = |cell: usize| {
            let (mut rest, mut words) = (cell, Vec::with_capacity(positions.len()));
            for (&p, &n) in positions.iter().zip(&sizes).rev() {
                words.push(value(schema, p, rest % n));
                rest /= n;
            }
            words.reverse();
            words.join(" · ")
        };
        let bar = |cell: usize| Bar {
            label: label(cell),
            estimate: marginal.estimates[cell],
            interval: marginal.interval(cell),
        };
        let bars = cells.into_iter().map(bar).collect();
        Chart { title, notes, bars, heat_map: None }
    }
}
