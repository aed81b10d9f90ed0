"""Columns of records with their types: no value becomes text on its way to the native part.

The type of a column is that of its array, series or schema, never that of its values. Elements of
lists and of object columns have types of their own.
"""

from __future__ import annotations

import datetime
import decimal
import json
import os
from typing import Any, Mapping, Sequence

import numpy as np

from . import _matmech
from ._engines import Table
from ._errors import BadInput, create

#: A type and the values: an array, or a list; for times also the nanoseconds of a unit.
Column = tuple[str, Any, int]

#: Records: the path of a file, names and columns, or a table of the native part.
Records = Any

_NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9,
                "h": 3600 * 10**9, "D": 86400 * 10**9, "W": 7 * 86400 * 10**9}


def records(data: Any, schema: tuple[str, bool], person: str | None = None) -> Records:
    """Returns a path, or the columns of a table that the schema and the person name."""
    return named_records(data, _matmech.column_names(schema, person))


def named_records(data: Any, wanted: Sequence[str]) -> Records:
    """Returns a path, or the columns of a table with the wanted names, without spaces around them.

    No message depends on the records, their number included.
    """
    if isinstance(data, (str, os.PathLike)):
        return os.fspath(data)
    if isinstance(data, Table):
        return data._native()
    if hasattr(data, "__arrow_c_stream__") and not _is_from(data, "pandas"):
        return _matmech.read_stream(_selected(data, wanted), wanted)
    names = _names(data)
    table = []
    for name in wanted:
        found = [known for known in names if str(known).strip() == name]
        if len(found) > 1:
            raise bad_input(f"data, column `{name}`", "one column", "several", "rename the others")
        # The native part names all that are missing.
        table += [(name, *column(name, data[known])) for known in found]
    return table


def all_records(data: Any) -> Records:
    """Returns a path, or all columns of a table."""
    if isinstance(data, (str, os.PathLike)):
        return os.fspath(data)
    if hasattr(data, "__arrow_c_stream__") and not _is_from(data, "pandas"):
        return _matmech.read_stream(data, None)
    return [(str(name).strip(), *column(str(name), data[name])) for name in _names(data)]


def _is_from(data: Any, module: str) -> bool:
    return type(data).__module__.partition(".")[0] == module


def _selected(data: Any, wanted: Sequence[str]) -> Any:
    """Returns the wanted columns of a table of polars or pyarrow; other tables as they are.

    Other columns may have types that Arrow does not have.
    """
    names = None
    if _is_from(data, "polars"):
        names = getattr(data, "columns", None)
    elif _is_from(data, "pyarrow"):
        names = getattr(data, "column_names", None)
    if names is None or not hasattr(data, "select"):
        return data
    return data.select([name for name in names if name.strip() in wanted])


def column(name: str, values: Any) -> Column:
    """Returns a column with its type.

    >>> column("age", np.array([1, 2], dtype=np.int8))[0]
    'integer'
    >>> column("age", [1, None, "x"])[0]
    'any'
    """
    try:
        return _column(name, values)
    except (BadInput, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # Also a panic of polars.
        pass  # It may hold a value of a record, so it must not be the cause of another one.
    raise bad_input(
        f"data, column `{name}`", "a column that its library can convert", "another one",
        "convert it to an array of NumPy, or write a CSV file",
    )


def _column(name: str, values: Any) -> Column:
    if isinstance(values, (list, tuple, range)):
        return "any", list(values), 0
    if isinstance(values, np.ma.MaskedArray):
        return _masked(name, values)
    module = type(values).__module__.partition(".")[0]
    if module == "pandas":
        return _pandas(name, values)
    if module == "polars":
        return _polars(name, values)
    if module == "pyarrow":
        return _arrow(name, values)
    if isinstance(values, np.ndarray) or hasattr(values, "__array__"):
        return _array(name, np.asarray(values))
    raise _unsupported(name, type(values).__name__)


def plain(value: Any) -> Any:
    """Returns an element as None, str, bytes, bool, int, float, (text of a number,) or [time].

    Any other result is a value that equals no value of a schema.
    """
    if value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    # Subclasses, such as enumerations, count as the value that they contain.
    for kind, nothing in ((str, ""), (bytes, b""), (int, 0), (float, 0.0)):
        if isinstance(value, kind):
            return kind.__add__(value, nothing)
    if isinstance(value, np.floating):
        return None if np.isnan(value) else (np.format_float_scientific(value, trim="-"),)
    if isinstance(value, decimal.Decimal):
        return None if value.is_nan() else (str(value),)
    if isinstance(value, np.datetime64):
        return _element_time(value)
    if isinstance(value, datetime.datetime):
        return _time(value)
    if isinstance(value, datetime.date):
        return [(value - datetime.date(1970, 1, 1)).days * _NANOSECONDS["D"]]
    return NotImplemented


def _time(value: datetime.datetime) -> list[int] | tuple[()]:
    if value.tzinfo is not None:
        return ()
    since = value - datetime.datetime(1970, 1, 1)
    microseconds = (since.days * 86400 + since.seconds) * 10**6 + since.microseconds
    # pandas' times have nanoseconds too.
    return [microseconds * 1000 + getattr(value, "nanosecond", 0)]


def _element_time(value: np.datetime64) -> list[int] | tuple[()] | None:
    if np.isnat(value):
        return None
    unit, count = np.datetime_data(value.dtype)
    if unit in ("Y", "M"):
        value, unit, count = value.astype("datetime64[D]"), "D", 1
    scale = _NANOSECONDS.get(unit)
    return () if scale is None else [int(value.astype(np.int64)) * count * scale]


def _names(data: Any) -> Sequence[Any]:
    """Returns the names of the columns of a mapping or a table."""
    if isinstance(data, Mapping):
        return list(data)
    if isinstance(data, np.ndarray) and data.dtype.names:
        return list(data.dtype.names)
    expected = "a path, a mapping from names to arrays, or a table of pandas, polars or Arrow"
    if isinstance(data, (list, tuple, np.ndarray)):
        remedy = "give a column per name: {name: [record[name] for record in data], …}"
        raise bad_input("data", expected, f"a {type(data).__name__}", remedy)
    if hasattr(data, "collect") and not hasattr(data, "to_pandas"):
        raise bad_input("data", expected, "a lazy table", "compute it first: data.collect()")
    for attribute in ("column_names", "columns"):  # Arrow, then pandas and polars
        if hasattr(data, attribute) and hasattr(data, "__getitem__"):
            return list(getattr(data, attribute))
    raise bad_input("data", expected, f"a {type(data).__name__}", "convert it to one of these")


def _array(name: str, values: np.ndarray) -> Column:
    if values.ndim != 1:
        raise _unsupported(name, f"an array of {values.ndim} dimensions")
    kind = values.dtype.kind
    if kind == "i":
        return "integer", np.ascontiguousarray(values, dtype=np.int64), 0
    if kind == "u":
        return "unsigned", np.ascontiguousarray(values, dtype=np.uint64), 0
    if kind == "b":
        return "boolean", np.ascontiguousarray(values), 0
    if values.dtype == np.float64:
        return "float", np.ascontiguousarray(values, dtype=np.float64), 0
    if values.dtype == np.float32:
        return "single", np.ascontiguousarray(values, dtype=np.float32), 0
    if kind == "f":
        return "floats", list(values), 0
    if kind == "M":
        return _times(name, values)
    if kind in "US":
        return "text", values.tolist(), 0
    if kind == "O":
        return "any", list(values), 0
    raise _unsupported(name, f"an array of type {values.dtype}")


def _times(name: str, values: np.ndarray) -> Column:
    unit, count = np.datetime_data(values.dtype)
    if unit in ("Y", "M"):
        values, unit, count = values.astype("datetime64[D]"), "D", 1
    scale = _NANOSECONDS.get(unit, 0) * count
    # NumPy's NaT without a unit, or units below a nanosecond.
    if scale == 0 and unit != "generic":
        raise _unsupported(name, f"an array of type {values.dtype}")
    values = values.astype(values.dtype.newbyteorder("="))
    return "time", np.ascontiguousarray(values.view(np.int64)), max(scale, 1)


def _masked(name: str, values: np.ma.MaskedArray) -> Column:
    kind, elements, _ = _array(name, np.asarray(values.data))
    lists = {"integer": "integers", "unsigned": "integers", "float": "floats", "single": "floats",
             "floats": "floats", "boolean": "booleans", "time": "times", "text": "text"}
    if kind in lists and kind != "text":
        elements = list(np.asarray(values.data))
    mask = np.broadcast_to(np.ma.getmaskarray(values), len(elements))
    return lists.get(kind, "any"), [None if m else e for e, m in zip(elements, mask)], 0


def _pandas(name: str, values: Any) -> Column:
    import pandas

    if getattr(values, "ndim", 1) != 1:
        raise _unsupported(name, f"a table of {values.ndim} dimensions")
    if not isinstance(values, pandas.Series):
        values = pandas.Series(values)
    dtype = values.dtype
    if isinstance(dtype, np.dtype):
        return _array(name, values.to_numpy())
    if isinstance(dtype, pandas.SparseDtype):
        return _pandas(name, values.sparse.to_dense())
    if isinstance(dtype, pandas.DatetimeTZDtype):
        raise _with_zone(name)
    if isinstance(dtype, pandas.CategoricalDtype):
        inner = _column(name, pandas.Series(dtype.categories))
        return _taken(inner, values.cat.codes.to_numpy())
    if hasattr(dtype, "pyarrow_dtype") or "pyarrow" in str(getattr(dtype, "storage", "")):
        return _arrow(name, values.array.__arrow_array__())
    types = pandas.api.types
    if types.is_float_dtype(dtype):
        exact = np.float32 if dtype.itemsize <= 4 else np.float64
        return _array(name, values.to_numpy(dtype=exact, na_value=np.nan))
    kind = (
        "booleans" if types.is_bool_dtype(dtype)
        else "integers" if types.is_integer_dtype(dtype)
        else "text" if types.is_string_dtype(dtype)
        else None
    )
    if kind is None:
        raise _unsupported(name, f"a column of type {dtype}")
    return kind, list(values.astype(object).to_numpy()), 0


def _taken(values: Column, codes: np.ndarray) -> Column:
    """Returns the values with these positions; a negative one is missing."""
    kind, elements, unit = values
    if kind == "time":
        times = np.append(elements, _NAT)
        return kind, times[np.where(codes < 0, len(elements), codes)], unit
    elements = [*elements, None]
    lists = {"integer": "integers", "unsigned": "integers", "float": "floats", "single": "floats",
             "boolean": "booleans"}
    return lists.get(kind, kind), [elements[code] if code >= 0 else None for code in codes], 0


#: A missing time.
_NAT = np.int64(-(2**63))


def _polars(name: str, values: Any) -> Column:
    import polars

    dtype = values.dtype
    if dtype.is_float():
        return _array(name, values.to_numpy())
    if dtype == polars.Datetime or dtype == polars.Date:
        if getattr(dtype, "time_zone", None) is not None:
            raise _with_zone(name)
        return _array(name, values.to_numpy())
    kind = (
        "integers" if dtype.is_integer()
        else "booleans" if dtype == polars.Boolean
        else "text" if dtype in (polars.String, polars.Categorical, polars.Enum, polars.Binary)
        else "floats" if dtype.is_decimal()
        else "any" if dtype in (polars.Null, polars.Object)
        else None
    )
    if kind is None:
        raise _unsupported(name, f"a column of type {dtype}")
    if kind == "text" and dtype != polars.Binary:
        # Bytes, because a text that is not UTF-8 would be an exception.
        values = values.cast(polars.String).cast(polars.Binary)
    return kind, values.to_list(), 0


def _arrow(name: str, values: Any) -> Column:
    import pyarrow

    types = pyarrow.types
    if isinstance(values, pyarrow.ChunkedArray):
        if types.is_dictionary(values.type):
            values = values.unify_dictionaries()
        values = values.combine_chunks()
    if isinstance(values, pyarrow.ChunkedArray):
        values = pyarrow.concat_arrays(values.chunks)
    kind = _arrow_kind(name, values.type)
    if types.is_dictionary(values.type):
        codes = values.indices.cast(pyarrow.int64()).fill_null(-1)
        return _taken(_arrow(name, values.dictionary), codes.to_numpy(zero_copy_only=False))
    if types.is_floating(values.type):
        if values.null_count and types.is_float16(values.type):
            numbers = values.to_pylist()
            return kind, [None if number is None else np.float16(number) for number in numbers], 0
        return _array(name, values.to_numpy(zero_copy_only=False))
    if kind == "times":
        return _arrow_times(values)
    if kind == "text":
        # Bytes, because a text that is not UTF-8 would be an exception.
        views = [getattr(types, f"is_{view}", None) for view in ("string_view", "binary_view")]
        if any(view and view(values.type) for view in views):
            values = values.cast(pyarrow.large_binary())
        elif types.is_string(values.type):
            values = values.view(pyarrow.binary())
        elif types.is_large_string(values.type):
            values = values.view(pyarrow.large_binary())
    return kind, values.to_pylist(), 0


def _arrow_times(values: Any) -> Column:
    """Returns dates and times by their integers: NumPy's times have less range or other units."""
    import pyarrow

    if pyarrow.types.is_date32(values.type):
        unit, integers = "D", values.view(pyarrow.int32()).cast(pyarrow.int64())
    else:
        is_date = pyarrow.types.is_date64(values.type)
        unit = "ms" if is_date else values.type.unit
        integers = values.view(pyarrow.int64())
    filled = integers.fill_null(int(_NAT)).to_numpy(zero_copy_only=False)
    return "time", np.ascontiguousarray(filled, dtype=np.int64), _NANOSECONDS[unit]


def _arrow_kind(name: str, dtype: Any) -> str:
    import pyarrow

    types = pyarrow.types
    if types.is_dictionary(dtype):
        return _arrow_kind(name, dtype.value_type)
    if types.is_timestamp(dtype) and dtype.tz is not None:
        raise _with_zone(name)
    views = [getattr(types, f"is_{view}", None) for view in ("string_view", "binary_view")]
    is_text = [types.is_string, types.is_large_string, types.is_binary, types.is_large_binary,
               types.is_fixed_size_binary, *(view for view in views if view)]
    for kind, tests in [
        ("integers", [types.is_integer]),
        ("floats", [types.is_floating, types.is_decimal]),
        ("booleans", [types.is_boolean]),
        ("text", is_text),
        ("times", [types.is_date, types.is_timestamp]),
        ("any", [types.is_null]),
    ]:
        if any(test(dtype) for test in tests):
            return kind
    raise _unsupported(name, f"a column of type {dtype}")


def _with_zone(name: str) -> BadInput:
    return bad_input(
        f"data, column `{name}`", "times without a time zone", "times with one",
        "convert them to dates or times in the zone of the table",
    )


def _unsupported(name: str, found: str) -> BadInput:
    return bad_input(
        f"data, column `{name}`",
        "a list, or a one-dimensional column of text, numbers, booleans, dates or times",
        found,
        "convert the column; types are public, so this check costs nothing",
    )


def bad_input(what: str, expected: str, found: str, remedy: str) -> BadInput:
    """Returns the exception of an invalid argument."""
    message = f"{what}: expected {expected}, found {found}\n  remedy: {remedy}"
    fields = {"what": what, "expected": expected, "found": found, "remedy": remedy}
    return create("BadInput", message, json.dumps(fields))
