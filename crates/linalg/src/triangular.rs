//! Inverses of triangular matrices.

use ndarray::{Array2, ArrayView2, Axis};

use crate::dense::{cholesky, matmul};
use crate::error::Result;

/// Largest order that is inverted row by row, and not by halves.
const MAX_ROWS: usize = 64;

/// Returns the inverse of a lower triangular matrix, by halves:
///
/// ```text
/// (A 0)⁻¹   (    A⁻¹       0 )
/// (B C)   = ( −C⁻¹ B A⁻¹  C⁻¹)
/// ```
///
/// O(n³), mostly in matrix products. Entries above the diagonal are not read.
pub fn inverse_of_lower(matrix: ArrayView2<'_, f64>) -> Array2<f64> {
    let n = matrix.nrows();
    if n <= MAX_ROWS {
        return inverse_by_rows(matrix);
    }
    let (top, bottom) = matrix.split_at(Axis(0), n / 2);
    let (first, _) = top.split_at(Axis(1), n / 2);
    let (corner, second) = bottom.split_at(Axis(1), n / 2);
    let (first, second) = (inverse_of_lower(first), inverse_of_lower(second));
    let corner = matmul(corner, first.view());
    let corner = matmul(second.view(), corner.view());
    let mut inverse = Array2::zeros((n, n));
    let (top, bottom) = inverse.view_mut().split_at(Axis(0), n / 2);
    let (mut left, _) = top.split_at(Axis(1), n / 2);
    left.assign(&first);
    let (mut left, mut right) = bottom.split_at(Axis(1), n / 2);
    left.assign(&corner.mapv(|x| -x));
    right.assign(&second);
    inverse
}

/// Returns the inverse of a lower triangular matrix, by forward substitution.
fn inverse_by_rows(matrix: ArrayView2<'_, f64>) -> Array2<f64> {
    let n = matrix.nrows();
    let mut inverse: Array2<f64> = Array2::zeros((n, n));
    for i in 0..n {
        let mut row = vec![0.0; i + 1];
        row[i] = 1.0;
        for j in 0..i {
            let entry = matrix[[i, j]];
            let known = inverse.row(j);
            row.iter_mut().zip(known.iter().take(j + 1)).for_each(|(x, y)| *x -= entry * y);
        }
        let pivot = matrix[[i, i]];
        inverse.row_mut(i).iter_mut().zip(row).for_each(|(x, y)| *x = y / pivot);
    }
    inverse
}

/// Returns the lower triangular C with CᵀC = `gram` and a positive diagonal. O(n³/3).
///
/// It is the transposed Cholesky factor of the matrix in reversed order.
///
/// # Errors
/// The matrix is not symmetric positive definite.
pub fn lower_factor(gram: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    let last = gram.nrows().saturating_sub(1);
    let reversed = Array2::from_shape_fn(gram.dim(), |(i, j)| gram[[last - i, last - j]]);
    let factor = cholesky(reversed.view())?;
    Ok(Array2::from_shape_fn(factor.dim(), |(i, j)| factor[[last - j, last - i]]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;
    use ndarray::array;

    #[test]
    fn lower_factors_have_the_gram_matrix() {
        let factor = array![[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-1.0, 0.5, 1.5]];
        let found = lower_factor(factor.t().dot(&factor).view()).unwrap();
        assert!(found.iter().zip(&factor).all(|(a, b)| (a - b).abs() < 1e-14), "{found}");
    }

    /// Oracle: the product with the matrix, for orders of both methods.
    #[test]
    fn the_product_with_the_inverse_is_the_identity() {
        for n in [1, 7, MAX_ROWS, 2 * MAX_ROWS + 3] {
            let matrix = Array2::from_shape_fn((n, n), |(i, j)| match i.cmp(&j) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => 1.0 + (i as f64).sin().abs(),
                std::cmp::Ordering::Greater => ((3 * i + 7 * j) as f64).sin() / (i - j) as f64,
            });
            let product = matmul(matrix.view(), inverse_of_lower(matrix.view()).view());
            for ((i, j), x) in product.indexed_iter() {
                assert_abs_diff_eq!(*x, f64::from(u8::from(i == j)), epsilon = 1e-10);
            }
        }
    }
}
