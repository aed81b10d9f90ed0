//! Banded factors and the logarithm of their error.

use ndarray::{Array1, Array2, ArrayView1};

use super::{dense_error, recurrence_error};
use crate::error::{Error, Result};
use crate::workload::{Recurrence, Workload};
use matmech_linalg::{Metric, SmoothFunction, SpdFactor};

/// Addition to the diagonal of the curvature by the multipliers, relative to its mean. Windows that
/// differ little have nearly the same derivative.
const RIDGE: f64 = 1e-4;

/// The parametrisation of banded strategies for one workload.
///
/// The variables are the entries of a lower triangular band matrix, column by column, whose columns
/// are scaled to the norms `√d_i` with `d_i = z + Σ_{w∋i} y_w`, then y and z. With equal norms
/// there are only the entries. The scale of all variables is free: errors are multiplied by the
/// squared sensitivity `Σy + kz`.
#[derive(Debug)]
pub struct BandedFactor {
    /// `WᵀW`.
    gram: Array2<f64>,
    /// The recurrence with this Gram matrix, if there is one.
    recurrence: Option<Recurrence>,
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
    /// Creates the parametrisation for a workload.
    ///
    /// # Errors
    /// The workload has too many cells for a dense Gram matrix.
    pub fn new(
        workload: &Workload,
        bands: usize,
        separation: usize,
        count: usize,
        free_norms: bool,
    ) -> Result<Self> {
        let gram = workload.gram()?.to_dense()?;
        let recurrence = workload.recurrence();
        Ok(BandedFactor { gram, recurrence, bands, separation, count, free_norms })
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

    /// Returns the approximate second derivative by the free multipliers, `Tᵀ diag(1/d) T` for
    /// d = T(y, z), up to a factor.
    fn curvature(&self, squares: &[f64], free: &[usize]) -> Array2<f64> {
        let mut sums = vec![0.0];
        sums.extend(squares.iter().scan(0.0, |sum, d| {
            *sum += d.recip();
            Some(*sum)
        }));
        // z is in the norms of all columns.
        let range = |i: usize| match i < self.windows() {
            true => (i, i + self.separation),
            false => (0, self.steps()),
        };
        let mut curvature = Array2::from_shape_fn((free.len(), free.len()), |(i, j)| {
            let ((first, end), (start, stop)) = (range(free[i]), range(free[j]));
            let (first, end) = (first.max(start), end.min(stop));
            if first < end { sums[end] - sums[first] } else { 0.0 }
        });
        let ridge = RIDGE * curvature.diag().mean().unwrap_or(0.0);
        curvature.diag_mut().mapv_inplace(|x| x + ridge);
        curvature
    }

    /// Returns the factors that scale the columns of the entries to a squared sensitivity of 1.
    pub fn column_scales(&self, x: &[f64]) -> Vec<f64> {
        let scaled = self.scaled(x);
        let squares = scaled.squares.iter().zip(&scaled.norms);
        squares.map(|(square, norm)| (square / scaled.cost).sqrt() / norm).collect()
    }

    /// Returns `A⁻¹` and `A⁻ᵀ G A⁻¹` at the variables, with the factor of squared sensitivity 1.
    pub fn inverse_and_images(&self, x: &[f64]) -> (Array2<f64>, Array2<f64>) {
        let scaled = self.scaled(x);
        let inverse = dense_error::inverse(&scaled.columns) * scaled.cost.sqrt();
        let images = dense_error::images(&self.gram, &inverse);
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
    type Error = Error;

    const MEMORY: usize = 8;

    /// `ln (tr(A⁻ᵀ G A⁻¹) · (Σy + kz))`.
    fn evaluate(&self, x: &[f64]) -> Result<(f64, Vec<f64>)> {
        let scaled = self.scaled(x);
        let (error, derivative) = match &self.recurrence {
            Some(recurrence) => recurrence_error::evaluate(recurrence, &scaled.columns),
            None => dense_error::evaluate(&self.gram, &scaled.columns),
        };
        if !(error > 0.0 && error.is_finite() && scaled.cost > 0.0) {
            return Ok((f64::INFINITY, vec![0.0; x.len()]));
        }
        let mut gradient = Vec::with_capacity(x.len());
        let mut by_squares = Vec::with_capacity(self.steps());
        for (j, column) in scaled.columns.iter().enumerate() {
            let by_column: Vec<f64> = derivative[j].iter().map(|entry| entry / error).collect();
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

    /// The logarithm of the error changes with the logarithms of d, and with entries relative to
    /// the norm of their column, by about the same for all columns. O(n³/3) for the multipliers.
    fn metric(&self, x: &[f64], free: &[bool]) -> Option<Metric<Error>> {
        if !self.free_norms {
            return None;
        }
        let (entries, scaled) = (self.entries(), self.scaled(x));
        let squares = scaled.norms.iter().zip(&scaled.squares);
        let scales = squares.map(|(norm, square)| norm * norm / square);
        let lengths = (0..self.steps()).map(|column| self.length(column));
        let scales: Vec<(usize, f64)> = lengths.zip(scales).collect();
        let free: Vec<usize> = (0..=self.windows()).filter(|i| free[entries + i]).collect();
        let factor = SpdFactor::of(self.curvature(&scaled.squares, &free).view()).ok()?;
        Some(Box::new(move |v| {
            let (mut rest, multipliers) = v.split_at_mut(entries);
            for (length, scale) in &scales {
                let (column, after) = std::mem::take(&mut rest).split_at_mut(*length);
                column.iter_mut().for_each(|x| *x *= scale);
                rest = after;
            }
            let right: Array1<f64> = free.iter().map(|&i| multipliers[i]).collect();
            free.iter().zip(factor.solve(&right)?).for_each(|(&i, x)| multipliers[i] = x);
            Ok(())
        }))
    }
}
