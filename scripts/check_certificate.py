"""Checks a certificate of `matmech certify` with NumPy alone; docs/certifying.md has the equations.

python3 scripts/check_certificate.py STRATEGY.npy DUAL.npy WORKLOAD [CERTIFICATE.json]

WORKLOAD: identity:SIZES, prefix:SIZES or range:SIZES (range:8x4), or an .npy, one query per row.
CERTIFICATE.json: the output of `certify --json`, compared with the numbers computed here."""
import json, sys
import numpy as np

def check(holds, message):
    if not holds:
        sys.exit("certificate refused: " + message)

def root(w):  # R with R^T R = W^T W
    return np.linalg.qr(w, mode="r")

def workload(text):
    if text.endswith(".npy"):
        w = np.load(text)
        return root(w) if np.isfinite(w).all() else w
    family, sizes = text.split(":")
    r = np.ones((1, 1))
    for n in map(int, sizes.split("x")):
        cells = np.arange(n)
        bounds = {"identity": [(i, i) for i in cells], "prefix": [(0, i) for i in cells],
                  "range": [(i, j) for i in cells for j in cells[i:]]}[family]
        r = np.kron(r, root(np.array([(i <= cells) & (cells <= j) for i, j in bounds], float)))
    return r

a, mu, r = np.load(sys.argv[1]), np.load(sys.argv[2]), workload(sys.argv[3])
for array, name in zip((a, mu, r), sys.argv[1:]):
    check(np.isfinite(array).all(), f"NaN or infinity in {name}")
check(a.shape[1:] == mu.shape == r.shape[1:],
      f"shapes of strategy, dual vector, workload: {a.shape}, {mu.shape}, {r.shape}")
check((mu >= 0).all() and abs(mu.sum() - 1) < 1e-9, "the dual vector is not a probability vector")
x = r @ np.linalg.pinv(a, rcond=1e-9)
check(np.allclose(x @ a, r, atol=1e-6 * abs(r).max()), "the strategy does not answer the workload")
norm = np.linalg.norm(a, axis=0).max()
found = {"sensitivity": norm, "error": norm**2 * (x**2).sum(),
         "svd_bound": np.linalg.norm(r, "nuc")**2 / mu.size,
         "lower_bound": np.linalg.norm(r * np.sqrt(mu), "nuc")**2}
found["at_most_above_optimum"] = found["error"] / found["lower_bound"] - 1
claimed = json.load(open(sys.argv[4])) if len(sys.argv) > 4 else found
for name, value in found.items():
    print(f"{name:<22} {value:.10e}")
    check(abs(value - claimed[name]) <= 1e-7 * max(1, abs(value)),
          f"{name} is {value!r}, not {claimed[name]!r}")
print("certificate holds")
