//! The weights that prove the lower bound of an optimum, by the method that found it.

use std::path::Path;

use ndarray::{Array2, ArrayView1, ArrayView2};

use super::{DualVector, ProblemDual};
use crate::error::{Error, Result};
use crate::{Problem, matrix_file};

/// The weights that prove a lower bound.
#[derive(Debug, Clone)]
pub enum OptimumDual {
    /// Weights of the cells, for the total error and one participation.
    Cells(DualVector),
    /// Weights of the queries and of the steps, for any problem.
    Problem(ProblemDual),
    /// Weights of the queries and of the single steps, for problems of linear time.
    Steps {
        /// The weights of the queries, with sum 1.
        queries: Vec<f64>,
        /// The weights of the steps, with sum 1.
        steps: Vec<f64>,
    },
}

impl OptimumDual {
    /// Returns the lower bound that the weights prove on the error of any strategy.
    ///
    /// # Errors
    /// As [`DualVector::lower_bound`] and [`ProblemDual::lower_bound`]; weights of cells for another
    /// problem than the total error and one participation.
    pub fn lower_bound(&self, problem: &Problem<'_>) -> Result<f64> {
        match self {
            OptimumDual::Cells(dual) if problem.is_default() => {
                dual.lower_bound(&problem.workload.gram()?)
            }
            OptimumDual::Cells(_) => Err(Error::bad_input(
                "dual weights of cells",
                "the objective mean and single participation",
                format!("`{}` and `{}`", problem.objective, problem.participation),
                "use the weights of this problem",
            )),
            OptimumDual::Problem(dual) => dual.lower_bound(problem),
            OptimumDual::Steps { queries, steps } => {
                let step_weights = Array2::from_diag(&ArrayView1::from(steps));
                ProblemDual { query_weights: queries.clone(), step_weights }.lower_bound(problem)
            }
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
            OptimumDual::Cells(dual) => matrix_file::write_npy_vector(path, &dual.over_cells()?),
            OptimumDual::Problem(dual) => write(dual.step_weights.view(), &dual.query_weights),
            OptimumDual::Steps { queries, steps } => write(row(steps).view(), queries),
        }
    }
}
