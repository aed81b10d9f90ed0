"""Exceptions, with the text and the fields of the errors of the Rust library."""

from __future__ import annotations

import json
from typing import Any


class Error(Exception):
    """An error of matmech. Its fields are attributes, e.g. ``expected``, ``found``, ``remedy``."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__} has no field {name!r}")


class BadInput(Error, ValueError):
    """An invalid argument: ``what``, ``expected``, ``found``, ``remedy``."""


class UnknownName(Error, ValueError):
    """A name that is in no registry: ``kind``, ``name``, ``known``, ``remedy``."""


class ParseError(Error, ValueError):
    """A text that cannot be parsed: ``origin``, ``line``, ``column``, ``expected``, ``found``."""


class FileError(Error, OSError):
    """A file that cannot be read or written: ``path``, ``action``, ``errno``, ``remedy``."""


class TooLarge(Error, ValueError):
    """A computation above a size limit: ``what``, ``unit``, ``limit``, ``found``, ``remedy``."""


class BudgetExhausted(Error):
    """An access that costs more than the budget left: ``what``, ``asked``, ``left``, ``total``."""


class InvalidBudget(Error, ValueError):
    """An invalid privacy parameter."""


class Unanswered(Error, ValueError):
    """A strategy that does not answer the workload: ``strategy``, ``share`` and the query."""


class NotPositiveDefinite(Error, ValueError):
    """A matrix that is not positive definite: ``what``, ``order``."""


class DidNotConverge(Error, ArithmeticError):
    """A kernel that did not converge: ``what``, ``order``."""


class Bug(Error, RuntimeError):
    """A bug in matmech: ``what``, ``expected``, ``found``."""


class Panic(Bug):
    """A panic of the Rust library, which is a bug in matmech.

    Its text is shown nowhere: it may hold a value of a record.
    """


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during work.

    ``result`` is the result of the best iterate so far, whose bounds hold, or None if the work
    has no iterate to return.
    """

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


def create(name: str, message: str, fields: str) -> Error:
    """Returns the exception with a name, a message and fields as JSON."""
    error = globals()[name](message)
    error.__dict__.update(json.loads(fields))
    if isinstance(error, OSError):
        error.errno = json.loads(fields).get("errno")
    return error
