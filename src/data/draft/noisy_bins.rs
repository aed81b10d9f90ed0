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

/// Returns a schema, in TOML, that codes columns of numbers by sign and power of two.
pub fn magnitude_schema(columns: &[String]) -> String {
    let edges: Vec<String> = edges().iter().map(|edge| format!("{edge:?}")).collect();
    let entry = |column: &String| {
        let (name, edges) = (literal::text(column), edges.join(", "));
        format!("[[attribute]]\nname = {name}\nkind = \"numeric\"\nedges = [{edges}]\n")
    };
    columns.iter().map(entry).collect::<Vec<_>>().join("\n")
}

/// Returns the range of a column, from the noisy counts of the cells of [`magnitude_schema`] and
/// their standard errors; `None` if no count is above the noise.
pub fn noisy_range(counts: &[f64], standard_errors: &[f64]) -> Option<(f64, f64)> {
    let times = threshold(counts.len());
    let is_above = |(count, error): (&f64, &f64)| *count > times * error;
    let above: Vec<bool> = counts.iter().zip(standard_errors).map(is_above).collect();
    let (first, last) = (above.iter().position(|is| *is)?, above.iter().rposition(|is| *is)?);
    let edges = edges();
    Some((*edges.get(first)?, *edges.get(last + 1)?))
}

/// Returns the threshold in standard errors.
fn threshold(cells: usize) -> f64 {
    (2.0 * (cells as f64 / MISS_PROBABILITY).ln()).sqrt()
}

/// Returns a schema, in TOML, of [`FINE_CELLS`] equal cells within a range.
pub fn fine_schema(column: &str, (low, high): (f64, f64)) -> String {
    format!(
        "[[attribute]]\nname = {}\nkind = \"numeric\"\n\
         bins = {{ low = {low:?}, high = {high:?}, count = {FINE_CELLS} }}\n",
        literal::text(column)
    )
}

/// Returns edges of about `count` bins with equal numbers of records, from the noisy numbers of
/// records up to the end of every cell of [`fine_schema`], on a 1–2–5 grid.
pub fn quantile_edges(prefixes: &[f64], (low, high): (f64, f64), count: usize) -> Vec<Decimal> {
    let total = prefixes.iter().copied().fold(0.0, f64::max);
    let width = (high - low) / prefixes.len().max(1) as f64;
    let crossing = |k: usize| {
        let target = total * k as f64 / count as f64;
        let cell = prefixes.iter().position(|prefix| *prefix >= target).unwrap_or(0);
        low + (cell + 1) as f64 * width
    };
    let inner: Vec<f64> = (1..count).map(crossing).collect();
    let (Some(first), Some(last)) = (Decimal::shortest(low), Decimal::shortest(high)) else {
        return Vec::new();
    };
    let mut edges = vec![first];
    for (k, edge) in inner.iter().enumerate() {
        let below = if k == 0 { low } else { inner[k - 1] };
        let above = inner.get(k + 1).copied().unwrap_or(high);
        let gap = (edge - below).min(above - edge).max(width);
        let Some(rounded) = grid::nearest_multiple(*edge, gap / 2.0) else { continue };
        if edges.last().is_some_and(|last| *last < rounded) && rounded < last {
            edges.push(rounded);
        }
    }
    edges.push(last);
    edges
}

/// Returns an attribute of a schema, in TOML, with edges.
pub fn attribute_with_edges(column: &str, edges: &[Decimal]) -> Option<String> {
    let edges: Option<Vec<String>> = edges.iter().map(literal::number).collect();
    let name = literal::text(column);
    let edges = edges?.join(", ");
    Some(format!("[[attribute]]\nname = {name}\nkind = \"numeric\"\nedges = [{edges}]\n"))
}

/// Returns the comment of a column without a range.
pub fn without_range(column: &str) -> String {
    format!("# {}: no count was above the noise\n", literal::text(column))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;

    /// The probability that any empty cell is above the threshold, by the normal tail of the noise.
    #[test]
    fn empty_cells_extend_the_range_rarely() {
        let cells = edges().len() - 1;
        assert_eq!(cells, 129);
        let tail = 0.5 * libm::erfc(threshold(cells) / std::f64::consts::SQRT_2);
        assert!(cells as f64 * tail < MISS_PROBABILITY / 2.0, "{tail}");
    }

    #[test]
    fn the_range_contains_all_cells_above_the_noise() {
        let schema = Schema::from_toml(&magnitude_schema(&["a\"".into()]), "S.toml").unwrap();
        assert_eq!(schema.sizes(), [129]);
        let mut counts = vec![0.0; 129];
        let coder = schema.coder(0);
        for value in [17i128, 90, -3] {
            match coder.code(crate::schema::Value::Integer(value)) {
                crate::schema::Coded::Cell(cell) => counts[cell as usize] = 1000.0,
                other => panic!("{other:?}"),
            }
        }
        let errors = vec![100.0; 129];
        assert_eq!(noisy_range(&counts, &errors), Some((-4.0, 128.0)));
        assert_eq!(noisy_range(&counts, &vec![1e4; 129]), None);
    }

    #[test]
    fn quantiles_are_equal_shares_on_the_grid() {
        let range = (0.0, 128.0);
        assert_eq!(
            Schema::from_toml(&fine_schema("a", range), "S.toml").unwrap().sizes(),
            [FINE_CELLS]
        );
        // Equal counts from 16 to 96.
        let share = |k: usize| (((k + 1) as f64 / 8.0 - 16.0) / 80.0).clamp(0.0, 1.0);
        let prefixes: Vec<f64> = (0..FINE_CELLS).map(|k| 1e5 * share(k)).collect();
        let edges = quantile_edges(&prefixes, range, 4);
        let found: Vec<String> = edges.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["0", "40", "60", "80", "128"]);
        let text = attribute_with_edges("a", &edges).unwrap();
        assert_eq!(Schema::from_toml(&text, "S.toml").unwrap().sizes(), [4]);
        // Noise alone gives edges too, in ascending order.
        let noise: Vec<f64> = (0..FINE_CELLS).map(|k| ((k * 7919) % 101) as f64 - 50.0).collect();
        let edges = quantile_edges(&noise, range, 10);
        assert!(edges.windows(2).all(|pair| pair[0] < pair[1]), "{edges:?}");
        assert_eq!(quantile_edges(&[0.0; FINE_CELLS], range, 10).len(), 3);
    }
}
