//! Edges of bins that are 1, 2 or 5 times a power of ten apart.

use num_traits::ToPrimitive;

use super::literal;
use crate::decimal::Decimal;

/// Maximum bins of equal width.
const MAX_BINS: i128 = 20;

/// Bins of equal width.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EqualBins {
    pub(super) low: Decimal,
    pub(super) high: Decimal,
    pub(super) count: i128,
    pub(super) step: Decimal,
}

/// Returns the finest bins on the grid, at most 20, that contain two numbers and all between them.
/// Every edge is a number of a TOML file.
pub(super) fn equal_bins(low: &Decimal, high: &Decimal, is_integer: bool) -> Option<EqualBins> {
    let width = high.minus(low).to_f64();
    if !(width.is_finite() && width > 0.0) {
        return None;
    }
    let first = (width / MAX_BINS as f64).log10().floor() as i64;
    let first = if is_integer { first.max(0) } else { first };
    let steps = (first..=308).flat_map(|exponent| [1, 2, 5].map(|digit| (digit, exponent)));
    steps.map(|(digit, exponent)| Decimal::of_digits(digit, exponent)).find_map(|step| {
        let multiple = |number: &Decimal| number.to_ratio() / step.to_ratio();
        let first = multiple(low).floor().to_integer().to_i128()?;
        let last = multiple(high).ceil().to_integer().to_i128()?.max(first + 1);
        let (low, high) = (times(&step, first)?, times(&step, last)?);
        let is_written = literal::number(&low).is_some() && literal::number(&high).is_some();
        (last - first <= MAX_BINS && is_written).then(|| EqualBins {
            low,
            high,
            count: last - first,
            step: step.clone(),
        })
    })
}

impl EqualBins {
    /// Returns all edges.
    pub(super) fn edges(&self) -> Vec<Decimal> {
        let edge = |bin| times(&self.step, bin).map(|distance| self.low.plus(&distance));
        (0..=self.count).filter_map(edge).collect()
    }
}

/// Returns an integer times a number with few digits.
fn times(number: &Decimal, factor: i128) -> Option<Decimal> {
    let (digits, decimals) = number.scaled();
    let digits = digits.to_i128()?.checked_mul(factor)?;
    Some(Decimal::of_digits(digits, -i64::from(decimals)))
}

/// Returns edges near numbers in ascending order, rounded to 1, 2 or 5 times a power of ten, between
/// the ends of bins.
pub(super) fn edges(bins: &EqualBins, near: &[f64], is_integer: bool) -> Vec<Decimal> {
    let mut edges = vec![bins.low.clone()];
    for edge in near.iter().filter_map(|number| rounded(*number)) {
        let is_above = edges.last().is_some_and(|last| *last < edge);
        if is_above && edge < bins.high && (edge.is_integer() || !is_integer) {
            edges.push(edge);
        }
    }
    edges.push(bins.high.clone());
    edges
}

/// Returns the multiple nearest to a number of the largest step on the grid that is at most a limit.
pub(super) fn nearest_multiple(number: f64, limit: f64) -> Option<Decimal> {
    let exponent = limit.log10().floor();
    if !(-300.0..300.0).contains(&exponent) {
        return None;
    }
    let exponent = exponent as i64;
    let is_small = |digit: &i128| Decimal::of_digits(*digit, exponent).to_f64() <= limit;
    let digit = [5, 2, 1].into_iter().find(is_small)?;
    let multiple = (number / Decimal::of_digits(digit, exponent).to_f64()).round();
    // Integers below 2^53 are exact.
    (multiple.abs() < (1u64 << 53) as f64)
        .then(|| Decimal::of_digits(multiple as i128 * digit, exponent))
}

/// Returns the nearest of 0 and ±1, ±2, ±5 times a power of ten.
fn rounded(number: f64) -> Option<Decimal> {
    if number == 0.0 {
        return Some(0i64.into());
    }
    let exponent = number.abs().log10().floor();
    if !(-300.0..300.0).contains(&exponent) {
        return None;
    }
    let exponent = exponent as i64;
    let distance = |(digit, exponent): &(i128, i64)| {
        (Decimal::of_digits(*digit, *exponent).to_f64() - number.abs()).abs()
    };
    let candidates = [(1, exponent), (2, exponent), (5, exponent), (1, exponent + 1)];
    let nearest = candidates.into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    let sign = if number < 0.0 { -1 } else { 1 };
    nearest.map(|(digit, exponent)| Decimal::of_digits(sign * digit, exponent))
}
