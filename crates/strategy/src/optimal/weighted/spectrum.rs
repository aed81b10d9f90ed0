//! Square roots of positive semidefinite matrices, split by the reversal of the cells.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

use crate::error::Result;
use matmech_linalg as linalg;

/// Eigenvalues up to this share of the largest one, per order, count as zero.
const RANK_CUT: f64 = 8.0 * f64::EPSILON;

/// The eigendecomposition of K, in one part, or in two if K is invariant under reversal.
#[derive(Debug, Clone)]
pub(super) struct Spectrum {
    order: usize,
    /// Square roots of the eigenvalues, and eigenvectors, one per column.
    parts: Vec<(Array1<f64>, Array2<f64>)>,
    /// U, if it comes from a factor `A = U diag(σ) Vᵀ` with `K = AᵀA`.
    left: Option<Array2<f64>>,
}

impl Spectrum {
    /// Decomposes K. If `K_ij = K_(n−1−i)(n−1−j)`, the vectors that reversal keeps and those that
    /// it negates are invariant, and each part has half the order. Otherwise rows and columns of
    /// zeros are left out, so they add no rounding errors.
    ///
    /// # Errors
    /// The eigensolver fails.
    pub fn of(k: &Array2<f64>, reversible: bool) -> Result<Self> {
        let n = k.nrows();
        let used: Vec<usize> = (0..n).filter(|&i| k[[i, i]] != 0.0).collect();
        if !reversible && used.len() < n {
            let mut inner = Self::of(&k.select(Axis(0), &used).select(Axis(1), &used), false)?;
            for (_, vectors) in &mut inner.parts {
                let mut embedded = Array2::zeros((n, vectors.ncols()));
                used.iter()
                    .zip(vectors.rows())
                    .for_each(|(&i, row)| embedded.row_mut(i).assign(&row));
                *vectors = embedded;
            }
            return Ok(Spectrum { order: n, ..inner });
        }
        let matrices = if reversible && n > 1 {
            [1.0, -1.0].iter().map(|&sign| half(k.view(), sign)).collect()
        } else {
            vec![k.clone()]
        };
        let mut parts = Vec::with_capacity(matrices.len());
        let mut largest = 0.0f64;
        for matrix in matrices {
            let eigen = linalg::eigh(matrix.view())?;
            largest = eigen.values.iter().copied().fold(largest, f64::max);
            parts.push((eigen.values, eigen.vectors));
        }
        let zero = RANK_CUT * n as f64 * largest;
        for (values, _) in &mut parts {
            values.mapv_inplace(|x| if x > zero { x.sqrt() } else { 0.0 });
        }
        Ok(Spectrum { order: n, parts, left: None })
    }

    /// Decomposes `K = AᵀA` by the singular values of A, which has at least as many rows as columns.
    ///
    /// Roots of eigenvalues are accurate to about `10⁻⁸ σ_max`, singular values to `10⁻¹⁶ σ_max`.
    ///
    /// # Errors
    /// The singular value decomposition fails.
    pub fn of_factor(a: ArrayView2<'_, f64>) -> Result<Self> {
        let space = linalg::row_space(a)?;
        let largest = space.singular_values.iter().copied().fold(0.0, f64::max);
        let zero = RANK_CUT * a.nrows() as f64 * largest;
        let roots = space.singular_values.mapv(|x| if x > zero { x } else { 0.0 });
        let vectors = space.basis.reversed_axes();
        Ok(Spectrum { order: a.ncols(), parts: vec![(roots, vectors)], left: Some(space.left) })
    }

    /// Returns the smallest eigenvalue of K relative to the largest one; 0 if one counts as zero.
    pub fn smallest(&self) -> f64 {
        let roots = || self.parts.iter().flat_map(|(roots, _)| roots.iter().copied());
        if self.rank() < self.order {
            return 0.0;
        }
        let largest = roots().fold(0.0, f64::max);
        (roots().fold(f64::INFINITY, f64::min) / largest).powi(2)
    }

    /// Returns the diagonal of `(A Aᵀ)^½`; `None` without a factor A.
    pub fn left_root_diagonal(&self) -> Option<Vec<f64>> {
        let (left, (roots, _)) = (self.left.as_ref()?, self.parts.first()?);
        let entry = |row: ArrayView1<'_, f64>| row.iter().zip(roots).map(|(u, s)| u * u * s).sum();
        Some(left.rows().into_iter().map(entry).collect())
    }

    /// Returns the number of eigenvalues that do not count as zero.
    pub fn rank(&self) -> usize {
        let positive = |roots: &Array1<f64>| roots.iter().filter(|root| **root > 0.0).count();
        self.parts.iter().map(|(roots, _)| positive(roots)).sum()
    }

    /// Returns `tr K^½`.
    pub fn trace(&self) -> f64 {
        self.parts.iter().map(|(roots, _)| roots.sum()).sum()
    }

    /// Returns an upper bound on the rounding error of the trace: an eigenvalue or singular value is
    /// wrong by a few ε times the largest one.
    pub fn rounding(&self) -> f64 {
        let roots = || self.parts.iter().flat_map(|(roots, _)| roots);
        let largest = roots().copied().fold(0.0, f64::max);
        if self.left.is_some() {
            return 4.0 * f64::EPSILON * largest * self.order as f64;
        }
        let error = 4.0 * f64::EPSILON * largest * largest;
        roots().map(|&root| error / (root + error.sqrt())).sum()
    }

    /// Returns `K^½`.
    pub fn root(&self) -> Array2<f64> {
        self.mapped(|root| root)
    }

    /// Returns the pseudo-inverse of `K^½`.
    pub fn inverse_root(&self) -> Array2<f64> {
        self.mapped(|root| if root > 0.0 { root.recip() } else { 0.0 })
    }

    /// Returns `U diag(f) Uᵀ` for nonnegative f. O(n³).
    fn mapped(&self, f: impl Fn(f64) -> f64) -> Array2<f64> {
        let mut out = Array2::zeros((self.order, self.order));
        for (part, (roots, vectors)) in self.parts.iter().enumerate() {
            let mut rows = vectors.t().as_standard_layout().into_owned();
            for (mut row, &root) in rows.rows_mut().into_iter().zip(roots) {
                row *= f(root).sqrt();
            }
            let mapped = linalg::gram_of(rows.view());
            if self.parts.len() == 1 {
                return mapped;
            }
            add_half(&mut out, &mapped, if part == 0 { 1.0 } else { -1.0 });
        }
        out
    }
}

/// Returns the entry of the basis vector `(e_i ± e_(n−1−i))/√2`, or `e_i` for a middle cell.
fn entry(i: usize, n: usize) -> f64 {
    if 2 * i + 1 == n { 1.0 } else { 0.5f64.sqrt() }
}

/// Returns K on the vectors that reversal keeps (sign 1) or negates (sign −1).
fn half(k: ArrayView2<'_, f64>, sign: f64) -> Array2<f64> {
    let n = k.nrows();
    let order = if sign > 0.0 { n.div_ceil(2) } else { n / 2 };
    Array2::from_shape_fn((order, order), |(i, j)| match (2 * i + 1 == n, 2 * j + 1 == n) {
        (false, false) => k[[i, j]] + sign * k[[i, n - 1 - j]],
        (true, true) => k[[i, j]],
        _ => std::f64::consts::SQRT_2 * k[[i, j]],
    })
}

/// Adds a matrix on the vectors of one sign, in the order of the cells.
fn add_half(out: &mut Array2<f64>, part: &Array2<f64>, sign: f64) {
    let n = out.nrows();
    for ((i, j), &x) in part.indexed_iter() {
        let value = x * entry(i, n) * entry(j, n);
        let (ri, rj) = (n - 1 - i, n - 1 - j);
        out[[i, j]] += value;
        if ri != i {
            out[[ri, j]] += sign * value;
        }
        if rj != j {
            out[[i, rj]] += sign * value;
        }
        if ri != i && rj != j {
            out[[ri, rj]] += value;
        }
    }
}
