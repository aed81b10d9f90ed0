//! Kronecker products, as explicit matrices and applied factor by factor.

use ndarray::{Array2, ArrayView2};

use crate::dense::matmul;
use crate::error::{Error, Result};

/// Returns the Kronecker product `a ⊗ b`.
///
/// Entry `((i,k),(j,l))` is `a[i,j]·b[k,l]`, row-major in the pairs.
pub fn kron(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>) -> Array2<f64> {
    let ((ar, ac), (br, bc)) = (a.dim(), b.dim());
    let mut out = Vec::with_capacity(ar * br * ac * bc);
    for outer in a.rows() {
        for inner in b.rows() {
            for &x in outer {
                out.extend(inner.iter().map(|&y| x * y));
            }
        }
    }
    // The vector holds exactly rows × columns values, in row-major order.
    Array2::from_shape_vec((ar * br, ac * bc), out).unwrap_or_default()
}

/// Returns the Kronecker product of several matrices, in order.
///
/// The product of no matrices is the 1×1 identity.
pub fn kron_all<'a>(factors: impl IntoIterator<Item = ArrayView2<'a, f64>>) -> Array2<f64> {
    factors.into_iter().fold(Array2::eye(1), |product, factor| kron(product.view(), factor))
}

const REMEDY: &str = "pass one value per cell of the domain";

/// Returns `(F₁ ⊗ … ⊗ F_d) x` without forming the Kronecker product.
///
/// O(Σ_k rows_k · cells) time, and the memory of input and result of the largest step.
///
/// # Errors
/// The length of `x` is not the product of the factors' column counts.
pub fn kron_apply(factors: &[ArrayView2<'_, f64>], x: Vec<f64>) -> Result<Vec<f64>> {
    let cells: usize = factors.iter().map(|f| f.ncols()).product();
    if x.len() != cells {
        return Err(Error::shape(
            "Kronecker product times vector",
            format!("a vector of {cells} cells"),
            format!("{} cells", x.len()),
            REMEDY,
        ));
    }
    let mut current = x;
    // Apply the last factor first and rotate its axis to the front. After d rounds the axes are in
    // order again.
    for factor in factors.iter().rev() {
        let (rows, cols) = factor.dim();
        let rest = current.len() / cols.max(1);
        let reshaped = ArrayView2::from_shape((rest, cols), &current).map_err(|e| {
            Error::shape("Kronecker product times vector", "matching sizes", e.to_string(), REMEDY)
        })?;
        let rotated = matmul(factor.view(), reshaped.t());
        debug_assert_eq!(rotated.dim(), (rows, rest));
        current = rotated.into_raw_vec_and_offset().0;
    }
    Ok(current)
}

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_abs_diff_eq;
    use ndarray::{Array1, array};

    #[test]
    fn kron_apply_equals_the_explicit_product() {
        let a = array![[1.0, 2.0], [3.0, -1.0], [0.5, 0.0]];
        let b = array![[2.0, 0.0, 1.0], [1.0, 1.0, 1.0]];
        let c = array![[1.0, -1.0]];
        let x: Vec<f64> = (0..12).map(|i| (i as f64).sin()).collect();
        let explicit = kron(kron(a.view(), b.view()).view(), c.view());
        assert_eq!(explicit, kron_all([a.view(), b.view(), c.view()]));
        let expected = explicit.dot(&Array1::from_vec(x.clone()));
        let got = kron_apply(&[a.view(), b.view(), c.view()], x.clone()).unwrap();
        assert_abs_diff_eq!(Array1::from_vec(got), expected, epsilon = 1e-13);
        assert!(kron_apply(&[a.view()], x).is_err());
    }
}
