"""Compares cell-key perturbation with releases of matmech on Adult; docs/cell-key.md.

python3 -m pip install cell-key-perturbation==3.1.0    # of the ONS; needs Python 3.11
make build
python3 scripts/compare_cell_key.py [--quick] [--program target/release/matmech]

Perturbed tables are those of the package. Record keys, p-tables and the noise of `matmech simulate`
have seeds, so every number is reproduced, except those of the two releases whose sums are compared.
NOT PRIVATE: errors are measured against the true data, which are public. Takes 4 minutes."""
import argparse, contextlib, io, itertools, json, math, subprocess, sys, tempfile, tomllib
from pathlib import Path
try:
    import cell_key
    import numpy as np
    import pandas
    from cell_key_perturbation.create_perturbed_table import create_perturbed_table
    from cell_key_perturbation.utils.generate_test_ptable import generate_ptable_10_5_rule
except ImportError as error:
    sys.exit(f"error: {error}\nfix: {sys.executable} -m pip install cell-key-perturbation==3.1.0")

ROOT = Path(__file__).resolve().parents[1]
CHOSEN = ["workclass", "education", "marital-status", "occupation", "relationship", "race", "sex",
          "income>50K"]
EPSILONS, DELTA = [0.5, 1, 2, 4], 1e-9
CERTIFICATE = 0.03  # the share of rho for the error bounds of a staged release
SMALL = 2000  # records of the small table
TARGET = ("race", "sex", "income>50K")  # the table whose exact counts an attack computes
GROUPED = ("occupation", "education", "workclass", "marital-status")

def frame_of(table):  # a p-table as the package reads it
    counts, keys = np.meshgrid(np.arange(1, cell_key.ROWS + 1), np.arange(cell_key.KEYS),
                               indexing="ij")
    return pandas.DataFrame({"pcv": counts.ravel(), "ckey": keys.ravel(),
                             "pvalue": table[1:].ravel()})

def rounding_table():
    """Returns the p-table of the package: rounding to 5, and 0 below 10."""
    frame = generate_ptable_10_5_rule()
    return np.concatenate([np.zeros((1, cell_key.KEYS), int),
                           frame["pvalue"].to_numpy().reshape(cell_key.ROWS, cell_key.KEYS)])

class Method:
    def __init__(self, name, table, threshold):
        self.name, self.table, self.threshold = name, table, threshold
        self.frame = frame_of(table)

    def tabulate(self, records, attributes, sizes):
        """Returns a table of the package as an array; suppressed counts are 0."""
        with contextlib.redirect_stdout(io.StringIO()):  # it prints that it checked its inputs
            found = create_perturbed_table(records, self.frame, [], list(attributes) or ["all"],
                                           "record_key", use_existing_ons_id=False,
                                           threshold=self.threshold)
        counts = found["count"].fillna(0).to_numpy(int)
        if not attributes:
            return counts.reshape(())
        array = np.zeros([sizes[a] for a in attributes], int)
        array[tuple(found[a].to_numpy() for a in attributes)] = counts
        return array

METHODS = [Method("10-5 rule", rounding_table(), 10)]
METHODS += [Method(name, cell_key.noise_table(*noise, seed=1), 0)
            for name, noise in cell_key.NOISE.items()]

def adult():
    """Returns the records with an attribute that is the same for all, and the sizes."""
    schema = tomllib.loads((ROOT / "docs/example/adult.toml").read_text("utf-8"))
    sizes = {a["name"]: a["size"] for a in schema["attribute"] if a["name"] in CHOSEN}
    records = pandas.read_csv(ROOT / "data/tables/adult15.csv", usecols=CHOSEN)[CHOSEN]
    return records.assign(all=0), {name: sizes[name] for name in CHOSEN}

def with_keys(records, seed):
    keys = np.random.default_rng(seed).integers(0, cell_key.KEYS, len(records))
    return records.assign(record_key=keys)

def sets_of(ways):
    return [s for k in ways for s in itertools.combinations(CHOSEN, k)]

def true_table(records, attributes, sizes):
    shape = [sizes[a] for a in attributes]
    if not attributes:
        return np.array(len(records))
    cells = np.ravel_multi_index([records[a].to_numpy() for a in attributes], shape)
    return np.bincount(cells, minlength=math.prod(shape)).reshape(shape)

def errors(differences):
    flat = np.concatenate([np.ravel(d) for d in differences]).astype(float)
    return abs(flat).mean(), math.sqrt((flat**2).mean())

class Program:
    """The command `matmech` on the chosen attributes."""
    def __init__(self, path, folder, records, sizes):
        self.path, self.folder = path, Path(folder)
        self.schema = self.folder / "schema.toml"
        self.schema.write_text("".join(
            f'[[attribute]]\nname = "{name}"\nsize = {size}\nkind = "categorical"\n'
            for name, size in sizes.items()), "utf-8")
        self.data = self.folder / "records.csv"
        records[CHOSEN].to_csv(self.data, index=False)

    def run(self, *words):
        done = subprocess.run([str(self.path), *map(str, words)], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            sys.exit(done.stderr)
        return done.stdout

    def forecast(self, epsilon):  # the cost and the exact error of a release
        words = ["release", "--schema", self.schema, "--ways", "1,2", "--epsilon", epsilon,
                 "--delta", DELTA, "--out-of-domain", "drop", "--dry-run", "--json"]
        return json.loads(self.run(*words))

    def rho(self, epsilon):
        return self.forecast(epsilon)["rho_reserved"]

    def epsilon_of(self, rmse):
        """Returns the epsilon of a release of unbiased answers with an error, to 1 %."""
        low, high = 0.1, 1000.0
        while high > 1.01 * low:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self.forecast(middle)["rmse"] < rmse else (middle, high)
        return high

    def errors(self, mechanism, epsilon, ways, trials):
        share = 1 - CERTIFICATE if mechanism == "staged" else 1
        found = json.loads(self.run(
            "simulate", "--schema", self.schema, "--data", self.data, "--ways", ways, "--rho",
            share * self.rho(epsilon), "--mechanism", mechanism, "--trials", trials, "--json"))
        cells = found["cells"]
        total = sum(m["l1"] for m in found["by_marginal"]) * found["records"]["kept"]
        return total / cells, math.sqrt(found["squared_error"] / cells)

    def release(self, mechanism, sizes):
        """Returns the tables of a release at epsilon = 1, whose noise has no seed."""
        ledger, out = self.folder / f"{mechanism}.jsonl", self.folder / mechanism
        budget = ["--epsilon", 1, "--delta", DELTA]
        self.run("ledger", "create", ledger, *budget)
        kind = ["--mechanism", mechanism] if mechanism == "staged" else ["--planner", mechanism]
        self.run("release", "--schema", self.schema, "--data", self.data, "--ways", "1,2", *budget,
                 "--out-of-domain", "drop", "--ledger", ledger, "--out", out, *kind)
        answers = pandas.read_csv(out / "answers.csv", dtype={"cells": str})
        return {tuple(title.split(", ")): part["estimate"].to_numpy().reshape(
            [sizes[a] for a in title.split(", ")])
            for title, part in answers.groupby("attributes", sort=False)}

def compare_errors(records, sizes, program, small, quick):
    found, keys = {}, range(1, 3 if quick else 6)
    for column, data, ways, command in (("1,2-way", records, (1, 2), program),
                                        ("1,2,3-way", records, (1, 2, 3), program),
                                        (f"1,2-way of {SMALL}", records[:SMALL], (1, 2), small)):
        sets = sets_of(ways)
        truth = {s: true_table(data, s, sizes) for s in sets}
        cells = np.concatenate([np.ravel(t) for t in truth.values()])
        found[column] = {"tables": len(sets), "cells": len(cells),
                         "median count": float(np.median(cells)),
                         "empty": float((cells == 0).mean()),
                         "below 10": float((cells < 10).mean())}
        for method in METHODS:
            pairs = [errors([method.tabulate(with_keys(data, seed), s, sizes) - truth[s]
                             for s in sets]) for seed in keys]
            found[column][method.name] = list(np.mean(pairs, axis=0))
        for mechanism, trials in (("query-smasher", 100), ("staged", 20)):
            for epsilon in EPSILONS:
                found[column][f"{mechanism}, epsilon {epsilon}"] = list(command.errors(
                    mechanism, epsilon, ",".join(map(str, ways)), 3 if quick else trials))
    return found

def additivity(tables):
    """Returns how often and by how much sums of cells differ from published sums."""
    flat = abs(np.concatenate(list(cell_key.gaps(tables).values())).astype(float))
    return {"sums": len(flat), "different": float((flat > 1e-2).mean()), "mean": float(flat.mean()),
            "largest": float(flat.max())}

def compare_additivity(records, sizes, program):
    keyed, found = with_keys(records, 1), {}
    for method in METHODS:
        sets = [()] + sets_of((1, 2))
        found[method.name] = additivity({s: method.tabulate(keyed, s, sizes) for s in sets})
    for mechanism in ("query-smasher", "staged"):
        released = program.release(mechanism, sizes)
        found[mechanism] = additivity(released)
        found[mechanism]["errors"] = list(errors(
            [table - true_table(records, s, sizes) for s, table in released.items()]))
    return found

def guarantees(program):
    """Returns delta of one cell, and of one cell in each table with independent cell keys."""
    found = {}
    for method in METHODS:
        outputs = lambda n: cell_key.outputs(n, method.table, method.threshold)
        p, q, entry = outputs(100), outputs(101), {}
        for epsilon in (0, 1, 4, 10):
            entry[f"one cell, epsilon {epsilon}"] = cell_key.worst_delta(
                method.table, epsilon, range(1, 200), method.threshold)
            entry[f"an empty cell, epsilon {epsilon}"] = cell_key.delta_at(
                outputs(0), outputs(1), epsilon)
            if method.threshold == 0:
                entry["every epsilon"] = cell_key.unbounded(p, q)
                for times in (36, 92):
                    entry[f"{times} cells, epsilon {epsilon}"] = cell_key.composed_delta(
                        p, q, times, epsilon)
        found[method.name] = entry
    for epsilon in EPSILONS:  # right guesses whether a person is in the table, at even odds
        mu = math.sqrt(2 * program.rho(epsilon))
        found[f"release, epsilon {epsilon}: right guesses"] = 0.5 * math.erfc(-mu / math.sqrt(8))
    return found

def independence(records, people=200, seed=5):
    """Returns for how many people the keys of their cells in all tables are independent.

    All their counts are at least 10, so that all their cells have the same noise. Keys of cells are
    sums of record keys: they are jointly uniform modulo 256 if the cells are linearly independent
    modulo 2. The other records are enough for that."""
    values, found = records[CHOSEN].to_numpy(), {"people": people}
    chosen = np.random.default_rng(seed).choice(len(values), people, replace=False)
    for ways in ((1, 2), (1, 2, 3)):
        sets = [[CHOSEN.index(a) for a in s] for s in sets_of(ways)]
        independent = 0
        for k in chosen:
            same = np.delete(values, k, axis=0) == values[k]
            patterns = np.unique(same, axis=0)
            cells = np.stack([patterns[:, s].all(axis=1) for s in sets])
            counts = min(int(same[:, s].all(axis=1).sum()) for s in sets)
            independent += counts >= 10 and cell_key.rank_modulo_2(cells) == len(sets)
        found[f"{len(sets)} tables"] = independent
    return found

def editions(records, sizes, check):
    """Returns what the tables of all records and of all but one show, for every record.

    Only the cells of that record change. A change in a table shows its values in it."""
    keyed, found = with_keys(records, 1), {}
    keys = keyed["record_key"].to_numpy()
    for method in METHODS:
        changed, covered = 0, np.zeros((len(CHOSEN), len(records)), bool)
        sets = sets_of((1, 2))
        for s in sets:
            shape = [sizes[a] for a in s]
            cells = np.ravel_multi_index([keyed[a].to_numpy() for a in s], shape)
            counts = np.bincount(cells)[cells]
            sums = np.bincount(cells, weights=keys).astype(int)[cells]
            before, after = (cell_key.published(counts - k, sums - k * keys, method.table,
                                                method.threshold) for k in (0, 1))
            shows = before != after
            changed = changed + shows
            for a in s:
                covered[CHOSEN.index(a)] |= shows
            for k in check:  # the package says the same
                one, other = (method.tabulate(part, s, sizes) for part in
                              (keyed, keyed.drop(index=k)))
                differs = np.ravel(one != other)
                assert differs.sum() == shows[k] and (not shows[k] or differs[cells[k]])
        found[method.name] = {"tables with a change": float(changed.mean() / len(sets)),
                              "noticed": float((changed > 0).mean()),
                              "all attributes": float(covered.all(axis=0).mean())}
    return found

def averaging(records, sizes, numbers, seed=3):
    """Returns the share of cells whose exact count is the rounded mean of sums over two groups.

    The categories of other attributes are divided at random into two groups, as users of flexible
    tables may do. The sum of both parts of a cell has other noise for every division."""
    keyed, draw, found = with_keys(records, 1), np.random.default_rng(seed), {}
    truth = true_table(records, TARGET, sizes)
    divisions = []
    for k in range(max(numbers)):
        groups = {a: draw.integers(0, 2, sizes[a]) for a in GROUPED}
        part = sum(groups[a][keyed[a].to_numpy()] for a in GROUPED) % 2
        divisions.append(keyed.assign(group=part))
    for method in METHODS:
        single = method.tabulate(keyed, TARGET, sizes)
        entry = {"cells": truth.size, "published": float((single == truth).mean())}
        total = np.zeros(truth.shape)
        for k, divided in enumerate(divisions, 1):
            parts = method.tabulate(divided, (*TARGET, "group"), {**sizes, "group": 2})
            total += parts.sum(axis=-1)
            if k in numbers:
                exact = np.round(total / k) == truth
                entry[f"{k} divisions"] = float(exact.mean())
        entry["smallest exact"] = int(truth[exact].min())
        entry["not exact"] = [int(n) for n in truth[~exact]]
        found[method.name] = entry
    return found

def alone(records, sizes):
    """Returns the share of records that are alone in a cell of some table."""
    found = {}
    for ways in ((1, 2), (1, 2, 3)):
        is_alone = np.zeros(len(records), bool)
        for s in sets_of(ways):
            cells = np.ravel_multi_index([records[a].to_numpy() for a in s], [sizes[a] for a in s])
            is_alone |= np.bincount(cells)[cells] == 1
        found[f"{len(sets_of(ways))} tables"] = [int(is_alone.sum()), float(is_alone.mean())]
    return found

def main():
    parser = argparse.ArgumentParser(description="Compare cell-key perturbation with releases.")
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/matmech")
    parser.add_argument("--quick", action="store_true", help="fewer runs: other averages")
    options = parser.parse_args()
    records, sizes = adult()
    with tempfile.TemporaryDirectory() as all_, tempfile.TemporaryDirectory() as few:
        program = Program(options.program, all_, records, sizes)
        small = Program(options.program, few, records[:SMALL], sizes)
        steps = {
            "guarantees": lambda: guarantees(program),
            "independence": lambda: independence(records),
            "additivity": lambda: compare_additivity(records, sizes, program),
            "editions": lambda: editions(records, sizes, () if options.quick else (0, 17)),
            "averaging": lambda: averaging(records, sizes, (1, 10, 100) if options.quick
                                           else (1, 10, 100, 400)),
            "alone": lambda: alone(records, sizes),
            "errors": lambda: compare_errors(records, sizes, program, small, options.quick)}
        found = {name: step() for name, step in steps.items()}
        found["epsilon of the same rmse"] = {
            method.name: program.epsilon_of(found["errors"]["1,2-way"][method.name][1])
            for method in METHODS}
        print(json.dumps(found, indent=1))

if __name__ == "__main__":
    main()
