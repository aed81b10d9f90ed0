//! Bins of a number from noisy counts, which are published: post-processing only.
//!
//! The range comes from counts over sign × power of two: the smallest interval of cells that
//! contains all cells with a noisy count above t = σ·√(2 ln(cells/β)). A normal tail is at most
//! e^(−x²/2)/2, so all empty cells together are above it with probability at most β/2, which
//! leaves room for discrete noise.

use super::grid;
use super::literal;
use crate::decimal::Decimal;

/// The probability with which an empty cell can extend the range.
const MISS_PROBABILITY: f64 = 0.01;

/// Powers of two that are edges of cells: 2⁻¹⁶ to 2⁴⁸.
const EXPONENTS: std::ops::RangeInclusive<i32> = -16..=48;

/// The number of equal cells within a range.
pub const FINE_CELLS: usize = 1024;

fn edges() -> Vec<f64> {
    let positive = EXPONENTS.map(|exponent| f64::from(exponent).exp2());
    positive.clone().rev().map(|edge| -edge).chain(positive).collect()
}

/// The cells of a schema for all other numbers, and one for missing and other values.
const OTHER_CELLS: &str = "below = true\nabove = true\nmissing = \"other\"\nother = \"other\"\n";

/// Returns a schema, in TOML, that codes columns of numbers by sign and power of two. It has a cell
/// for every value.
pub fn magnitude_schema(columns: &[String]) -> String {
    let edges: Vec<String> = edges().iter().map(|edge| format!("{edge:?}")).collect();
    let entry = |column: &String| {
        let (name, edges) = (literal::text(column), edges.join(", "));
        format!(
            "[[attribute]]\nname = {name}\nkind = \"numeric\"\nedges = [{edges}]\n{OTHER_CELLS}"
        )
    };
    columns.iter().map(entry).collect::<Vec<_>>().join("\n")
}

/// Returns the range of a column, from the noisy counts of the cells of [`magnitude_schema`] and
/// their standard errors; `None` if no count is above the noise. Numbers below or above all edges
/// extend it to the last edge.
pub fn noisy_range(counts: &[f64], standard_errors: &[f64]) -> Option<(f64, f64)> {
    let edges = edges();
    // One cell between two edges, and one before and after all.
    let cells = edges.len() + 1;
    let times = threshold(cells);
    let is_above = |(count, error): (&f64, &f64)| *count > times * error;
    let above: Vec<bool> = counts.iter().zip(standard_errors).map(is_above).take(cells).collect();
    let (first, last) = (above.iter().position(|is| *is)?, above.iter().rposition(|is| *is)?);
    // Cell k is between edges k − 1 and k.
    let low = first.clamp(1, cells - 2) - 1;
    Some((*edges.get(low)?, *edges.get(last.clamp(1, cells - 2))?))
}

/// Returns the threshold in standard errors.
fn threshold(cells: usize) -> f64 {
    (2.0 * (cells as f64 / MISS_PROBABILITY).ln()).sqrt()
}

/// Returns a schema, in TOML, of [`FINE_CELLS`] equal cells within a range, and cells for all other
/// values.
pub fn fine_schema(column: &str, (low, high): (f64, f64)) -> String {
    format!(
        "[[attribute]]\nname = {}\nkind = \"numeric\"\n\
         bins = {{ low = {low:?}, high = {high:?}, count = {FINE_CELLS} }}\n{OTHER_CELLS}",
        literal::text(column)
    )
}

/// Returns edges of about `count` bins with equal numbers of records, from the noisy numbers of
/// records up to the end of every cell of numbers of [`fine_schema`], on a 1–2–5 grid. Edges of a
/// column of integers are integers.
pub fn quantile_edges(
    answers: &[f64],
    (low, high): (f64, f64),
    count: usize,
    is_integer: bool,
) -> Vec<Decimal> {
    // The last answer is the number of other values.
    let prefixes = answers.get(..FINE_CELLS + 2).unwrap_or(answers);
    let total = prefixes.iter().copied().fold(0.0, f64::max);
    let width = (high - low) / FINE_CELLS as f64;
    let crossing = |k: usize| {
        let target = total * k as f64 / count as f64;
        let cell = prefixes.iter().position(|prefix| *prefix >= target).unwrap_or(0);
        // Cell 0 is that of all numbers below the range.
        (low + cell as f64 * width).min(high)
    };
    let inner: Vec<f64> = (1..count).map(crossing).collect();
    let (low, high, step) = match is_integer {
        true => (low.ceil(), high.ceil().max(low.ceil() + 1.0), width.max(2.0)),
        false => (low, high, width),
    };
    let (Some(first), Some(last)) = (Decimal::shortest(low), Decimal::shortest(high)) else {
        return Vec::new();
    };
    let mut edges = vec![first];
    for (k, edge) in inner.iter().enumerate() {
        let below = if k == 0 { low } else { inner[k - 1] };
        let above = inner.get(k + 1).copied().unwrap_or(high);
        let gap = (edge - below).min(above - edge).max(step);
        let Some(rounded) = grid::nearest_multiple(*edge, gap / 2.0) else { continue };
        if edges.last().is_some_and(|last| *last < rounded) && rounded < last {
            edges.push(rounded);
        }
    }
    edges.push(last);
    edges
}

/// Returns an attribute of a schema, in TOML, with edges and cells for all other values.
pub fn attribute_with_edges(column: &str, edges: &[Decimal], is_integer: bool) -> Option<String> {
    let edges: Option<Vec<String>> = edges.iter().map(literal::number).collect();
    let name = literal::text(column);
    let edges = edges?.join(", ");
    let kind = if is_integer { "integer" } else { "numeric" };
    Some(format!(
        "[[attribute]]\nname = {name}\nkind = \"{kind}\"\nedges = [{edges}]\n\
         below = true\nabove = true\nmissing = \"unknown\"\nother = \"other\"\n"
    ))
}

/// Returns the comment of a column without a range.
pub fn without_range(column: &str) -> String {
    format!("# {}: no count was above the noise\n", literal::text(column))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::OutOfDomain;
    use crate::schema::{Coded, Schema, Value};

    /// The probability that any empty cell is above the threshold, by the normal tail of the noise.
    #[test]
    fn empty_cells_extend_the_range_rarely() {
        let cells = edges().len() + 1;
        assert_eq!(cells, 131);
        let tail = 0.5 * libm::erfc(threshold(cells) / std::f64::consts::SQRT_2);
        assert!(cells as f64 * tail < MISS_PROBABILITY / 2.0, "{tail}");
    }

    #[test]
    fn the_range_contains_all_cells_above_the_noise() {
        let schema = Schema::from_toml(&magnitude_schema(&["a\"".into()]), "S.toml").unwrap();
        OutOfDomain::Other.check(&schema).unwrap();
        assert_eq!(schema.sizes(), [132]);
        let coder = schema.coder(0);
        let range = |values: &[f64], error: f64| {
            let mut counts = vec![0.0; 132];
            for value in values {
                match coder.code(Value::Float(*value)) {
                    Coded::Cell(cell) => counts[cell as usize] = 1000.0,
                    other => panic!("{other:?}"),
                }
            }
            // Missing and other values are no numbers.
            counts[131] = 1e6;
            noisy_range(&counts, &[error; 132])
        };
        let ends = 48f64.exp2();
        assert_eq!(range(&[17.0, 90.0, -3.0], 100.0), Some((-4.0, 128.0)));
        assert_eq!(range(&[17.0, 90.0, -3.0], 1e4), None);
        assert_eq!(range(&[], 100.0), None);
        assert_eq!(range(&[0.0], 100.0), Some((-(-16f64).exp2(), (-16f64).exp2())));
        assert_eq!(range(&[-1e300, 3.0], 100.0), Some((-ends, 4.0)));
        assert_eq!(range(&[3.0, 1e300], 100.0), Some((2.0, ends)));
        assert_eq!(range(&[1e300], 100.0), Some((ends / 2.0, ends)));
        assert_eq!(range(&[-1e300], 100.0), Some((-ends, -ends / 2.0)));
    }

    #[test]
    fn quantiles_are_equal_shares_on_the_grid() {
        let range = (0.0, 128.0);
        let fine = Schema::from_toml(&fine_schema("a", range), "S.toml").unwrap();
        OutOfDomain::Other.check(&fine).unwrap();
        assert_eq!(fine.sizes(), [FINE_CELLS + 3]);
        // Equal counts from 16 to 96.
        let share = |k: usize| (((k + 1) as f64 / 8.0 - 16.0) / 80.0).clamp(0.0, 1.0);
        let inside = (0..FINE_CELLS).map(|k| 1e5 * share(k));
        // No number is below or above the range, and 10⁶ values are missing.
        let prefixes: Vec<f64> = [0.0].into_iter().chain(inside).chain([1e5, 1e6]).collect();
        let edges = quantile_edges(&prefixes, range, 4, false);
        let found: Vec<String> = edges.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["0", "40", "60", "80", "128"]);
        let text = attribute_with_edges("a", &edges, false).unwrap();
        let schema = Schema::from_toml(&text, "S.toml").unwrap();
        OutOfDomain::Other.check(&schema).unwrap();
        assert_eq!(schema.sizes(), [8]);
        // Half of the numbers are above the range.
        let mut above = prefixes;
        above[FINE_CELLS + 1] = 2e5;
        let found: Vec<String> =
            quantile_edges(&above, range, 4, false).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["0", "60", "100", "128"]);
    }

    /// Noise alone gives edges too, in ascending order, also for the smallest ranges.
    #[test]
    fn edges_of_integers_are_integers() {
        let noise: Vec<f64> =
            (0..FINE_CELLS + 3).map(|k| ((k * 7919) % 101) as f64 - 50.0).collect();
        let zeros = vec![0.0; FINE_CELLS + 3];
        let edges = edges();
        for (low, high) in (0..edges.len() - 1).flat_map(|low| [(low, low + 1), (low, 128)]) {
            let range = (edges[low], edges[high.max(low + 1)]);
            for (answers, is_integer) in
                [(&noise, true), (&noise, false), (&zeros, true), (&zeros, false)]
            {
                let edges = quantile_edges(answers, range, 10, is_integer);
                let text = attribute_with_edges("a", &edges, is_integer).unwrap();
                Schema::from_toml(&text, "S.toml").unwrap_or_else(|e| panic!("{range:?} {e}"));
                assert!(!is_integer || edges.iter().all(Decimal::is_integer), "{edges:?}");
            }
        }
        assert!(quantile_edges(&zeros, (0.0, 128.0), 10, false).len() <= 3);
    }
}
