"""Results: the fields of the command line's JSON as attributes."""

from __future__ import annotations

import json
from typing import Any, Callable, Mapping, TypeVar

from ._errors import Interrupted

#: Called at every iteration of a solver with ``iterations``, ``lower_bound`` and ``upper_bound``; by
#: `release` and `answer` with ``step``, ``parts`` and ``done``, which do not depend on records.
Progress = Callable[[Mapping[str, Any]], Any]

T = TypeVar("T")


class Report:
    """The fields of the command line's ``--json`` as attributes, and in ``report``."""

    report: dict[str, Any]

    def __init__(self, text: str) -> None:
        self.report = json.loads(text)
        for name, value in self.report.items():
            # Methods keep their names: the file `dual` of certify, the file `matrix` of stream.
            if not hasattr(type(self), name):
                setattr(self, name, value)

    def __repr__(self) -> str:
        shown = ("workload", "strategy", "form", "planner", "mechanism", "sigma", "epsilon",
                 "delta", "error", "rmse", "lower_bound", "gap", "status")
        fields = (f"{name}={self.report[name]!r}" for name in shown if name in self.report)
        return f"{type(self).__name__}({', '.join(fields)})"


def finished(outcome: tuple[Any, BaseException | None], make: Callable[..., T]) -> T:
    """Returns the result of work, or raises the exception that ended it."""
    value, interrupt = outcome
    if interrupt is None:
        return make(*value)
    if not isinstance(interrupt, KeyboardInterrupt):
        raise interrupt
    if value is None:
        raise Interrupted("interrupted, without a result") from interrupt
    result = make(*value)
    raise Interrupted(f"interrupted: the best iterate is {result!r}", result) from interrupt
