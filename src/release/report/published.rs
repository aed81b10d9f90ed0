//! Published marginals, and their values and numbers as texts.

use crate::domain::AttributeSet;
use crate::release::statement::at_most;
use crate::schema::{Coding, Schema};

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
    /// 95 % bounds of the sum of all absolute errors, and of every single one.
    OfSum {
        /// The bound of the sum.
        sum: f64,
        /// The bound of every single error.
        each: f64,
    },
}

impl PublishedMarginal {
    /// Returns the 95 % interval of an estimate; with a bound of the sum, for all of them together.
    pub fn interval(&self, cell: usize) -> Option<(f64, f64)> {
        let estimate = self.estimates[cell];
        match &self.intervals {
            Intervals::None => None,
            Intervals::Each(widths) => {
                widths.get(cell).map(|width| (estimate - width, estimate + width))
            }
            // A number of records is not negative.
            Intervals::OfSum { each, .. } => {
                Some(((estimate - each).max(0.0_f64.min(estimate)), estimate + each))
            }
        }
    }

    /// Returns half the length of the interval of an estimate, without a bound of the sum.
    pub(super) fn half_width(&self, cell: usize) -> f64 {
        match &self.intervals {
            Intervals::Each(widths) => widths.get(cell).copied().unwrap_or(0.0),
            Intervals::None | Intervals::OfSum { .. } => 0.0,
        }
    }
}

impl Intervals {
    /// Returns the bound of the sum in words, if there is one.
    pub(super) fn in_words(&self) -> Option<String> {
        match self {
            Intervals::OfSum { sum, each } => Some(format!(
                "The absolute errors add up to at most {}, and each is at most {} (95 %).",
                at_most(*sum, 1),
                at_most(*each, 1)
            )),
            Intervals::None | Intervals::Each(_) => None,
        }
    }
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
