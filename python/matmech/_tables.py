"""Schemas, workloads and records as the native part takes them, and tables that it wrote."""

from __future__ import annotations

import csv
import io
import json
import numbers
import os
from typing import Any, Iterable, Mapping, Sequence

import numpy as np

#: A table: column names to arrays of equal length. `pandas.DataFrame` and `polars.DataFrame` take
#: it as it is.
Table = dict[str, np.ndarray]


def document(value: Any, table: str) -> tuple[str, bool]:
    """Returns a path, or the text of a list of mappings as the TOML tables ``[[table]]``."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value), False
    lines: list[str] = []
    for entry in value:
        lines.append(f"[[{table}]]")
        lines.extend(f"{_key(key)} = {_value(item)}" for key, item in entry.items())
    return "\n".join(lines) + "\n", True


def queries(workload: Any, ways: Iterable[int] | None) -> tuple[tuple[str, bool] | None, list[int]]:
    """Returns the source of queries: a workload, or numbers of attributes."""
    if (workload is None) == (ways is None):
        raise TypeError("expected one of workload and ways, found both or none")
    if ways is not None:
        return None, [int(way) for way in ways]
    return document(workload, "queries"), []


def records(
    data: Any, schema: tuple[str, bool], person: str | None = None
) -> tuple[str | None, bytes | None]:
    """Returns the path of a CSV file, or a mapping from names to arrays as the bytes of one.

    No message depends on the records, their number included.
    """
    if isinstance(data, (str, os.PathLike)):
        return os.fspath(data), None
    names = [str(name) for name in _names(data)]
    columns = [_plain(data[name]) for name in _names(data)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    try:
        writer.writerows(zip(*columns, strict=True))
    except ValueError:
        raise ValueError(
            "data: expected columns of equal length, found columns of different lengths"
        ) from None
    try:
        return None, out.getvalue().encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # Its message names the character and its position.
        raise ValueError("data: expected texts that UTF-8 encodes, found a lone surrogate") from None


def read_table(path: str | os.PathLike[str]) -> Table:
    """Reads a table that matmech wrote; columns of numbers become arrays of float64 or int64."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        names = next(rows)
        columns = list(zip(*rows)) or [()] * len(names)
    return {name: _array(column) for name, column in zip(names, columns)}


def _names(data: Any) -> Sequence[Any]:
    for attribute in ("column_names", "columns"):  # Arrow, then pandas and polars
        if not isinstance(data, Mapping) and hasattr(data, attribute):
            return list(getattr(data, attribute))
    return list(data.keys())


def _plain(column: Any) -> list[str]:
    """Returns the values of a column as texts."""
    values = column if isinstance(column, (list, tuple)) else np.asarray(column).tolist()
    return [_text(value) for value in values]


def _text(value: Any) -> str:
    """Returns a value as a text that does not depend on other values of its column.

    A missing value turns a column of integers into one of floats, in which 5 is 5.0: one record
    would change the texts of all others. So equal numbers have equal texts, whatever their type.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        return str(value)
    number = float(value)
    if number != number:
        return ""
    is_exact_integer = number.is_integer() and abs(number) < 2**53
    return str(int(number)) if is_exact_integer else repr(number)


def _array(column: Sequence[str]) -> np.ndarray:
    for kind in (np.int64, np.float64):
        try:
            return np.array(column, dtype=object).astype(kind)
        except (ValueError, OverflowError):
            continue
    return np.array(column, dtype=object)


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
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    return "[" + ", ".join(_value(item) for item in value) + "]"
