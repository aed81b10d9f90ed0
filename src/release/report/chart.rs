//! The bars of one marginal.

use crate::domain::AttributeSet;
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
    /// Half the lengths of their 95 % intervals; empty if the estimates have none.
    pub half_widths: Vec<f64>,
    /// An error bound of the whole marginal, in words.
    pub bound: Option<String>,
}

/// One cell of a marginal.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// The values of the attributes.
    pub label: String,
    /// The published estimate.
    pub estimate: f64,
    /// Half the length of its interval, if it has one.
    pub half_width: Option<f64>,
}

/// The bars of one marginal.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// The attributes.
    pub title: String,
    /// What is omitted, and error bounds.
    pub notes: Vec<String>,
    /// The bars, in the order of the cells.
    pub bars: Vec<Bar>,
}

/// Returns the value of a cell, or the label of its bin.
fn value(schema: &Schema, position: usize, cell: usize) -> String {
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
        match self.bars.iter().map(|bar| bar.estimate.abs()).fold(0.0, f64::max) {
            size if size >= 100.0 => 0,
            size if size >= 10.0 => 1,
            size if size >= 1.0 => 2,
            _ => 3,
        }
    }

    /// Returns the chart of a marginal.
    ///
    /// Of more than 40 cells, the 30 of the largest estimates are shown, largest first.
    pub fn of(schema: &Schema, title: String, marginal: &PublishedMarginal) -> Self {
        let positions: Vec<usize> = marginal.attributes.positions().collect();
        let sizes = marginal.attributes.select(&schema.sizes());
        let mut cells: Vec<usize> = (0..marginal.estimates.len()).collect();
        let mut notes = Vec::new();
        if cells.len() > MAX_CELLS {
            let estimate = |cell: usize| marginal.estimates[cell];
            cells.sort_by(|a, b| estimate(*b).total_cmp(&estimate(*a)).then(a.cmp(b)));
            notes.push(format!(
                "The {CELLS_SHOWN} largest estimates of {} cells.",
                number(cells.len() as f64, 0)
            ));
            cells.truncate(CELLS_SHOWN);
        }
        notes.extend(marginal.bound.clone());
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
            half_width: marginal.half_widths.get(cell).copied(),
        };
        Chart { title, notes, bars: cells.into_iter().map(bar).collect() }
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
