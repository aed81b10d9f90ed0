//! Columns of Python as tables with typed columns. Numbers are not converted to text.

use matmech::data::table::{MemoryColumn, MemoryTable, OwnedValue};
use matmech::schema::{Coding, ColumnType, ListedValue};
use matmech::{Decimal, Error, Result};
use matmech_app::data::Data;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

/// Name, type, values and the nanoseconds of a unit of time.
type Column<'py> = (String, String, Bound<'py, PyAny>, i64);

/// Records: the path of a CSV file, or columns; neither for a dry run.
pub(crate) type Records<'py> = (Option<std::path::PathBuf>, Option<Vec<Column<'py>>>);

/// Returns the records of a call; `None` for a dry run.
///
/// # Errors
/// Columns of different lengths, or a panic.
pub(crate) fn data_of(py: Python<'_>, records: Records<'_>) -> PyResult<Option<Data>> {
    crate::work::guarded(py, || converted(py, records))
}

fn converted(py: Python<'_>, records: Records<'_>) -> PyResult<Option<Data>> {
    match records {
        (Some(path), _) => Ok(Some(Data::File(path))),
        (None, None) => Ok(None),
        (None, Some(columns)) => {
            let columns = columns
                .into_iter()
                .map(|(name, kind, values, unit)| Ok((name, column(&kind, &values, unit)?)))
                .collect::<PyResult<Vec<_>>>()?;
            let table = MemoryTable::new(columns);
            Ok(Some(Data::Memory(table.map_err(|error| crate::errors::exception(py, &error))?)))
        }
    }
}

/// Returns the columns of a schema and of the person.
pub(crate) fn names(schema: &matmech::Schema, person: Option<String>) -> Vec<String> {
    let mut names: Vec<String> =
        schema.attributes().iter().map(|a| a.name.trim().to_owned()).collect();
    let person = person.map(|person| person.trim().to_owned());
    names.extend(person.filter(|person| !names.contains(person)));
    names
}

/// Returns the names of a schema's attributes. With listed values, the second part maps the texts
/// of the values in a table that matmech writes to the values; otherwise it is the type of a column
/// of numbers.
pub(crate) fn values<'py>(
    py: Python<'py>,
    schema: &matmech::Schema,
) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    let attributes = schema.attributes().iter().enumerate();
    attributes
        .map(|(position, a)| Ok((a.name.clone(), of_attribute(py, schema, position)?)))
        .collect()
}

fn of_attribute<'py>(
    py: Python<'py>,
    schema: &matmech::Schema,
    position: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let values = match schema.coding(position) {
        Some(Coding::Values(values)) => values,
        Some(Coding::Bins(_)) => return Ok(PyString::new(py, "float").into_any()),
        _ => return Ok(PyString::new(py, "integer").into_any()),
    };
    let texts = PyDict::new(py);
    for value in values {
        let text = value.to_string();
        match value {
            ListedValue::Text(text) => texts.set_item(text, text)?,
            ListedValue::Boolean(boolean) => texts.set_item(text, boolean)?,
            ListedValue::Number(number) => match text.parse::<i64>() {
                Ok(integer) => texts.set_item(text, integer)?,
                Err(_) => texts.set_item(text, number.to_f64())?,
            },
            ListedValue::Time(time) => texts.set_item(text, PyTuple::new(py, [*time])?)?,
        }
    }
    Ok(texts.into_any())
}

fn column(kind: &str, values: &Bound<'_, PyAny>, unit: i64) -> PyResult<MemoryColumn> {
    fn array<T: numpy::Element + Copy>(values: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
        let array: PyReadonlyArray1<'_, T> = values.extract()?;
        Ok(array.as_array().to_vec())
    }
    Ok(match kind {
        "integer" => MemoryColumn::Integer(array(values)?),
        "unsigned" => MemoryColumn::Unsigned(array(values)?),
        "float" => MemoryColumn::Float(array(values)?),
        "single" => MemoryColumn::Single(array(values)?),
        "boolean" => MemoryColumn::Boolean(array(values)?),
        "time" => MemoryColumn::Time { values: array(values)?, unit },
        list => {
            let kind = match list {
                "text" => ColumnType::Text,
                "integers" => ColumnType::Integer,
                "floats" => ColumnType::Float,
                "booleans" => ColumnType::Boolean,
                "times" => ColumnType::Time,
                _ => ColumnType::Any,
            };
            let plain = values.py().import("matmech._columns")?.getattr("plain")?;
            let list = values.cast::<PyList>().map_err(PyErr::from)?;
            MemoryColumn::Values(kind, list.iter().map(|item| value(&item, &plain)).collect())
        }
    })
}

/// Returns an element. Elements that cannot be read equal no value of a schema: an exception would
/// tell that there is one.
fn value(item: &Bound<'_, PyAny>, plain: &Bound<'_, PyAny>) -> OwnedValue {
    if let Some(value) = basic(item) {
        return value;
    }
    match plain.call1((item,)) {
        Ok(item) => basic(&item).or_else(|| wrapped(&item)).unwrap_or(OwnedValue::Other),
        Err(_) => OwnedValue::Other,
    }
}

/// Returns a value of one of Python's basic types.
fn basic(item: &Bound<'_, PyAny>) -> Option<OwnedValue> {
    if item.is_none() {
        return Some(OwnedValue::Missing);
    }
    if let Ok(text) = item.cast_exact::<PyString>() {
        return Some(match text.to_str() {
            Ok(text) => OwnedValue::Text(text.into()),
            // A lone surrogate.
            Err(_) => match text.call_method1("encode", ("utf-8", "surrogatepass")) {
                Ok(bytes) => bytes_of(&bytes).unwrap_or(OwnedValue::Other),
                Err(_) => OwnedValue::Other,
            },
        });
    }
    if let Ok(boolean) = item.cast_exact::<PyBool>() {
        return Some(OwnedValue::Boolean(boolean.is_true()));
    }
    if let Ok(integer) = item.cast_exact::<PyInt>() {
        return Some(match integer.extract::<i128>() {
            Ok(integer) => OwnedValue::Integer(integer),
            Err(_) => {
                let digits =
                    integer.str().ok().and_then(|text| Decimal::parse(text.to_str().ok()?));
                digits.map_or(OwnedValue::Other, OwnedValue::Number)
            }
        });
    }
    if let Ok(float) = item.cast_exact::<PyFloat>() {
        return Some(OwnedValue::Float(float.value()));
    }
    bytes_of(item)
}

fn bytes_of(item: &Bound<'_, PyAny>) -> Option<OwnedValue> {
    let bytes = item.cast_exact::<PyBytes>().ok()?;
    Some(OwnedValue::Bytes(bytes.as_bytes().into()))
}

/// Returns the number or time that `plain` wraps.
fn wrapped(item: &Bound<'_, PyAny>) -> Option<OwnedValue> {
    if let Ok(number) = item.cast_exact::<PyTuple>() {
        let text: String = number.get_item(0).ok()?.extract().ok()?;
        return Some(number_of(&text));
    }
    let time = item.cast_exact::<PyList>().ok()?;
    Some(OwnedValue::Time(time.get_item(0).ok()?.extract().ok()?))
}

/// Returns the number of a text such as `1E+2`, or a value that is none.
fn number_of(text: &str) -> OwnedValue {
    let text = text.strip_prefix('+').unwrap_or(text);
    Decimal::parse(text).map_or(OwnedValue::Other, OwnedValue::Number)
}

/// Returns the error of a call without records.
pub(crate) fn missing() -> Error {
    let remedy = "give the path of a CSV file, or a mapping from names to columns";
    Error::bad_input("data", "records", "none", remedy)
}

/// Returns the records of a call that needs them.
pub(crate) fn required(data: Option<Data>) -> Result<Data> {
    data.ok_or_else(missing)
}
