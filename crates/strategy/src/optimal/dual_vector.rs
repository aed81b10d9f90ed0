//! The dual vector of a certificate: it proves a lower bound without the solver.

use std::sync::Arc;

use ndarray::{Array1, Array2};

use crate::error::{Error, Result};
use crate::workload::{Gram, GramFactor};
use matmech_linalg::{self as linalg, Semidefinite};

/// Maximum number of cells whose weights are written out: 128 MiB.
const MAX_CELLS: usize = 1 << 24;

/// Weights μ ≥ 0 on the cells with sum 1.
///
/// With `D = diag(μ)` the error of any strategy is at least `(tr (D^½ G D^½)^½)²`, for any μ. The
/// uniform weights give the SVD bound. For a Kronecker product μ is a Kronecker product, too, with
/// a vector per factor of the Gram matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct DualVector {
    factors: Vec<Arc<Vec<f64>>>,
}

impl DualVector {
    /// Creates the Kronecker product of weights, one vector of sum 1 per factor of a Gram matrix.
    pub(super) fn of_factors(factors: Vec<Arc<Vec<f64>>>) -> Self {
        DualVector { factors }
    }

    /// Returns the weights on the cells of each Kronecker factor.
    pub fn factors(&self) -> impl Iterator<Item = &[f64]> {
        self.factors.iter().map(|weights| weights.as_slice())
    }

    /// Returns the number of cells.
    pub fn cells(&self) -> usize {
        self.factors().map(<[f64]>::len).product()
    }

    /// Returns the weights of all cells, the last attribute varying fastest. O(cells).
    ///
    /// # Errors
    /// There are more than 2²⁴ cells.
    pub fn over_cells(&self) -> Result<Array1<f64>> {
        if self.cells() > MAX_CELLS {
            return Err(Error::too_large(
                "dual vector",
                "cells",
                MAX_CELLS as f64,
                self.cells() as f64,
                "leave it out, or certify the Kronecker factors of workload and strategy one by \
                 one: their bounds multiply",
            ));
        }
        let times = |left: Vec<f64>, right: &[f64]| {
            left.iter().flat_map(|x| right.iter().map(move |y| x * y)).collect()
        };
        Ok(Array1::from_vec(self.factors().fold(vec![1.0], times)))
    }

    /// Returns `(tr (D^½ G D^½)^½)²`, computed only from the Gram matrix.
    ///
    /// With `RᵀR = G` it is the squared sum of the singular values of `R D^½`. O(cells³) for the
    /// largest factor.
    ///
    /// # Errors
    /// The Gram matrix has other factors, or a decomposition fails.
    pub fn lower_bound(&self, gram: &Gram) -> Result<f64> {
        let cells: Vec<usize> = gram.factors().iter().map(|factor| factor.matrix.nrows()).collect();
        let sizes: Vec<usize> = self.factors().map(<[f64]>::len).collect();
        if cells != sizes {
            return Err(Error::bad_input(
                "dual vector",
                format!("weights on {cells:?} cells, those of the Gram's factors"),
                format!("weights on {sizes:?}"),
                "use the dual vector of this workload",
            ));
        }
        let mut known: Vec<(&GramFactor, &Arc<Vec<f64>>, f64)> = Vec::new();
        let mut root = 1.0;
        for (factor, weights) in gram.factors().iter().zip(&self.factors) {
            let same = |(f, w, _): &&(&GramFactor, &Arc<Vec<f64>>, f64)| {
                f.matrix == factor.matrix && *w == weights
            };
            let sum = match known.iter().find(same) {
                Some(&(_, _, sum)) => sum,
                None => nuclear_norm(&factor.matrix, weights)?,
            };
            known.push((factor, weights, sum));
            root *= sum;
        }
        Ok(root * root)
    }
}

/// Returns `tr (D^½ G D^½)^½`, the sum of the singular values of `R D^½`.
///
/// Small singular values are more accurate than roots of small eigenvalues.
fn nuclear_norm(gram: &Array2<f64>, weights: &[f64]) -> Result<f64> {
    let mut root = match linalg::full_rank_cholesky(gram.view())? {
        Some(factor) => factor.t().as_standard_layout().into_owned(),
        None => Semidefinite::of(gram.view())?.root(),
    };
    for (mut column, &weight) in root.columns_mut().into_iter().zip(weights) {
        column *= weight.sqrt();
    }
    Ok(linalg::row_space(root.view())?.singular_values.sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::gram;
    use crate::{Optimal, svd_bound};

    use approx::assert_relative_eq;

    #[test]
    fn dual_vectors_prove_the_lower_bound_of_their_certificate() {
        for text in [
            "range:40",
            "prefix:33",
            "range:5x7",
            "residual(affine:9x9)",
            "residual(abs:8x8)",
            "prefix:4x4x6",
        ] {
            let gram = gram(text);
            let (selection, dual) = Optimal::default().select_with_dual(&gram).unwrap();
            let certificate = selection.certificate.unwrap();
            assert_relative_eq!(
                dual.lower_bound(&gram).unwrap(),
                certificate.lower_bound,
                max_relative = 1e-9
            );
            // The product of the weights is a dual vector of the dense Gram matrix.
            let mu = dual.over_cells().unwrap();
            assert_relative_eq!(mu.sum(), 1.0, max_relative = 1e-12);
            assert!(mu.iter().all(|&weight| weight >= 0.0), "{text}");
            let dense =
                nuclear_norm(&gram.to_dense().unwrap(), mu.as_slice().unwrap()).unwrap().powi(2);
            assert_relative_eq!(dense, certificate.lower_bound, max_relative = 1e-8);
        }
    }

    #[test]
    fn uniform_weights_give_the_svd_bound() {
        for text in ["range:12", "prefix:3x5", "residual(prefix:9)"] {
            let gram = gram(text);
            let uniform = |factor: &GramFactor| {
                Arc::new(vec![1.0 / factor.matrix.nrows() as f64; factor.matrix.nrows()])
            };
            let dual = DualVector::of_factors(gram.factors().iter().map(uniform).collect());
            assert_relative_eq!(
                dual.lower_bound(&gram).unwrap(),
                svd_bound(&gram).unwrap(),
                max_relative = 1e-9
            );
        }
    }

    #[test]
    fn vectors_of_other_workloads_and_of_huge_domains_are_refused() {
        let (_, dual) = Optimal::default().select_with_dual(&gram("range:3x4")).unwrap();
        assert!(dual.lower_bound(&gram("range:12")).unwrap_err().to_string().contains("[3, 4]"));
        let (_, dual) = Optimal::default().select_with_dual(&gram("range:2^25")).unwrap();
        assert!(dual.over_cells().unwrap_err().to_string().contains("one by one"));
    }
}
