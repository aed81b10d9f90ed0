//! The singular value bound.

use crate::error::Result;
use crate::workload::Gram;
use matmech_linalg as linalg;

/// Returns the SVD bound `svdb(G) = (Σ_i √λ_i(G))² / n`.
///
/// It is a lower bound on the error of any strategy at unit privacy cost (S1, Thm 3.3 and Cor.
/// 3.1), and the product of the bounds of Kronecker factors. O(n³) for the largest factor.
///
/// # Errors
/// The eigensolver fails.
pub fn svd_bound(gram: &Gram) -> Result<f64> {
    let mut bound = 1.0;
    let mut known: Vec<(&ndarray::Array2<f64>, f64)> = Vec::new();
    for factor in gram.factors() {
        let matrix = factor.matrix.as_ref();
        let factor_bound = match known.iter().find(|(m, _)| *m == matrix) {
            Some(&(_, factor_bound)) => factor_bound,
            None => {
                let values = linalg::eigvalsh(matrix.view())?;
                let kept = linalg::nonzero_eigenvalues(&values);
                kept.iter().map(|&k| values[k].sqrt()).sum::<f64>().powi(2) / matrix.nrows() as f64
            }
        };
        known.push((matrix, factor_bound));
        bound *= factor_bound;
    }
    Ok(bound)
}
