//! Batches and noise of a training run.

use std::sync::{Mutex, PoisonError};

use matmech::strategy::stream::{Coefficients, NoiseState, NoisyValues};
use matmech::strategy::training::{Batches, PrivateSteps, StepsState};
use matmech::{Error, Result};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors;
use crate::stream::PyCoefficients;

/// The batches and the noise of one training run. Not pickled: it has the key of the noise.
#[pyclass(name = "Training", module = "matmech._matmech", frozen)]
#[derive(Debug)]
pub(crate) struct Training {
    steps: Mutex<PrivateSteps>,
}

/// An array that gets noise.
enum Sum<'py> {
    Single(PyReadwriteArray1<'py, f32>),
    Double(PyReadwriteArray1<'py, f64>),
}

#[pymethods]
impl Training {
    /// Creates a run with batches and a key from the operating system.
    ///
    /// `random` allocates every record independently; otherwise the batches are consecutive in an
    /// order, given or drawn.
    #[new]
    fn new(
        py: Python<'_>,
        coefficients: &PyCoefficients,
        records: usize,
        steps_per_epoch: usize,
        random: bool,
        order: Option<PyReadonlyArray1<'_, i64>>,
        scale: f64,
    ) -> PyResult<Self> {
        let order = order.map(|order| order.as_array().to_vec());
        let coefficients = coefficients.coefficients().clone();
        Self::of(py, || {
            let batches = if random {
                Batches::random(records, steps_per_epoch)?
            } else {
                Batches::fixed(records, steps_per_epoch, order)?
            };
            PrivateSteps::new(batches, coefficients, scale)
        })
    }

    /// Resumes where [`state`](Self::state) was called.
    #[staticmethod]
    fn resumed(py: Python<'_>, state: &Bound<'_, PyDict>) -> PyResult<Self> {
        let item = |name: &str| state.as_any().get_item(name);
        let array = |name: &str| -> PyResult<Vec<i64>> {
            Ok(item(name)?.extract::<PyReadonlyArray1<'_, i64>>()?.as_array().to_vec())
        };
        let (records, starts) = (array("records")?, array("starts")?);
        let starts = starts.into_iter().map(|start| start as usize).collect();
        let noise = NoiseState {
            key: item("key")?.extract()?,
            step: item("step")?.extract()?,
            coordinates: item("coordinates")?.extract()?,
            buffers: item("buffers")?.extract::<PyReadonlyArray1<'_, f64>>()?.as_array().to_vec(),
        };
        let scale = item("scale")?.extract()?;
        let coefficients: Vec<u8> = item("coefficients")?.extract()?;
        Self::of(py, || {
            let batches = Batches::of_parts(records, starts)?;
            let coefficients = Coefficients::of_npz(&coefficients)?;
            PrivateSteps::resumed(coefficients, StepsState { batches, scale, noise })
        })
    }

    /// Returns the state, with the key of the noise.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (state, coefficients) =
            self.locked(py, |steps| Ok((steps.state()?, steps.coefficients().to_npz()?)))?;
        let (records, starts) = state.batches.parts();
        let starts: Vec<i64> = starts.iter().map(|&start| start as i64).collect();
        let words = PyDict::new(py);
        words.set_item("records", PyArray1::from_slice(py, records))?;
        words.set_item("starts", starts.into_pyarray(py))?;
        words.set_item("scale", state.scale)?;
        words.set_item("coefficients", PyBytes::new(py, &coefficients))?;
        words.set_item("key", PyBytes::new(py, &state.noise.key))?;
        words.set_item("step", state.noise.step)?;
        words.set_item("coordinates", state.noise.coordinates)?;
        words.set_item("buffers", state.noise.buffers.into_pyarray(py))?;
        Ok(words)
    }

    /// The number of steps that have noise.
    #[getter]
    fn step(&self, py: Python<'_>) -> PyResult<usize> {
        self.locked(py, |steps| Ok(steps.step()))
    }

    /// Returns the indices of the records of the next step, or None after the last.
    fn next_batch<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<i64>>>> {
        let batch = self.locked(py, |steps| Ok(steps.next_batch()?.map(<[i64]>::to_vec)))?;
        Ok(batch.map(|batch| batch.into_pyarray(py)))
    }

    /// Adds the noise of the step to arrays of one dimension, float32 or float64, in place.
    fn add_noise(&self, py: Python<'_>, sums: Vec<Bound<'_, PyAny>>) -> PyResult<()> {
        let mut sums = sums.iter().map(Sum::of).collect::<PyResult<Vec<_>>>()?;
        let mut values = sums.iter_mut().map(Sum::values).collect::<PyResult<Vec<_>>>()?;
        self.locked(py, move |steps| steps.add_noise(&mut values))
    }
}

impl Training {
    fn of(py: Python<'_>, make: impl FnOnce() -> Result<PrivateSteps> + Send) -> PyResult<Self> {
        let steps = py.detach(make).map_err(|error| errors::exception(py, &error))?;
        Ok(Training { steps: Mutex::new(steps) })
    }

    /// Runs work on the steps without the GIL.
    fn locked<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut PrivateSteps) -> Result<T> + Send,
    ) -> PyResult<T> {
        let done =
            py.detach(|| work(&mut self.steps.lock().unwrap_or_else(PoisonError::into_inner)));
        done.map_err(|error: Error| errors::exception(py, &error))
    }
}

impl<'py> Sum<'py> {
    fn of(array: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(single) = array.extract() {
            return Ok(Sum::Single(single));
        }
        Ok(Sum::Double(array.extract()?))
    }

    fn values(&mut self) -> PyResult<NoisyValues<'_>> {
        Ok(match self {
            Sum::Single(array) => NoisyValues::Single(array.as_slice_mut()?),
            Sum::Double(array) => NoisyValues::Double(array.as_slice_mut()?),
        })
    }
}
