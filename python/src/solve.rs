//! `solve`, `certify` and the registries.

use std::sync::Arc;

use matmech::strategy::{
    DualWeights, Objective, Optimal, OptimalOptions, Participation, Problem, Request,
    StrategyFactor, weights_over_cells,
};
use matmech::{Error, Result};
use matmech_app::certify::certify as certify_strategy;
use matmech_app::solve::solve as solve_request;
use ndarray::Array2;
use numpy::{IntoPyArray, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::errors;
use crate::work::{self, Outcome};
use crate::workload::{PyWorkload, rows_of, strategy_of};

/// Flags as the command line has them: name and value.
pub(crate) type Flags = Vec<(String, Option<String>)>;

/// The flags with borrowed texts.
pub(crate) fn borrowed(flags: &Flags) -> Vec<(&str, Option<&str>)> {
    flags.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect()
}

/// Returns a report as JSON.
pub(crate) fn json(report: &impl Serialize) -> Result<String> {
    serde_json::to_string(report).map_err(|e| Error::bug("report", "JSON", e))
}

/// The strategy and the dual weights of a result.
#[pyclass(name = "Matrices", module = "matmech._matmech", frozen)]
#[derive(Debug)]
pub(crate) struct Matrices {
    factors: Vec<StrategyFactor>,
    dual: Option<DualWeights>,
}

#[pymethods]
impl Matrices {
    /// The Kronecker factors of the strategy, each queries × cells.
    fn factors<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let rows = self.factors.iter().map(rows_of).collect::<Result<Vec<_>>>();
        let rows = rows.map_err(|error| errors::exception(py, &error))?;
        Ok(rows.into_iter().map(|rows| rows.into_pyarray(py).into_any()).collect())
    }

    /// The dual weights: an array over the cells, a dictionary of arrays, or None.
    fn dual<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let weights = PyDict::new(py);
        match &self.dual {
            None => return Ok(None),
            Some(DualWeights::Cells(factors)) => {
                let cells =
                    weights_over_cells(factors).map_err(|error| errors::exception(py, &error))?;
                return Ok(Some(cells.into_pyarray(py).into_any()));
            }
            Some(DualWeights::Dense { queries, steps }) => {
                weights.set_item("step_weights", steps.clone().into_pyarray(py))?;
                weights.set_item("query_weights", queries.clone().into_pyarray(py))?;
            }
            Some(DualWeights::Diagonal { queries, steps }) => {
                weights.set_item("step_weights", steps.clone().into_pyarray(py))?;
                weights.set_item("query_weights", queries.clone().into_pyarray(py))?;
            }
        }
        Ok(Some(weights.into_any()))
    }
}

/// `matmech solve`: the report as JSON, and the matrices.
#[pyfunction]
pub(crate) fn solve(
    py: Python<'_>,
    workload: &PyWorkload,
    strategy: &str,
    flags: Flags,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome<(String, Matrices)>> {
    let request = Request::with_flags(strategy, &borrowed(&flags))
        .and_then(|request| {
            workload.check(&request.problem(&workload.workload))?;
            Ok(request)
        })
        .map_err(|error| errors::exception(py, &error))?;
    let workload = Arc::clone(&workload.workload);
    work::run(py, progress, move || {
        let solved = solve_request(&request, &workload)?;
        let factors = solved.selection.strategy.factors().to_vec();
        Ok((json(&solved.report)?, Matrices { factors, dual: solved.dual }))
    })
}

/// `matmech certify`: the report as JSON, and the matrices.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the arguments of the command")]
pub(crate) fn certify(
    py: Python<'_>,
    strategy: Vec<PyReadonlyArray2<'_, f64>>,
    workload: &PyWorkload,
    objective: &str,
    participation: &str,
    epsilon: Option<f64>,
    delta: Option<f64>,
    tolerance: Option<f64>,
    max_iterations: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome<(String, Matrices)>> {
    let factors: Vec<Array2<f64>> = strategy.iter().map(|a| a.as_array().to_owned()).collect();
    let shared = Arc::clone(&workload.workload);
    let prepared = || -> Result<_> {
        let problem = problem(&shared, objective, participation, (epsilon, delta))?;
        workload.check(&problem)?;
        let defaults = OptimalOptions::default();
        let optimal = Optimal::new(OptimalOptions {
            tolerance: tolerance.unwrap_or(defaults.tolerance),
            max_iterations: max_iterations.unwrap_or(defaults.max_iterations),
        })?;
        Ok((optimal, problem.objective, problem.participation))
    };
    let (optimal, objective, participation) =
        prepared().map_err(|error| errors::exception(py, &error))?;
    work::run(py, progress, move || {
        let strategy = strategy_of(factors, &shared)?;
        let problem = Problem { workload: &shared, objective, participation };
        let (report, dual) = certify_strategy(&optimal, &strategy, &problem)?;
        let factors = strategy.factors().to_vec();
        Ok((json(&report)?, Matrices { factors, dual }))
    })
}

/// Returns the problem of a workload, with objective and participation as text, and ε and δ of random
/// allocation.
pub(crate) fn problem<'a>(
    workload: &'a matmech::Workload,
    objective: &str,
    participation: &str,
    (epsilon, delta): (Option<f64>, Option<f64>),
) -> Result<Problem<'a>> {
    Ok(Problem {
        workload,
        objective: objective.parse::<Objective>()?,
        participation: participation.parse::<Participation>()?.at(epsilon, delta)?,
    })
}

/// Returns the names and summaries of the strategies, planners and mechanisms.
#[pyfunction]
pub(crate) fn registries() -> [Vec<(String, String)>; 3] {
    let pair = |name: &str, summary: &str| (name.to_owned(), summary.to_owned());
    [
        matmech::strategies().iter().map(|s| pair(s.name(), s.summary())).collect(),
        matmech::planners().iter().map(|p| pair(p.name(), p.summary())).collect(),
        matmech::mechanisms().iter().map(|m| pair(m.name(), m.summary())).collect(),
    ]
}
