"""Strategies for one workload: ``solve`` and ``certify``."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
from numpy.typing import NDArray

from . import _matmech
from ._matmech import Workload
from ._report import Progress, Report, finished

Array = NDArray[np.float64]

#: A workload: a text of the command line's grammar, a matrix with one row per query and one column
#: per cell (NumPy, scipy.sparse, or anything `numpy.asarray` takes), or a `Workload`.
WorkloadLike = Any


class _Stored:
    """The matrices of a pickled result, as `_matmech.Matrices`."""

    def __init__(self, factors: list[Array], dual: Array | dict[str, Array] | None) -> None:
        self._factors = factors
        self._dual = dual

    def factors(self) -> list[Array]:
        return self._factors

    def dual(self) -> Array | dict[str, Array] | None:
        return self._dual


class Solution(Report):
    """A strategy with its error and its certificate.

    Errors are squared errors at unit privacy cost β = 2ρ = μ²: the total over the workload for the
    objective ``mean``, the largest of a query for ``max``.
    """

    workload: str
    cells: int
    queries: int | str
    #: ‖A‖² tr(G (AᵀA)⁺), or that of another objective and participation.
    error: float
    #: Certified: the error of every strategy is at least this. With ``random:K``, that of every strategy
    #: with at most the chi-square divergence in `details`.
    lower_bound: float
    #: The smallest known error.
    upper_bound: float
    #: upper_bound / lower_bound − 1
    gap: float
    objective: str
    participation: str
    #: Of an iterative solver: converged, iteration-limit, stalled or interrupted.
    status: str
    iterations: int
    seconds: float
    details: dict[str, Any]

    def __init__(self, text: str, matrices: _matmech.Matrices | _Stored) -> None:
        super().__init__(text)
        self._matrices = matrices

    def __getstate__(self) -> dict[str, Any]:
        stored = _Stored(self._matrices.factors(), self._matrices.dual())
        return {**self.__dict__, "_matrices": stored}

    def factors(self) -> list[Array]:
        """Returns the Kronecker factors of the strategy, each (queries, cells) of its attributes.

        >>> [a.shape for a in solve("prefix:4x8").factors()]
        [(4, 4), (8, 8)]
        """
        return self._matrices.factors()

    def strategy(self) -> Array:
        """Returns the strategy matrix A, (queries, cells): the Kronecker product of the factors.

        >>> A = solve("prefix:16").strategy()
        >>> bool(abs((A ** 2).sum(axis=0).max() - 1) < 1e-12)
        True
        """
        matrix: Array = np.ones((1, 1))
        for factor in self.factors():
            matrix = np.kron(matrix, factor).astype(np.float64, copy=False)
        return matrix

    def dual(self) -> Array | dict[str, Array] | None:
        """Returns the weights that prove the lower bound.

        For the total error and one participation: μ, (cells,), nonnegative with sum 1, with
        LB = (tr (M^½ G M^½)^½)² for M = diag(μ). Otherwise a dictionary with ``step_weights``,
        (cells,) or (cells, cells), and ``query_weights``, (queries,). None if the strategy has no
        certificate of its own, or with ``random:K``.

        >>> mu = solve("range:32").dual()
        >>> mu.shape, round(float(mu.sum()), 12)
        ((32,), 1.0)
        """
        return self._matrices.dual()


class Certification(Solution):
    """The error of a given strategy and its certified distance to the optimum."""

    strategy_queries: int
    rank: int
    #: Largest over smallest non-zero singular value.
    condition: float
    #: Largest column norm, or largest change of the answers by a repeated participation.
    sensitivity: float
    #: Absent with ``random:K``.
    svd_bound: float
    #: error / upper_bound − 1: the strategy's error is at least this share above the optimum.
    at_least_above_optimum: float
    #: error / lower_bound − 1: the strategy's error is at most this share above the optimum.
    at_most_above_optimum: float


def workload_of(workload: WorkloadLike, shape: Sequence[int] | None = None) -> Workload:
    """Returns a workload from a text or a matrix of queries, (queries, cells).

    ``shape`` has the sizes of the attributes, whose product is the number of cells; the last
    attribute varies fastest.
    """
    if isinstance(workload, Workload):
        return workload
    if isinstance(workload, str):
        return Workload.parse(workload)
    if hasattr(workload, "tocsr"):
        sparse = workload.tocsr()
        return Workload.of_sparse(
            np.asarray(sparse.indptr, dtype=np.uint64),
            np.asarray(sparse.indices, dtype=np.uint64),
            np.asarray(sparse.data, dtype=np.float64),
            list(shape or sparse.shape[1:]),
        )
    rows = matrix_of(workload)
    return Workload.of_queries(rows, list(shape or rows.shape[1:]))


def gram(matrix: Any, shape: Sequence[int] | None = None) -> Workload:
    """Returns the workload of a Gram matrix G = WᵀW, (cells, cells).

    The Gram matrix determines the total error, which is the objective ``mean``.

    >>> W = np.tril(np.ones((64, 64)))
    >>> same = solve(gram(W.T @ W)).error / solve("prefix:64").error
    >>> round(same, 6)
    1.0
    """
    matrix = matrix_of(matrix)
    return Workload.of_gram(matrix, list(shape or matrix.shape[1:]))


def matrix_of(matrix: Any) -> Array:
    """Returns a float64 array of two dimensions, also of a sparse matrix."""
    if hasattr(matrix, "toarray"):
        matrix = matrix.toarray()
    array = np.ascontiguousarray(matrix, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(
            f"matrix: expected two dimensions, found {array.ndim}\n"
            "  remedy: give one row per query and one column per cell"
        )
    return array


def text(value: Any) -> str | None:
    """Returns an option as the command line writes it."""
    return None if value is None else str(value)


def solve(
    workload: WorkloadLike,
    strategy: str = "optimal",
    *,
    objective: str | None = None,
    participation: str | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    tolerance: float | None = None,
    max_iterations: int | None = None,
    bands: int | None = None,
    shape: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Selects a strategy for a workload, as ``matmech solve``.

    ``strategy`` is one of `strategies()`, with options as in ``"eigen-separation(group=16)"``.
    ``objective`` is ``mean``, ``max`` or ``balanced:SHARE``; ``participation`` is ``single``,
    ``epochs:K``, ``min-sep:B,K`` or, with ``epsilon`` and ``delta``, ``random:K``. Ctrl-C raises `Interrupted` with the best iterate.

    >>> best = solve("prefix:128", objective="max", participation="epochs:4")
    >>> best.gap < 1e-6, best.status
    (True, 'converged')
    """
    flags = [
        ("epsilon", text(epsilon)),
        ("delta", text(delta)),
        ("bands", text(bands)),
        ("tolerance", text(tolerance)),
        ("max-iterations", text(max_iterations)),
        ("objective", objective),
        ("participation", participation),
    ]
    outcome = _matmech.solve(workload_of(workload, shape), strategy, flags, progress)
    return finished(outcome, Solution)


def certify(
    strategy: Any,
    workload: WorkloadLike,
    *,
    objective: str = "mean",
    participation: str = "single",
    epsilon: float | None = None,
    delta: float | None = None,
    tolerance: float | None = None,
    max_iterations: int | None = None,
    shape: Sequence[int] | None = None,
    progress: Progress | None = None,
) -> Certification:
    """Compares a strategy matrix, (queries, cells), with the optimum, as ``matmech certify``.

    A list of matrices is the list of the Kronecker factors, in the order of the attributes.
    With ``participation="random:K"``, ``epsilon`` and ``delta`` the bounds are for strategies with at
    most the chi-square divergence of this one, which ``details`` has; ``tolerance`` and
    ``max_iterations`` are for the others.

    >>> identity = certify(np.eye(256), "prefix:256")
    >>> identity.error, round(identity.at_most_above_optimum, 2)
    (32896.0, 19.16)
    """
    factors = strategy if isinstance(strategy, (list, tuple)) else [strategy]
    outcome = _matmech.certify(
        [matrix_of(factor) for factor in factors],
        workload_of(workload, shape),
        objective,
        participation,
        epsilon,
        delta,
        tolerance,
        max_iterations,
        progress,
    )
    return finished(outcome, Certification)
