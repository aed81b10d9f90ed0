"""Streaming noise for private training: ``stream``."""

from __future__ import annotations

import math
import os
from typing import Any, Iterator, Sequence

import numpy as np

from . import _matmech
from ._report import Progress, Report, finished
from ._solve import Array, WorkloadLike, workload_of


class Coefficients:
    """Coefficients from which correlated noise is drawn, with few buffers per coordinate."""

    def __init__(self, coefficients: _matmech.Coefficients) -> None:
        self._coefficients = coefficients

    def noise(
        self, shape: int | Sequence[int] = (), seed: int | None = None
    ) -> Iterator[Array]:
        """Iterates over the noise of the steps, arrays of the given shape and float64.

        The coordinates are independent. Multiply by the noise multiplier and the clipping norm.
        Without a seed the key is from the operating system. Whoever knows a seed can subtract the
        noise: seeds are for experiments only. Use one iterator for one training run. The noise is
        floating point, which the proof of differential privacy does not cover.

        >>> fitted = stream("prefix:64", buffers=3)
        >>> steps = list(fitted.noise((2, 5), seed=1))
        >>> len(steps), steps[0].shape
        (64, (2, 5))
        """
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        noise = self._coefficients.noise(math.prod(shape), seed)
        while (step := noise.next()) is not None:
            yield step.reshape(shape)

    def matrix(self) -> Array:
        """Returns the strategy C, (steps, steps) and lower triangular; the noise is C⁻¹z."""
        return self._coefficients.matrix()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the coefficients as ``.npz``, as ``matmech stream --out``."""
        self._coefficients.write(os.fspath(path))


class Stream(Report, Coefficients):
    """Fitted streaming noise. Errors are squared errors of a query at unit privacy cost."""

    workload: str
    steps: int
    form: str
    #: Largest change of the measured values, for noise from standard normals.
    sensitivity: float
    mean_error: float
    error: float
    #: Certified: the error of every strategy, streaming or not, is at least this.
    #: Missing for random allocation.
    lower_bound: float
    #: error / lower_bound − 1
    excess: float
    #: Numbers stored per coordinate.
    buffers: int
    iterations: int
    status: str

    def __init__(self, text: str, coefficients: _matmech.Coefficients) -> None:
        Report.__init__(self, text)
        Coefficients.__init__(self, coefficients)


def stream(
    workload: WorkloadLike,
    *,
    buffers: int = 4,
    participation: str = "single",
    objective: str = "mean",
    epsilon: float | None = None,
    delta: float | None = None,
    form: str | None = None,
    tolerance: float | None = None,
    max_iterations: int | None = None,
    progress: Progress | None = None,
) -> Stream:
    """Fits noise for training that is drawn step by step, as ``matmech stream``.

    With ``participation="random:K"`` the noise is fitted to ``epsilon`` and ``delta``.

    >>> fitted = stream("prefix:128", participation="epochs:4")
    >>> fitted.excess < 0.01, fitted.buffers
    (True, 4)
    """
    outcome = _matmech.stream(
        workload_of(workload),
        buffers,
        participation,
        objective,
        (epsilon, delta),
        form,
        tolerance,
        max_iterations,
        progress,
    )
    return finished(outcome, Stream)


def read_stream(path: str | os.PathLike[str]) -> Coefficients:
    """Reads coefficients that `Coefficients.write` or ``matmech stream --out`` wrote."""
    return Coefficients(_matmech.Coefficients.read(os.fspath(path)))
