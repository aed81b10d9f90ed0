//! Workloads over cells, and strategy matrices from arrays.

use std::sync::Arc;

use matmech::linalg::{self, Semidefinite};
use matmech::strategy::{Problem, Strategy, StrategyFactor};
use matmech::{Error, Workload};
use ndarray::Array2;
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::errors;

/// Relative deviation of a Gram matrix from its symmetric positive semidefinite part.
const ROUNDING: f64 = 1e-9;

/// A workload of linear queries.
#[pyclass(name = "Workload", module = "matmech", frozen)]
#[derive(Debug)]
pub(crate) struct PyWorkload {
    pub(crate) workload: Arc<Workload>,
    /// Whether only the Gram matrix is known: single queries have no errors.
    is_gram: bool,
}

#[pymethods]
impl PyWorkload {
    /// Returns the workload of a text such as `range:1024`.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<Self> {
        Self::of(py, Workload::parse(text), false)
    }

    /// Returns the workload of a matrix, one row per query and one column per cell.
    #[staticmethod]
    fn of_queries(
        py: Python<'_>,
        rows: PyReadonlyArray2<'_, f64>,
        shape: Vec<usize>,
    ) -> PyResult<Self> {
        Self::of(py, Workload::explicit(&shape, rows.as_array().to_owned()), false)
    }

    /// Returns the workload of a Gram matrix, cells × cells.
    #[staticmethod]
    fn of_gram(
        py: Python<'_>,
        gram: PyReadonlyArray2<'_, f64>,
        shape: Vec<usize>,
    ) -> PyResult<Self> {
        let gram = gram.as_array().to_owned();
        Self::of(py, root(&gram).and_then(|root| Workload::explicit(&shape, root)), true)
    }

    /// The name: the text, or `matrix:SHAPE`.
    #[getter]
    fn name(&self) -> &str {
        self.workload.name()
    }

    /// The sizes of the attributes.
    #[getter]
    fn shape(&self) -> Vec<usize> {
        self.workload.shape().to_vec()
    }

    fn __repr__(&self) -> String {
        format!("matmech.Workload('{}')", self.workload.name())
    }
}

impl PyWorkload {
    fn of(py: Python<'_>, workload: matmech::Result<Workload>, is_gram: bool) -> PyResult<Self> {
        let workload = workload.map_err(|error| errors::exception(py, &error))?;
        Ok(PyWorkload { workload: Arc::new(workload), is_gram })
    }

    /// Refuses errors of single queries, if only the Gram matrix is known.
    pub(crate) fn check(&self, problem: &Problem<'_>) -> matmech::Result<()> {
        if !self.is_gram || problem.objective == matmech::strategy::Objective::Mean {
            return Ok(());
        }
        Err(Error::bad_input(
            "workload of a Gram matrix",
            "objective mean, the only one that the Gram matrix determines",
            format!("`{}`", problem.objective),
            "give the matrix of the queries",
        ))
    }
}

/// Returns R with `RᵀR = G`.
fn root(gram: &Array2<f64>) -> matmech::Result<Array2<f64>> {
    let refuse = |found: String| {
        Error::bad_input(
            "Gram matrix",
            "a symmetric positive semidefinite matrix of finite numbers, cells x cells",
            found,
            "give W.T @ W for the matrix W of the queries",
        )
    };
    let (rows, columns) = gram.dim();
    let largest = gram.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    if rows != columns || gram.iter().any(|x| !x.is_finite()) {
        return Err(refuse(format!("one of {rows} x {columns}, or with other numbers")));
    }
    let root = match linalg::full_rank_cholesky(gram.view())? {
        Some(factor) => factor.t().as_standard_layout().into_owned(),
        None => Semidefinite::of(gram.view())?.root(),
    };
    let difference = linalg::gram_of(root.view()) - gram;
    let deviation = difference.iter().fold(0.0f64, |worst, x| worst.max(x.abs()));
    if deviation > ROUNDING * largest {
        return Err(refuse(format!("one that is {deviation:.1e} away from the nearest such")));
    }
    Ok(root)
}

/// Returns the strategy whose Kronecker factors are matrices, in the order of the attributes.
pub(crate) fn strategy_of(
    factors: Vec<Array2<f64>>,
    workload: &Workload,
) -> matmech::Result<Strategy> {
    let named = factors.into_iter().map(|matrix| ("array".to_owned(), matrix)).collect();
    matmech::strategy::kronecker_of(named, workload.shape())
}

/// Returns the matrix of a factor, queries × cells.
pub(crate) fn rows_of(factor: &StrategyFactor) -> matmech::Result<Array2<f64>> {
    Ok(factor.queries()?.as_ref().clone())
}
