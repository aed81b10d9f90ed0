"""Marginals in the forms that other packages read."""

from __future__ import annotations

from typing import Iterator

import numpy as np

from ._tables import Table


def _groups(answers: Table) -> Iterator[tuple[tuple[str, ...], np.ndarray, np.ndarray]]:
    """Iterates over the marginals: attributes, rows of the table, and cells (rows, attributes)."""
    chosen = np.flatnonzero(answers["family"] == "identity")
    for attributes in dict.fromkeys(answers["attributes"][chosen]):
        rows = chosen[answers["attributes"][chosen] == attributes]
        # The cells of a row: `2-2; 0-0`, the first and the last cell of every attribute.
        cells = [
            [int(part.split("-")[0]) for part in text.split("; ")]
            for text in answers["cells"][rows]
        ]
        names = tuple(attributes.split(", "))
        if any(len(row) != len(names) for row in cells):
            raise ValueError(
                f"marginal on {attributes!r}: expected attributes without commas in their names\n"
                "  remedy: rename the attributes in the schema"
            )
        yield names, rows, np.array(cells, dtype=np.int64)


def frames(answers: Table) -> list[Table]:
    """Returns a table per marginal: a column of cell numbers per attribute, and ``count``."""
    return [
        {name: cells[:, k] for k, name in enumerate(names)} | {"count": answers["estimate"][rows]}
        for names, rows, cells in _groups(answers)
    ]


def measurements_of(answers: Table) -> list[tuple[tuple[str, ...], np.ndarray, float]]:
    """Returns (clique, counts, standard deviation) per marginal."""
    if "standard_error" not in answers:
        raise ValueError(
            "marginals with standard deviations: expected a release of unbiased answers, found a "
            "staged one, whose answers are biased\n"
            "  remedy: release with a planner, or use marginals()"
        )
    deviation = answers["standard_error"]
    return [
        (names, answers["estimate"][rows], float(np.sqrt(np.mean(deviation[rows] ** 2))))
        for names, rows, _ in _groups(answers)
    ]
