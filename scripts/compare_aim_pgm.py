"""Compares the mechanism `aim-pgm` with AIM of the Python package dpmm on two drawn tables.

usage: python compare_aim_pgm.py MATMECH [TRIALS]

Needs Python 3.10 or 3.11 with `pip install dpmm` (0.1.9 was used), and the command `matmech`. The workload
is all pairs; both models have at most 80 MB. Prints the mean over trials of the mean L1 error of both
programs, as shares of the records, with standard errors. The noise of dpmm has no seed. A trial of dpmm
takes about a minute.
"""

import itertools
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from dpmm.models.aim import AIM

RECORDS = 20_000
DELTA = 1e-9
EPSILONS = [0.1, 1.0]


def tree(rng):
    """Five attributes; each depends on one before it."""
    sizes = [3, 4, 2, 5, 3]
    columns = [rng.integers(sizes[0], size=RECORDS)]
    for attribute, size in list(enumerate(sizes))[1:]:
        parent = columns[rng.integers(attribute)]
        table = rng.dirichlet(np.full(size, 0.3), size=parent.max() + 1)
        columns.append((rng.random((RECORDS, 1)) > table[parent].cumsum(axis=1)[:, :-1]).sum(axis=1))
    return sizes, columns


def mixture(rng):
    """Six attributes, independent within each of six classes that are not in the table."""
    sizes = [2, 3, 4, 5, 2, 3]
    classes = rng.choice(6, size=RECORDS, p=rng.dirichlet(np.ones(6)))
    columns = []
    for size in sizes:
        table = rng.dirichlet(np.full(size, 0.5), size=6)
        columns.append((rng.random((RECORDS, 1)) > table[classes].cumsum(axis=1)[:, :-1]).sum(axis=1))
    return sizes, columns


def of_dpmm(sizes, data, epsilon):
    """The mean L1 error of one run of dpmm's AIM."""
    domain = dict(zip(data.columns, sizes))
    mechanism = AIM(
        epsilon=epsilon, delta=DELTA, prng=np.random.RandomState(), degree=2, domain=domain, n_jobs=1
    )
    mechanism.fit(data)
    errors = []
    for pair in itertools.combinations(data.columns, 2):
        shape = [domain[name] for name in pair]
        counts = np.zeros(shape)
        np.add.at(counts, tuple(data[name] for name in pair), 1)
        estimated = mechanism.model.project(pair).datavector().reshape(shape)
        errors.append(np.abs(estimated - counts).sum() / RECORDS)
    return statistics.mean(errors)


def of_matmech(program, schema, table, epsilon, trials):
    """The mean L1 error of `aim-pgm` and its standard error."""
    command = [program, "simulate", "--schema", schema, "--data", table, "--ways", "2", "--json"]
    command += ["--epsilon", str(epsilon), "--delta", str(DELTA), "--trials", str(trials)]
    command += ["--mechanism", "aim-pgm(max-mb=80)"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found["mean_l1"], found["standard_errors"]["mean_l1"]


def main():
    program, trials = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10
    with tempfile.TemporaryDirectory() as folder:
        for draw in (tree, mixture):
            sizes, columns = draw(np.random.default_rng(2046))
            names = [f"a{k}" for k in range(len(sizes))]
            data = pd.DataFrame(dict(zip(names, columns)))
            table, schema = Path(folder, "table.csv"), Path(folder, "schema.toml")
            data.to_csv(table, index=False)
            attributes = (
                f'[[attribute]]\nname = "{name}"\nkind = "categorical"\nsize = {size}\n'
                for name, size in zip(names, sizes)
            )
            schema.write_text("\n".join(attributes))
            for epsilon in EPSILONS:
                ours, ours_se = of_matmech(program, schema, table, epsilon, trials)
                found = [of_dpmm(sizes, data, epsilon) for _ in range(trials)]
                theirs, se = statistics.mean(found), statistics.stdev(found) / math.sqrt(trials)
                print(
                    f"{draw.__name__:8} epsilon {epsilon:4}  dpmm {theirs:.5f} ± {se:.5f}"
                    f"  aim-pgm {ours:.5f} ± {ours_se:.5f}  ratio {ours / theirs:.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
