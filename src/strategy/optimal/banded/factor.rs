//! Banded factors and the logarithm of their error.

use std::ops::Range;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, Slice};

use super::quasi_newton::SmoothFunction;
use crate::error::{Error, Result};
use matmech_linalg as linalg;

/// Number of rows of a block of a triangular matrix.
const BLOCK: usize = 64;

/// The parametrisation of banded strategies for one workload.
///
/// The variables are the entries of a lower triangular band matrix, column by column, whose columns
/// are scaled to the norms `√d_i` with `d_i = z + Σ_{w∋i} y_w`, then y and z. With equal norms there
/// are only the entries. The scale of all variables is free: errors are multiplied by the squared
/// sensitivity `Σy + kz`.
#[derive(Debug)]
pub(crate) struct BandedFactor {
    /// `WᵀW`.
    gram: Array2<f64>,
    bands: usize,
    separation: usize,
    count: usize,
    free_norms: bool,
}

/// A factor A with the values that its derivative needs.
struct Scaled {
    /// The columns, each a slice of the band.
    columns: Vec<Vec<f64>>,
    /// The norms of the columns of the variables.
    norms: Vec<f64>,
    /// d.
    squares: Vec<f64>,
    /// `Σy + kz`.
    cost: f64,
}

impl BandedFactor {
    /// Creates the parametrisation for a Gram matrix, steps × steps.
    pub fn new(
        gram: Array2<f64>,
        bands: usize,
        separation: usize,
        count: usize,
        free_norms: bool,
    ) -> Self {
        BandedFactor { gram, bands, separation, count, free_norms }
    }

    /// Returns the number of steps.
    pub fn steps(&self) -> usize {
        self.gram.nrows()
    }

    /// Returns the number of bands.
    pub fn bands(&self) -> usize {
        self.bands
    }

    /// Returns `WᵀW`.
    pub fn workload(&self) -> &Array2<f64> {
        &self.gram
    }

    /// Returns the number of windows of `separation` steps.
    fn windows(&self) -> usize {
        self.steps() - self.separation + 1
    }

    fn length(&self, column: usize) -> usize {
        self.bands.min(self.steps() - column)
    }

    /// Returns the number of entries of the band.
    pub fn entries(&self) -> usize {
        (0..self.steps()).map(|column| self.length(column)).sum()
    }

    /// Returns the square root of the prefix sums, cut to the band, with equal y and z.
    pub fn start(&self) -> Vec<f64> {
        let mut coefficients = vec![1.0];
        for i in 1..self.bands {
            coefficients.push(coefficients[i - 1] * (2 * i - 1) as f64 / (2 * i) as f64);
        }
        let mut x = Vec::with_capacity(self.entries() + self.windows() + 1);
        (0..self.steps()).for_each(|column| x.extend(&coefficients[..self.length(column)]));
        if self.free_norms {
            x.extend(std::iter::repeat_n(0.5 / self.windows() as f64, self.windows()));
            x.push(0.5 / self.count as f64);
        }
        x
    }

    /// Returns the largest share of nonnegative step weights in the constraints of the class: in a
    /// window or in all, for equal norms only in all.
    pub fn share(&self, weights: ArrayView1<'_, f64>) -> f64 {
        let total = weights.sum() / self.count as f64;
        if !self.free_norms {
            return total;
        }
        let weights = weights.to_vec();
        weights.windows(self.separation).map(|w| w.iter().sum()).fold(total, f64::max)
    }

    fn scaled(&self, x: &[f64]) -> Scaled {
        let (entries, multipliers) = x.split_at(self.entries());
        let (squares, cost) = match multipliers.split_last() {
            None => (vec![1.0 / self.count as f64; self.steps()], 1.0),
            Some((&z, y)) => {
                let mut sum = 0.0;
                let squares = (0..self.steps())
                    .map(|i| {
                        sum += y.get(i).unwrap_or(&0.0);
                        // The window that ended before step i.
                        sum -=
                            i.checked_sub(self.separation).and_then(|w| y.get(w)).unwrap_or(&0.0);
                        z + sum.max(0.0)
                    })
                    .collect();
                (squares, y.iter().sum::<f64>() + self.count as f64 * z)
            }
        };
        let (mut columns, mut norms) = (Vec::with_capacity(self.steps()), Vec::new());
        let mut rest = entries;
        for (column, square) in squares.iter().enumerate() {
            let (head, tail) = rest.split_at(self.length(column));
            rest = tail;
            let norm = head.iter().map(|c| c * c).sum::<f64>().sqrt();
            columns.push(head.iter().map(|c| c * f64::sqrt(*square) / norm).collect());
            norms.push(norm);
        }
        Scaled { columns, norms, squares, cost }
    }

    /// Returns the factors that scale the columns of the entries to a squared sensitivity of 1.
    pub fn column_scales(&self, x: &[f64]) -> Vec<f64> {
        let scaled = self.scaled(x);
        let squares = scaled.squares.iter().zip(&scaled.norms);
        squares.map(|(square, norm)| (square / scaled.cost).sqrt() / norm).collect()
    }

    /// Returns `A⁻¹`, lower triangular. O(steps³) in matrix products.
    fn inverse(&self, columns: &[Vec<f64>]) -> Array2<f64> {
        let n = self.steps();
        let mut factor: Array2<f64> = Array2::zeros((n, n));
        for (j, column) in columns.iter().enumerate() {
            column.iter().enumerate().for_each(|(i, &entry)| factor[[j + i, j]] = entry);
        }
        inverse_of_lower(factor.view())
    }

    /// Returns `A⁻ᵀ G A⁻¹`, block by block without the zeros above the diagonal of `A⁻¹`.
    fn images(&self, inverse: &Array2<f64>) -> Array2<f64> {
        let n = self.steps();
        let (mut half, mut images) = (Array2::zeros((n, n)), Array2::zeros((n, n)));
        for part in parts(n) {
            let columns = block(inverse, part.start..n, part.clone());
            let product = linalg::matmul(block(&self.gram, 0..n, part.start..n), columns);
            half.slice_axis_mut(Axis(1), Slice::from(part)).assign(&product);
        }
        for part in parts(n) {
            let columns = block(inverse, part.start..n, part.clone());
            let product = linalg::matmul(columns.t(), block(&half, part.start..n, 0..n));
            images.slice_axis_mut(Axis(0), Slice::from(part)).assign(&product);
        }
        images
    }

    /// Returns the entries `[j, j + i]` of `A⁻¹ S` in the band, column by column, for S symmetric.
    fn band_of_product(&self, inverse: &Array2<f64>, images: &Array2<f64>) -> Vec<Vec<f64>> {
        let n = self.steps();
        let mut band = Vec::with_capacity(n);
        for part in parts(n) {
            let end = (part.end + self.bands).min(n);
            let rows = block(inverse, part.clone(), 0..part.end);
            let product = linalg::matmul(rows, block(images, 0..part.end, part.start..end));
            for (row, j) in product.rows().into_iter().zip(part.clone()) {
                band.push(row.iter().skip(j - part.start).take(self.length(j)).copied().collect());
            }
        }
        band
    }

    /// Returns `A⁻¹` and `A⁻ᵀ G A⁻¹` at the variables, with the factor of squared sensitivity 1.
    pub fn inverse_and_images(&self, x: &[f64]) -> (Array2<f64>, Array2<f64>) {
        let scaled = self.scaled(x);
        let inverse = self.inverse(&scaled.columns) * scaled.cost.sqrt();
        let images = self.images(&inverse);
        (inverse, images)
    }

    /// Returns `X = AᵀA` of squared sensitivity 1.
    ///
    /// # Errors
    /// An entry is not finite.
    pub fn gram(&self, x: &[f64]) -> Result<Array2<f64>> {
        let scaled = self.scaled(x);
        let n = self.steps();
        let mut gram = Array2::zeros((n, n));
        for (i, first) in scaled.columns.iter().enumerate() {
            for (j, second) in scaled.columns.iter().enumerate().skip(i).take(self.bands) {
                let product: f64 = first.iter().skip(j - i).zip(second).map(|(a, b)| a * b).sum();
                gram[[i, j]] = product / scaled.cost;
                gram[[j, i]] = gram[[i, j]];
            }
        }
        if gram.iter().all(|x| x.is_finite()) {
            return Ok(gram);
        }
        Err(Error::DidNotConverge { what: "banded strategy".into(), order: n })
    }
}

impl SmoothFunction for BandedFactor {
    /// `ln (tr(A⁻ᵀ G A⁻¹) · (Σy + kz))`. With `S = A⁻ᵀ G A⁻¹` the derivative of the trace by A is
    /// `−2 (A⁻¹ S)ᵀ`.
    fn evaluate(&self, x: &[f64]) -> Result<(f64, Vec<f64>)> {
        let scaled = self.scaled(x);
        let inverse = self.inverse(&scaled.columns);
        let images = self.images(&inverse);
        let error = images.diag().sum();
        if !(error > 0.0 && error.is_finite() && scaled.cost > 0.0) {
            return Ok((f64::INFINITY, vec![0.0; x.len()]));
        }
        let product = self.band_of_product(&inverse, &images);
        let mut gradient = Vec::with_capacity(x.len());
        let mut by_squares = Vec::with_capacity(self.steps());
        for (j, column) in scaled.columns.iter().enumerate() {
            let by_column: Vec<f64> = product[j].iter().map(|entry| -2.0 * entry / error).collect();
            let along: f64 = by_column.iter().zip(column).map(|(g, a)| g * a).sum();
            let square = scaled.squares[j];
            let scale = square.sqrt() / scaled.norms[j];
            gradient.extend(
                by_column.iter().zip(column).map(|(g, a)| scale * (g - along * a / square)),
            );
            by_squares.push(along / (2.0 * square));
        }
        if self.free_norms {
            let mut sum: f64 = by_squares.iter().take(self.separation).sum();
            for window in 0..self.windows() {
                gradient.push(sum + scaled.cost.recip());
                sum -= by_squares[window];
                sum += by_squares.get(window + self.separation).unwrap_or(&0.0);
            }
            let all: f64 = by_squares.iter().sum();
            gradient.push(all + self.count as f64 / scaled.cost);
        }
        Ok(((error * scaled.cost).ln(), gradient))
    }
}

/// Returns the blocks of n rows or columns.
fn parts(n: usize) -> impl Iterator<Item = Range<usize>> {
    (0..n).step_by(BLOCK).map(move |start| start..(start + BLOCK).min(n))
}

/// Returns some rows and columns of a matrix.
fn block(matrix: &Array2<f64>, rows: Range<usize>, columns: Range<usize>) -> ArrayView2<'_, f64> {
    let mut view = matrix.view();
    view.slice_axis_inplace(Axis(0), Slice::from(rows));
    view.slice_axis_inplace(Axis(1), Slice::from(columns));
    view
}

/// Returns the inverse of a lower triangular matrix, by halves.
fn inverse_of_lower(factor: ArrayView2<'_, f64>) -> Array2<f64> {
    let n = factor.nrows();
    let mut inverse: Array2<f64> = Array2::zeros((n, n));
    if n <= BLOCK {
        for i in 0..n {
            let mut row = vec![0.0; i + 1];
            row[i] = 1.0;
            for j in 0..i {
                let entry = factor[[i, j]];
                row.iter_mut()
                    .zip(inverse.row(j).iter().take(j + 1))
                    .for_each(|(x, y)| *x -= entry * y);
            }
            let pivot = factor[[i, i]];
            inverse.row_mut(i).iter_mut().zip(row).for_each(|(x, y)| *x = y / pivot);
        }
        return inverse;
    }
    let (top, bottom) = factor.split_at(Axis(0), n / 2);
    let (first, _) = top.split_at(Axis(1), n / 2);
    let (corner, second) = bottom.split_at(Axis(1), n / 2);
    let (first, second) = (inverse_of_lower(first), inverse_of_lower(second));
    let corner = linalg::matmul(corner, first.view());
    let corner = linalg::matmul(second.view(), corner.view());
    let (top, bottom) = inverse.view_mut().split_at(Axis(0), n / 2);
    let (mut left, _) = top.split_at(Axis(1), n / 2);
    left.assign(&first);
    let (mut left, mut right) = bottom.split_at(Axis(1), n / 2);
    left.assign(&corner.mapv(|x| -x));
    right.assign(&second);
    inverse
}
