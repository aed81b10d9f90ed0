//! Banded factors and the logarithm of their error.

use ndarray::{Array1, Array2, ArrayView1};

use super::quasi_newton::SmoothFunction;
use crate::error::{Error, Result};
use matmech_linalg as linalg;

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

    /// Returns `A⁻¹`, lower triangular. O(steps² · bands).
    fn inverse(&self, columns: &[Vec<f64>]) -> Array2<f64> {
        let n = self.steps();
        let mut inverse: Array2<f64> = Array2::zeros((n, n));
        for i in 0..n {
            let mut row: Array1<f64> = Array1::zeros(n);
            row[i] = 1.0;
            for j in (i + 1).saturating_sub(self.bands)..i {
                row.scaled_add(-columns[j][i - j], &inverse.row(j));
            }
            row /= columns[i][0];
            inverse.row_mut(i).assign(&row);
        }
        inverse
    }

    /// Returns `A⁻¹` and `A⁻ᵀ G A⁻¹` at the variables, with the factor of squared sensitivity 1.
    pub fn inverse_and_images(&self, x: &[f64]) -> (Array2<f64>, Array2<f64>) {
        let scaled = self.scaled(x);
        let inverse = self.inverse(&scaled.columns) * scaled.cost.sqrt();
        let images = linalg::matmul(self.gram.view(), inverse.view());
        let images = linalg::matmul(inverse.t(), images.view());
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
        let images = linalg::matmul(self.gram.view(), inverse.view());
        let images = linalg::matmul(inverse.t(), images.view());
        let error = images.diag().sum();
        if !(error > 0.0 && error.is_finite() && scaled.cost > 0.0) {
            return Ok((f64::INFINITY, vec![0.0; x.len()]));
        }
        let product = linalg::matmul(inverse.view(), images.view());
        let mut gradient = Vec::with_capacity(x.len());
        let mut by_squares = Vec::with_capacity(self.steps());
        for (j, column) in scaled.columns.iter().enumerate() {
            let by_column: Vec<f64> =
                (0..column.len()).map(|i| -2.0 * product[[j, j + i]] / error).collect();
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
