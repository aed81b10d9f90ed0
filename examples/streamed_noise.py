"""Draws the noise of a file of `matmech stream` with NumPy.

    python examples/streamed_noise.py noise.npz COORDINATES

The noise is NumPy's floating point: for experiments. `z(t)` returns the standard normals of step t,
the same in every call: one row per chain, and one column per coordinate.
"""

import sys

import numpy as np


def recurrence(c, z):
    """Yields the noise of the steps: one recurrence, with `taps` on normals of earlier epochs."""
    n, k = len(c["scale"]), len(c["taps"]) + 1
    x = np.zeros((len(c["rates"]), 1))
    decay = np.exp(-c["rates"])[:, None]
    for t in range(n):
        epochs = range(1, t * k // n + 1)
        e = z(t)[0] + sum(c["taps"][g - 1, t] * z(t - g * n // k)[0] for g in epochs)
        y = (e - c["output"][t] @ x) / c["diagonal"][t]
        x = decay * (x + c["input"][t][:, None] * y)
        yield c["scale"][t] * y


def truncated(c, z):
    """Yields the noise of the steps: a recurrence and its delayed copies."""
    n, b = len(c["scale"]), int(c["bands"][0])
    x = [np.zeros((len(c["rates"]), 1)) for _ in range(0, n, b)]
    decay = np.exp(-c["rates"])[:, None]
    for t in range(n):
        for g in range(t // b, -1, -1):
            u = t - g * b
            if u >= b:
                x[g] = x[g] - decay**b * c["input"][u - b][:, None] * y
            y = (z(u)[0] - c["output"][u] @ x[g]) / c["diagonal"][u]
            x[g] = decay * (x[g] + c["input"][u][:, None] * y)
        yield c["scale"][t] * y


def chains(c, z):
    """Yields the noise of the steps: the change of a sum of autoregressions."""
    x = np.zeros((c["phi"].shape[1], 1))
    for t in range(len(c["scale"])):
        before = x.sum(axis=0)
        x = c["phi"][t][:, None] * x + c["sigma"][t][:, None] * z(t)
        yield c["scale"][t] * (x.sum(axis=0) - c["factors"][t] * before)


def stream(path, z):
    """Yields the noise of the steps of a file."""
    c = dict(np.load(path))
    return (chains if "phi" in c else recurrence if "taps" in c else truncated)(c, z)


if __name__ == "__main__":
    coordinates, key = int(sys.argv[2]), np.random.SeedSequence().generate_state(2, np.uint64)
    rows = np.load(sys.argv[1]).get("phi", np.zeros((1, 1))).shape[1]

    def normals(t):
        philox = np.random.Philox(key=key, counter=[0, 0, 0, t])
        return np.random.Generator(philox).standard_normal((rows, coordinates))

    for step, noise in enumerate(stream(sys.argv[1], normals)):
        print(step, noise.std())
