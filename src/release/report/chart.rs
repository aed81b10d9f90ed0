//! The chart of one marginal.

use super::heat_map::HeatMap;
use crate::domain::AttributeSet;
use crate::release::statement::at_most;
use crate::schema::{Coding, Schema};

/// Charts of more cells show the largest ones only.
const MAX_CELLS: usize = 40;

/// Number of cells that are shown of larger marginals.
const CELLS_SHOWN: usize = 30;

/// The published estimates of one marginal.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedMarginal {
    /// The attributes.
    pub attributes: AttributeSet,
    /// The estimates, row-major.
    pub estimates: Vec<f64>,
    /// What is known of their errors.
    pub intervals: Intervals,
}

/// What is known of the errors of a marginal.
#[derive(Debug, Clone, PartialEq)]
pub enum Intervals {
    /// Nothing.
    None,
    /// Half the length of a 95 % interval for every estimate.
    Each(Vec<f64>),
    /// A 95 % bound of the sum of all absolute errors, which also bounds every single one.
    OfSum(f64),
}

impl PublishedMarginal {
    /// Returns the 95 % interval of an estimate; with a bound of the sum, one for all together.
    pub fn interval(&self, cell: usize) -> Option<(f64, f64)> {
        let estimate = self.estimates[cell];
        match &self.intervals {
            Intervals::None => None,
            Intervals::Each(widths) => {
                widths.get(cell).map(|width| (estimate - width, estimate + width))
            }
            // A number of records is not negative.
            Intervals::OfSum(bound) => {
                Some(((estimate - bound).max(0.0_f64.min(estimate)), estimate + bound))
            }
        }
    }

    /// Returns half the length of the interval of an estimate, without a bound of the sum.
    pub(super) fn half_width(&self, cell: usize) -> f64 {
        match &self.intervals {
            Intervals::Each(widths) => widths.get(cell).copied().unwrap_or(0.0),
            Intervals::None | Intervals::OfSum(_) => 0.0,
        }
    }
}

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

/// Returns the value of a cell, or the label of its bin.
pub(super) fn value(schema: &Schema, position: usize, cell: usize) -> String {
    if let Some(label) = schema.label(position, cell) {
        return label.to_string();
    }
    match schema.coding(position) {
        Some(Coding::Values(values)) => {
            values.get(cell).map(ToString::to_string).unwrap_or_default()
        }
        Some(Coding::Bins(bins)) => bins.label(cell),
        _ => cell.to_string(),
    }
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

impl Intervals {
    fn in_words(&self) -> Option<String> {
        match self {
            Intervals::OfSum(bound) => Some(format!(
                "The absolute errors add up to at most {} (95 %).",
                at_most(*bound, 1)
            )),
            Intervals::None | Intervals::Each(_) => None,
        }
    }
}

/// Returns the number of decimals for three significant digits of the largest number.
pub(super) fn decimals_of(numbers: impl Iterator<Item = f64>) -> usize {
    match numbers.map(f64::abs).fold(0.0, f64::max) {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    }
}

/// Formats a number with some decimals and with separators of thousands.
pub(super) fn number(x: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", x.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let mut out = if x < 0.0 && !is_zero { "−".to_owned() } else { String::new() };
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators_and_no_negative_zero() {
        let cases = [
            (0.0, 0, "0"),
            (-0.0001, 3, "0.000"),
            (-1.257, 2, "−1.26"),
            (999.96, 1, "1,000.0"),
            (1234.5678, 0, "1,235"),
            (-1_234_567.8, 0, "−1,234,568"),
        ];
        for (x, decimals, text) in cases {
            assert_eq!(number(x, decimals), text);
        }
    }
}
