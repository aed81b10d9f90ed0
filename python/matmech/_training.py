"""Private training: batches, noise and statement as one object."""

from __future__ import annotations

import json
import operator
import os
import sys
from typing import Any, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from . import _matmech
from ._errors import BadInput
from ._privacy import NoiseGuarantee, noise_multiplier
from ._report import Progress
from ._stream import Coefficients, read_stream, stream

#: Device of `__dlpack_device__` for the memory of the processor.
_CPU = 1

#: Version of the contents of `PrivateTraining.state_dict`.
_VERSION = 2


class PrivateTraining:
    """Batches, noise and privacy statement of one training run.

    Every step takes a batch, sums the gradients of its records, each clipped to norm ``clip``, and
    gets the noisy sum. Divide it by ``divisor``, the public number records/steps_per_epoch; never
    by the size of the batch, which is private.

    ``participation="random"``: every record draws one of ``steps_per_epoch`` batches uniformly and
    independently, from the operating system, and takes part in it in every epoch. Sizes vary, and a
    batch may be empty. ``"fixed"``: batches of equal size in one order of the records, ``order`` or
    drawn from the operating system, in every epoch.

    ``strategy`` is `Coefficients` for ``steps`` steps, or a file of them; by default they are
    fitted with ``buffers`` buffers. The noise multiplier is that of `noise_multiplier`.

    >>> x = np.ones((24, 3))
    >>> training = PrivateTraining(records=24, steps_per_epoch=6, epochs=2, epsilon=1, delta=1e-5,
    ...                            clip=1.0, participation="fixed")
    >>> model = np.zeros(3)
    >>> for batch in training.batches():
    ...     gradients = x[batch] / np.sqrt(3)
    ...     model -= 0.1 * training.private(gradients.sum(axis=0)) / training.divisor
    >>> training.step, round(training.sigma, 4)
    (12, 3.7306)
    """

    def __init__(
        self,
        *,
        records: int,
        steps_per_epoch: int,
        epochs: int,
        epsilon: float,
        delta: float,
        clip: float,
        buffers: int = 4,
        participation: str = "random",
        strategy: Coefficients | str | os.PathLike[str] | None = None,
        order: Sequence[int] | NDArray[np.int64] | None = None,
        progress: Progress | None = None,
    ) -> None:
        arguments: dict[str, Any] = {
            "records": _count("records", records),
            "steps_per_epoch": _count("steps_per_epoch", steps_per_epoch),
            "epochs": _count("epochs", epochs),
            "epsilon": float(epsilon),
            "delta": float(delta),
            "clip": float(clip),
            "participation": participation,
        }
        if participation not in ("random", "fixed"):
            raise _refusal("participation", "random or fixed", repr(participation),
                           "random amplifies privacy; fixed has batches of equal size")
        if not (0 < arguments["clip"] < float("inf")):
            raise _refusal("clip", "a finite number greater than 0", repr(clip),
                           "give the norm to which the gradient of every record is clipped")
        if order is not None and participation == "random":
            raise _refusal("order", "none with participation random", "an order",
                           "random allocation draws the batch of every record")
        self._arguments = arguments
        steps = arguments["steps_per_epoch"] * arguments["epochs"]
        if participation == "random":
            pattern = f"random:{epochs}"
            budget = {"epsilon": arguments["epsilon"], "delta": arguments["delta"]}
        else:
            pattern, budget = f"epochs:{epochs}" if arguments["epochs"] > 1 else "single", {}
        if strategy is None:
            strategy = stream(f"prefix:{steps}", buffers=buffers, participation=pattern,
                              progress=progress, **budget)
        elif not isinstance(strategy, Coefficients):
            strategy = read_stream(strategy)
        self._guarantee = noise_multiplier(
            strategy, workload=f"prefix:{steps}", participation=pattern,
            epsilon=arguments["epsilon"], delta=arguments["delta"],
        ).report
        self._structure: list[list[Any]] | None = None
        self._training = _matmech.Training(
            strategy._coefficients,
            arguments["records"],
            arguments["steps_per_epoch"],
            participation == "random",
            None if order is None else _indices(order),
            self.sigma * arguments["clip"],
        )

    @property
    def steps(self) -> int:
        """The number of steps, steps_per_epoch · epochs."""
        return int(self._arguments["steps_per_epoch"] * self._arguments["epochs"])

    @property
    def step(self) -> int:
        """The number of steps that have noise."""
        return self._training.step

    @property
    def divisor(self) -> float:
        """The public number by which noisy sums are divided, records/steps_per_epoch."""
        return float(self._arguments["records"] / self._arguments["steps_per_epoch"])

    @property
    def sigma(self) -> float:
        """The noise multiplier."""
        return float(self._guarantee["sigma"])

    def batches(self) -> Iterator[NDArray[np.int64]]:
        """Iterates over the batches of the remaining steps: indices of records, (size,).

        Call `private` once per batch before the next one. After an interruption or
        `load_state_dict`, a new iterator goes on with the next step.
        """
        if self.step == self.steps:
            raise _refusal("batches", f"at most {self.steps} steps", "a second use after the last",
                           "one object is one training run; more steps would cost more privacy")
        return self._batches()

    def _batches(self) -> Iterator[NDArray[np.int64]]:
        while (batch := self._training.next_batch()) is not None:
            yield batch

    def private(self, sums: Any) -> Any:
        """Returns the sum of the clipped gradients of the batch with the noise of the step.

        ``sums`` is an array, or lists, tuples and dictionaries of arrays: NumPy, Torch, JAX, or any
        with ``__dlpack__`` or ``__array__``, float32 or float64, on the processor. The norm that is
        clipped is that of all arrays together. The result has the same structure and kinds of
        arrays; what is given is not changed. Every step has the same shapes and types. Noise and
        sum are computed in float64 and rounded once to the type of the array.

        An empty batch has sums of zeros, which get noise, too.
        """
        leaves: list[tuple[str, Any]] = []
        _collect("sum", sums, leaves)
        copies = [_copied(path, leaf) for path, leaf in leaves]
        structure = [
            [path, list(copy.shape), copy.dtype.name]
            for (path, _), copy in zip(leaves, copies)
        ]
        if self._structure is not None and structure != self._structure:
            raise _refusal("sum of a step", f"{self._structure}, as in the first step",
                           str(structure), "give the same arrays in every step")
        self._training.add_noise([copy.reshape(-1) for copy in copies])
        self._structure = structure
        noisy = iter([_returned(copy, leaf) for copy, (_, leaf) in zip(copies, leaves)])
        return _rebuilt(sums, noisy)

    def statement_data(self) -> dict[str, Any]:
        """Returns the guarantee and what it assumes as a dictionary of JSON values."""
        given, found = self._arguments, self._guarantee
        fixed = given["participation"] == "fixed"
        neighbours = (
            "the gradients of one record are present or zero; its batch and the number of records "
            "are public" if fixed else "one record is added or removed"
        )
        order = (
            "every record takes part in one batch of fixed order, once per epoch and in the same "
            "step of every epoch" if fixed else
            f"every record draws one of {given['steps_per_epoch']} batches uniformly and "
            "independently, and takes part in it in every epoch; the allocation and the sizes of "
            "the batches are secret"
        )
        return {
            "sigma": found["sigma"],
            "epsilon": found["epsilon"],
            "delta": found["delta"],
            "failure_probability": found["failure_probability"],
            "method": found["method"],
            "participation": found["participation"],
            "neighbours": neighbours,
            "records": given["records"],
            "steps_per_epoch": given["steps_per_epoch"],
            "epochs": given["epochs"],
            "steps": self.steps,
            "clip": given["clip"],
            "noise_deviation": found["sigma"] * given["clip"],
            "divisor": self.divisor,
            "assumptions": [
                order,
                f"the caller clips the gradient of every record to norm {given['clip']}, all "
                "arrays of a step together, and sums over the batch and nothing else",
                "gradients may depend on earlier noisy sums, and on nothing else that depends on "
                "the records",
                "noisy sums are divided by the divisor or by another public number",
                "only noisy sums are published, and what is computed from them",
                "the key and the state of this object are secret, and a state is resumed once",
                "the proof is for real numbers, and the noise is in floating point",
            ],
        }

    def statement(self) -> str:
        """Returns the guarantee and what it assumes as text."""
        data = self.statement_data()
        failure = data["failure_probability"]
        lines = [
            f"All noisy sums together are ({data['epsilon']:.12g}, {data['delta']:.12g})-"
            "differentially private.",
            f"Neighbours: {data['neighbours']}.",
            f"Noise: multiplier sigma = {data['sigma']!r}, clipping norm {data['clip']!r}; "
            f"{data['steps']} steps, participation {data['participation']}.",
            f"Method: {data['method']}"
            + (f", with failure probability {failure!r}." if failure else "."),
            "Assumed:",
            *(f"- {assumption}" for assumption in data["assumptions"]),
        ]
        return "\n".join(lines)

    def state_dict(self) -> dict[str, Any]:
        """Returns the state, from which a run resumes bit for bit after the last noisy sum.

        The state has the key of the noise and the batches. Whoever reads it can subtract the noise
        from all sums: store it as safely as the records, and delete it after the run. Resume it
        once: two runs from one state with different gradients reveal the difference.
        """
        return {
            "version": _VERSION,
            "arguments": dict(self._arguments),
            "guarantee": dict(self._guarantee),
            "structure": self._structure,
            "training": self._training.state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resumes the run of a state of `state_dict`, in an object that has not drawn noise yet.

        The arguments are those of the run; the strategy and the batches are those of the state.
        """
        if self.step > 0:
            raise _refusal("load_state_dict", "an object without a step", f"{self.step} steps",
                           "create a new object: noise of a step is drawn for one sum only")
        _check_version(state)
        if state["arguments"] != self._arguments:
            raise _refusal("state", f"the arguments {self._arguments}", str(state["arguments"]),
                           "create the object with the arguments of the run")
        self._restore(state)

    @classmethod
    def from_state_dict(cls, state: Mapping[str, Any]) -> PrivateTraining:
        """Returns an object that resumes the run of a state, without a fit."""
        _check_version(state)
        training = cls.__new__(cls)
        training._arguments = dict(state["arguments"])
        training._restore(state)
        return training

    def _restore(self, state: Mapping[str, Any]) -> None:
        self._training = _matmech.Training.resumed(dict(state["training"]))
        self._guarantee = dict(state["guarantee"])
        self._structure = state["structure"]

    def guarantee(self) -> NoiseGuarantee:
        """Returns what `noise_multiplier` computed."""
        return NoiseGuarantee(json.dumps(self._guarantee))

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            "PrivateTraining: expected one object, found a copy or pickle of its key\n"
            "  remedy: two objects with one key draw the same noise; use state_dict() to resume"
        )

    def __repr__(self) -> str:
        return (
            f"PrivateTraining(step={self.step}, steps={self.steps}, "
            f"participation={self._guarantee['participation']!r}, sigma={self.sigma!r})"
        )


def _refusal(what: str, expected: str, found: str, remedy: str) -> BadInput:
    error = BadInput(f"{what}: expected {expected}, found {found}\n  remedy: {remedy}")
    error.__dict__.update(what=what, expected=expected, found=found, remedy=remedy)
    return error


def _check_version(state: Mapping[str, Any]) -> None:
    found = state.get("version")
    if found != _VERSION:
        raise _refusal("state", f"version {_VERSION}", repr(found),
                       "resume with the version of matmech that stored it")


def _count(name: str, value: Any) -> int:
    try:
        count = operator.index(value)
    except TypeError:
        count = 0
    if count < 1:
        raise _refusal(name, "a positive integer", repr(value), "give a number of at least 1")
    return count


def _indices(order: Any) -> NDArray[np.int64]:
    array = np.asarray(order)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise _refusal("order", "a vector of integers", f"{array.dtype} of shape {array.shape}",
                       "give a permutation of the records, e.g. by numpy.random.permutation")
    return np.ascontiguousarray(array, dtype=np.int64)


def _collect(path: str, node: Any, leaves: list[tuple[str, Any]]) -> None:
    """Appends the arrays of lists, tuples and dictionaries, with their paths."""
    if isinstance(node, Mapping):
        for key in _keys(node):
            _collect(f"{path}[{key!r}]", node[key], leaves)
    elif isinstance(node, (list, tuple)):
        for index, child in enumerate(node):
            _collect(f"{path}[{index}]", child, leaves)
    else:
        leaves.append((path, node))


def _keys(node: Mapping[Any, Any]) -> list[Any]:
    """Returns the keys of a dictionary in an order that does not depend on their insertion."""
    return sorted(node, key=repr)


def _rebuilt(node: Any, arrays: Iterator[Any]) -> Any:
    """Returns the structure of a node with other arrays, in the order of `_collect`."""
    if isinstance(node, Mapping):
        made = {key: _rebuilt(node[key], arrays) for key in _keys(node)}
        return {key: made[key] for key in node}
    if isinstance(node, (list, tuple)):
        children = [_rebuilt(child, arrays) for child in node]
        if isinstance(node, list):
            return children
        return type(node)(*children) if hasattr(node, "_fields") else tuple(children)
    return next(arrays)


def _copied(path: str, leaf: Any) -> NDArray[Any]:
    """Returns a copy of an array as NumPy array, float32 or float64 in row-major order."""
    if isinstance(leaf, np.ndarray) or not hasattr(leaf, "__dlpack__"):
        if not hasattr(leaf, "__array__"):
            raise _refusal(path, "an array", type(leaf).__name__,
                           "give NumPy, Torch or JAX arrays, in lists, tuples or dictionaries")
        array = np.asarray(leaf)
    else:
        device = leaf.__dlpack_device__()[0]
        if device != _CPU:
            raise _refusal(path, "an array in the memory of the processor",
                           f"one on another device, of type {int(device)}",
                           "move the sum first, e.g. by tensor.cpu()")
        try:
            array = np.from_dlpack(leaf)
        except (BufferError, RuntimeError, TypeError) as error:
            raise _refusal(path, "an array of float32 or float64", str(error),
                           "detach and convert the sum first") from error
    if array.dtype.kind != "f" or array.dtype.itemsize not in (4, 8):
        raise _refusal(path, "an array of float32 or float64", str(array.dtype),
                       "convert the sum first, e.g. by astype")
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True)


def _returned(copy: NDArray[Any], leaf: Any) -> Any:
    """Returns an array of the kind of another, without a copy where the kind allows it."""
    if isinstance(leaf, np.ndarray):
        return copy
    if type(leaf).__module__.partition(".")[0] == "torch":
        return sys.modules["torch"].from_dlpack(copy)
    if hasattr(leaf, "__array_namespace__") and hasattr(leaf, "__dlpack__"):
        return leaf.__array_namespace__().from_dlpack(copy)
    return copy
