"""Schemas from tables: `draft_schema` for those who may see them, `private_draft`."""

from __future__ import annotations

import os
from typing import Any, Iterable

from . import _matmech
from ._columns import all_records, named_records
from ._records import _count
from ._report import Progress, Report, finished


class PrivateDraft(Report):
    """A private draft: its cost, its columns, and the file of the schema."""

    releases: int
    rho: float
    epsilon: float
    delta: float
    #: The part of delta for values that only one person's records have.
    new_delta: float
    #: Per column ``name``, ``cells``, ``count`` and ``releases``; empty for a dry run.
    columns: list[dict[str, Any]]
    #: The path of the schema; None for a dry run.
    schema: str | None


def draft_schema(data: Any, *, max_values: int = 100) -> str:
    """Returns a commented schema in TOML drafted from records, as ``matmech draft-schema``.

    **Not private**: it has the values and ranges of the records. ``data`` is as in :func:`release`.

    >>> draft = draft_schema({"sex": ["f", "m", "f"]})
    >>> draft.startswith("# NOT PRIVATE"), 'values = ["f", "m"]' in draft
    (True, True)
    """
    return _matmech.draft_schema(all_records(data), max_values)


def private_draft(
    data: Any = None,
    *,
    columns: Iterable[str] = (),
    open: Iterable[str] = (),
    new_delta: float | None = None,
    bins: int = 10,
    ledger: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    dry_run: bool = False,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    neighbours: str = "add-remove",
    unit_rows: int = 1,
    person: str | None = None,
    wait: int = 60,
    progress: Progress | None = None,
) -> PrivateDraft:
    """Drafts a schema from noisy counts, charged to a ledger, as ``matmech draft-schema --private``.

    ``columns`` of numbers get bins. Of ``open`` columns of texts, the values that enough records
    have are listed; any value that only one person's records have is listed with a probability of
    at most ``new_delta``, which is a part of ``delta``. The other arguments are as in
    :func:`release`. Ctrl-C before the first release is charged spends nothing; after it, all
    releases of the draft are made first.

    >>> draft = private_draft(columns=["age"], open=["job"], new_delta=1e-10, epsilon=1, delta=1e-9,
    ...                       dry_run=True)
    >>> draft.releases, draft.epsilon, draft.schema
    (3, 1.0, None)
    """
    if dry_run:
        data = ledger = out = None
    elif data is None or ledger is None or out is None:
        raise TypeError("expected data, ledger and out, or dry_run=True")
    columns, open = list(columns), list(open)
    wanted = {name.strip() for name in (*columns, *open, *([] if person is None else [person]))}
    options = {
        "columns": columns,
        "open": open,
        "new_delta": new_delta,
        "bins": _count("bins", bins),
        "ledger": None if ledger is None else os.fspath(ledger),
        "out": None if out is None else os.fspath(out),
        "neighbours": neighbours,
        "unit_rows": _count("unit_rows", unit_rows),
        "person": person,
        "wait": _count("wait", wait),
    }
    outcome = _matmech.private_draft(
        None if data is None else named_records(data, sorted(wanted)),
        (epsilon, delta, rho, None, None),
        options,
        progress,
    )
    return finished(outcome, PrivateDraft)
