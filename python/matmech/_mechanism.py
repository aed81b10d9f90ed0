"""Mechanisms of your own in simulations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterable, Protocol, Sequence

import numpy as np
from numpy.typing import NDArray

from . import _matmech
from ._columns import bad_input

Array = NDArray[np.float64]


@dataclass(frozen=True)
class QueryGroup:
    """Queries of a workload on one set of attributes."""

    #: In the order of the schema.
    attributes: tuple[str, ...]
    #: The sizes of the attributes.
    shape: tuple[int, ...]
    #: As in workload files; ``identity`` is the marginal itself.
    family: str


class Access:
    """Paid access of a mechanism to the records, during its run. Budgets are ρ of zCDP.

    Marginals are arrays with an axis per attribute, in the order in which they are named.
    """

    def __init__(self, native: Any, sizes: dict[str, int]) -> None:
        self._native = native
        #: The sizes of all attributes.
        self.sizes = sizes
        self._positions = {name: position for position, name in enumerate(sizes)}

    @property
    def total(self) -> float:
        """The budget of the run."""
        return self._native.budget()[0]

    @property
    def remaining(self) -> float:
        """The budget that is left."""
        return self._native.budget()[1]

    def measure(self, attributes: Sequence[str], variance: float) -> Array:
        """Returns a marginal with normal noise of this variance in every cell.

        It costs 1/(2 variance). Raises `BudgetExhausted`, and reads nothing, if that is not left; a
        difference of a relative 10⁻⁹ of the budget is taken for rounding, and the variance is larger.
        """
        return self._measured(attributes, variance, False)

    def measure_residual(self, attributes: Sequence[str], variance: float) -> Array:
        """Returns the residual of such a noisy marginal: centred along every axis.

        It costs p/(2 variance) with the product p of 1 − 1/n over the sizes n.
        """
        return self._measured(attributes, variance, True)

    def select(
        self,
        candidates: Iterable[Sequence[str]],
        estimates: Iterable[Any],
        epsilon: float,
        weights: Iterable[float] | None = None,
    ) -> int:
        """Returns the index of a marginal whose estimate is bad, by the exponential mechanism.

        The score is the weight (default 1) times the L1 distance of the marginal from its estimate. It
        costs ε²/8.
        """
        names = [[c] if isinstance(c, str) else list(c) for c in candidates]
        given = [np.asarray(estimate, dtype=np.float64) for estimate in estimates]
        factors = [1.0] * len(names) if weights is None else [float(w) for w in weights]
        if not len(names) == len(given) == len(factors):
            raise bad_input("selection", "an estimate, and a weight if any, per candidate",
                            f"{len(names)} candidates, {len(given)} estimates, "
                            f"{len(factors)} weights", "give lists of the same length")
        rows = [
            (positions, flat(estimate, self._shape(name), order, name), weight)
            for name, estimate, weight in zip(names, given, factors)
            for positions, order in [self._order(name)]
        ]
        return self._native.select(rows, float(epsilon))

    def _measured(self, attributes: Sequence[str], variance: float, residual: bool) -> Array:
        positions, order = self._order(attributes)
        cells = self._native.measure(positions, float(variance), residual)
        shape = [list(self.sizes.values())[position] for position in positions]
        return cells.reshape(shape).transpose(np.argsort(order))

    def _order(self, attributes: Sequence[str]) -> tuple[list[int], list[int]]:
        """Returns the ascending positions, and the indices of the attributes in this order."""
        names = [attributes] if isinstance(attributes, str) else list(attributes)
        for name in names:
            if name not in self._positions:
                raise bad_input("attributes", f"attributes of {list(self.sizes)}", repr(name),
                                "check the spelling")
        positions = [self._positions[name] for name in names]
        order = [int(index) for index in np.argsort(positions, kind="stable")]
        return [positions[index] for index in order], order

    def _shape(self, attributes: Sequence[str]) -> tuple[int, ...]:
        self._order(attributes)
        return tuple(self.sizes[name] for name in attributes)


class Mechanism(Protocol):
    """A mechanism: ``run`` returns the estimated marginal of every group, in order."""

    def run(self, access: Access, workload: list[QueryGroup]) -> Iterable[Any]: ...


def flat(marginal: Array, shape: tuple[int, ...], order: list[int], what: Any) -> Array:
    """Returns the cells of a marginal in the order of the schema."""
    if marginal.shape != shape:
        raise bad_input(f"marginal on {what}", f"an array of shape {shape}",
                        f"one of shape {marginal.shape}", "give one axis per attribute")
    return np.ascontiguousarray(marginal.transpose(order)).ravel()


def chosen(mechanism: str | Mechanism) -> str | tuple[str, Callable[..., list[Array]]]:
    """Returns a mechanism as the native part takes it."""
    if isinstance(mechanism, str):
        return mechanism
    if not callable(getattr(mechanism, "run", None)):
        raise bad_input("mechanism", "a name, or an object with run(access, workload)",
                        f"a {type(mechanism).__name__}", "see matmech.mechanisms() for names")

    def run(native: Any, names: list[str], sizes: list[int], groups: Any) -> list[Array]:
        access = Access(native, dict(zip(names, sizes)))
        workload = [
            QueryGroup(
                tuple(names[p] for p in positions), tuple(sizes[p] for p in positions), family
            )
            for positions, family in groups
        ]
        answers = [np.asarray(a, dtype=np.float64) for a in mechanism.run(access, workload)]
        ascending = lambda group: list(range(len(group.shape)))
        return [
            flat(answer, group.shape, ascending(group), group.attributes)
            for answer, group in zip(answers, workload)
        ] + [answer.ravel() for answer in answers[len(workload):]]

    return str(getattr(mechanism, "name", type(mechanism).__name__)), run
