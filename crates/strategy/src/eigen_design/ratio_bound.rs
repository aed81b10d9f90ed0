//! The bound on the error over the SVD bound.

use crate::error::Result;
use crate::svd_bound;
use crate::workload::Gram;
use matmech_linalg as linalg;

/// Returns the bound of S2, Thm 3, on Eigen-Design's error over the SVD bound, `√(n λ₁/svdb)`.
///
/// The paper's exponent ¼ is for root mean square errors. O(n³) for the largest factor.
///
/// # Errors
/// The eigensolver fails.
pub fn ratio_bound(gram: &Gram) -> Result<f64> {
    let mut largest = 1.0;
    for factor in gram.factors() {
        largest *= linalg::eigvalsh(factor.matrix.view())?.iter().copied().fold(0.0, f64::max);
    }
    Ok((gram.cells() as f64 * largest / svd_bound(gram)?).sqrt())
}
