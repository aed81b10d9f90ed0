//! Matrices and queries from their entries.

use ndarray::Array2;

/// Returns the n × n matrix with these entries.
pub(super) fn by_entries(n: usize, entry: impl Fn(usize, usize) -> f64) -> Array2<f64> {
    Array2::from_shape_fn((n, n), |(i, j)| entry(i, j))
}

/// Returns the 0/1 query over `n` cells of the cells that satisfy a predicate.
pub(super) fn indicator(n: usize, contains: impl Fn(usize) -> bool) -> Vec<f64> {
    (0..n).map(|cell| f64::from(u8::from(contains(cell)))).collect()
}

/// Returns the 0/1 query over `cells` cells in rows of length `b` with the cells `span(i)` of
/// row i.
pub(super) fn in_each_row(
    cells: usize,
    b: usize,
    span: impl Fn(usize) -> std::ops::Range<usize>,
) -> Vec<f64> {
    let mut query = vec![0.0; cells];
    for (i, row) in query.chunks_exact_mut(b).enumerate() {
        row[span(i)].fill(1.0);
    }
    query
}
