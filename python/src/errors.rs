//! Errors of the library as Python exceptions with the same text and fields.

use matmech::Error;
use pyo3::prelude::*;
use serde_json::{Value, json};

/// Returns the exception of an error: the class of `matmech._errors` with the name of the variant.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let (class, fields) = parts(error);
    create(py, class, &error.to_string(), &fields)
}

/// Returns the exception of a panic.
pub(crate) fn panic(py: Python<'_>, text: &str) -> PyErr {
    let message = format!(
        "panic: {text}\n  remedy: this is a bug in matmech; please report it with the traceback"
    );
    create(py, "Panic", &message, &json!({}))
}

fn create(py: Python<'_>, class: &str, message: &str, fields: &Value) -> PyErr {
    let made = py
        .import("matmech._errors")
        .and_then(|module| module.call_method1("create", (class, message, fields.to_string())));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// Returns the name of the class and the fields.
fn parts(error: &Error) -> (&'static str, Value) {
    match error {
        Error::BadInput { what, expected, found, remedy } => (
            "BadInput",
            json!({"what": what, "expected": expected, "found": found, "remedy": remedy}),
        ),
        Error::UnknownName { kind, name, known, remedy } => {
            ("UnknownName", json!({"kind": kind, "name": name, "known": known, "remedy": remedy}))
        }
        Error::Parse { origin, place, expected, found, remedy } => (
            "ParseError",
            json!({
                "origin": origin, "line": place.map(|p| p.line), "column": place.map(|p| p.column),
                "expected": expected, "found": found, "remedy": remedy,
            }),
        ),
        Error::Io { path, action, source, remedy } => (
            "FileError",
            json!({
                "path": path.display().to_string(), "action": action,
                "errno": source.raw_os_error(), "remedy": remedy,
            }),
        ),
        Error::TooLarge { what, unit, limit, found, remedy } => (
            "TooLarge",
            json!({"what": what, "unit": unit, "limit": limit, "found": found, "remedy": remedy}),
        ),
        Error::BudgetExhausted { what, asked, left, total } => {
            ("BudgetExhausted", json!({"what": what, "asked": asked, "left": left, "total": total}))
        }
        Error::Unanswered { strategy, share } => {
            ("Unanswered", json!({"strategy": strategy, "share": share}))
        }
        Error::UnansweredQuery { strategy, workload, query, weights, outside, share } => (
            "Unanswered",
            json!({
                "strategy": strategy, "workload": workload, "query": query, "weights": weights,
                "outside": outside, "share": share,
            }),
        ),
        Error::NotPositiveDefinite { what, order } => {
            ("NotPositiveDefinite", json!({"what": what, "order": order}))
        }
        Error::DidNotConverge { what, order } => {
            ("DidNotConverge", json!({"what": what, "order": order}))
        }
        Error::Bug { what, expected, found } => {
            ("Bug", json!({"what": what, "expected": expected, "found": found}))
        }
        Error::After { source, .. } => parts(source),
        Error::Privacy(_) => ("InvalidBudget", json!({})),
        _ => ("Error", json!({})),
    }
}
