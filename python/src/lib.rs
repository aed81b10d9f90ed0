//! The native part of the Python package `matmech`: computations, without the interface.
//!
//! Functions return the report of the command of the same name as JSON, so that Python and the
//! command line have the same numbers, and objects for what the command writes to files.

mod draft;
mod engine;
mod errors;
mod mechanism;
mod privacy;
mod query;
mod records;
mod solve;
mod stream;
mod table;
mod training;
mod work;
mod workload;

use pyo3::prelude::*;

/// The native part of the Python package `matmech`.
#[pymodule]
fn _matmech(module: &Bound<'_, PyModule>) -> PyResult<()> {
    work::silence_panics();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<workload::PyWorkload>()?;
    module.add_class::<solve::Matrices>()?;
    module.add_class::<stream::PyCoefficients>()?;
    module.add_class::<stream::Noise>()?;
    module.add_class::<training::Training>()?;
    module.add_class::<engine::SqlTable>()?;
    module.add_class::<mechanism::Access>()?;
    module.add_function(wrap_pyfunction!(engine::quoted_table, module)?)?;
    module.add_function(wrap_pyfunction!(workload::restored_workload, module)?)?;
    module.add_function(wrap_pyfunction!(stream::restored_coefficients, module)?)?;
    module.add_function(wrap_pyfunction!(solve::solve, module)?)?;
    module.add_function(wrap_pyfunction!(solve::certify, module)?)?;
    module.add_function(wrap_pyfunction!(solve::registries, module)?)?;
    module.add_function(wrap_pyfunction!(stream::stream, module)?)?;
    module.add_function(wrap_pyfunction!(privacy::privacy, module)?)?;
    module.add_function(wrap_pyfunction!(records::plan, module)?)?;
    module.add_function(wrap_pyfunction!(records::compare, module)?)?;
    module.add_function(wrap_pyfunction!(records::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(records::release, module)?)?;
    module.add_function(wrap_pyfunction!(records::answer, module)?)?;
    module.add_function(wrap_pyfunction!(query::query, module)?)?;
    module.add_function(wrap_pyfunction!(records::column_names, module)?)?;
    module.add_function(wrap_pyfunction!(table::read_stream, module)?)?;
    module.add_function(wrap_pyfunction!(records::column_values, module)?)?;
    module.add_function(wrap_pyfunction!(records::check_data, module)?)?;
    module.add_function(wrap_pyfunction!(draft::draft_schema, module)?)?;
    module.add_function(wrap_pyfunction!(draft::private_draft, module)?)?;
    module.add_function(wrap_pyfunction!(records::create_ledger, module)?)?;
    module.add_function(wrap_pyfunction!(records::show_ledger, module)?)?;
    module.add_function(wrap_pyfunction!(work::panic, module)?)
}
