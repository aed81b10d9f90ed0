//! Derivatives by the measures with the weights fixed.
//!
//! The derivative of R by ν_i(x) is `−b` at all cells of a line along axis i, where b is the column
//! of its value x in `B_i = W (⊗_{j≠i} P_j)`. In the eigenbasis U of K, `X_x = Uᵀ (∂K/∂ν_i(x)) U`.

use ndarray::{Array1, Array2, ArrayViewMut2, Axis, Slice};

use super::moving_rows::{MovingRows, Spectra, reshaped};
use crate::error::{Error, Result};
use crate::residual::AxisView;
use matmech_linalg as linalg;

/// The derivatives of a problem by its measures, one parameter per value of every axis.
#[derive(Debug)]
pub(super) struct Coupling {
    /// One view of the cells per axis.
    pub views: Vec<AxisView>,
    /// The index of the first parameter of every axis.
    pub first: Vec<usize>,
    /// `UᵀB_i` on the range of K, rank × cells, per axis.
    pub beta: Vec<Array2<f64>>,
    /// The upper triangles of X, parameters × pairs of eigenvectors.
    pub triangles: Array2<f64>,
    /// W_ab of every pair, twice for a ≠ b.
    pub pair_weights: Array1<f64>,
    /// `∂²/∂ν² 2 tr K^½`, parameters × parameters.
    pub hessian: Array2<f64>,
}

impl Coupling {
    /// Computes the derivatives. O(rows² · cells + rows² · parameters²) time.
    ///
    /// The second derivatives of R by two different axes are included for two axes.
    pub fn of(moving: &MovingRows<'_>, spectra: &Spectra, mu: &Array1<f64>) -> Result<Self> {
        let Spectra { u, s, y, .. } = spectra;
        let (rank, null) = (s.len(), spectra.null());
        let shape = moving.shape;
        let views: Vec<AxisView> = (0..shape.len()).map(|axis| AxisView::of(shape, axis)).collect();
        let first: Vec<usize> = (0..shape.len()).map(|axis| shape[..axis].iter().sum()).collect();
        let parameters: usize = shape.iter().sum();
        let weighted = y * mu;
        let mut triangles = Array2::zeros((parameters, rank * (rank + 1) / 2));
        // The entries of X between a zero and a positive eigenvalue, weighted.
        let mut outside = Array2::zeros((parameters, null * rank));
        let mut hessian: Array2<f64> = Array2::zeros((parameters, parameters));
        let mut beta = Vec::with_capacity(views.len());
        for (axis, &view) in views.iter().enumerate() {
            let all = linalg::matmul(u.t(), moving.centred_but(Some(axis)).view());
            let sums = along(&weighted, view)?;
            for x in 0..view.n {
                let z = linalg::matmul(at_value(&all, view, x)?.view(), sums.t());
                let mut triangle = triangles.row_mut(first[axis] + x);
                let mut entries = triangle.iter_mut();
                for a in 0..rank {
                    for (b, entry) in (a..rank).zip(&mut entries) {
                        *entry = -(z[[null + a, b]] + z[[null + b, a]]);
                    }
                }
                let mut outside = outside.row_mut(first[axis] + x);
                for (index, entry) in outside.iter_mut().enumerate() {
                    let (zero, b) = (index / rank, index % rank);
                    *entry = -z[[zero, b]] * (2.0 / s[b].powi(3)).sqrt();
                }
            }
            let in_range = all.slice_axis(Axis(0), Slice::from(null..)).to_owned();
            let lines = along(&mu.view().insert_axis(Axis(0)).to_owned(), view)?;
            let mut stacked = by_value(&in_range, view);
            let groups = view.outer * view.inner;
            for (index, mut row) in stacked.rows_mut().into_iter().enumerate() {
                row *= (2.0 * lines[[0, index % groups]] / s[index / groups]).sqrt();
            }
            let range = first[axis]..first[axis] + view.n;
            let mut block = part(&mut hessian, range.clone(), range);
            block += &linalg::gram_of(stacked.view());
            beta.push(in_range);
        }
        if let ([n1, n2], [beta1, beta2]) = (shape, beta.as_slice()) {
            let cross = cross_block(moving, spectra, mu, (*n1, *n2), (beta1, beta2))?;
            let mut block = part(&mut hessian, 0..*n1, *n1..parameters);
            block += &cross;
            let mut block = part(&mut hessian, *n1..parameters, 0..*n1);
            block += &cross.t();
        }
        linalg::add_gram(&mut hessian, outside.t());
        let pairs = (0..rank).flat_map(|a| (a..rank).map(move |b| (a, b)));
        let pair_weights = Array1::from_iter(pairs.map(|(a, b)| {
            let weight = (s[a] * s[b] * (s[a] + s[b])).recip();
            if a == b { weight } else { 2.0 * weight }
        }));
        let scaled = &triangles * &pair_weights;
        hessian -= &linalg::matmul(triangles.view(), scaled.t());
        Ok(Coupling { views, first, beta, triangles, pair_weights, hessian })
    }

    /// Returns `C dν` on all cells, for the eigenbasis of a point. O(rows² · cells) time.
    pub fn directional(&self, spectra: &Spectra, step: &Array1<f64>) -> Array1<f64> {
        let Spectra { s, y, .. } = spectra;
        let (rank, cells) = y.dim();
        let triangle = self.triangles.t().dot(step) * &self.pair_weights;
        let mut x: Array2<f64> = Array2::zeros((rank, rank));
        let pairs = (0..rank).flat_map(|a| (a..rank).map(move |b| (a, b)));
        for ((a, b), value) in pairs.zip(triangle) {
            // The upper triangle has both halves, and the diagonal once.
            x[[a, b]] = value;
        }
        let mut out: Array1<f64> = Array1::zeros(cells);
        for (through, y) in linalg::matmul(x.view(), y.view()).rows().into_iter().zip(y.rows()) {
            out -= &(&through * &y);
        }
        for ((beta, &view), &first) in self.beta.iter().zip(&self.views).zip(&self.first) {
            for ((beta, y), s) in beta.rows().into_iter().zip(y.rows()).zip(s) {
                for o in 0..view.outer {
                    for i in 0..view.inner {
                        let cell = |x: usize| (o * view.n + x) * view.inner + i;
                        let moved: f64 = (0..view.n).map(|x| step[first + x] * beta[cell(x)]).sum();
                        (0..view.n).for_each(|x| out[cell(x)] -= 2.0 * moved * y[cell(x)] / s);
                    }
                }
            }
        }
        out
    }

    /// Returns the rows of C at some cells, cells × parameters, with `X_ab` and the weights `w_ab`
    /// of [`Coupling::triangles`]:
    ///
    /// ```text
    /// C_{k,(i,x)} = −2 Σ_a y_a(k) β_a(x, k)/s_a − Σ_{a≤b} y_a(k) y_b(k) w_ab X_ab
    /// ```
    ///
    /// β is that of axis i at value x on the line of cell k along the axis. rows² · parameters flops
    /// per cell.
    ///
    /// # Errors
    /// None for columns Y of the rows.
    pub fn rows(&self, spectra: &Spectra, cells: &[usize], y: &Array2<f64>) -> Result<Array2<f64>> {
        let mut out = Array2::zeros((cells.len(), self.triangles.nrows()));
        let mut scaled = y.t().as_standard_layout().into_owned();
        scaled.rows_mut().into_iter().for_each(|mut row| row /= &spectra.s);
        self.set_terms_of_lines(cells, &scaled, &mut out);
        self.subtract_terms_of_pairs(y, &mut out)?;
        Ok(out)
    }

    /// Sets the terms `−2 Σ_a y_a β_a/s_a`, for `y_a/s_a` in rows, by one product per line.
    fn set_terms_of_lines(&self, cells: &[usize], scaled: &Array2<f64>, out: &mut Array2<f64>) {
        for ((beta, &view), &first) in self.beta.iter().zip(&self.views).zip(&self.first) {
            let mut members: Vec<Vec<usize>> = vec![Vec::new(); view.outer * view.inner];
            for (k, &cell) in cells.iter().enumerate() {
                let line = cell / (view.n * view.inner) * view.inner + cell % view.inner;
                members[line].push(k);
            }
            for (line, members) in members.iter().enumerate().filter(|(_, m)| !m.is_empty()) {
                let (o, i) = (line / view.inner, line % view.inner);
                let columns: Vec<usize> =
                    (0..view.n).map(|x| (o * view.n + x) * view.inner + i).collect();
                let part = linalg::matmul(
                    scaled.select(Axis(0), members).view(),
                    beta.select(Axis(1), &columns).view(),
                );
                for (row, &k) in part.rows().into_iter().zip(members) {
                    row.iter().enumerate().for_each(|(x, b)| out[[k, first + x]] = -2.0 * b);
                }
            }
        }
    }

    /// Subtracts the terms `Σ_{a≤b} y_a y_b w_ab X_ab`, in chunks of cells.
    fn subtract_terms_of_pairs(&self, y: &Array2<f64>, out: &mut Array2<f64>) -> Result<()> {
        let weighted = &self.triangles * &self.pair_weights;
        let pairs = self.pair_weights.len();
        let chunk = (MAX_PRODUCTS / pairs.max(1)).clamp(1, y.ncols().max(1));
        for (index, columns) in y.axis_chunks_iter(Axis(1), chunk).enumerate() {
            let mut products = Vec::with_capacity(columns.ncols() * pairs);
            for column in columns.columns() {
                let column = column.to_vec();
                for (a, left) in column.iter().enumerate() {
                    products.extend(column[a..].iter().map(|right| left * right));
                }
            }
            let products = Array2::from_shape_vec((columns.ncols(), pairs), products)
                .map_err(|e| Error::bug("rows of the coupling", "a product per pair", e))?;
            let from = index * chunk;
            let mut rows = out.slice_axis_mut(Axis(0), Slice::from(from..from + columns.ncols()));
            rows -= &linalg::matmul(products.view(), weighted.t());
        }
        Ok(())
    }
}

/// Maximum number of products of entries of Y at a time: 32 MiB.
const MAX_PRODUCTS: usize = 1 << 22;

/// Returns the second derivatives by the measures of two different axes.
fn cross_block(
    moving: &MovingRows<'_>,
    spectra: &Spectra,
    mu: &Array1<f64>,
    (n1, n2): (usize, usize),
    (beta1, beta2): (&Array2<f64>, &Array2<f64>),
) -> Result<Array2<f64>> {
    let Spectra { s, y, .. } = spectra;
    let rank = s.len();
    // 2 Σ_a Σ_ij μ_ij β¹_a(x, j) β²_a(i, y) / s_a.
    let weights = reshaped(mu.view().insert_axis(Axis(0)).to_owned(), n1, n2)?;
    let through = linalg::matmul(reshaped(beta1.clone(), rank * n1, n2)?.view(), weights.t());
    let left = Array2::from_shape_fn((n1, rank * n1), |(x, index)| {
        let (a, i) = (index / n1, index % n1);
        2.0 * through[[a * n1 + x, i]] / s[a]
    });
    let mut cross = linalg::matmul(left.view(), reshaped(beta2.clone(), rank * n1, n2)?.view());
    // R has the second derivative W at the cell of both values, at all cells.
    let direction = spectra.range().dot(&(y.dot(mu) / s));
    let second = moving.rows.t().dot(&direction).insert_axis(Axis(0));
    cross.scaled_add(2.0, &reshaped(second, n1, n2)?);
    Ok(cross)
}

/// Returns the columns of a value of an axis, one per line along it.
fn at_value(values: &Array2<f64>, view: AxisView, x: usize) -> Result<Array2<f64>> {
    let mut out = Array2::zeros((values.nrows(), view.outer * view.inner));
    add_value(values, view, x, &mut out)?;
    Ok(out)
}

/// Returns the sums along an axis, one per line along it.
fn along(values: &Array2<f64>, view: AxisView) -> Result<Array2<f64>> {
    let mut out = Array2::zeros((values.nrows(), view.outer * view.inner));
    (0..view.n).try_for_each(|x| add_value(values, view, x, &mut out))?;
    Ok(out)
}

/// Adds the columns of a value of an axis, one per line along it.
fn add_value(values: &Array2<f64>, view: AxisView, x: usize, out: &mut Array2<f64>) -> Result<()> {
    for (row, mut sums) in values.rows().into_iter().zip(out.rows_mut()) {
        let (Some(row), Some(sums)) = (row.as_slice(), sums.as_slice_mut()) else {
            return Err(Error::bug("sums along an axis", "arrays in row-major order", "others"));
        };
        let blocks = row.chunks_exact(view.n * view.inner);
        for (block, sums) in blocks.zip(sums.chunks_exact_mut(view.inner)) {
            let slice = &block[x * view.inner..(x + 1) * view.inner];
            sums.iter_mut().zip(slice).for_each(|(sum, value)| *sum += value);
        }
    }
    Ok(())
}

/// Returns the entries by value of an axis, (rows · lines) × values.
fn by_value(values: &Array2<f64>, view: AxisView) -> Array2<f64> {
    let lines = view.outer * view.inner;
    Array2::from_shape_fn((values.nrows() * lines, view.n), |(index, x)| {
        let (row, line) = (index / lines, index % lines);
        values[[row, (line / view.inner * view.n + x) * view.inner + line % view.inner]]
    })
}

/// Returns a part of a matrix.
fn part(
    matrix: &mut Array2<f64>,
    rows: std::ops::Range<usize>,
    columns: std::ops::Range<usize>,
) -> ArrayViewMut2<'_, f64> {
    let mut part = matrix.slice_axis_mut(Axis(0), Slice::from(rows));
    part.slice_axis_inplace(Axis(1), Slice::from(columns));
    part
}
