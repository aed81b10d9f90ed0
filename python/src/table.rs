//! Columns of Python as tables with typed columns. Numbers are not converted to text.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, RecordBatch, RecordBatchReader,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt64Array,
};
use arrow_schema::{ArrowError, SchemaRef};
use matmech::data::table::{MemoryColumn, MemoryTable, OwnedValue};
use matmech::schema::{Coding, ColumnType, ListedValue};
use matmech::{Decimal, Error};
use matmech_app::data::Data;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use pyo3_arrow::PyRecordBatchReader;
use pyo3_arrow::error::PyArrowResult;

use crate::engine::SqlTable;
use crate::errors;

/// Name, type, values and the nanoseconds of a unit of time.
type Column<'py> = (String, String, Bound<'py, PyAny>, i64);

/// Records; none for a dry run.
pub(crate) type Records<'py> = Option<Source<'py>>;

/// Records: an Arrow stream, the path of a file, or columns.
#[derive(FromPyObject)]
pub(crate) enum Source<'py> {
    Engine(Bound<'py, SqlTable>),
    Stream(Bound<'py, ArrowRecords>),
    Path(std::path::PathBuf),
    Columns(Vec<Column<'py>>),
}

/// Returns the records of a call; `None` for a dry run.
///
/// # Errors
/// Columns of different lengths, or a panic.
pub(crate) fn data_of(py: Python<'_>, records: Records<'_>) -> PyResult<Option<Data>> {
    crate::work::guarded(py, || converted(py, records))
}

fn converted(py: Python<'_>, records: Records<'_>) -> PyResult<Option<Data>> {
    let data = match records {
        None => return Ok(None),
        Some(Source::Engine(table)) => table.get().data(py),
        Some(Source::Path(path)) => Data::File(path),
        Some(Source::Stream(records)) => Data::Memory(records.get().0.clone()),
        Some(Source::Columns(columns)) => {
            let columns = columns
                .into_iter()
                .map(|(name, kind, values, unit)| Ok((name, column(&kind, &values, unit)?)))
                .collect::<PyResult<Vec<_>>>()?;
            let table = MemoryTable::new(columns);
            Data::Memory(table.map_err(|error| errors::exception(py, &error))?)
        }
    };
    Ok(Some(data))
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
/// of numbers, with a mapping from labels among them to whether they denote missing values.
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
    let numbers = match schema.coding(position) {
        Some(Coding::Values(values)) => return listed(py, schema, position, values),
        Some(Coding::Bins(bins)) if !bins.is_integer() => "float",
        _ => "integer",
    };
    let size = schema.attributes()[position].size;
    let labels = PyDict::new(py);
    for (cell, label) in (0..size).filter_map(|cell| Some((cell, schema.label(position, cell)?))) {
        let is_missing = schema.missing(position) == u32::try_from(cell).ok();
        labels.set_item(label.to_string(), is_missing)?;
    }
    match labels.is_empty() {
        true => Ok(PyString::new(py, numbers).into_any()),
        false => Ok((numbers, labels).into_pyobject(py)?.into_any()),
    }
}

/// Returns the mapping from the texts of listed values and labels to the values.
fn listed<'py>(
    py: Python<'py>,
    schema: &matmech::Schema,
    position: usize,
    values: &[ListedValue],
) -> PyResult<Bound<'py, PyAny>> {
    let texts = PyDict::new(py);
    let size = schema.attributes()[position].size;
    let labels = (values.len()..size).filter_map(|cell| schema.label(position, cell));
    for value in values.iter().chain(labels) {
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
    let array: ArrayRef = match kind {
        "integer" => Arc::new(Int64Array::from(array::<i64>(values)?)),
        "unsigned" => Arc::new(UInt64Array::from(array::<u64>(values)?)),
        "float" => Arc::new(Float64Array::from(array::<f64>(values)?)),
        "single" => Arc::new(Float32Array::from(array::<f32>(values)?)),
        "boolean" => Arc::new(BooleanArray::from(array::<bool>(values)?)),
        "time" => times(array(values)?, unit),
        list => return list_column(list, values),
    };
    Ok(MemoryColumn::Array(array))
}

/// Returns times as multiples of a number of nanoseconds; the smallest integer is a missing value.
///
/// A time beyond the range of 64 bits becomes the last one inside, which no schema lists.
fn times(values: Vec<i64>, unit: i64) -> ArrayRef {
    let scaled = |scale: i64| {
        let values = values.iter().map(|&time| (time != i64::MIN).then_some(time));
        values.map(move |time| time.map(|time| time.saturating_mul(scale)))
    };
    const SECOND: i64 = 1_000_000_000;
    match unit {
        1 => Arc::new(scaled(1).collect::<TimestampNanosecondArray>()),
        1_000 => Arc::new(scaled(1).collect::<TimestampMicrosecondArray>()),
        1_000_000 => Arc::new(scaled(1).collect::<TimestampMillisecondArray>()),
        _ if unit % SECOND == 0 => {
            Arc::new(scaled(unit / SECOND).collect::<TimestampSecondArray>())
        }
        _ if unit % 1_000_000 == 0 => {
            Arc::new(scaled(unit / 1_000_000).collect::<TimestampMillisecondArray>())
        }
        _ if unit % 1_000 == 0 => {
            Arc::new(scaled(unit / 1_000).collect::<TimestampMicrosecondArray>())
        }
        _ => Arc::new(scaled(unit).collect::<TimestampNanosecondArray>()),
    }
}

fn list_column(kind: &str, values: &Bound<'_, PyAny>) -> PyResult<MemoryColumn> {
    let kind = match kind {
        "text" => ColumnType::Text,
        "integers" => ColumnType::Integer,
        "floats" => ColumnType::Float,
        "booleans" => ColumnType::Boolean,
        "times" => ColumnType::Time,
        _ => ColumnType::Any,
    };
    let plain = values.py().import("matmech._columns")?.getattr("plain")?;
    let list = values.cast::<PyList>().map_err(PyErr::from)?;
    Ok(MemoryColumn::Values(kind, list.iter().map(|item| value(&item, &plain)).collect()))
}

/// Returns the records of an Arrow stream, without a copy of its values.
///
/// Only the columns that `names` contains are kept.
///
/// # Errors
/// A stream that cannot be read. The message quotes nothing of it.
#[pyfunction]
pub(crate) fn read_stream(
    py: Python<'_>,
    stream: &Bound<'_, PyAny>,
    names: Option<Vec<String>>,
) -> PyResult<ArrowRecords> {
    crate::work::guarded(py, || {
        let read = || -> PyArrowResult<(SchemaRef, Vec<RecordBatch>)> {
            let reader = stream.extract::<PyRecordBatchReader>()?.into_reader()?;
            let schema = reader.schema();
            let fields = schema.fields().iter().enumerate();
            let is_wanted = |name: &str| {
                names.as_ref().is_none_or(|names| names.iter().any(|n| n == name.trim()))
            };
            let wanted = fields.filter(|(_, field)| is_wanted(field.name()));
            let wanted: Vec<usize> = wanted.map(|(index, _)| index).collect();
            let project = |batch: Result<RecordBatch, ArrowError>| batch?.project(&wanted);
            let batches = reader.map(project).collect::<Result<Vec<_>, _>>()?;
            Ok((Arc::new(schema.project(&wanted)?), batches))
        };
        let (schema, batches) = read().map_err(|_| errors::exception(py, &unreadable_stream()))?;
        Ok(ArrowRecords(MemoryTable::of_batches(&schema, batches)))
    })
}

fn unreadable_stream() -> Error {
    Error::bad_input(
        "data",
        "an Arrow stream that can be read to its end",
        "another one",
        "give a table instead of a stream that was read before, or write a Parquet file",
    )
}

/// Records of an Arrow stream.
#[pyclass(frozen)]
pub(crate) struct ArrowRecords(MemoryTable);

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
    let remedy = "give the path of a file, a table, or a mapping from names to columns";
    Error::bad_input("data", "records", "none", remedy)
}

/// Returns the records of a call that needs them.
pub(crate) fn required(data: Option<Data>) -> matmech::Result<Data> {
    data.ok_or_else(missing)
}
