//! Tables that an engine counts.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::channel;

use matmech::data::CountedRows;
use matmech::engine::Dialect;
use matmech::{Error, Result};
use matmech_app::data::Data;
use matmech_app::sql::{EngineTable, SqlEngine};
use pyo3::prelude::*;

use crate::errors;
use crate::work::{self, Query};

/// A table of an engine, and the callable that runs statements.
#[pyclass(frozen)]
pub(crate) struct SqlTable {
    table: EngineTable,
    rows: Py<PyAny>,
}

#[pymethods]
impl SqlTable {
    #[new]
    fn new(
        py: Python<'_>,
        dialect: &str,
        table: String,
        types: HashMap<String, String>,
        order: Option<String>,
        rows: Py<PyAny>,
    ) -> PyResult<Self> {
        let dialect = dialect.parse().map_err(|error| errors::exception(py, &error))?;
        Ok(SqlTable { table: EngineTable { dialect, table, types, order }, rows })
    }
}

impl SqlTable {
    pub(crate) fn data(&self, py: Python<'_>) -> Data {
        Data::Engine(self.table.clone(), Arc::new(Callable(self.rows.clone_ref(py))))
    }
}

/// Returns the quoted name of a table.
#[pyfunction]
pub(crate) fn quoted_table(py: Python<'_>, dialect: &str, table: &str) -> PyResult<String> {
    let quoted = dialect.parse().and_then(|dialect: Dialect| dialect.table(table));
    quoted.map_err(|error| errors::exception(py, &error))
}

/// A callable that runs on the thread that called the release, to which a connection may belong.
struct Callable(Py<PyAny>);

impl SqlEngine for Callable {
    fn rows(&self, statement: &str) -> Result<CountedRows> {
        let (reply, rows) = channel();
        let callable = Python::attach(|py| self.0.clone_ref(py));
        work::ask(Query { rows: callable, statement: statement.to_owned(), reply });
        rows.recv().ok().flatten().ok_or_else(|| {
            let remedy = "run the statements of `matmech sql` in the engine, which says what is \
                          wrong; its message is not shown, because it may quote a value";
            let found = "one that failed, or had other results";
            Error::bad_input("table of an engine", "a statement that counts", found, remedy)
        })
    }
}
