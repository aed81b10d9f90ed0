"""Checks a certificate of `matmech certify` with NumPy alone; docs/certifying.md has the equations.

python3 scripts/check_certificate.py STRATEGY.npy DUAL.npy WORKLOAD [CERTIFICATE.json]

WORKLOAD: identity:SIZES, prefix:SIZES or range:SIZES (range:8x4), or an .npy, one query per row.
CERTIFICATE.json: the output of `certify --json`, compared with the numbers computed here. With
another objective or participation the dual is an .npz and the JSON is required."""
import json, sys
import numpy as np

def check(holds, message):
    if not holds:
        sys.exit("certificate refused: " + message)

def rows(text):
    if text.endswith(".npy"):
        return np.load(text)
    family, sizes = text.split(":")
    w = np.ones((1, 1))
    for n in map(int, sizes.split("x")):
        cells = np.arange(n)
        bounds = {"identity": [(i, i) for i in cells], "prefix": [(0, i) for i in cells],
                  "range": [(i, j) for i in cells for j in cells[i:]]}[family]
        w = np.kron(w, np.array([(i <= cells) & (cells <= j) for i, j in bounds], float))
    return w

def epochs(n, k):  # patterns of fixed epochs
    return np.arange(n // k)[:, None] + n // k * np.arange(k)

def pattern_bounds(x):  # largest sum of X_st <u_s, u_t> over unit vectors, and a dual bound
    k = len(x)
    u = np.random.default_rng(0).normal(size=(k, k)) + 1
    for _ in range(2000):
        for s in range(k):
            g = x[s] @ u - x[s, s] * u[s]
            u[s] = (g if g.any() else u[s]) / np.linalg.norm(g if g.any() else u[s])
    v = np.linalg.norm(x @ u, axis=1)
    slack = np.linalg.eigvalsh(np.diag(v) - x)[0]
    return (x * (u @ u.T)).sum(), v.sum() + k * max(0, -slack)

def heaviest(weights, b, k):  # largest sum over at most k steps, at least b apart
    best = np.zeros(len(weights) + 1)
    for _ in range(k):
        table = np.zeros_like(best)
        for i, weight in enumerate(weights, 1):
            table[i] = max(table[i - 1], weight + best[max(0, i - b)])
        best = table
    return best[-1]

def sensitivity_range(x, participation):  # bounds on the squared sensitivity
    kind, _, numbers = participation.partition(":")
    if kind == "single":
        return x.diagonal().max(), x.diagonal().max()
    if kind == "epochs":
        bounds = [pattern_bounds(x[np.ix_(p, p)]) for p in epochs(len(x), int(numbers))]
        return tuple(np.max(bounds, axis=0))
    b, k = map(int, numbers.split(","))
    row_sums = [abs(x[s, s]) + max(heaviest(abs(x[s, :max(0, s - b + 1)]), b, j) +
                heaviest(abs(x[s, s + b:]), b, k - 1 - j) for j in range(k)) for s in range(len(x))]
    return heaviest(x.diagonal(), b, k), heaviest(row_sums, b, k)

def check_weights(dual, claimed, queries, n):  # conditions on the weights of a problem
    m, p = dual["step_weights"], np.ones(queries)
    kind, _, numbers = claimed["participation"].partition(":")
    k = int(numbers.split(",")[-1]) if numbers else 1
    check(m.shape == (n, n) and np.isfinite(m).all(), "shape of the step weights")
    rest, mass = m.copy(), 0
    for pattern in epochs(n // k * k, k):
        block = m[np.ix_(pattern, pattern)]
        check(np.linalg.eigvalsh(block)[0] >= -1e-9 * block.max(), "a block is not semidefinite")
        mass += block.diagonal().max()
        rest[np.ix_(pattern, pattern)] = 0
    check(mass <= 1 + 1e-9 and abs(rest).sum() <= 1e-9, "the step weights exceed the patterns")
    if claimed["objective"] != "mean":
        p = dual["query_weights"].ravel()
        share = float(claimed["objective"].partition(":")[2] or 0)
        check(p.shape == (queries,) and (p >= share / queries * (1 - 1e-9)).all()
              and abs(p.sum() - 1) < 1e-9, "the query weights do not fit the objective")
    values, vectors = np.linalg.eigh(m)
    return p, (vectors * np.sqrt(values.clip(0))) @ vectors.T

a, w = np.load(sys.argv[1]), rows(sys.argv[3])
claimed = json.load(open(sys.argv[4])) if len(sys.argv) > 4 else None
dual = np.load(sys.argv[2])
weights = [dual[name] for name in dual] if sys.argv[2].endswith(".npz") else [dual]
for array, name in zip((a, w, *weights), (sys.argv[1], sys.argv[3], *[sys.argv[2]] * len(weights))):
    check(np.isfinite(array).all(), f"NaN or infinity in {name}")
check(a.shape[1:] == w.shape[1:], f"shapes of strategy and workload: {a.shape}, {w.shape}")
n = a.shape[1]
if sys.argv[2].endswith(".npz"):
    check(claimed is not None, "weights of steps need CERTIFICATE.json")
    p, root_m = check_weights(dual, claimed, len(w), n)
    low, high = sensitivity_range(a.T @ a, claimed["participation"])
    squared = claimed["sensitivity"]**2
    check(low * (1 - 1e-7) <= squared <= high * (1 + 1e-7), f"sensitivity² not in {low}, {high}")
    if claimed.get("sensitivity_kind", "exact") == "exact":
        check(squared <= low * (1 + 1e-6), f"sensitivity² {squared} is not exact: {low}")
    lower = np.linalg.norm(np.sqrt(p)[:, None] * (w @ root_m), "nuc")**2
else:
    mu = dual
    check(mu.shape == (n,), f"shape of the dual vector: {mu.shape}")
    check((mu >= 0).all() and abs(mu.sum() - 1) < 1e-9,
          "the dual vector is not a probability vector")
    squared = np.linalg.norm(a, axis=0).max()**2
    lower = np.linalg.norm(w * np.sqrt(mu), "nuc")**2
x = w @ np.linalg.pinv(a, rcond=1e-9)
check(np.allclose(x @ a, w, atol=1e-6 * abs(w).max()), "the strategy does not answer the workload")
errors = (x**2).sum(axis=1)
objective, _, share = (claimed or {}).get("objective", "mean").partition(":")
error = {"mean": errors.sum(), "max": errors.max(),
         "balanced": (1 - float(share or 0)) * errors.max() + float(share or 0) * errors.mean()}
found = {"sensitivity": squared**0.5, "error": squared * error[objective], "lower_bound": lower}
if not sys.argv[2].endswith(".npz"):
    found["svd_bound"] = np.linalg.norm(w, "nuc")**2 / n
found["at_most_above_optimum"] = found["error"] / found["lower_bound"] - 1
for name, value in found.items():
    print(f"{name:<22} {value:.10e}")
    check(claimed is None or abs(value - claimed[name]) <= 1e-7 * max(1, abs(value)),
          f"{name} is {value!r}, not {(claimed or {}).get(name)!r}")
print("certificate holds")
