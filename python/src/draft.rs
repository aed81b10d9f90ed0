//! `draft-schema`.

use pyo3::prelude::*;

use crate::table::{self, Records};
use crate::{errors, work};

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
