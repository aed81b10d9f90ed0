"""Schemas and workloads as the native part takes them, and tables that it wrote."""

from __future__ import annotations

import csv
import datetime
import decimal
import json
import os
from typing import Any, Callable, Iterable, Mapping, Sequence

import numpy as np

from . import _matmech
from ._columns import bad_input

#: A table: column names to arrays of equal length. `pandas.DataFrame` and `polars.DataFrame` take
#: it as it is.
Table = dict[str, np.ndarray]

#: The first columns of a table of answers, which are texts.
_TEXTS = ["attributes", "family", "query", "cells"]

#: Later columns of answers that are texts; the others are numbers.
_WORDS = {"extrapolated", "error_bound_is"}


def document(value: Any, table: str) -> tuple[str, bool]:
    """Returns a path, or the text of a list of mappings as the TOML tables ``[[table]]``."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value), False
    expected = f"a path, or a list of mappings with the keys of [[{table}]]"
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        remedy = "give a list, also of one mapping"
        raise bad_input(table, expected, f"a {type(value).__name__}", remedy)
    lines: list[str] = []
    for entry in value:
        if not isinstance(entry, Mapping):
            raise bad_input(table, expected, f"a list with a {type(entry).__name__}",
                            "give one mapping per entry")
        lines.append(f"[[{table}]]")
        lines.extend(f"{_key(key)} = {_value(item)}" for key, item in entry.items())
    return "\n".join(lines) + "\n", True


def queries(workload: Any, ways: Any) -> tuple[tuple[str, bool] | None, list[int]]:
    """Returns the source of queries: a workload, or numbers of attributes."""
    if (workload is None) == (ways is None):
        raise TypeError("expected one of workload and ways, found both or none")
    if ways is None:
        return document(workload, "queries"), []
    numbers = [ways] if isinstance(ways, (int, np.integer)) else ways
    if isinstance(numbers, str) or not isinstance(numbers, Iterable):
        raise bad_input("ways", "numbers of attributes", f"a {type(ways).__name__}",
                        "write e.g. ways=[1, 2]")
    numbers = list(numbers)
    if not all(isinstance(way, (int, np.integer)) and way >= 0 for way in numbers):
        raise bad_input("ways", "numbers of attributes", repr(numbers), "write e.g. ways=[1, 2]")
    return None, [int(way) for way in numbers]


def read_table(path: str | os.PathLike[str], schema: Any = None) -> Table:
    """Reads a table that matmech wrote.

    The types of records are those of the schema, if it is given: a path or a list of mappings.
    Otherwise only the numbers of answers become numbers, and all other columns are text.
    """
    with open(path, newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        names = next(rows)
        columns = list(zip(*rows)) or [()] * len(names)
    types: dict[str, Callable[[Sequence[str]], np.ndarray]] = {}
    if schema is not None:
        source = document(schema, "attribute")
        types = {name: _typed(values) for name, values in _matmech.column_values(source)}
    elif names[: len(_TEXTS)] == _TEXTS:
        types = {name: _floats for name in names[len(_TEXTS) :] if name not in _WORDS}
    return {name: types.get(name, _texts)(column) for name, column in zip(names, columns)}


def _texts(column: Sequence[str]) -> np.ndarray:
    return np.array(column, dtype=object)


def _floats(column: Sequence[str]) -> np.ndarray:
    return np.array([float(text) if text else np.nan for text in column], dtype=np.float64)


def _integers(column: Sequence[str]) -> np.ndarray:
    return np.array([int(text) for text in column], dtype=np.int64)


def _typed(values: Any) -> Callable[[Sequence[str]], np.ndarray]:
    """Returns the reader of a column: a type of numbers, with labels among them that denote
    missing or other values, or a mapping from texts to values."""
    if isinstance(values, tuple):
        return _labelled(*values)
    if not isinstance(values, dict):
        return {"float": _floats, "integer": _integers}[values]
    types = {type(value) for value in values.values()}
    if types == {tuple}:
        return _times({text: nanoseconds for text, (nanoseconds,) in values.items()})
    values = {text: _time(value[0]) if isinstance(value, tuple) else value
              for text, value in values.items()}
    is_exact = all(float(value) == value for value in values.values() if isinstance(value, int))
    kind = next((dtype for kinds, dtype in [({bool}, np.bool_), ({int}, np.int64),
                                            ({int, float}, np.float64 if is_exact else object)]
                 if types <= kinds), object)
    return lambda column: np.array([values[text] for text in column], dtype=kind)


def _labelled(numbers: str, labels: Mapping[str, bool]) -> Callable[[Sequence[str]], np.ndarray]:
    """Returns the reader of numbers and labels: NaN is a missing value, other labels are texts."""
    number = {"float": float, "integer": int}[numbers]
    if all(labels.values()):
        return lambda column: np.array(
            [np.nan if text in labels else number(text) for text in column], dtype=np.float64)
    values = {text: np.nan if is_missing else text for text, is_missing in labels.items()}
    return lambda column: np.array(
        [values[text] if text in values else number(text) for text in column], dtype=object)


def _times(values: dict[str, int]) -> Callable[[Sequence[str]], np.ndarray]:
    """Returns the reader of times, in nanoseconds, or in a unit of which 64 bits hold all."""
    for unit, size in [("ns", 1), ("us", 10**3), ("s", 10**9)]:
        if all(time % size == 0 and abs(time // size) < 2**63 for time in values.values()):
            kind = f"datetime64[{unit}]"
            return lambda column: np.array([values[text] // size for text in column],
                                           dtype=np.int64).view(kind)
    times = {text: _time(time) for text, time in values.items()}
    return lambda column: np.array([times[text] for text in column], dtype=object)


def _time(nanoseconds: int) -> np.datetime64:
    """Returns a time in nanoseconds, or in microseconds where 64 bits have no nanoseconds."""
    if abs(nanoseconds) < 2**63:
        return np.datetime64(nanoseconds, "ns")
    return np.datetime64(nanoseconds // 1000, "us")


def _key(key: str) -> str:
    return json.dumps(str(key), ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    """Returns a value in TOML, whose strings are those of JSON."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, str):
        return _key(value)
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, np.floating):
        return np.format_float_scientific(value, trim="0")
    if isinstance(value, (decimal.Decimal, np.datetime64)):
        return str(value)
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    if isinstance(value, Iterable):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    raise bad_input("schema or workload", "texts, numbers, booleans, dates, lists and mappings",
                    f"a {type(value).__name__}", "drop the key, or convert its value")
