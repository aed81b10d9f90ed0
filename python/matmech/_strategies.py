"""Several strategies for one workload: ``compare`` with ``strategies``."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ._report import Progress
from ._solve import WorkloadLike, certify, solve


class StrategyComparison:
    """Errors of strategies for one workload, next to the certified optimum.

    ``combinations`` has a row per strategy, in the order given, then ``optimal``: ``strategy``,
    ``error`` and ``lower_bound`` as in `Solution`, and ``above_bound``, error / lower_bound − 1.
    """

    combinations: list[dict[str, Any]]

    def __init__(self, combinations: list[dict[str, Any]]) -> None:
        self.combinations = combinations

    def __repr__(self) -> str:
        shown = (f"{row['strategy']}={row['error']:.6g}" for row in self.combinations)
        return f"StrategyComparison({', '.join(shown)})"


def compare_strategies(
    workload: WorkloadLike,
    strategies: Mapping[str, Any],
    objective: str | None,
    participation: str | None,
    shape: Sequence[int] | None,
    progress: Progress | None,
) -> StrategyComparison:
    """Returns the error of every strategy and one lower bound for all."""
    options = {"objective": objective, "participation": participation}
    given = {name: value for name, value in options.items() if value is not None}
    named = {**strategies, "optimal": "optimal"}
    solutions = []
    for name, strategy in named.items():
        if isinstance(strategy, str):
            found = solve(workload, strategy, shape=shape, progress=progress, **given)  # type: ignore[arg-type]
        else:
            matrix = strategy(workload) if callable(strategy) else strategy
            found = certify(matrix, workload, shape=shape, progress=progress, **given)  # type: ignore[arg-type]
        solutions.append((name, found))
    bound = max(found.lower_bound for _, found in solutions)
    return StrategyComparison(
        [
            {
                "strategy": name,
                "error": found.error,
                "lower_bound": bound,
                "above_bound": found.error / bound - 1,
            }
            for name, found in solutions
        ]
    )
