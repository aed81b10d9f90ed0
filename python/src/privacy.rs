//! `privacy`: σ, ε and δ of a strategy for training.

use std::sync::Arc;

use matmech::Result;
use matmech::strategy::Problem;
use matmech::strategy::allocation::MonteCarloOptions;
use matmech::strategy::calibration::{Calibration, NoiseStrategy};
use matmech::strategy::stream::Coefficients;
use matmech_app::privacy::privacy as guarantee;
use ndarray::Array2;
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::errors;
use crate::solve::json;
use crate::stream::PyCoefficients;
use crate::work::{self, Outcome};
use crate::workload::PyWorkload;

/// A strategy as Python has it.
#[derive(Debug)]
enum Given {
    /// A file or the name of a registered strategy.
    Text(String),
    Matrix(Array2<f64>),
    Coefficients(Box<Coefficients>),
}

impl Given {
    fn of(strategy: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = strategy.extract::<String>() {
            return Ok(Given::Text(text));
        }
        if let Ok(coefficients) = strategy.cast::<PyCoefficients>() {
            return Ok(Given::Coefficients(Box::new(coefficients.get().coefficients().clone())));
        }
        let matrix: PyReadonlyArray2<'_, f64> = strategy.extract()?;
        Ok(Given::Matrix(matrix.as_array().to_owned()))
    }

    fn read(self, problem: &Problem<'_>) -> Result<NoiseStrategy> {
        match self {
            Given::Text(text) => NoiseStrategy::of_text(&text, problem),
            Given::Matrix(matrix) => NoiseStrategy::of_matrix("matrix", matrix),
            Given::Coefficients(coefficients) => {
                Ok(NoiseStrategy::of_coefficients("coefficients", *coefficients))
            }
        }
    }
}

/// `matmech privacy`: the report as JSON.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the arguments of the command")]
pub(crate) fn privacy(
    py: Python<'_>,
    strategy: &Bound<'_, PyAny>,
    workload: &PyWorkload,
    participation: &str,
    objective: &str,
    sigma: Option<f64>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    monte_carlo: (String, Option<usize>, Option<f64>, u64),
) -> PyResult<Outcome<(String,)>> {
    let given = Given::of(strategy)?;
    let shared = Arc::clone(&workload.workload);
    let prepared = || -> Result<_> {
        let calibration = Calibration::of_two(sigma, epsilon, delta)?;
        let participation = calibration.target_of(participation.parse()?);
        let problem = Problem { workload: &shared, objective: objective.parse()?, participation };
        workload.check(&problem)?;
        Ok((problem.objective, participation, calibration))
    };
    let (method, samples, failure_probability, seed) = monte_carlo;
    let method = method.parse().map_err(|error| errors::exception(py, &error))?;
    let options = MonteCarloOptions { method, samples, failure_probability, seed };
    let (objective, participation, calibration) =
        prepared().map_err(|error| errors::exception(py, &error))?;
    work::run(py, None, move || {
        let problem = Problem { workload: &shared, objective, participation };
        let report = guarantee(&problem, &given.read(&problem)?, calibration, options)?;
        Ok((json(&report)?,))
    })
}
