//! Queries scaled to unit length, and their Gram matrix from rows.

use ndarray::Array2;

use super::gram::sum_of_squares;
use crate::error::Result;

/// Scales a query to unit length; a zero query is unchanged.
pub(super) fn scaled(mut query: Vec<f64>) -> Vec<f64> {
    let length = query.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length > 0.0 {
        query.iter_mut().for_each(|x| *x /= length);
    }
    query
}

/// Computes `Σ_q qᵀq / N_q` from rows. O(queries · cells²).
///
/// # Errors
/// Too many cells for a dense matrix.
pub(super) fn from_rows(cells: usize, rows: impl Iterator<Item = Vec<f64>>) -> Result<Array2<f64>> {
    sum_of_squares(cells, rows.map(scaled))
}
