"""Answers to queries in words, from the published numbers of a release."""

from __future__ import annotations

import json
import os
from pathlib import Path

from . import _matmech

#: The keys of a row besides those of `by`.
_KEYS = ("estimate", "standard_error", "low_95", "high_95", "interval", "extrapolated")


class QueryAnswers(list):
    """The answers to a query: one mapping per combination of the values of ``by``.

    Every mapping has the values of ``by`` under their names, then ``estimate``,
    ``standard_error``, ``low_95``, ``high_95``, ``interval`` (how the 95 % interval is computed, or
    why there is none) and ``extrapolated``. A number that does not exist is None. A name of ``by``
    that is one of these keys gets the suffix ``_``. ``pandas.DataFrame`` and ``polars.DataFrame``
    take the list as it is.
    """

    #: The canonical text of the query.
    query: str
    #: What the answers mean, in sentences.
    notes: list[str]

    def __init__(self, text: str) -> None:
        found = json.loads(text)
        names = [name + "_" if name in _KEYS else name for name in found["by"]]
        super().__init__(
            {**dict(zip(names, row["by"])), **{key: row[key] for key in _KEYS}}
            for row in found["answers"]
        )
        self.query = found["query"]
        self.notes = found["notes"]


class PublishedRelease:
    """The published numbers of a release. They answer any number of queries at no privacy cost."""

    #: The folder of the measurements.
    measurements: Path

    def __init__(self, measurements: str | os.PathLike[str]) -> None:
        self.measurements = Path(measurements)

    def query(self, text: str) -> QueryAnswers:
        """Answers a query in words, such as ``"mean(income) by region"``, as ``matmech answer``.

        The folder of the measurements is read with every call. The grammar is in docs/releasing.md.
        """
        return QueryAnswers(_matmech.query(os.fspath(self.measurements), text))


def read_release(path: str | os.PathLike[str]) -> PublishedRelease:
    """Reads a release from its folder, or from its folder ``measurements``."""
    folder = Path(path) / "measurements"
    return PublishedRelease(folder if folder.is_dir() else path)
