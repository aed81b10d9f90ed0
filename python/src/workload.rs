//! Workloads over cells, and strategy matrices from arrays.

use std::sync::Arc;

use matmech::linalg::{self, Semidefinite};
use matmech::strategy::{Problem, Strategy, StrategyFactor};
use matmech::workload::{SparseRows, Training};
use matmech::{Error, Workload, named_file};
use ndarray::Array2;
use numpy::{IntoPyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::errors;

/// Relative deviation of a Gram matrix from its symmetric positive semidefinite part.
const ROUNDING: f64 = 1e-9;

/// A workload of linear queries.
#[pyclass(name = "Workload", module = "matmech", frozen)]
#[derive(Debug)]
pub(crate) struct PyWorkload {
    pub(crate) workload: Arc<Workload>,
    origin: Origin,
}

/// What a workload was created from.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Origin {
    Text,
    Queries,
    /// Only the Gram matrix is known: single queries have no errors.
    Gram,
}

#[pymethods]
impl PyWorkload {
    /// Returns the workload of a text such as `range:1024`.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<Self> {
        Self::of(py, Workload::parse(text), Origin::Text)
    }

    /// Returns the workload of a matrix, one row per query and one column per cell.
    #[staticmethod]
    fn of_queries(
        py: Python<'_>,
        rows: PyReadonlyArray2<'_, f64>,
        shape: Vec<usize>,
    ) -> PyResult<Self> {
        Self::of(py, Workload::explicit(&shape, rows.as_array().to_owned()), Origin::Queries)
    }

    /// Returns the workload of a sparse matrix: row q has `weights[k]` at `cells[k]` for k from
    /// `starts[q]` to `starts[q + 1]`.
    #[staticmethod]
    fn of_sparse(
        py: Python<'_>,
        starts: PyReadonlyArray1<'_, u64>,
        cells: PyReadonlyArray1<'_, u64>,
        weights: PyReadonlyArray1<'_, f64>,
        shape: Vec<usize>,
    ) -> PyResult<Self> {
        let indices = |array: PyReadonlyArray1<'_, u64>| {
            array.as_array().iter().map(|&index| index as usize).collect::<Vec<_>>()
        };
        let columns = shape.iter().product();
        let weights = weights.as_array().to_vec();
        let rows = SparseRows::new(indices(starts), indices(cells), weights, columns);
        let workload = rows.and_then(|rows| Workload::sparse(&shape, rows));
        Self::of(py, workload, Origin::Queries)
    }

    /// Returns the workload of a Gram matrix, cells × cells.
    #[staticmethod]
    fn of_gram(
        py: Python<'_>,
        gram: PyReadonlyArray2<'_, f64>,
        shape: Vec<usize>,
    ) -> PyResult<Self> {
        let gram = gram.as_array().to_owned();
        let root = root(&gram);
        Self::of(py, root.and_then(|root| Workload::explicit(&shape, root)), Origin::Gram)
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

    /// Pickles the text, or the queries if there is no text or it names a file.
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, this) = (slf.py(), slf.get());
        let restored = py.import("matmech._matmech")?.getattr("restored_workload")?;
        let workload = &this.workload;
        let name = workload.name();
        let arguments = if this.origin == Origin::Text && named_file::names_in(name).is_empty() {
            ("text", name).into_pyobject(py)?
        } else if let Some(training) = workload.training_run() {
            let (rates, momentum, decay) = training.parameters();
            ("training", name, (rates.to_vec(), momentum, decay)).into_pyobject(py)?
        } else if let Some(rows) = workload.sparse_rows() {
            let (starts, cells, weights) = rows.parts();
            let shape = workload.shape().to_vec();
            let parts = (starts.to_vec(), cells.to_vec(), weights.to_vec(), shape);
            ("sparse", name, parts).into_pyobject(py)?
        } else {
            let rows = workload.rows().map_err(|error| errors::exception(py, &error))?;
            let values: Vec<f64> = rows.flatten().collect();
            let kind = if this.origin == Origin::Gram { "gram" } else { "queries" };
            let parts = (values.into_pyarray(py), workload.shape().to_vec());
            (kind, name, parts).into_pyobject(py)?
        };
        Ok((restored, arguments))
    }

    fn __repr__(&self) -> String {
        format!("matmech.Workload('{}')", self.workload.name())
    }
}

impl PyWorkload {
    fn of(py: Python<'_>, workload: matmech::Result<Workload>, origin: Origin) -> PyResult<Self> {
        let workload = workload.map_err(|error| errors::exception(py, &error))?;
        Ok(PyWorkload { workload: Arc::new(workload), origin })
    }

    /// Refuses errors of single queries, if only the Gram matrix is known.
    pub(crate) fn check(&self, problem: &Problem<'_>) -> matmech::Result<()> {
        if self.origin != Origin::Gram || problem.objective == matmech::strategy::Objective::Mean {
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

/// Returns a pickled workload.
#[pyfunction]
#[pyo3(signature = (kind, name, parts=None))]
pub(crate) fn restored_workload(
    py: Python<'_>,
    kind: &str,
    name: &str,
    parts: Option<Bound<'_, PyAny>>,
) -> PyResult<PyWorkload> {
    let Some(parts) = parts else { return PyWorkload::parse(py, name) };
    let (workload, origin) = match kind {
        "training" => {
            let (rates, momentum, decay) = parts.extract()?;
            (Training::new(rates, momentum, decay).map(Workload::training), Origin::Text)
        }
        "sparse" => {
            let (starts, cells, weights, shape): (_, _, _, Vec<usize>) = parts.extract()?;
            let rows = SparseRows::new(starts, cells, weights, shape.iter().product());
            (rows.and_then(|rows| Workload::sparse(&shape, rows)), Origin::Queries)
        }
        _ => {
            let (values, shape): (PyReadonlyArray1<'_, f64>, Vec<usize>) = parts.extract()?;
            let cells = shape.iter().product::<usize>().max(1);
            let values = values.as_array().to_vec();
            let rows = Array2::from_shape_vec((values.len() / cells, cells), values)
                .map_err(|e| Error::bug("pickled workload", "rows of equal length", e));
            let origin = if kind == "gram" { Origin::Gram } else { Origin::Queries };
            (rows.and_then(|rows| Workload::explicit(&shape, rows)), origin)
        }
    };
    PyWorkload::of(py, workload.map(|workload| workload.named(name)), origin)
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
