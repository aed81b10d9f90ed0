//! `stream`, and noise drawn step by step.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use matmech::strategy::Problem;
use matmech::strategy::stream::{Coefficients, NoisyValues, StreamOptions, StreamedNoise};
use matmech::{Error, Result};
use matmech_app::stream::stream as fit;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors;
use crate::solve::{json, problem};
use crate::work::{self, Outcome};
use crate::workload::PyWorkload;

/// The coefficients of streaming noise.
#[pyclass(name = "Coefficients", module = "matmech._matmech", frozen)]
#[derive(Debug)]
pub(crate) struct PyCoefficients {
    coefficients: Coefficients,
}

impl PyCoefficients {
    /// The coefficients.
    pub(crate) fn coefficients(&self) -> &Coefficients {
        &self.coefficients
    }
}

#[pymethods]
impl PyCoefficients {
    /// Reads coefficients from `.npz`.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = Coefficients::read(&path).map_err(|error| errors::exception(py, &error))?;
        Ok(PyCoefficients { coefficients: read })
    }

    /// Writes the coefficients to `.npz`.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.coefficients.write(&path).map_err(|error| errors::exception(py, &error))
    }

    /// Pickles the contents of the file.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let restored = py.import("matmech._matmech")?.getattr("restored_coefficients")?;
        let bytes = self.coefficients.to_npz().map_err(|error| errors::exception(py, &error))?;
        Ok((restored, (PyBytes::new(py, &bytes),)))
    }

    /// The number of steps.
    #[getter]
    fn steps(&self) -> usize {
        self.coefficients.steps()
    }

    /// Returns the strategy C, steps × steps and lower triangular.
    fn matrix<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let matrix = py.detach(|| self.coefficients.strategy_matrix());
        Ok(matrix.map_err(|error| errors::exception(py, &error))?.into_pyarray(py))
    }

    /// Returns noise of some coordinates; without a seed the key is from the operating system.
    fn noise(&self, py: Python<'_>, coordinates: usize, seed: Option<u64>) -> PyResult<Noise> {
        let coefficients = self.coefficients.clone();
        let steps = coefficients.steps();
        let noise = match seed {
            None => StreamedNoise::from_operating_system(coefficients, coordinates),
            Some(seed) => Ok(StreamedNoise::seeded(coefficients, coordinates, seed)),
        };
        let noise = noise.map_err(|error| errors::exception(py, &error))?;
        Ok(Noise { noise: Mutex::new(noise), coordinates, steps })
    }
}

/// Returns pickled coefficients.
#[pyfunction]
pub(crate) fn restored_coefficients(py: Python<'_>, bytes: &[u8]) -> PyResult<PyCoefficients> {
    let coefficients = Coefficients::of_npz(bytes);
    let coefficients = coefficients.map_err(|error| errors::exception(py, &error))?;
    Ok(PyCoefficients { coefficients })
}

/// Noise of one step after the other.
#[pyclass(name = "Noise", module = "matmech._matmech", frozen)]
#[derive(Debug)]
pub(crate) struct Noise {
    noise: Mutex<StreamedNoise>,
    coordinates: usize,
    steps: usize,
}

#[pymethods]
impl Noise {
    /// Returns the noise of the next step, one number per coordinate, or None after the last.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let drawn = py.detach(|| {
            let mut noise = self.noise.lock().unwrap_or_else(PoisonError::into_inner);
            if noise.step() == self.steps {
                return Ok(None);
            }
            let mut values = vec![0.0; self.coordinates];
            noise.add_to(1.0, &mut [NoisyValues::Double(&mut values)]).map(|()| Some(values))
        });
        let drawn: Option<Vec<f64>> = drawn.map_err(|e: Error| errors::exception(py, &e))?;
        Ok(drawn.map(|values| values.into_pyarray(py)))
    }
}

/// `matmech stream`: the report as JSON, and the coefficients.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the arguments of the command")]
pub(crate) fn stream(
    py: Python<'_>,
    workload: &PyWorkload,
    buffers: usize,
    participation: &str,
    objective: &str,
    target: (Option<f64>, Option<f64>),
    form: Option<&str>,
    tolerance: Option<f64>,
    max_iterations: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome<(String, PyCoefficients)>> {
    let shared = Arc::clone(&workload.workload);
    let prepared = || -> Result<_> {
        let problem = problem(&shared, objective, participation, target)?;
        workload.check(&problem)?;
        let form = form.map(str::parse).transpose()?;
        Ok((problem.objective, problem.participation, form))
    };
    let (objective, participation, form) =
        prepared().map_err(|error| errors::exception(py, &error))?;
    let defaults = StreamOptions::default();
    let options =
        StreamOptions { tolerance: tolerance.unwrap_or(defaults.tolerance), max_iterations };
    work::run(py, progress, move || {
        let problem = Problem { workload: &shared, objective, participation };
        let (report, stream) = fit(&problem, form, buffers, &options)?;
        Ok((json(&report)?, PyCoefficients { coefficients: stream.coefficients }))
    })
}
