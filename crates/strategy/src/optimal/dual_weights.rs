//! The weights that prove a lower bound without the solver.

use std::path::Path;
use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

use crate::error::{Error, Result};
use crate::query_errors::QueryErrors;
use crate::workload::{Gram, GramFactor};
use crate::{Objective, Problem, matrix_file};
use matmech_linalg::{self as linalg, Semidefinite};

/// Maximum number of cells whose weights are written out: 128 MiB.
const MAX_CELLS: usize = 1 << 24;

/// Relative deviation allowed in the conditions on the weights.
const ROUNDING: f64 = 1e-9;

/// Weights that prove a lower bound on the error of any strategy.
///
/// With W the workload, weights p of the queries and M of the steps (the cells), and ‖·‖_* the sum
/// of the singular values, `‖diag(p)^½ W M^½‖_*²` is at most the error of any strategy, if
///
/// - p ≥ 0 has sum 1 over the queries; for `balanced:η` at least η/m for every query; for `mean` it
///   is omitted, and the bound is for the total;
/// - M is diagonal with trace 1 (one participation), or `M = Σ_π q_π P_πᵀ Y_π P_π` with Y_π ⪰ 0 of
///   unit diagonal, q ≥ 0 and Σq = 1 over the patterns π (fixed epochs).
///
/// The bound is computed from the workload by one decomposition. A [`Proof`](crate::Proof) also
/// gives the strategy, and stores M by its triangular roots.
#[derive(Debug, Clone, PartialEq)]
pub enum DualWeights {
    /// The diagonal of M for the total error and one participation: a vector of sum 1 per factor of
    /// the Gram matrix, whose Kronecker product it is. The uniform weights give the SVD bound.
    Cells(Vec<Arc<Vec<f64>>>),
    /// Weights of the queries and of the single steps, for problems of linear time.
    Diagonal {
        /// p, in the order of the rows.
        queries: Vec<f64>,
        /// The diagonal of M.
        steps: Vec<f64>,
    },
    /// Weights of the queries and of the steps, for any problem.
    Dense {
        /// p, in the order of the rows; empty for the objective `mean`.
        queries: Vec<f64>,
        /// M, steps × steps.
        steps: Array2<f64>,
    },
}

impl DualWeights {
    /// Checks the conditions on the weights and returns the lower bound that they prove.
    ///
    /// O(cells³), for the largest Kronecker factor with weights of cells.
    ///
    /// # Errors
    /// A condition does not hold, the weights are those of another problem, or a decomposition
    /// fails.
    pub fn lower_bound(&self, problem: &Problem<'_>) -> Result<f64> {
        match self {
            DualWeights::Cells(factors) if problem.is_default() => {
                product_bound(factors, &problem.workload.gram()?)
            }
            DualWeights::Cells(_) => Err(Error::bad_input(
                "dual weights of cells",
                "the objective mean and single participation",
                format!("`{}` and `{}`", problem.objective, problem.participation),
                "use the weights of this problem",
            )),
            DualWeights::Diagonal { queries, steps } => {
                dense_bound(problem, queries, &Array2::from_diag(&ArrayView1::from(steps)))
            }
            DualWeights::Dense { queries, steps } => dense_bound(problem, queries, steps),
        }
    }

    /// Writes the weights: of the cells as `.npy`, of steps and queries as `.npz` with
    /// `step_weights` and, unless it is empty, `query_weights`.
    ///
    /// # Errors
    /// More than 2²⁴ cells, or the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let row = |weights: &[f64]| Array2::from_shape_fn((1, weights.len()), |(_, k)| weights[k]);
        let write = |steps: ArrayView2<'_, f64>, queries: &[f64]| {
            let queries = row(queries);
            let mut arrays = vec![("step_weights", steps.into_dyn())];
            if !queries.is_empty() {
                arrays.push(("query_weights", queries.view().into_dyn()));
            }
            matrix_file::write_npz(path, &arrays)
        };
        match self {
            DualWeights::Cells(factors) => {
                matrix_file::write_npy_vector(path, &weights_over_cells(factors)?)
            }
            DualWeights::Diagonal { queries, steps } => write(row(steps).view(), queries),
            DualWeights::Dense { queries, steps } => write(steps.view(), queries),
        }
    }
}

/// Returns the Kronecker product of weights, the last attribute varying fastest. O(cells).
///
/// # Errors
/// There are more than 2²⁴ cells.
pub fn weights_over_cells(factors: &[Arc<Vec<f64>>]) -> Result<Array1<f64>> {
    let cells: usize = factors.iter().map(|weights| weights.len()).product();
    if cells > MAX_CELLS {
        return Err(Error::too_large(
            "dual vector",
            "cells",
            MAX_CELLS as f64,
            cells as f64,
            "leave it out, or certify the Kronecker factors of workload and strategy one by one: \
             their bounds multiply",
        ));
    }
    let times = |left: Vec<f64>, right: &Arc<Vec<f64>>| {
        left.iter().flat_map(|x| right.iter().map(move |y| x * y)).collect()
    };
    Ok(Array1::from_vec(factors.iter().fold(vec![1.0], times)))
}

/// Returns `(tr (D^½ G D^½)^½)²` with `D = diag(μ)` for a Kronecker product μ of weights.
///
/// With `RᵀR = G` it is the squared sum of the singular values of `R D^½`. O(cells³) for the largest
/// factor.
///
/// # Errors
/// The Gram matrix has other factors, or a decomposition fails.
fn product_bound(weights: &[Arc<Vec<f64>>], gram: &Gram) -> Result<f64> {
    let cells: Vec<usize> = gram.factors().iter().map(|factor| factor.matrix.nrows()).collect();
    let sizes: Vec<usize> = weights.iter().map(|weights| weights.len()).collect();
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
    for (factor, weights) in gram.factors().iter().zip(weights) {
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

/// Returns `tr (D^½ G D^½)^½`, the sum of the singular values of `R D^½`.
///
/// Small singular values are more accurate than roots of small eigenvalues.
fn nuclear_norm(gram: &Array2<f64>, weights: &[f64]) -> Result<f64> {
    let mut root = root_of_gram(gram)?;
    for (mut column, &weight) in root.columns_mut().into_iter().zip(weights) {
        column *= weight.sqrt();
    }
    Ok(linalg::row_space(root.view())?.singular_values.sum())
}

/// Checks the conditions on p and M and returns `‖diag(p)^½ W M^½‖_*²`.
///
/// O(cells³), from `diag(p)^½ W`, or from a root of `Wᵀ diag(p) W` for many queries.
///
/// # Errors
/// A condition does not hold, or a decomposition fails.
fn dense_bound(problem: &Problem<'_>, queries: &[f64], m: &Array2<f64>) -> Result<f64> {
    problem.check()?;
    check_queries(problem, queries)?;
    check_steps(problem, m)?;
    let cells = problem.workload.cells();
    let factor = match problem.objective {
        Objective::Mean => root_of_gram(&problem.workload.gram()?.to_dense()?)?,
        Objective::Max | Objective::Balanced(_) => {
            let errors = QueryErrors::of(problem.workload)?.stored()?;
            let columns: Vec<usize> = (0..cells).collect();
            match errors.weighted_matrix(queries, &columns) {
                Some(rows) => rows,
                None => root_of_gram(&errors.weighted_gram(queries, cells)?)?,
            }
        }
    };
    let product = linalg::matmul(factor.view(), root_of_gram(m)?.t());
    Ok(linalg::row_space(product.view())?.singular_values.sum().powi(2))
}

/// Checks the conditions on the weights p of the queries.
fn check_queries(problem: &Problem<'_>, queries: &[f64]) -> Result<()> {
    let count = problem.workload.count().as_f64();
    let smallest = match problem.objective {
        Objective::Mean => return Ok(()),
        Objective::Max => 0.0,
        Objective::Balanced(share) => share / count * (1.0 - ROUNDING),
    };
    if queries.len() as f64 != count
        || queries.iter().any(|&p| p.is_nan() || p < smallest)
        || (queries.iter().sum::<f64>() - 1.0).abs() > ROUNDING
    {
        let expected = format!("{count} weights of at least {smallest} with sum 1");
        return Err(refused(problem, expected));
    }
    Ok(())
}

/// Checks the conditions on the weights M of the steps.
fn check_steps(problem: &Problem<'_>, m: &Array2<f64>) -> Result<()> {
    let cells = problem.workload.cells();
    if m.dim() != (cells, cells) {
        return Err(refused(problem, format!("step weights of order {cells}")));
    }
    let mut inside = 0.0;
    let mut total = 0.0;
    for pattern in &problem.patterns() {
        let block = Array2::from_shape_fn((pattern.len(), pattern.len()), |(i, j)| {
            m[[pattern[i], pattern[j]]]
        });
        let mass = block.diag().iter().copied().fold(0.0, f64::max);
        let lowest = linalg::eigvalsh(block.view())?.iter().copied().fold(0.0, f64::min);
        if lowest < -ROUNDING * mass || !mass.is_finite() {
            return Err(refused(problem, "positive semidefinite blocks of the patterns"));
        }
        inside += block.iter().map(|x| x.abs()).sum::<f64>();
        total += mass;
    }
    let all: f64 = m.iter().map(|x| x.abs()).sum();
    if total > 1.0 + ROUNDING || !all.is_finite() || all - inside > ROUNDING * all {
        return Err(refused(problem, "step weights of the patterns with sum at most 1"));
    }
    Ok(())
}

/// Returns the error of weights that do not fit a problem.
fn refused(problem: &Problem<'_>, expected: impl Into<String>) -> Error {
    Error::bad_input(
        format!("dual weights of `{}`", problem.workload.name()),
        expected,
        "other weights",
        "use the weights of this problem",
    )
}

/// Returns R with `RᵀR = A`.
pub(crate) fn root_of_gram(a: &Array2<f64>) -> Result<Array2<f64>> {
    Ok(match linalg::full_rank_cholesky(a.view())? {
        Some(factor) => factor.t().as_standard_layout().into_owned(),
        None => Semidefinite::of(a.view())?.root(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;
    use crate::{Optimal, StrategySelector, svd_bound};

    use approx::assert_relative_eq;

    fn workload(text: &str) -> Workload {
        Workload::parse(text).unwrap()
    }

    #[test]
    fn weights_of_cells_prove_the_lower_bound_of_their_certificate() {
        for text in [
            "range:40",
            "prefix:33",
            "range:5x7",
            "residual(affine:9x9)",
            "residual(abs:8x8)",
            "prefix:4x4x6",
        ] {
            let workload = workload(text);
            let problem = Problem::new(&workload);
            let (selection, dual) = Optimal::default().solve_dense(&problem).unwrap();
            let certificate = selection.certificate.unwrap();
            assert_relative_eq!(
                dual.lower_bound(&problem).unwrap(),
                certificate.lower_bound,
                max_relative = 1e-9
            );
            // The product of the weights proves the bound of the dense Gram matrix.
            let DualWeights::Cells(factors) = dual else { panic!("{dual:?}") };
            let mu = weights_over_cells(&factors).unwrap();
            assert_relative_eq!(mu.sum(), 1.0, max_relative = 1e-12);
            assert!(mu.iter().all(|&weight| weight >= 0.0), "{text}");
            let dense = workload.gram().unwrap().to_dense().unwrap();
            let dense = nuclear_norm(&dense, mu.as_slice().unwrap()).unwrap().powi(2);
            assert_relative_eq!(dense, certificate.lower_bound, max_relative = 1e-8);
        }
    }

    #[test]
    fn uniform_weights_give_the_svd_bound() {
        for text in ["range:12", "prefix:3x5", "residual(prefix:9)"] {
            let workload = workload(text);
            let gram = workload.gram().unwrap();
            let uniform = |factor: &GramFactor| {
                Arc::new(vec![1.0 / factor.matrix.nrows() as f64; factor.matrix.nrows()])
            };
            let dual = DualWeights::Cells(gram.factors().iter().map(uniform).collect());
            assert_relative_eq!(
                dual.lower_bound(&Problem::new(&workload)).unwrap(),
                svd_bound(&gram).unwrap(),
                max_relative = 1e-9
            );
        }
    }

    #[test]
    fn weights_of_other_workloads_and_of_huge_domains_are_refused() {
        let (small, other, huge) = (workload("range:3x4"), workload("range:12"), "range:2^25");
        let (_, dual) = Optimal::default().solve_dense(&Problem::new(&small)).unwrap();
        let error = dual.lower_bound(&Problem::new(&other)).unwrap_err();
        assert!(error.to_string().contains("[3, 4]"));
        let selection = Optimal::default().select(&workload(huge).gram().unwrap()).unwrap();
        let error = weights_over_cells(&selection.proof.unwrap().dual.cells).unwrap_err();
        assert!(error.to_string().contains("one by one"));
    }
}
