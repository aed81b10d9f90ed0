"""Tables that an engine counts: DuckDB, SQLite, Spark, or anything that runs SQL."""

from __future__ import annotations

import operator
from typing import Any, Callable, Iterable, Mapping

from . import _matmech

#: The dialects of the modules of connections.
_DIALECTS = {
    "duckdb": "duckdb", "_duckdb": "duckdb", "sqlite3": "sqlite", "_sqlite3": "sqlite",
    "pyspark": "spark",
}


class Table:
    """A table of an engine, whose marginals the engine counts: ``data`` of :func:`release`.

    ``connection`` is a connection of DuckDB or SQLite, a session of PySpark, or a callable that
    takes a statement and returns its rows; then ``dialect`` is ``"duckdb"``, ``"spark"``,
    ``"sqlite"`` or ``"postgres"``. ``table`` is a name, with dots between its parts; a part with
    dots is in double quotation marks. ``types`` gives the types of columns, such as
    ``{"age": "bigint"}``; without it those of DuckDB and Spark are read. SQLite needs none.
    ``order`` is the column that orders the records of a person.

    Statements run on the thread that calls :func:`release`. The table must not change meanwhile:
    a release is refused if two marginals are not those of one table.

    >>> import sqlite3
    >>> connection = sqlite3.connect(":memory:")
    >>> _ = connection.execute("CREATE TABLE people (sex)")
    >>> Table(connection, "people")
    Table('people', dialect='sqlite')
    """

    def __init__(
        self,
        connection: Any,
        table: str,
        *,
        dialect: str | None = None,
        types: Mapping[str, str] | None = None,
        order: str | None = None,
    ) -> None:
        module = type(connection).__module__.partition(".")[0]
        self.dialect = dialect or _DIALECTS.get(module)
        if self.dialect is None:
            raise TypeError("expected a connection of DuckDB, SQLite or PySpark, or dialect=…")
        self.table = table
        self.types = dict(types or {})
        self.order = order
        self._rows: Callable[[str], Iterable[Any]] = connection
        if module == "pyspark":
            self._rows = lambda statement: connection.sql(statement).collect()
        elif module in ("duckdb", "_duckdb"):
            self._rows = lambda statement: connection.execute(statement).fetchall()
        elif module in ("sqlite3", "_sqlite3"):
            self._rows = lambda statement: _sqlite(connection, statement)
        self._quoted = _matmech.quoted_table(self.dialect, table)

    def __repr__(self) -> str:
        return f"Table({self.table!r}, dialect={self.dialect!r})"

    def _types(self) -> dict[str, str]:
        """Returns the types of the columns, which are public; those that are given come first."""
        statements = {"duckdb": "DESCRIBE SELECT * FROM", "spark": "DESCRIBE TABLE"}
        if self.types or self.dialect not in statements:
            return self.types
        described = self._rows(f"{statements[self.dialect]} {self._quoted}")
        return {row[0]: row[1] for row in described if row[1]}

    def _count(self, statement: str) -> list[list[int]]:
        return [[operator.index(value) for value in row] for row in self._rows(statement)]

    def _native(self) -> Any:
        types = self._types()
        return _matmech.SqlTable(self.dialect, self.table, types, self.order, self._count)


def _sqlite(connection: Any, statement: str) -> list[Any]:
    cursor = connection.cursor()
    cursor.row_factory = None
    return cursor.execute(statement).fetchall()
