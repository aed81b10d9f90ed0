//! Rows that measures centre, and the points of the central path.

use ndarray::{Array1, Array2, ArrayView2, Axis, Slice};

use crate::error::{Error, Result};
use crate::optimal::interior_point::STEP_FRACTION;
use crate::residual::{AxisView, Measure};
use matmech_linalg::{self as linalg, interior_point};

/// Largest zero eigenvalue of K, relative to the largest.
const RANK_CUT: f64 = 1e-13;

/// Rows over a box, and the measures that centre them along its axes.
#[derive(Debug, Clone, Copy)]
pub struct MovingRows<'a> {
    /// The sizes of the axes.
    pub shape: &'a [usize],
    /// W, rows × cells.
    pub rows: ArrayView2<'a, f64>,
    /// One measure per axis.
    pub measures: &'a [Measure],
}

/// Weights μ and slacks z of the cells.
#[derive(Debug, Clone)]
pub struct PathPoint {
    /// μ, one per cell.
    pub mu: Array1<f64>,
    /// z, one per cell.
    pub slack: Array1<f64>,
}

/// K and v at weights.
#[derive(Debug)]
pub struct Spectra {
    /// The eigenvectors of K, those of eigenvalue zero first.
    pub(super) u: Array2<f64>,
    /// Square roots of the positive eigenvalues.
    pub(super) s: Array1<f64>,
    /// `UᵀR` for the positive eigenvalues, rank × cells.
    pub(super) y: Array2<f64>,
    /// 1 − v.
    pub(super) residual: Array1<f64>,
}

impl MovingRows<'_> {
    /// Returns the rows centred along all axes but one.
    pub(super) fn centred_but(&self, skipped: Option<usize>) -> Array2<f64> {
        let mut out = self.rows.as_standard_layout().into_owned();
        for (axis, measure) in self.measures.iter().enumerate() {
            let view = AxisView::of(self.shape, axis);
            if Some(axis) != skipped {
                for mut row in out.rows_mut() {
                    if let Some(cells) = row.as_slice_mut() {
                        centre_along(cells, view, measure);
                    }
                }
            }
        }
        out
    }

    /// Returns R.
    pub fn centred(&self) -> Array2<f64> {
        self.centred_but(None)
    }

    /// Evaluates K and v. O(rows² · cells) time.
    ///
    /// # Errors
    /// The eigensolver fails.
    pub fn spectra(&self, mu: &Array1<f64>) -> Result<Spectra> {
        let rows = self.centred();
        let weighted = &rows * mu;
        let eigen = linalg::eigh(linalg::matmul(rows.view(), weighted.t()).view())?;
        let max = eigen.values.iter().copied().fold(0.0, f64::max);
        let null = eigen.values.iter().filter(|&&value| value <= RANK_CUT * max).count();
        let s = eigen.values.slice_axis(Axis(0), Slice::from(null..)).mapv(f64::sqrt);
        let u = eigen.vectors;
        let y = linalg::matmul(u.slice_axis(Axis(1), Slice::from(null..)).t(), rows.view());
        let mut residual = Array1::ones(mu.len());
        for (row, &s) in y.rows().into_iter().zip(&s) {
            residual.zip_mut_with(&row, |residual, y| *residual -= y * y / s);
        }
        Ok(Spectra { u, s, y, residual })
    }

    /// Returns the point with uniform weights and slacks, far inside.
    ///
    /// # Errors
    /// The eigensolver fails.
    pub fn start(&self) -> Result<PathPoint> {
        let cells = self.rows.ncols();
        let uniform = Array1::from_elem(cells, 1.0 / cells as f64);
        let bound = self.spectra(&uniform)?.trace().powi(2);
        Ok(PathPoint { mu: uniform * bound, slack: Array1::ones(cells) })
    }
}

impl Spectra {
    /// Returns t = tr K^½; `t²/Σμ` is a lower bound on the optimum.
    pub fn trace(&self) -> f64 {
        self.s.sum()
    }

    /// Returns the derivative of 2t by R, rows × cells: `2 K^(−½) R diag(μ)`.
    pub fn by_rows(&self, mu: &Array1<f64>) -> Array2<f64> {
        let mut weighted = &self.y * mu;
        for (mut row, s) in weighted.rows_mut().into_iter().zip(&self.s) {
            row *= 2.0 / s;
        }
        linalg::matmul(self.range(), weighted.view())
    }

    /// Returns the derivative of 2t by RᵀR, cells × cells.
    pub fn by_gram(&self, mu: &Array1<f64>) -> Array2<f64> {
        let mut weighted = &self.y * mu;
        for (mut row, s) in weighted.rows_mut().into_iter().zip(&self.s) {
            row *= s.powf(-1.5);
        }
        linalg::gram_of(weighted.view())
    }

    /// Returns the number of eigenvalues zero.
    pub(super) fn null(&self) -> usize {
        self.u.ncols() - self.s.len()
    }

    /// Returns the eigenvectors of the positive eigenvalues.
    pub(super) fn range(&self) -> ArrayView2<'_, f64> {
        self.u.slice_axis(Axis(1), Slice::from(self.null()..))
    }
}

impl PathPoint {
    /// Returns `Σ μ z / Σ μ`, the relative gap on the central path.
    pub fn gap(&self) -> f64 {
        self.mu.dot(&self.slack) / self.mu.sum()
    }

    /// Takes a step of weights and slacks, shortened to keep them positive.
    pub fn advance(&mut self, step: &interior_point::Step) {
        interior_point::advance((&mut self.mu, &mut self.slack), step, STEP_FRACTION);
    }
}

/// Subtracts the contraction with a measure along an axis from the cells of a row.
fn centre_along(cells: &mut [f64], view: AxisView, measure: &Measure) {
    for block in cells.chunks_exact_mut(view.n * view.inner) {
        let mut means = vec![0.0; view.inner];
        for (value, slice) in block.chunks_exact(view.inner).enumerate() {
            let weight = measure.weight(value);
            means.iter_mut().zip(slice).for_each(|(mean, x)| *mean += weight * x);
        }
        for slice in block.chunks_exact_mut(view.inner) {
            slice.iter_mut().zip(&means).for_each(|(x, mean)| *x -= mean);
        }
    }
}

/// Returns a matrix in another shape, in row-major order.
pub(super) fn reshaped(matrix: Array2<f64>, rows: usize, columns: usize) -> Result<Array2<f64>> {
    let shape = (rows, columns);
    matrix
        .into_shape_with_order(shape)
        .map_err(|e| Error::bug("central path", "as many entries as before", e))
}
