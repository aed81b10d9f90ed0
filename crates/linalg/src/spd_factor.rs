//! Cholesky factors for several right-hand sides.

use faer::MatRef;
use faer::linalg::solvers::{Llt, Solve};
use ndarray::{Array1, ArrayView2};

use crate::dense::llt;
use crate::error::{Error, Result};

/// The Cholesky factor of a symmetric positive definite matrix.
#[derive(Debug, Clone)]
pub struct SpdFactor(Llt<f64>);

impl SpdFactor {
    /// Factors `a`.
    ///
    /// Reads the lower triangle. O(n³/3) time.
    ///
    /// # Errors
    /// `a` is not square, or is not positive definite.
    pub fn of(a: ArrayView2<'_, f64>) -> Result<Self> {
        Ok(SpdFactor(llt("Cholesky factor", a)?))
    }

    /// Returns the order of the matrix.
    pub fn order(&self) -> usize {
        self.0.L().nrows()
    }

    /// Returns `a⁻¹ b`.
    ///
    /// O(n²) time.
    ///
    /// # Errors
    /// `b` has the wrong length.
    pub fn solve(&self, b: &Array1<f64>) -> Result<Array1<f64>> {
        if b.len() != self.order() {
            let expected = format!("a right-hand side of {} numbers", self.order());
            return Err(Error::shape(
                "Cholesky solve",
                expected,
                b.len().to_string(),
                "pass one number per row",
            ));
        }
        let column: Vec<f64> = b.to_vec();
        let solved = self.0.solve(MatRef::from_column_major_slice(&column, b.len(), 1));
        Ok(solved.col(0).iter().copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{gram_of, lower_gram_of, spd_solve};
    use approx::assert_abs_diff_eq;
    use ndarray::{Array2, Axis};

    #[test]
    fn the_lower_triangle_solves_like_the_full_gram() {
        let a = Array2::from_shape_fn((40, 23), |(i, j)| (((1 + i) * (2 + j * j)) as f64).sin());
        let (whole, half) = (gram_of(a.view()), lower_gram_of(a.view()));
        for ((i, j), x) in half.indexed_iter() {
            assert_abs_diff_eq!(*x, if i >= j { whole[[i, j]] } else { 0.0 }, epsilon = 1e-12);
        }
        let b = Array1::from_shape_fn(23, |i| (i as f64).cos());
        let expected = spd_solve(whole.view(), b.view().insert_axis(Axis(1))).unwrap();
        let factor = SpdFactor::of(half.view()).unwrap();
        assert_abs_diff_eq!(
            factor.solve(&b).unwrap(),
            expected.column(0).to_owned(),
            epsilon = 1e-10
        );
        assert!(factor.solve(&Array1::zeros(3)).is_err());
        assert!(SpdFactor::of((-whole).view()).is_err());
        assert!(SpdFactor::of(a.view()).is_err());
    }
}
