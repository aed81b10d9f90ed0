"""Checks a certificate of `matmech certify` with NumPy alone; the equations are in docs/certifying.md.

python3 scripts/check_certificate.py STRATEGY.npy DUAL.npy WORKLOAD [CERTIFICATE.json]

WORKLOAD is identity:SIZES, prefix:SIZES or range:SIZES (as in range:8x4), or an .npy of queries, one per row.
CERTIFICATE.json, what `certify --json` printed, is compared with what is computed here."""
import json
import sys
import numpy as np

def root(queries):  # R with RᵀR = WᵀW
    return np.linalg.qr(queries, mode="r")

def workload(text):
    if text.endswith(".npy"):
        return root(np.load(text))
    family, sizes = text.split(":")
    one = {"identity": np.eye, "prefix": np.tri,
           "range": lambda n: np.array([[a <= i <= b for i in range(n)] for a in range(n) for b in range(a, n)], float)}[family]
    r = np.ones((1, 1))
    for size in sizes.split("x"):
        r = np.kron(r, root(one(int(size))))
    return r

a, mu, r = np.load(sys.argv[1]), np.load(sys.argv[2]), workload(sys.argv[3])
assert a.shape[1] == mu.size == r.shape[1] and (mu >= 0).all() and abs(mu.sum() - 1) < 1e-9, "not a dual vector for this"
x = r @ np.linalg.pinv(a)
assert np.allclose(x @ a, r, atol=1e-7 * abs(r).max()), "the strategy does not answer the workload"
norm = np.linalg.norm(a, axis=0).max()
found = {"sensitivity": norm, "error": norm**2 * (x**2).sum(),
         "svd_bound": np.linalg.norm(r, "nuc")**2 / mu.size, "lower_bound": np.linalg.norm(r * np.sqrt(mu), "nuc")**2}
found["at_most_above_optimum"] = found["error"] / found["lower_bound"] - 1
said = json.load(open(sys.argv[4])) if len(sys.argv) > 4 else found
for name, value in found.items():
    print(f"{name:<22} {value:.10e}")
    assert abs(value - said[name]) <= 1e-7 * max(1, abs(value)), f"{name}: expected {said[name]!r}, found {value!r}"
print("certificate holds")
