//! Answers to queries in words.

use std::path::PathBuf;

use matmech_app::query::Released;
use pyo3::prelude::*;

use crate::errors;
use crate::solve::json;
use crate::work;

/// Answers a query from the folder `measurements` of a release; returns JSON.
#[pyfunction]
pub(crate) fn query(py: Python<'_>, measurements: PathBuf, text: String) -> PyResult<String> {
    let answer = || json(&Released::read(&measurements)?.answer(&text)?);
    work::guarded(py, || py.detach(answer).map_err(|error| errors::exception(py, &error)))
}
