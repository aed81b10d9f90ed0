"""The matrix mechanism: differentially private answers with strategies of certified error.

Names, options and fields are those of the command ``matmech``.

>>> import matmech
>>> best = matmech.solve("range:64")
>>> best.gap < 1e-6
True
"""

from ._engines import Table
from ._errors import (
    BadInput,
    BudgetExhausted,
    Bug,
    DidNotConverge,
    Error,
    FileError,
    Interrupted,
    InvalidBudget,
    NotPositiveDefinite,
    Panic,
    ParseError,
    TooLarge,
    Unanswered,
    UnknownName,
)
from ._draft import PrivateDraft, draft_schema, private_draft
from ._mechanism import Access, QueryGroup
from ._matmech import Workload, __version__, registries
from ._privacy import NoiseGuarantee, noise_multiplier
from ._queries import PublishedRelease, QueryAnswers, read_release
from ._records import (
    Answers,
    Comparison,
    DataCheck,
    Plan,
    Release,
    Simulation,
    answer,
    check_data,
    compare,
    create_ledger,
    plan,
    release,
    show_ledger,
    simulate,
)
from ._solve import Certification, Solution, certify, gram, solve
from ._strategies import StrategyComparison
from ._stream import Coefficients, Stream, read_stream, stream
from ._tables import read_table
from ._training import PrivateTraining


def strategies() -> dict[str, str]:
    """Returns the strategies of `solve` with a line on each.

    >>> "optimal" in strategies()
    True
    """
    return dict(registries()[0])


def planners() -> dict[str, str]:
    """Returns the planners of `plan` and `release` with a line on each."""
    return dict(registries()[1])


def mechanisms() -> dict[str, str]:
    """Returns the mechanisms of `simulate` with a line on each."""
    return dict(registries()[2])


__all__ = [name for name in dir() if not name.startswith("_") and name != "registries"]
