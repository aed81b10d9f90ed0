//! Symmetric eigendecomposition, Cholesky factorisation, solves and products.

use faer::linalg::matmul::matmul as multiply;
use faer::linalg::solvers::{DenseSolveCore, Llt, SelfAdjointEigen, Solve, Svd};
use faer::{Accum, MatMut, MatRef, Par, Side};
use ndarray::{Array1, Array2, ArrayView2, ShapeBuilder};

use crate::error::{Error, Result};

/// The library that computes the dense kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    /// `faer`: pure Rust, one thread, bit-identical from run to run.
    #[default]
    Faer,
    /// LAPACK from the system's OpenBLAS (feature `lapack`).
    ///
    /// Set `OPENBLAS_NUM_THREADS=1`.
    #[cfg(feature = "lapack")]
    Lapack,
}

/// The eigendecomposition `A = U diag(values) Uᵀ` of a symmetric matrix.
#[derive(Debug, Clone)]
pub struct Eigh {
    /// Eigenvalues, ascending.
    pub values: Array1<f64>,
    /// Eigenvectors, one per column, in the order of `values`.
    pub vectors: Array2<f64>,
}

/// Runs `f` on a faer view of `a`; copies only when `a` is contiguous in neither order.
pub(crate) fn with_faer<T>(a: ArrayView2<'_, f64>, f: impl FnOnce(MatRef<'_, f64>) -> T) -> T {
    let (rows, cols) = a.dim();
    if let Some(slice) = a.as_slice() {
        return f(MatRef::from_row_major_slice(slice, rows, cols));
    }
    let transposed = a.t();
    if let Some(slice) = transposed.as_slice() {
        return f(MatRef::from_column_major_slice(slice, rows, cols));
    }
    let owned: Vec<f64> = a.iter().copied().collect();
    f(MatRef::from_row_major_slice(&owned, rows, cols))
}

/// Copies a faer matrix into an array (column-major, as faer stores it).
fn from_faer(m: MatRef<'_, f64>) -> Array2<f64> {
    Array2::from_shape_fn((m.nrows(), m.ncols()).f(), |(i, j)| m[(i, j)])
}

/// Returns the order of a square matrix.
pub(crate) fn check_square(what: &str, a: ArrayView2<'_, f64>) -> Result<usize> {
    let (rows, cols) = a.dim();
    if rows != cols || rows == 0 {
        let found = format!("{rows} x {cols}");
        return Err(Error::shape(
            what,
            "a non-empty square matrix",
            found,
            "pass a Gram matrix (cells x cells)",
        ));
    }
    Ok(rows)
}

/// Computes the eigendecomposition of the symmetric matrix `a`.
///
/// Reads the lower triangle. O(n³) time, O(n²) memory.
///
/// # Errors
/// `a` is not square, or has NaN or infinite entries.
pub fn eigh(a: ArrayView2<'_, f64>) -> Result<Eigh> {
    eigh_with(Backend::default(), a)
}

/// [`eigh`] on the given backend.
///
/// # Errors
/// As [`eigh`].
pub fn eigh_with(backend: Backend, a: ArrayView2<'_, f64>) -> Result<Eigh> {
    let order = check_square("eigendecomposition", a)?;
    let failed = || Error::DidNotConverge { what: "eigendecomposition".into(), order };
    match backend {
        Backend::Faer => {
            let eigen =
                with_faer(a, |m| SelfAdjointEigen::new(m, Side::Lower)).map_err(|_| failed())?;
            let values: Array1<f64> = eigen.S().column_vector().iter().copied().collect();
            if values.iter().any(|v| !v.is_finite()) {
                return Err(failed());
            }
            Ok(Eigh { values, vectors: from_faer(eigen.U()) })
        }
        #[cfg(feature = "lapack")]
        Backend::Lapack => {
            use ndarray_linalg::{Eigh as _, UPLO};
            let (values, vectors) = a.to_owned().eigh(UPLO::Lower).map_err(|_| failed())?;
            Ok(Eigh { values, vectors })
        }
    }
}

/// Returns the eigenvalues of the symmetric matrix `a`, ascending.
///
/// O(n³), about a third of the time of [`eigh`].
///
/// # Errors
/// As [`eigh`].
pub fn eigvalsh(a: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
    let order = check_square("eigenvalues", a)?;
    let failed = || Error::DidNotConverge { what: "eigenvalues".into(), order };
    let values = with_faer(a, |m| m.self_adjoint_eigenvalues(Side::Lower)).map_err(|_| failed())?;
    if values.iter().any(|v| !v.is_finite()) {
        return Err(failed());
    }
    Ok(Array1::from_vec(values))
}

/// The row space of a matrix `a = U diag(σ) B`: `aᵀa = Bᵀ diag(σ²) B`.
#[derive(Debug, Clone)]
pub struct RowSpace {
    /// σ, descending, accurate to about `ε · σ_max`.
    ///
    /// The eigenvalues of `aᵀa` would give small σ far less accurately.
    pub singular_values: Array1<f64>,
    /// B, orthonormal rows in the order of `singular_values`.
    pub basis: Array2<f64>,
    /// U, orthonormal columns in the order of `singular_values`.
    pub left: Array2<f64>,
}

/// Computes the row space of `a` (m×n) by singular value decomposition.
///
/// O(m n · min(m, n)) time, O(m n) memory.
///
/// # Errors
/// `a` has NaN or infinite entries.
pub fn row_space(a: ArrayView2<'_, f64>) -> Result<RowSpace> {
    let failed = || Error::DidNotConverge {
        what: "singular value decomposition".into(),
        order: a.nrows().min(a.ncols()),
    };
    if a.iter().any(|x| !x.is_finite()) {
        return Err(failed());
    }
    let svd = with_faer(a, Svd::new_thin).map_err(|_| failed())?;
    let singular_values = svd.S().column_vector().iter().copied().collect();
    let (left, basis) = (from_faer(svd.U()), from_faer(svd.V()).reversed_axes());
    Ok(RowSpace { singular_values, basis, left })
}

pub(crate) fn llt(what: &str, a: ArrayView2<'_, f64>) -> Result<Llt<f64>> {
    let order = check_square(what, a)?;
    with_faer(a, |m| Llt::new(m, Side::Lower))
        .map_err(|_| Error::NotPositiveDefinite { what: what.into(), order })
}

/// Returns the lower Cholesky factor `L` of `a = L Lᵀ`.
///
/// O(n³/3) time.
///
/// # Errors
/// `a` is not symmetric positive definite.
pub fn cholesky(a: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    cholesky_with(Backend::default(), a)
}

/// [`cholesky`] on the given backend.
///
/// # Errors
/// As [`cholesky`].
pub fn cholesky_with(backend: Backend, a: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    match backend {
        Backend::Faer => Ok(from_faer(llt("Cholesky factorisation", a)?.L())),
        #[cfg(feature = "lapack")]
        Backend::Lapack => {
            use ndarray_linalg::{Cholesky as _, UPLO};
            let order = check_square("Cholesky factorisation", a)?;
            a.to_owned().cholesky(UPLO::Lower).map_err(|_| Error::NotPositiveDefinite {
                what: "Cholesky factorisation".into(),
                order,
            })
        }
    }
}

/// Returns the lower Cholesky factor of `a`, or `None` if `a` is singular to working precision.
///
/// `a` is singular if a squared pivot is at most 1e-9 of its diagonal entry. O(n³/3) time.
///
/// # Errors
/// `a` is not square.
pub fn full_rank_cholesky(a: ArrayView2<'_, f64>) -> Result<Option<Array2<f64>>> {
    const MIN_PIVOT: f64 = 1e-9;
    match cholesky(a) {
        Ok(factor) => {
            let regular = factor
                .diag()
                .iter()
                .zip(a.diag())
                .all(|(&l, &d)| l.is_finite() && l * l > MIN_PIVOT * d);
            Ok(regular.then_some(factor))
        }
        Err(Error::NotPositiveDefinite { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns `a⁻¹` for a symmetric positive definite `a`.
///
/// O(n³) time.
///
/// # Errors
/// `a` is not symmetric positive definite.
pub fn spd_inverse(a: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    spd_inverse_with(Backend::default(), a)
}

/// [`spd_inverse`] on the given backend.
///
/// # Errors
/// As [`spd_inverse`].
pub fn spd_inverse_with(backend: Backend, a: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    match backend {
        Backend::Faer => Ok(from_faer(llt("SPD inverse", a)?.inverse().as_ref())),
        #[cfg(feature = "lapack")]
        Backend::Lapack => {
            use ndarray_linalg::InverseC as _;
            let order = check_square("SPD inverse", a)?;
            a.to_owned()
                .invc()
                .map_err(|_| Error::NotPositiveDefinite { what: "SPD inverse".into(), order })
        }
    }
}

/// Returns `a⁻¹ b` for a symmetric positive definite `a` (n×n) and `b` (n×k).
///
/// O(n³/3 + n²k) time.
///
/// # Errors
/// `a` is not symmetric positive definite, or the shapes do not match.
pub fn spd_solve(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    if a.nrows() != b.nrows() {
        return Err(Error::shape(
            "SPD solve",
            format!("a right-hand side with {} rows", a.nrows()),
            format!("{} rows", b.nrows()),
            "pass matrices over the same cells",
        ));
    }
    let factor = llt("SPD solve", a)?;
    Ok(with_faer(b, |m| from_faer(factor.solve(m).as_ref())))
}

/// Returns the product `a b`.
///
/// 2·m·k·n flops.
///
/// # Errors
/// The inner sizes differ.
pub fn product(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
    if a.ncols() != b.nrows() {
        return Err(Error::shape(
            "matrix product",
            format!("a right factor with {} rows", a.ncols()),
            format!("{} rows", b.nrows()),
            "pass matrices over the same cells",
        ));
    }
    Ok(matmul(a, b))
}

/// Returns the product `a b`, like [`ndarray`]'s `dot`.
///
/// The caller guarantees that the shapes match.
///
/// # Panics
/// The inner sizes differ.
pub fn matmul(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>) -> Array2<f64> {
    let ((m, k), (inner, n)) = (a.dim(), b.dim());
    assert_eq!(k, inner, "matrix product of {m} x {k} and {inner} x {n}");
    let mut out = Array2::zeros((m, n));
    // A new array is contiguous and row-major.
    if let Some(cells) = out.as_slice_mut() {
        with_faer(a, |fa| {
            with_faer(b, |fb| {
                multiply(
                    MatMut::from_row_major_slice_mut(cells, m, n),
                    Accum::Replace,
                    fa,
                    fb,
                    1.0,
                    Par::Seq,
                );
            });
        });
    }
    out
}

/// Adds `aᵀ a` to the accumulator, for `a` (m×n) and an accumulator (n×n).
///
/// 2·m·n² flops.
///
/// # Panics
/// The accumulator has a different shape.
pub fn add_gram(accumulator: &mut Array2<f64>, a: ArrayView2<'_, f64>) {
    let n = a.ncols();
    assert_eq!(accumulator.dim(), (n, n), "sum of Gram matrices of order {n}");
    let add = |out: &mut [f64]| {
        with_faer(a, |m| {
            multiply(
                MatMut::from_row_major_slice_mut(out, n, n),
                Accum::Add,
                m.transpose(),
                m,
                1.0,
                Par::Seq,
            );
        });
    };
    match accumulator.as_slice_mut() {
        Some(cells) => add(cells),
        // The accumulator need not be symmetric, so other layouts cannot be updated in place.
        None => {
            let mut cells: Vec<f64> = accumulator.iter().copied().collect();
            add(&mut cells);
            accumulator.iter_mut().zip(cells).for_each(|(to, from)| *to = from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;
    use ndarray::array;

    fn positive_definite(n: usize) -> Array2<f64> {
        Array2::from_shape_fn((n, n), |(i, j)| {
            1.0 / (1.0 + i.abs_diff(j) as f64) + if i == j { 1.0 } else { 0.0 }
        })
    }

    #[test]
    fn eigendecomposition_rebuilds_the_matrix() {
        let a = positive_definite(17);
        let e = eigh(a.view()).unwrap();
        let scaled = &e.vectors * &e.values;
        let back = product(scaled.view(), e.vectors.t()).unwrap();
        assert_abs_diff_eq!(back, a, epsilon = 1e-13);
        assert_abs_diff_eq!(eigvalsh(a.view()).unwrap(), e.values, epsilon = 1e-13);
    }

    #[test]
    fn cholesky_inverse_and_solve_agree() {
        let a = positive_definite(9);
        let l = cholesky(a.view()).unwrap();
        assert_abs_diff_eq!(product(l.view(), l.t()).unwrap(), a, epsilon = 1e-13);
        let inverse = spd_inverse(a.view()).unwrap();
        assert_abs_diff_eq!(
            product(a.view(), inverse.view()).unwrap(),
            Array2::eye(9),
            epsilon = 1e-12
        );
        assert_abs_diff_eq!(
            spd_solve(a.view(), Array2::eye(9).view()).unwrap(),
            inverse,
            epsilon = 1e-12
        );
    }

    #[test]
    fn an_indefinite_matrix_is_refused() {
        let a = array![[1.0, 2.0], [2.0, 1.0]];
        assert!(matches!(cholesky(a.view()), Err(Error::NotPositiveDefinite { order: 2, .. })));
        assert!(eigh(array![[f64::NAN, 0.0], [0.0, 1.0]].view()).is_err());
    }

    #[test]
    fn a_row_space_has_the_rank_and_the_gram() {
        // Rank 2: the third row is the sum of the others.
        let a = array![[1.0, 2.0, 0.0, 4.0], [0.0, 1.0, 1.0, -1.0], [1.0, 3.0, 1.0, 3.0]];
        let RowSpace { singular_values, basis, left } = row_space(a.view()).unwrap();
        let scaled = &left * &singular_values;
        approx::assert_abs_diff_eq!(matmul(scaled.view(), basis.view()), a, epsilon = 1e-12);
        assert!(singular_values[1] > 1.0 && singular_values[2] < 1e-15 * singular_values[0]);
        assert_abs_diff_eq!(
            product(basis.view(), basis.t()).unwrap(),
            Array2::eye(3),
            epsilon = 1e-14
        );
        let root = &basis * &singular_values.insert_axis(ndarray::Axis(1));
        assert_abs_diff_eq!(root.t().dot(&root), a.t().dot(&a), epsilon = 1e-13);
        assert!(row_space(array![[1.0, f64::NAN]].view()).is_err());
    }

    #[test]
    fn gram_update_adds() {
        let a = array![[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]];
        let mut g = Array2::eye(2);
        add_gram(&mut g, a.view());
        assert_abs_diff_eq!(g, array![[11.0, 5.0], [5.0, 7.0]], epsilon = 1e-14);
        let mut columns_first = array![[1.0, 2.0], [3.0, 4.0]].reversed_axes();
        add_gram(&mut columns_first, a.view());
        assert_abs_diff_eq!(columns_first, array![[11.0, 8.0], [7.0, 10.0]], epsilon = 1e-14);
        assert!(product(a.view(), a.view()).unwrap_err().to_string().contains("2 rows"));
    }
}
