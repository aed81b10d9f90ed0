//! Tests of dense.

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
    assert_abs_diff_eq!(product(basis.view(), basis.t()).unwrap(), Array2::eye(3), epsilon = 1e-14);
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
