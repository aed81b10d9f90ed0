"""The noise of a strategy for training: ``noise_multiplier``."""

from __future__ import annotations

import os
from typing import Any

from . import _matmech
from ._report import Report, finished
from ._solve import WorkloadLike, matrix_of, workload_of
from ._stream import Coefficients


class NoiseGuarantee(Report):
    """σ, ε and δ of the noise of a strategy; the one that was not given is rounded up.

    The guarantee is (ε, δ)-differential privacy for adding or removing one record, whose gradients
    have norm at most the clipping norm, also if gradients depend on earlier outputs.
    """

    workload: str
    steps: int
    strategy: str
    #: Whether the strategy is scaled to sensitivity 1, as a named one is.
    scaled: bool
    participation: str
    objective: str
    #: The noise multiplier: standard deviation of the noise z per unit of the clipping norm.
    sigma: float
    epsilon: float
    delta: float
    #: A part of ``delta``; 0 if the guarantee was computed without samples.
    failure_probability: float
    #: ``Gaussian, exact``, or the name of an upper bound.
    method: str
    #: Largest change of the measured values by one record, at clipping norm 1.
    sensitivity: float
    sensitivity_kind: str
    #: σ² tr(G (CᵀC)⁻¹)/m, the mean squared error of a query; the objective, for another one.
    error: float
    neighbours: str


def noise_multiplier(
    strategy: Any,
    *,
    workload: WorkloadLike | None = None,
    participation: str = "single",
    sigma: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    objective: str = "mean",
    method: str = "auto",
    samples: int | None = None,
    failure_probability: float | None = None,
    seed: int = 0,
) -> NoiseGuarantee:
    """Computes the third of σ, ε and δ for the noise of a strategy, as ``matmech privacy``.

    ``strategy`` is a lower triangular matrix C, (steps, steps), or `Coefficients`, or a file of
    either, as it is; or the name of one of `strategies()`, selected for the problem and scaled to
    sensitivity 1. The noise of a training loop is ``sigma * clip`` times that of the strategy.
    Without a workload, it is the prefix sums of the strategy's steps.

    With ``participation="random:K"``, ``method`` is ``auto``, ``deterministic`` or ``monte-carlo``:
    a confidence bound from ``samples`` that does not hold with ``failure_probability``, a part of δ.
    The same arguments give the same numbers.

    >>> fitted = stream("prefix:64", participation="epochs:4")
    >>> found = noise_multiplier(fitted, participation="epochs:4", epsilon=1, delta=1e-5)
    >>> round(found.sigma, 4), found.method
    (3.7306, 'Gaussian, exact')
    >>> round(noise_multiplier(2 * np.eye(8), epsilon=1, delta=1e-5).sigma, 4)
    7.4613
    """
    steps: int | None = None
    if isinstance(strategy, Coefficients):
        strategy = strategy._coefficients
        steps = strategy.steps
    elif isinstance(strategy, (str, os.PathLike)):
        strategy = os.fspath(strategy)
    else:
        strategy = matrix_of(strategy)
        steps = len(strategy)
    if workload is None and steps is None:
        raise TypeError("noise_multiplier: expected workload=, e.g. 'prefix:64', found none")
    workload = f"prefix:{steps}" if workload is None else workload
    outcome = _matmech.privacy(
        strategy,
        workload_of(workload),
        participation,
        objective,
        sigma,
        epsilon,
        delta,
        (method, samples, failure_probability, seed),
    )
    return finished(outcome, NoiseGuarantee)
