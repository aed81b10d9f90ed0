"""Lower bounds of ten headline values in interval arithmetic, so that they include rounding.

python3 scripts/rigorous_bounds.py [--only TEXT] [RESULTS]      (needs NumPy and python-flint)

A certificate has weights with ‖B‖_*² as a lower bound, for B = √p W √M (docs/certifying.md,
docs/participation.md). For every matrix Z

    ‖B‖_* ≥ tr(ZᵀB) / ‖Z‖₂,      ‖Z‖₂² ≤ the largest sum of the absolute values of a row of ZᵀZ

with equality at the polar factor of B. Z is computed in double precision; then it is a matrix of
known numbers, and both terms are computed in balls of 100 bits that contain the true values. A bound
below the table's by more than the relative allowance of matmech, 1e-7, is an error."""
import argparse, decimal, os, sys
import numpy as np
from flint import arb, arb_mat, ctx
from check_certificates import Certificates, rows_with_bounds
from certificate_problems import steps_of

ALLOWANCE = 1e-7
OPTIMA = "workload=prefix:{}/objective={}/participation={}/method=optimal"
HEADLINES = [
    ("s1/section-5.1", "workload=range:1024/method=optimal"),
    ("s1/section-5.1", "workload=range:32x32/method=optimal"),
    ("s1/section-5.1", "workload=range:16x8x8/method=optimal"),
    ("beyond/optima", OPTIMA.format(128, "mean", "single")),
    ("beyond/optima", OPTIMA.format(1024, "mean", "single")),
    ("beyond/optima", OPTIMA.format(1024, "max", "single")),
    ("beyond/optima", OPTIMA.format(1024, "mean", "epochs:4")),
    ("beyond/optima", OPTIMA.format(1024, "mean", "epochs:16")),
    ("beyond/optima", OPTIMA.format(1024, "max", "epochs:4")),
    ("beyond/streams", OPTIMA.format(512, "mean", "min-sep:128,4")),
]
exact = np.vectorize(arb, otypes=[object])

def root(x):
    return x.sqrt()

def roots(weights):
    """Square roots of weights, divided by their sum."""
    weights = exact(weights)
    total = weights.sum()
    return np.array([root(w / total) for w in weights])

def mid(balls):
    return np.vectorize(float, otypes=[float])(balls)

def largest(balls):
    """An upper bound on numbers, and so on their maximum. Rounding to a double is within 2⁻⁵³."""
    return arb(max(float(ball.upper()) for ball in balls)) * (1 + arb(2) ** -52)

def rounded_down(ball):
    """Twelve digits of a number that is not larger than a positive ball."""
    below = decimal.Decimal(float(np.nextafter(float(ball.lower()), 0)))
    digits = decimal.Context(prec=12, rounding=decimal.ROUND_FLOOR)
    return digits.create_decimal(below)

def nuclear_norm(b):
    """A lower bound on the nuclear norm of a square matrix of balls."""
    left, _, right = np.linalg.svd(mid(b))
    z = exact(left @ right)
    matrix = arb_mat(z.tolist())
    gram = np.array((matrix.transpose() * matrix).tolist(), dtype=object)
    return (z * b).sum() / root(largest(abs(row).sum() for row in gram))

def prefix_sums(rows):
    """The sums of the first rows, for every number of rows."""
    return np.cumsum(rows, axis=0)

def ranges(n, d):
    """F diag(d) for F with the Gram matrix of all ranges: F = (aI − b11ᵀ) P, a = √(n + 1) and
    2ab − nb² = 1, so that (aI − b11ᵀ)² = (n + 1)I − 11ᵀ; P are the prefix sums."""
    a = root(arb(n + 1))
    b = (a - 1) / n
    sums = prefix_sums(np.diag(d))
    return a * sums - b * sums.sum(axis=0)

def of_ranges(workload, arrays):
    """The bound on the total error: that of a product of attributes is the product of the bounds."""
    product, known = arb(1), {}
    for k, n in enumerate(map(int, workload.split(":")[1].split("x"))):
        weights = arrays[f"dual.cells.{k}"]
        key = n, weights.tobytes()
        if key not in known:
            known[key] = nuclear_norm(ranges(n, roots(weights))) ** 2
        product *= known[key]
    return product

def of_prefixes(row, arrays):
    """The bound on the mean or the largest error of prefix sums, for patterns of steps."""
    n, cells = int(row["workload"].split(":")[1]), arrays["dual.cells.0"]
    if row["participation"] == "single":
        factor = np.diag(roots(cells))
    else:
        # The blocks L with M = LLᵀ, relative to the sum of their largest diagonal entries LLᵀ_ii.
        _, patterns = steps_of(n, row["participation"], cells)
        k = patterns.shape[1]
        factor, mass = np.full((n, n), arb(0), dtype=object), arb(0)
        for pattern, part in zip(patterns, exact(cells).reshape(len(patterns), -1)):
            block = np.full((k, k), arb(0), dtype=object)
            block[np.tril_indices(k)] = part
            factor[np.ix_(pattern, pattern)] = block
            mass += largest((line * line).sum() for line in block)
        factor = factor / root(mass)
    p = np.full(n, root(arb(1) / n))
    if row["objective"] == "max":
        p = roots(arrays.get("dual.queries", cells[::-1]))
    return nuclear_norm(p[:, None] * prefix_sums(factor)) ** 2

def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="?", default="results")
    parser.add_argument("--only", default="", help="values with this text in their cell")
    arguments = parser.parse_args()
    results = arguments.results
    headlines = [(table, name) for table, name in HEADLINES if arguments.only in name]
    ctx.prec = 100
    failed = 0
    print(f"{'rigorous, at least':>20}  {'table':>20}  {'difference':>10}  value")
    for table, name in headlines:
        certificates = Certificates(os.path.join(results, table + ".certificates.npz"))
        row = next(row for row in rows_with_bounds(os.path.join(results, table + ".csv"))
                   if name in row["cell"] and row["metric"] in ("total_error", "error"))
        arrays = certificates[row["cell"]]
        ranged = row["workload"].startswith("range")
        bound = of_ranges(row["workload"], arrays) if ranged else of_prefixes(row, arrays)
        claimed = float(row["lower_bound"])
        difference = float((1 - bound / claimed).upper())
        refused = not difference <= ALLOWANCE
        failed += refused
        print(f"{rounded_down(bound):>20}  {claimed:>20.14g}  {difference:>10.1e}  {row['cell']}"
              f"{'   TOO LOW' if refused else ''}", flush=True)
    print(f"{len(headlines)} recomputed in interval arithmetic, {failed} too low")
    return 1 if failed or not headlines else 0

if __name__ == "__main__":
    sys.exit(main())
