//! `draft-schema`.

use std::path::PathBuf;

use matmech_app::private_draft::{PrivateDraft, rho_of};
use matmech_app::release::Files;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;
use crate::records::{Parameters, budget_of, option, unit_of, waiting};
use crate::solve::json;
use crate::table::{self, Records};
use crate::work::{self, Outcome};

/// `matmech draft-schema`: the text of the schema.
#[pyfunction]
pub(crate) fn draft_schema(
    py: Python<'_>,
    records: Records<'_>,
    max_values: usize,
) -> PyResult<String> {
    let data = table::data_of(py, records)?;
    let draft =
        || matmech_app::draft_schema::draft_schema(&table::required(data)?, max_values, None);
    work::guarded(py, || py.detach(draft).map_err(|error| errors::exception(py, &error)))
}

/// `matmech draft-schema --private`: the report as JSON.
#[pyfunction]
pub(crate) fn private_draft(
    py: Python<'_>,
    records: Records<'_>,
    budget: Parameters,
    options: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Outcome<(String,)>> {
    let ledger: Option<PathBuf> = option(options, "ledger")?;
    let out: Option<PathBuf> = option(options, "out")?;
    let files = match (table::data_of(py, records)?, ledger, out) {
        (Some(data), Some(ledger), Some(out)) => Some(Files { data, ledger, out }),
        _ => None,
    };
    let budget = budget_of(budget);
    let new_delta: Option<f64> = option(options, "new_delta")?;
    let neighbours: String = option(options, "neighbours")?;
    let unit = unit_of(&neighbours, option(options, "unit_rows")?);
    let draft = PrivateDraft {
        columns: option(options, "columns")?,
        open: option(options, "open")?,
        bins: option(options, "bins")?,
        rho: rho_of(budget, new_delta).map_err(|error| errors::exception(py, &error))?,
        delta: budget.delta,
        new_delta,
        unit: unit.map_err(|error| errors::exception(py, &error))?,
        person: option(options, "person")?,
        waiting: waiting(option(options, "wait")?),
        files,
    };
    work::run_release(py, progress, move |steps| Ok((json(&draft.run(steps)?)?,)))
}
