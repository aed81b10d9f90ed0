//! The error of a banded factor for any workload, and its derivative, in O(n³).

use std::ops::Range;

use ndarray::{Array2, ArrayView2, Axis, Slice};

use matmech_linalg as linalg;

/// Number of rows of a block of a triangular matrix.
pub(super) const BLOCK: usize = 64;

/// Returns the error `tr(A⁻ᵀ G A⁻¹)` of a factor A given by the bands of its columns, and the
/// derivatives by their entries.
///
/// With `S = A⁻ᵀ G A⁻¹` the derivative by A is `−2 (A⁻¹ S)ᵀ`.
pub(super) fn evaluate(gram: &Array2<f64>, columns: &[Vec<f64>]) -> (f64, Vec<Vec<f64>>) {
    let inverse = inverse(columns);
    let images = images(gram, &inverse);
    (images.diag().sum(), derivative(columns, &inverse, &images))
}

/// Returns `A⁻¹`, lower triangular. O(steps³) in matrix products.
pub(super) fn inverse(columns: &[Vec<f64>]) -> Array2<f64> {
    let n = columns.len();
    let mut factor: Array2<f64> = Array2::zeros((n, n));
    for (j, column) in columns.iter().enumerate() {
        column.iter().enumerate().for_each(|(i, &entry)| factor[[j + i, j]] = entry);
    }
    linalg::inverse_of_lower(factor.view())
}

/// Returns `A⁻ᵀ G A⁻¹`, block by block without the zeros above the diagonal of `A⁻¹`.
pub(super) fn images(gram: &Array2<f64>, inverse: &Array2<f64>) -> Array2<f64> {
    let n = gram.nrows();
    let (mut half, mut images) = (Array2::zeros((n, n)), Array2::zeros((n, n)));
    for part in parts(n) {
        let columns = block(inverse, part.start..n, part.clone());
        let product = linalg::matmul(block(gram, 0..n, part.start..n), columns);
        half.slice_axis_mut(Axis(1), Slice::from(part)).assign(&product);
    }
    for part in parts(n) {
        let columns = block(inverse, part.start..n, part.clone());
        let product = linalg::matmul(columns.t(), block(&half, part.start..n, 0..n));
        images.slice_axis_mut(Axis(0), Slice::from(part)).assign(&product);
    }
    images
}

/// Returns the derivatives by the entries of the columns.
fn derivative(columns: &[Vec<f64>], inverse: &Array2<f64>, images: &Array2<f64>) -> Vec<Vec<f64>> {
    let n = columns.len();
    let bands = columns.first().map_or(0, Vec::len);
    let mut derivative = Vec::with_capacity(n);
    for part in parts(n) {
        let end = (part.end + bands).min(n);
        let rows = block(inverse, part.clone(), 0..part.end);
        let product = linalg::matmul(rows, block(images, 0..part.end, part.start..end));
        for (row, j) in product.rows().into_iter().zip(part.clone()) {
            let entries = row.iter().skip(j - part.start).take(columns[j].len());
            derivative.push(entries.map(|x| -2.0 * x).collect());
        }
    }
    derivative
}

/// Returns the blocks of n rows or columns.
fn parts(n: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n).step_by(BLOCK).map(move |start| start..(start + BLOCK).min(n))
}

/// Returns some rows and columns of a matrix.
pub(super) fn block(
    matrix: &Array2<f64>,
    rows: Range<usize>,
    columns: Range<usize>,
) -> ArrayView2<'_, f64> {
    let mut view = matrix.view();
    view.slice_axis_inplace(Axis(0), Slice::from(rows));
    view.slice_axis_inplace(Axis(1), Slice::from(columns));
    view
}
