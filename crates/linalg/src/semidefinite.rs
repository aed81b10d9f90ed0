//! Positive semidefinite matrices of any rank: root, pseudo-inverse and `tr(G V⁺)`.

use ndarray::{Array1, Array2, ArrayView2, Axis};

use crate::dense::{add_gram, eigh, full_rank_cholesky, product, row_space, spd_solve};
use crate::error::Result;

/// The range of a positive semidefinite matrix: `A = U diag(λ) Uᵀ` without zero eigenvalues.
#[derive(Debug, Clone)]
pub struct Semidefinite {
    /// λ > 0, ascending.
    pub values: Array1<f64>,
    /// U, one orthonormal column per eigenvalue.
    pub basis: Array2<f64>,
}

impl Semidefinite {
    /// Computes the nonzero eigenvalues with their eigenvectors.
    ///
    /// Nonzero as in [`nonzero_eigenvalues`]. O(n³) time.
    ///
    /// # Errors
    /// `a` is not square, or has entries that are not finite.
    pub fn of(a: ArrayView2<'_, f64>) -> Result<Self> {
        Self::above(a, zero_below)
    }

    /// Computes the eigenvalues above a threshold with their eigenvectors.
    ///
    /// `cut` computes the threshold from all eigenvalues. O(n³) time.
    ///
    /// # Errors
    /// As [`Semidefinite::of`].
    pub fn above(a: ArrayView2<'_, f64>, cut: impl FnOnce(&Array1<f64>) -> f64) -> Result<Self> {
        let eigen = eigh(a)?;
        let cut = cut(&eigen.values);
        let kept: Vec<usize> = (0..eigen.values.len()).filter(|&k| eigen.values[k] > cut).collect();
        Ok(Semidefinite {
            values: eigen.values.select(Axis(0), &kept),
            basis: eigen.vectors.select(Axis(1), &kept),
        })
    }

    /// Returns the number of nonzero eigenvalues.
    pub fn rank(&self) -> usize {
        self.values.len()
    }

    /// Returns the root `R = diag(λ)^½ Uᵀ` (rank × n): `RᵀR = A`.
    pub fn root(&self) -> Array2<f64> {
        self.scaled_rows(|row, root| row * root)
    }

    /// Returns the pseudo-inverse of the root, `R⁺ = U diag(λ)^(−½)` (n × rank): `R R⁺ = I`.
    pub fn root_inverse(&self) -> Array2<f64> {
        let mut columns = self.basis.as_standard_layout().into_owned();
        for (mut column, value) in columns.columns_mut().into_iter().zip(&self.values) {
            let root = value.sqrt();
            column.mapv_inplace(|x| x / root);
        }
        columns
    }

    /// Returns the pseudo-inverse `A⁺ = U diag(λ)⁻¹ Uᵀ`.
    ///
    /// O(n² · rank) time.
    pub fn pseudo_inverse(&self) -> Array2<f64> {
        gram_of(self.scaled_rows(|x, root| x / root).view())
    }

    fn scaled_rows(&self, scale: impl Fn(f64, f64) -> f64) -> Array2<f64> {
        let mut rows = self.basis.t().as_standard_layout().into_owned();
        for (mut row, value) in rows.rows_mut().into_iter().zip(&self.values) {
            let root = value.sqrt();
            row.mapv_inplace(|x| scale(x, root));
        }
        rows
    }
}

/// Returns `aᵀ a`.
///
/// 2·m·n² flops for `a` (m×n).
pub fn gram_of(a: ArrayView2<'_, f64>) -> Array2<f64> {
    let mut gram = Array2::zeros((a.ncols(), a.ncols()));
    add_gram(&mut gram, a);
    gram
}

/// Returns the threshold below which eigenvalues count as zero.
///
/// 8 n ε times the largest of the n eigenvalues of a positive semidefinite matrix.
fn zero_below(values: &Array1<f64>) -> f64 {
    8.0 * values.len() as f64 * f64::EPSILON * values.iter().copied().fold(0.0, f64::max)
}

/// Returns the indices of the eigenvalues that are not zero to working precision.
///
/// These are larger than 8 n ε times the largest of the n eigenvalues of a positive semidefinite
/// matrix.
pub fn nonzero_eigenvalues(values: &Array1<f64>) -> Vec<usize> {
    let cut = zero_below(values);
    (0..values.len()).filter(|&k| values[k] > cut).collect()
}

/// The result of [`trace_of_quotient`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quotient {
    /// `tr(G V⁺)`.
    Trace(f64),
    /// The range of G is not contained in the range of V.
    Outside {
        /// The share `tr(G (I − P))/tr G`, where P projects on the range of V.
        share: f64,
    },
}

/// Returns `tr(G V⁺)` for positive semidefinite G and V (n×n).
///
/// This is the total variance of a workload with Gram G under a strategy with Gram V. If more than
/// 1e-9 of G is outside the range of V, returns that share instead. O(n³) time.
///
/// # Errors
/// The shapes differ, or the eigensolver fails.
pub fn trace_of_quotient(g: ArrayView2<'_, f64>, v: ArrayView2<'_, f64>) -> Result<Quotient> {
    const MAX_SHARE_OUTSIDE: f64 = 1e-9;
    if full_rank_cholesky(v)?.is_some() {
        return Ok(Quotient::Trace(spd_solve(v, g)?.diag().sum()));
    }
    let eigen = eigh(v)?;
    let images = product(g, eigen.vectors.view())?;
    let (mut inside, mut trace) = (0.0, 0.0);
    for k in nonzero_eigenvalues(&eigen.values) {
        let energy = images.column(k).dot(&eigen.vectors.column(k));
        inside += energy;
        trace += energy / eigen.values[k];
    }
    let total = g.diag().sum();
    let share = if total > 0.0 { (1.0 - inside / total).max(0.0) } else { 0.0 };
    Ok(if share > MAX_SHARE_OUTSIDE { Quotient::Outside { share } } else { Quotient::Trace(trace) })
}

/// Returns the least-squares inverse `A⁺ = V diag(s)⁻¹ Uᵀ` of queries `A = U diag(s) Vᵀ`.
///
/// Singular values s with s² zero as in [`nonzero_eigenvalues`] are left out. The relative rounding
/// error of A⁺ is about ε times the quotient of the others, not its square as with normal equations
/// (Golub and Van Loan, *Matrix Computations*, 4th ed., Sec. 5.3 and 5.5). O(queries · n ·
/// min(queries, n)) time.
///
/// # Errors
/// The queries have NaN or infinite entries, or the singular value decomposition fails.
pub fn least_squares_inverse(queries: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    let space = row_space(queries)?;
    let kept = nonzero_eigenvalues(&space.singular_values.mapv(|s| s * s));
    let values = space.singular_values.select(Axis(0), &kept);
    let rows = space.basis.select(Axis(0), &kept);
    product((&rows.t() / &values).view(), space.left.select(Axis(1), &kept).t())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::matmul;
    use approx::assert_abs_diff_eq;
    use ndarray::array;

    /// Returns three queries of rank 2 over 4 cells.
    fn queries() -> Array2<f64> {
        array![[1.0, 2.0, 0.0, 4.0], [0.0, 1.0, 1.0, -1.0], [1.0, 3.0, 1.0, 3.0]]
    }

    #[test]
    fn the_pseudo_inverse_satisfies_the_moore_penrose_equations() {
        let a = gram_of(queries().view());
        let range = Semidefinite::of(a.view()).unwrap();
        let (root, back, inverse) = (range.root(), range.root_inverse(), range.pseudo_inverse());
        assert_eq!((range.rank(), root.dim(), back.dim()), (2, (2, 4), (4, 2)));
        assert_abs_diff_eq!(root.t().dot(&root), a, epsilon = 1e-12);
        assert_abs_diff_eq!(root.dot(&back), Array2::eye(2), epsilon = 1e-13);
        assert_abs_diff_eq!(a.dot(&inverse).dot(&a), a, epsilon = 1e-11);
        assert_abs_diff_eq!(inverse.dot(&a).dot(&inverse), inverse, epsilon = 1e-12);
        assert_abs_diff_eq!(inverse.dot(&a), inverse.dot(&a).t().to_owned(), epsilon = 1e-12);
    }

    #[test]
    fn traces_of_quotients_report_a_gram_outside_the_range() {
        let queries = queries();
        let v = gram_of(queries.view());
        let inside = gram_of(array![[1.0, 1.0, -1.0, 5.0]].view());
        let expected =
            matmul(inside.view(), Semidefinite::of(v.view()).unwrap().pseudo_inverse().view())
                .diag()
                .sum();
        match trace_of_quotient(inside.view(), v.view()).unwrap() {
            Quotient::Trace(trace) => assert_abs_diff_eq!(trace, expected, epsilon = 1e-12),
            outside => panic!("{outside:?}"),
        }
        let outside = trace_of_quotient(Array2::eye(4).view(), v.view()).unwrap();
        // Half of the identity's trace is outside a range of dimension 2 of 4.
        assert!(
            matches!(outside, Quotient::Outside { share } if (share - 0.5).abs() < 1e-12),
            "{outside:?}"
        );
    }

    #[test]
    fn the_least_squares_inverse_satisfies_the_moore_penrose_equations() {
        let queries = queries();
        let inverse = least_squares_inverse(queries.view()).unwrap();
        assert_abs_diff_eq!(queries.dot(&inverse).dot(&queries), queries, epsilon = 1e-12);
        assert_abs_diff_eq!(inverse.dot(&queries).dot(&inverse), inverse, epsilon = 1e-12);
        let regular = array![[2.0, 0.0], [1.0, 1.0], [0.0, 3.0]];
        let inverse = least_squares_inverse(regular.view()).unwrap();
        assert_abs_diff_eq!(inverse.dot(&regular), Array2::eye(2), epsilon = 1e-14);
    }

    /// Läuchli's matrix `[1 1; e 0; 0 e]` has singular values √(2 + e²) and e, and
    /// `A⁺ = [1 (1 + e²)/e −1/e; 1 −1/e (1 + e²)/e]/(2 + e²)`.
    #[test]
    fn the_least_squares_inverse_of_ill_conditioned_queries_is_accurate() {
        let e = 0.5f64.powi(20);
        let queries = array![[1.0, 1.0], [e, 0.0], [0.0, e]];
        let (diagonal, other) = ((1.0 + e * e) / e, -1.0 / e);
        let expected = array![[1.0, diagonal, other], [1.0, other, diagonal]] / (2.0 + e * e);
        let inverse = least_squares_inverse(queries.view()).unwrap();
        // Normal equations have errors of ε/e³ here.
        assert_abs_diff_eq!(inverse, expected, epsilon = 16.0 * f64::EPSILON / (e * e));
        // The answer to the sum of the cells does not suffer from the small singular value.
        let sum = inverse.sum_axis(Axis(0));
        assert_abs_diff_eq!(sum[0], 2.0 / (2.0 + e * e), epsilon = 16.0 * f64::EPSILON / e);
    }
}
