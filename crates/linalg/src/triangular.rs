//! Inverses and products of triangular matrices.

use faer::linalg::matmul::triangular::{BlockStructure, matmul as multiply};
use faer::{Accum, MatMut, Par};
use ndarray::{Array2, ArrayView2, Axis};

use crate::dense::{cholesky, matmul, with_faer};
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

/// The entries of a matrix that are read, or computed. The others count as zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entries {
    /// All entries.
    All,
    /// Those on and below the diagonal of a square matrix.
    Lower,
    /// Those on and above the diagonal of a square matrix.
    Upper,
}

impl Entries {
    fn structure(self) -> BlockStructure {
        match self {
            Entries::All => BlockStructure::Rectangular,
            Entries::Lower => BlockStructure::TriangularLower,
            Entries::Upper => BlockStructure::TriangularUpper,
        }
    }
}

/// Returns the wanted entries of the product `a b`, with zeros in the place of the others.
fn entries_of_product(
    wanted: Entries,
    (a, of_a): (ArrayView2<'_, f64>, Entries),
    (b, of_b): (ArrayView2<'_, f64>, Entries),
) -> Array2<f64> {
    let ((m, k), (inner, n)) = (a.dim(), b.dim());
    let square = |entries: Entries, rows: usize, columns: usize| {
        assert!(entries == Entries::All || rows == columns, "a triangle of {rows} x {columns}");
    };
    assert_eq!(k, inner, "matrix product of {m} x {k} and {inner} x {n}");
    square(of_a, m, k);
    square(of_b, inner, n);
    square(wanted, m, n);
    let mut out = Array2::zeros((m, n));
    // A new array is contiguous and row-major.
    if let Some(cells) = out.as_slice_mut() {
        with_faer(a, |fa| {
            with_faer(b, |fb| {
                multiply(
                    MatMut::from_row_major_slice_mut(cells, m, n),
                    wanted.structure(),
                    Accum::Replace,
                    fa,
                    of_a.structure(),
                    fb,
                    of_b.structure(),
                    1.0,
                    Par::Seq,
                );
            });
        });
    }
    out
}

/// Returns the lower triangle of the product `a b` of two matrices, of which only the stated entries
/// are read, with zeros above it.
///
/// Flops for n×n matrices: n³ for all entries of both; 2n³/3 for a lower triangle first and all entries,
/// or all entries and a lower triangle; at most n³/3 otherwise.
///
/// # Panics
/// The inner sizes differ, or a triangle or the product is not square.
pub fn lower_of_product(
    a: (ArrayView2<'_, f64>, Entries),
    b: (ArrayView2<'_, f64>, Entries),
) -> Array2<f64> {
    entries_of_product(Entries::Lower, a, b)
}

/// Returns the product `a lᵀ` with a lower triangular l, whose other entries are not read.
///
/// About half of the flops of [`matmul`].
///
/// # Panics
/// l is not square, or the inner sizes differ.
pub fn matmul_by_lower_transposed(a: ArrayView2<'_, f64>, l: ArrayView2<'_, f64>) -> Array2<f64> {
    entries_of_product(Entries::All, (a, Entries::All), (l.reversed_axes(), Entries::Upper))
}

/// Returns the lower triangle of `aᵀa` for `a` (m×n), with zeros above it.
///
/// [`SpdFactor::of`](crate::SpdFactor::of) reads nothing else. m·n² flops, half of
/// [`gram_of`](crate::gram_of).
pub fn lower_gram_of(a: ArrayView2<'_, f64>) -> Array2<f64> {
    lower_of_product((a.t(), Entries::All), (a, Entries::All))
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

    /// Returns a matrix, and the same with zeros in the place of the entries that are not read.
    fn with_entries(n: usize, entries: Entries, phase: f64) -> [Array2<f64>; 2] {
        let all = Array2::from_shape_fn((n, n), |(i, j)| ((i * n + j) as f64 + phase).sin());
        let read = Array2::from_shape_fn((n, n), |(i, j)| match entries {
            Entries::Lower if j > i => 0.0,
            Entries::Upper if j < i => 0.0,
            _ => all[[i, j]],
        });
        [all, read]
    }

    /// Oracle: the dense product. Entries that are not read do not matter, nor does the order of the
    /// rows in memory.
    #[test]
    fn lower_triangles_of_products_match_dense_products() {
        let kinds = [Entries::All, Entries::Lower, Entries::Upper];
        for n in [1, 5, 70, 131] {
            for (of_a, of_b) in kinds.into_iter().flat_map(|a| kinds.map(|b| (a, b))) {
                let [a, a_read] = with_entries(n, of_a, 0.3);
                let [b, b_read] = with_entries(n, of_b, 0.7);
                let mut expected = matmul(a_read.view(), b_read.view());
                expected.indexed_iter_mut().filter(|((i, j), _)| j > i).for_each(|(_, x)| *x = 0.0);
                let columns = b.t().as_standard_layout().into_owned();
                for b in [b.view(), columns.t()] {
                    let found = lower_of_product((a.view(), of_a), (b, of_b));
                    assert_abs_diff_eq!(found, expected, epsilon = 1e-11);
                }
            }
        }
    }

    #[test]
    fn products_with_triangles_match_dense_ones() {
        for (m, n) in [(3, 1), (5, 70), (64, 130)] {
            let a = Array2::from_shape_fn((m, n), |(i, j)| ((i * n + j) as f64).sin());
            let [full, lower] = with_entries(n, Entries::Lower, 0.5);
            let expected = matmul(a.view(), lower.t());
            let columns = full.t().as_standard_layout().into_owned();
            for l in [full.view(), columns.t()] {
                let found = matmul_by_lower_transposed(a.view(), l);
                assert_abs_diff_eq!(found, expected, epsilon = 1e-12);
            }
        }
    }
}
