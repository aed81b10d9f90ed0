"""`draft_schema`: a schema from a table that may be seen."""

from __future__ import annotations

from typing import Any

from . import _matmech
from ._columns import all_records


def draft_schema(data: Any, *, max_values: int = 100) -> str:
    """Returns a commented schema in TOML drafted from records, as ``matmech draft-schema``.

    **Not private**: it has the values and ranges of the records. ``data`` is as in :func:`release`.

    >>> draft = draft_schema({"sex": ["f", "m", "f"]})
    >>> draft.startswith("# NOT PRIVATE"), 'values = ["f", "m"]' in draft
    (True, True)
    """
    return _matmech.draft_schema(all_records(data), max_values)
