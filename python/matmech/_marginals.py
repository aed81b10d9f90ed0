"""Marginals in the forms that other packages read."""

from __future__ import annotations

import warnings
from typing import Iterator

import numpy as np

from ._columns import bad_input
from ._tables import Table


def _groups(answers: Table) -> Iterator[tuple[tuple[str, ...], np.ndarray, np.ndarray]]:
    """Iterates over the marginals: attributes, rows of the table, and cells (rows, attributes).

    A marginal that the workload has twice is given once.
    """
    chosen = np.flatnonzero(answers["family"] == "identity")
    others = dict.fromkeys(
        f"{family} on {attributes}"
        for family, attributes in zip(answers["family"], answers["attributes"])
        if family != "identity"
    )
    if others:
        warnings.warn(
            f"queries that are no marginals are left out: {', '.join(others)}", stacklevel=4
        )
    for attributes in dict.fromkeys(answers["attributes"][chosen]):
        rows = chosen[answers["attributes"][chosen] == attributes]
        # The cells of a row: `2-2; 0-0`, the first and the last cell of every attribute.
        cells = [
            tuple(int(part.split("-")[0]) for part in text.split("; "))
            for text in answers["cells"][rows]
        ]
        names = tuple(attributes.split(", "))
        if any(len(row) != len(names) for row in cells):
            raise bad_input(
                f"marginal on {attributes!r}", "attributes without commas in their names",
                "other names", "rename the attributes in the schema",
            )
        first = {cell: row for cell, row in zip(reversed(cells), reversed(rows))}
        cells = list(dict.fromkeys(cells))
        yield names, np.array([first[cell] for cell in cells]), np.array(cells, dtype=np.int64)


def frames(answers: Table, count: str) -> list[Table]:
    """Returns a table per marginal: a column of cell numbers per attribute, and the estimates."""
    tables = []
    for names, rows, cells in _groups(answers):
        if count in names:
            raise bad_input(
                f"marginal on {', '.join(names)}", f"no attribute named {count!r}, the column of "
                "the estimates", "one", 'give another name: marginals(count="estimate")',
            )
        columns = {name: cells[:, k] for k, name in enumerate(names)}
        tables.append(columns | {count: answers["estimate"][rows]})
    return tables


def measurements_of(answers: Table) -> list[tuple[tuple[str, ...], np.ndarray, float]]:
    """Returns (clique, counts, standard deviation) per marginal."""
    if "standard_error" not in answers:
        raise bad_input(
            "marginals with standard deviations", "a release of unbiased answers",
            "a staged one, whose answers are biased",
            "release with a planner, or use marginals()",
        )
    deviation = answers["standard_error"]
    return [
        (names, answers["estimate"][rows], float(np.sqrt(np.mean(deviation[rows] ** 2))))
        for names, rows, _ in _groups(answers)
    ]
