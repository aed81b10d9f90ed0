"""Checks the lower bounds of all result tables from their certificates, with NumPy alone.

python3 scripts/check_certificates.py [--only TEXT] [RESULTS] [TABLE ...]

For every row with a lower bound, the bound is computed again from the row's workload and the
weights in TABLE.certificates.npz. So is the error of the weights' strategy, except under
min-separation. Random workloads are drawn from their seeds. Nothing of matmech is used.
Equations: docs/certifying.md, docs/participation.md, docs/reference-measures.md."""
import argparse, csv, json, os, sys, time
import numpy as np
from certificate_grams import gram_bounds, sample_bounds
from certificate_laplace import laplace_bounds
from certificate_plans import plan_bounds
from certificate_problems import PROBLEM, problem_bounds

BOUND, STRATEGY = 1e-7, 1e-6  # relative tolerances: of the lower bound, of the strategy's error
SVD, GLOBAL_METRICS = "svd-bound", ("rmse", "wrmse")
NO_PAPERS = "cells", "paper", "quick", "stand-in"  # other folders of results

class Certificates:
    """The arrays of a table by cell, with long arrays interpolated between their knots."""
    def __init__(self, path):
        self.cells = {}
        if os.path.exists(path):
            self.arrays = np.load(path)
            self.cells = json.loads(bytes(self.arrays["manifest"]))["cells"]

    def __getitem__(self, cell):
        out, names = {}, self.cells[cell]
        for name, array in names.items():
            if ":" in name:
                name, n = name.split(":")
                at = self.arrays[names[name + ".at"]]
                out[name] = interpolated(self.arrays[array].astype(float), at, int(n))
            elif not name.endswith(".at"):
                out[name] = self.arrays[array].astype(float)
        return out

    def get(self, cell):
        return self[cell] if cell in self.cells else {}

def interpolated(values, at, n):
    """Cubic interpolation of logarithms in the logit of the step."""
    logit = lambda i: np.log((i + 0.5) / (n - i - 0.5))
    at = at.astype(float)
    steps = np.arange(n, dtype=float)
    right = np.searchsorted(at, steps).clip(1)
    first = (right - 2).clip(0, len(at) - 4)
    x, knots, logs = logit(steps), logit(at), np.log(values)
    out = np.zeros(n)
    for k in range(4):
        term = logs[first + k]
        for j in range(4):
            if j != k:
                term = term * (x - knots[first + j]) / (knots[first + k] - knots[first + j])
        out += term
    return np.exp(out)

def shared(known, names, arrays, compute):
    """Computes what many rows share once."""
    key = names, tuple((name, array.tobytes()) for name, array in sorted(arrays.items()))
    if key not in known:
        known[key] = compute()
    return known[key]

# Rows of every kind of table.
GRAM_BOUNDS, PROBLEM_BOUNDS, SAMPLE_BOUNDS = {}, {}, {}

def strategy_bounds(row, arrays):
    """Lower bound and strategy's error in the unit of the row's metric."""
    lower, error, svd, queries = shared(
        GRAM_BOUNDS, row["workload"], arrays, lambda: gram_bounds(row["workload"], arrays))
    if row["workload"] == "fig1b" and row["method"] == SVD:
        lower = svd
    if row["workload"] == "fig1b" and row["method"] != "optimal":
        error = None
    metric = row["metric"]
    if metric == "total_error":
        return lower, error
    if metric == "ratio_to_svdb":
        return lower / svd, error and error / svd
    if metric == "ratio_to_bound":
        return (lower / svd) ** 0.5, error and (error / svd) ** 0.5
    # rmse = √(2 ln(2/δ)/ε² · error/queries), ε = 0.5, δ = 1e-4
    scale = 2 * np.log(2 / 1e-4) / 0.25 / queries
    return (scale * lower) ** 0.5, error and (scale * error) ** 0.5

def constant_bounds(row, arrays):
    """Lower bound and strategy's value of γ(n) − ln n/π."""
    objective = {"gamma-2": "max", "gamma-f": "mean"}[row["norm"]]
    problem = dict(zip(PROBLEM, (f"prefix:{row['n']}", objective, "single")))
    bounds = problem_bounds(problem, arrays)
    return tuple(x and x ** 0.5 - np.log(int(row["n"])) / np.pi for x in bounds)

def bounds_of(row, arrays, certificates):
    """Lower bound and strategy's error of a row."""
    if row["metric"] == "constant":
        return constant_bounds(row, arrays)
    if "participation" in row:
        names = tuple(row[k] for k in PROBLEM)
        return shared(PROBLEM_BOUNDS, names, arrays, lambda: problem_bounds(row, arrays))
    if "d" in row or "dataset" in row:
        return plan_bounds(row, arrays, certificates)
    if row["metric"] == "l1_error":
        return laplace_bounds(row, arrays)
    if not arrays and row["metric"] in ("ratio_to_svdb", "ratio_to_bound"):
        return 1.0, None  # the SVD bound over itself
    if "sample.0.dual.cells.0" in arrays:
        names = row["workload"], row.get("coverage")
        return shared(SAMPLE_BOUNDS, names, arrays, lambda: sample_bounds(row, arrays))
    return strategy_bounds(row, arrays)

def rows_with_bounds(path):
    """The rows with lower bounds, and those of the bound over all mechanisms."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return [row for row in rows if row.get("lower_bound")] + [
        row for row in rows if row["method"] == "global-bound" and row["metric"] in GLOBAL_METRICS]

def refusals(row, certificates):
    """What is wrong with the bound of a row."""
    value = float(row["value"])
    claimed = float(row["lower_bound"] or value)
    try:
        lower, error = bounds_of(row, certificates.get(row["cell"]), certificates)
    except (KeyError, AssertionError, ValueError) as why:
        return [f"{type(why).__name__}: {why}"]
    out = []
    if not lower >= claimed * (1 - BOUND):
        out.append(f"lower bound {lower} instead of {claimed}")
    gap = max(0.0, value / claimed - 1)
    if error is not None and not error <= value * (1 + gap + STRATEGY):
        out.append(f"a strategy of {error} instead of {value}")
    return out

def tables_of(results):
    """The ids of the tables in a folder."""
    papers = [paper for paper in os.listdir(results) if paper not in NO_PAPERS]
    return sorted(f"{paper}/{name[:-4]}" for paper in papers
                  if os.path.isdir(os.path.join(results, paper))
                  for name in os.listdir(os.path.join(results, paper)) if name.endswith(".csv"))

def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", nargs="?", default="results", help="folder of the tables")
    parser.add_argument("tables", nargs="*", help="ids such as s1/fig1; default: all tables")
    parser.add_argument("--only", default="", metavar="TEXT",
                        help="check only cells whose address contains TEXT")
    arguments = parser.parse_args()
    checked, refused = 0, []
    for table in arguments.tables or tables_of(arguments.results):
        path = os.path.join(arguments.results, table)
        rows = [row for row in rows_with_bounds(path + ".csv") if arguments.only in row["cell"]]
        if not rows:
            continue
        started = time.time()
        certificates = Certificates(path + ".certificates.npz")
        for row in rows:
            why = refusals(row, certificates)
            refused += [f"{row['cell']}, {row['metric']}: {text}" for text in why]
            checked += not why
        print(f"{table:<24}{len(rows):>5} rows {time.time() - started:8.1f} s", flush=True)
    for line in refused:
        print("refused:", line)
    print(f"{checked} rows checked, {len(refused)} refusals")
    sys.exit(bool(refused) or not checked)

if __name__ == "__main__":
    main()
