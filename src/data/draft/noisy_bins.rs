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

/// About the number of cells within a range.
const FINE_CELLS: usize = 256;

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

/// Returns the edges of the fine cells of a column, from the noisy counts of the cells of
/// [`magnitude_schema`] and their standard errors; `None` if no count is above the noise.
///
/// The cells of the range are divided into 2^j equal cells each, about in proportion to their noisy
/// counts: at most 256 in all, and at least one per cell. Numbers below or above all edges extend
/// the range to the last edge.
pub fn fine_edges(counts: &[f64], standard_errors: &[f64]) -> Option<Vec<f64>> {
    let edges = edges();
    // One cell between two edges, and one before and after all.
    let cells = edges.len() + 1;
    let times = threshold(cells);
    let is_above = |(count, error): (&f64, &f64)| *count > times * error;
    let above: Vec<bool> = counts.iter().zip(standard_errors).map(is_above).take(cells).collect();
    let (first, last) = (above.iter().position(|is| *is)?, above.iter().rposition(|is| *is)?);
    // Cell k is between edges k − 1 and k.
    let (first, last) = (first.clamp(1, cells - 2), last.clamp(1, cells - 2));
    let counts = counts.get(first..=last)?;
    let total: f64 = counts.iter().map(|count| count.max(0.0)).sum();
    let mut fine = vec![*edges.get(first - 1)?];
    for (count, ends) in counts.iter().zip(edges.get(first - 1..=last)?.windows(2)) {
        let share = (FINE_CELLS as f64 * count / total).max(1.0);
        let parts = share.min(FINE_CELLS as f64).log2().floor().exp2();
        // Exact, because the ends are powers of two.
        let end = |part: i32| ends[0] + (ends[1] - ends[0]) * f64::from(part) / parts;
        fine.extend((1..=parts as i32).map(end));
    }
    Some(fine)
}

/// Returns the threshold in standard errors.
fn threshold(cells: usize) -> f64 {
    (2.0 * (cells as f64 / MISS_PROBABILITY).ln()).sqrt()
}

/// Returns a schema, in TOML, of cells between edges, and cells for all other values.
pub fn fine_schema(column: &str, edges: &[f64]) -> String {
    let edges: Vec<String> = edges.iter().map(|edge| format!("{edge:?}")).collect();
    format!(
        "[[attribute]]\nname = {}\nkind = \"numeric\"\n{}{OTHER_CELLS}",
        literal::text(column),
        literal::list("edges", &edges)
    )
}

/// Returns edges of about `count` bins with equal numbers of records, from the noisy numbers of
/// records up to the end of every cell of numbers of [`fine_schema`], on a 1–2–5 grid. Edges of a
/// column of integers are integers.
pub fn quantile_edges(
    answers: &[f64],
    fine: &[f64],
    count: usize,
    is_integer: bool,
) -> Vec<Decimal> {
    // The last answer is the number of other values.
    let prefixes = answers.get(..fine.len() + 1).unwrap_or(answers);
    let total = prefixes.iter().copied().fold(0.0, f64::max);
    let (Some(low), Some(high)) = (fine.first().copied(), fine.last().copied()) else {
        return Vec::new();
    };
    // An edge and the width of the cell before it. Cell 0 is that of all numbers below the range.
    let crossing = |k: usize| {
        let target = total * k as f64 / count as f64;
        let cell = prefixes.iter().position(|prefix| *prefix >= target).unwrap_or(0);
        let end = cell.clamp(1, fine.len() - 1);
        (fine[cell.min(fine.len() - 1)], fine[end] - fine[end - 1])
    };
    let inner: Vec<(f64, f64)> = (1..count).map(crossing).collect();
    let (low, high) = match is_integer {
        true => (low.ceil(), high.ceil().max(low.ceil() + 1.0)),
        // The cell of 0 has no edge but 0: other numbers that are nearly 0 are below the range.
        false if near_zero(low) < 0.0 => (low, near_zero(high)),
        false => (near_zero(low), high),
    };
    let (Some(first), Some(last)) = (Decimal::shortest(low), Decimal::shortest(high)) else {
        return Vec::new();
    };
    let mut edges = vec![first];
    for (k, (edge, width)) in inner.iter().enumerate() {
        let below = if k == 0 { low } else { inner[k - 1].0 };
        let above = inner.get(k + 1).map_or(high, |next| next.0);
        let step = if is_integer { width.max(2.0) } else { *width };
        let gap = (edge - below).min(above - edge).max(step);
        let edge = near_zero(*edge);
        let Some(rounded) = grid::nearest_multiple(edge, gap / 2.0) else { continue };
        if edges.last().is_some_and(|last| *last < rounded) && rounded < last {
            edges.push(rounded);
        }
    }
    edges.push(last);
    edges
}

/// Returns 0 for the ends of the cell of 0 and numbers between them, and other numbers as they are.
fn near_zero(number: f64) -> f64 {
    if number.abs() <= f64::from(*EXPONENTS.start()).exp2() { 0.0 } else { number }
}

/// Returns an attribute of a schema, in TOML, with edges and cells for all other values.
pub fn attribute_with_edges(column: &str, edges: &[Decimal], is_integer: bool) -> Option<String> {
    let edges: Option<Vec<String>> = edges.iter().map(literal::number).collect();
    let name = literal::text(column);
    let edges = edges?.join(", ");
    // The type of a column of texts is not public.
    let kind = match is_integer {
        true => "kind = \"integer\"",
        false => "kind = \"numeric\"    # \"integer\" if all numbers are integers",
    };
    Some(format!(
        "[[attribute]]\nname = {name}\n{kind}\nedges = [{edges}]\n\
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
            fine_edges(&counts, &[error; 132]).map(|edges| (edges[0], edges[edges.len() - 1]))
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
        const CELLS: usize = 1024;
        let fine: Vec<f64> = (0..=CELLS).map(|k| k as f64 / 8.0).collect();
        let schema = Schema::from_toml(&fine_schema("a", &fine), "S.toml").unwrap();
        OutOfDomain::Other.check(&schema).unwrap();
        assert_eq!(schema.sizes(), [CELLS + 3]);
        // Equal counts from 16 to 96.
        let share = |k: usize| (((k + 1) as f64 / 8.0 - 16.0) / 80.0).clamp(0.0, 1.0);
        let inside = (0..CELLS).map(|k| 1e5 * share(k));
        // No number is below or above the range, and 10⁶ values are missing.
        let prefixes: Vec<f64> = [0.0].into_iter().chain(inside).chain([1e5, 1e6]).collect();
        let edges = quantile_edges(&prefixes, &fine, 4, false);
        let found: Vec<String> = edges.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["0", "40", "60", "80", "128"]);
        let text = attribute_with_edges("a", &edges, false).unwrap();
        // Synthetic records have midpoints of numeric bins, such as 0.5, and integers of integer ones.
        assert!(text.contains("# \"integer\" if all numbers are integers\n"), "{text}");
        let schema = Schema::from_toml(&text, "S.toml").unwrap();
        OutOfDomain::Other.check(&schema).unwrap();
        assert_eq!(schema.sizes(), [8]);
        // Most numbers are 0, the others are equally spread up to 8.
        let zero = (-16f64).exp2();
        let few = [-zero, 0.0, zero, 1.0, 2.0, 4.0, 6.0, 8.0];
        let zeros = [0.0, 0.0, 60.0, 65.0, 70.0, 80.0, 90.0, 100.0, 100.0, 100.0];
        let found: Vec<String> =
            quantile_edges(&zeros, &few, 5, false).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["0", "4", "8"]);
        // Half of the numbers are above the range.
        let mut above = prefixes;
        above[CELLS + 1] = 2e5;
        let found: Vec<String> =
            quantile_edges(&above, &fine, 4, false).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["0", "60", "100", "128"]);
    }

    /// Cells are narrow where records are, and they are exact, within every range.
    #[test]
    fn fine_cells_follow_the_counts() {
        let mut counts = vec![0.0; 132];
        // Cell 66 + k is [2^(k − 16), 2^(k − 15)): 30,000 records in [1, 2), 1,000 in [64, 128).
        (counts[82], counts[88], counts[84]) = (3e4, 1e3, -50.0);
        let fine = fine_edges(&counts, &[10.0; 132]).unwrap();
        let within =
            |low: f64, high: f64| fine.iter().filter(|edge| (low..high).contains(*edge)).count();
        assert_eq!((within(1.0, 2.0), within(2.0, 64.0), within(64.0, 128.0)), (128, 5, 8));
        assert_eq!((fine[1], fine.last()), (1.0 + 1.0 / 128.0, Some(&128.0)));
        // Ranges from one cell to all.
        for (first, last) in [(0, 0), (0, 130), (65, 65), (60, 70), (130, 130)] {
            let mut counts = vec![3.0; 132];
            (counts[first], counts[last]) = (1e3, 1e3);
            let fine = fine_edges(&counts, &[10.0; 132]).unwrap();
            assert!(fine.windows(2).all(|pair| pair[0] < pair[1]) && fine.len() < 400);
            let schema = Schema::from_toml(&fine_schema("a", &fine), "S.toml").unwrap();
            assert_eq!(schema.sizes(), [fine.len() + 2]);
        }
    }

    /// Noise alone gives edges too, in ascending order, also for the smallest ranges.
    #[test]
    fn edges_of_integers_are_integers() {
        let edges = edges();
        for (low, high) in (0..edges.len() - 1).flat_map(|low| [(low, low + 1), (low, 128)]) {
            let (low, high) = (edges[low], edges[high.max(low + 1)]);
            let fine: Vec<f64> =
                (0..=256).map(|k| low + (high - low) * f64::from(k) / 256.0).collect();
            let noise: Vec<f64> =
                (0..fine.len() + 2).map(|k| ((k * 7919) % 101) as f64 - 50.0).collect();
            let zeros = vec![0.0; fine.len() + 2];
            for (answers, is_integer) in
                [(&noise, true), (&noise, false), (&zeros, true), (&zeros, false)]
            {
                let edges = quantile_edges(answers, &fine, 10, is_integer);
                let text = attribute_with_edges("a", &edges, is_integer).unwrap();
                Schema::from_toml(&text, "S.toml").unwrap_or_else(|e| panic!("{low} {high} {e}"));
                assert!(!is_integer || edges.iter().all(Decimal::is_integer), "{edges:?}");
            }
            assert!(quantile_edges(&zeros, &fine, 10, false).len() <= 3);
        }
    }
}
