//! Positive semidefinite matrices of any rank: root, pseudo-inverse, and quotients of traces.

use ndarray::{Array1, Array2, ArrayView2, Axis};

use crate::dense::{add_gram, eigh, full_rank_cholesky, product, spd_solve};
use crate::error::Result;

/// The range of a positive semidefinite matrix, `A = U diag(λ) Uᵀ` without the eigenvalues that are
/// zero.
#[derive(Debug, Clone)]
pub struct Semidefinite {
    /// λ > 0, ascending.
    pub values: Array1<f64>,
    /// U, one orthonormal column per eigenvalue.
    pub basis: Array2<f64>,
}

impl Semidefinite {
    /// The eigenvalues that are not zero to working precision ([`nonzero_eigenvalues`]), with their
    /// vectors. O(n³).
    ///
    /// # Errors
    /// A matrix that is not square, or has entries that are not finite.
    pub fn of(a: ArrayView2<'_, f64>) -> Result<Self> {
        Self::above(a, zero_below)
    }

    /// The eigenvalues larger than `cut` makes of all of them. O(n³).
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

    /// The number of eigenvalues that are not zero.
    pub fn rank(&self) -> usize {
        self.values.len()
    }

    /// `R = diag(λ)^½ Uᵀ`, rank × n: `RᵀR = A`.
    pub fn root(&self) -> Array2<f64> {
        self.scaled_rows(|row, root| row * root)
    }

    /// `R⁺ = U diag(λ)^(−½)`, n × rank: `R R⁺ = I`.
    pub fn root_inverse(&self) -> Array2<f64> {
        let mut columns = self.basis.as_standard_layout().into_owned();
        for (mut column, value) in columns.columns_mut().into_iter().zip(&self.values) {
            let root = value.sqrt();
            column.mapv_inplace(|x| x / root);
        }
        columns
    }

    /// `A⁺ = U diag(λ)⁻¹ Uᵀ`. O(n² · rank).
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

/// `aᵀ a`. 2·m·n² flops for `a` (m×n).
pub fn gram_of(a: ArrayView2<'_, f64>) -> Array2<f64> {
    let mut gram = Array2::zeros((a.ncols(), a.ncols()));
    add_gram(&mut gram, a);
    gram
}

/// 8 n ε times the largest of the n eigenvalues of a positive semidefinite matrix.
fn zero_below(values: &Array1<f64>) -> f64 {
    8.0 * values.len() as f64 * f64::EPSILON * values.iter().copied().fold(0.0, f64::max)
}

/// Positions of the eigenvalues of a positive semidefinite matrix that are not zero to working
/// precision: larger than 8 n ε times the largest.
pub fn nonzero_eigenvalues(values: &Array1<f64>) -> Vec<usize> {
    let cut = zero_below(values);
    (0..values.len()).filter(|&k| values[k] > cut).collect()
}

/// What [`trace_of_quotient`] finds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Quotient {
    /// `tr(G V⁺)`.
    Trace(f64),
    /// The range of G is not in that of V.
    Outside {
        /// The share `tr(G (I − P))/tr G`, P the projector on the range of V.
        share: f64,
    },
}

/// `tr(G V⁺)` for positive semidefinite G and V (n×n): the workload's total variance under a
/// strategy with Gram V; or how much of G is outside the range of V, where that is not negligible.
/// O(n³) time.
///
/// # Errors
/// Shapes differ, or the eigensolver fails.
pub fn trace_of_quotient(g: ArrayView2<'_, f64>, v: ArrayView2<'_, f64>) -> Result<Quotient> {
    const NEGLIGIBLE: f64 = 1e-9;
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
    Ok(if share > NEGLIGIBLE { Quotient::Outside { share } } else { Quotient::Trace(trace) })
}

/// `(AᵀA)⁺Aᵀ` of queries A with their Gram: the least-squares inverse. O(queries · n² + n³).
///
/// # Errors
/// Shapes differ, or the eigensolver fails.
pub fn least_squares_inverse(
    queries: ArrayView2<'_, f64>,
    gram: ArrayView2<'_, f64>,
) -> Result<Array2<f64>> {
    if full_rank_cholesky(gram)?.is_some() {
        return spd_solve(gram, queries.t());
    }
    product(Semidefinite::of(gram)?.pseudo_inverse().view(), queries.t())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::matmul;
    use approx::assert_abs_diff_eq;
    use ndarray::array;

    /// Rank 2 over 4 cells.
    fn queries() -> Array2<f64> {
        array![[1.0, 2.0, 0.0, 4.0], [0.0, 1.0, 1.0, -1.0], [1.0, 3.0, 1.0, 3.0]]
    }

    #[test]
    fn root_and_inverse_are_those_of_moore_and_penrose() {
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
    fn quotients_know_what_they_cannot_answer() {
        let queries = queries();
        let v = gram_of(queries.view());
        let inside = gram_of(array![[1.0, 1.0, -1.0, 5.0]].view());
        let expected =
            matmul(inside.view(), Semidefinite::of(v.view()).unwrap().pseudo_inverse().view())
                .diag()
                .sum();
        match trace_of_quotient(inside.view(), v.view()).unwrap() {
            Quotient::Trace(trace) => assert_abs_diff_eq!(trace, expected, epsilon = 1e-12),
            other => panic!("{other:?}"),
        }
        let outside = trace_of_quotient(Array2::eye(4).view(), v.view()).unwrap();
        // The identity has half of its trace outside a range of dimension 2 of 4.
        assert!(
            matches!(outside, Quotient::Outside { share } if (share - 0.5).abs() < 1e-12),
            "{outside:?}"
        );
    }

    #[test]
    fn least_squares_of_deficient_queries_gives_the_smallest_solution() {
        let queries = queries();
        let inverse =
            least_squares_inverse(queries.view(), gram_of(queries.view()).view()).unwrap();
        assert_abs_diff_eq!(queries.dot(&inverse).dot(&queries), queries, epsilon = 1e-12);
        assert_abs_diff_eq!(inverse.dot(&queries).dot(&inverse), inverse, epsilon = 1e-12);
        let regular = array![[2.0, 0.0], [1.0, 1.0], [0.0, 3.0]];
        let inverse =
            least_squares_inverse(regular.view(), gram_of(regular.view()).view()).unwrap();
        assert_abs_diff_eq!(inverse.dot(&regular), Array2::eye(2), epsilon = 1e-14);
    }
}
