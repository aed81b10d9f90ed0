"""Estimates and standard errors of releases against least squares in exact fractions.

Every attribute is asked for one set of its values only. The strategy of a product of such queries
measures one direction per attribute well, and the others with a small share of the budget."""

import csv
import itertools
import json
import math
import subprocess
import tempfile
import unittest
from fractions import Fraction
from pathlib import Path

import test_check_release  # finds the scripts, and skips without NumPy
from common import COMMAND
from tampered_releases import write

from release_folder import Folder, Measured
from release_plan import Answers
from release_schema import box_cells

#: The agreement of doubles with exact numbers, in standard errors.
CLOSE = 1e-9


def solved(matrix, right):
    """Solves a system of equations with a symmetric matrix of fractions, one column per side.

    Equations that follow from others are left out."""
    rows, pivots = [list(a) + list(b) for a, b in zip(matrix, right)], []
    for column in range(len(rows)):
        found = next((k for k in range(len(pivots), len(rows)) if rows[k][column] != 0), None)
        if found is None:
            continue
        index = len(pivots)
        rows[index], rows[found] = rows[found], rows[index]
        pivot = rows[index][column]
        rows[index] = [x / pivot for x in rows[index]]
        for k, row in enumerate(rows):
            if k != index and row[column] != 0:
                factor = row[column]
                rows[k] = [x - factor * y for x, y in zip(row, rows[index])]
        pivots.append(column)
    solution = [[Fraction(0)] * len(right[0]) for _ in rows]
    for index, column in enumerate(pivots):
        solution[column] = rows[index][len(rows):]
    return solution


def exact(folder, queries):
    """Returns the estimates and variances of queries over the full domain, in fractions.

    They minimise the sum of squares of y - B x over deviations, under all known answers."""
    schema = folder.schema
    measured = Measured(folder.measured, schema, folder.statement["unit"])
    rows, deviations, noisy = test_check_release.Brute.dense(measured, schema)
    cells, known = range(rows.shape[1]), []
    information = [[Fraction(0)] * len(cells) for _ in cells]
    scores = [Fraction(0)] * len(cells)
    for row, deviation, answer in zip(rows.tolist(), deviations, noisy):
        if deviation == 0:
            known.append((row, answer))
            continue
        weight = 1 / Fraction(deviation)**2
        for i in (i for i in cells if row[i]):
            scores[i] += weight * row[i] * answer
            for j in cells:
                information[i][j] += weight * row[i] * row[j]
    everything = tuple(range(len(schema.sizes)))
    boxes = [box_cells(box, everything, tuple(schema.sizes)).ravel().tolist()
             for box in schema.public + schema.impossible]
    known += zip(boxes, measured.public)
    for box in boxes[len(schema.public):]:
        known += [([int(k == cell) for k in cells], 0) for cell in cells if box[cell]]
    matrix = [information[i] + [Fraction(int(row[i])) for row, _ in known] for i in cells]
    matrix += [[Fraction(int(x)) for x in row] + [Fraction(0)] * len(known) for row, _ in known]
    right = [[scores[i]] + [Fraction(int(query[i])) for query in queries] for i in cells]
    right += [[Fraction(value)] + [Fraction(0)] * len(queries) for _, value in known]
    solution = solved(matrix, right)
    return [tuple(sum(int(query[i]) * solution[i][column] for i in cells) for column in (0, 1 + k))
            for k, query in enumerate(queries)]


class Exact(unittest.TestCase):
    """Products of up to three strategies for few queries."""

    @staticmethod
    def command(*words):
        done = subprocess.run([str(COMMAND), *map(str, words)], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def release(self, root, names, conditions):
        """Makes a release of `count where` on all attributes and on each."""
        schema = "".join(f'[[attribute]]\nname = "{name}"\nkind = "categorical"\n'
                         'values = ["1", "2"]\nother = "3"\n' for name in names)
        unit = ["--neighbours", "replace"]
        write(root / "schema.toml", schema + conditions)
        queries = [" and ".join(f"{name} in (1, 2)" for name in names)]
        queries += [f"{name} in (1, 2)" for name in names]
        write(root / "workload.toml",
              "".join(f'[[queries]]\nquery = "count where {query}"\n' for query in queries))
        cells = itertools.product("123", repeat=len(names))
        rows = [cell for k, cell in enumerate(cells) for _ in range(k * k % 7 + 1)
                if set(cell) != {"3"}]
        write(root / "table.csv", "\n".join(map(",".join, [names, *rows])) + "\n")
        self.command("ledger", "create", root / "ledger.jsonl", "--rho", 1, *unit)
        self.command("release", "--schema", root / "schema.toml", "--workload",
                     root / "workload.toml", "--data", root / "table.csv", "--ledger",
                     root / "ledger.jsonl", *unit, "--rho", "1e-6", "--out", root / "out")
        return Folder(root / "out")

    def agree(self, names, conditions, more=()):
        """Compares the program and the checker; `more` are conditions of later queries."""
        with tempfile.TemporaryDirectory() as root:
            folder = self.release(Path(root), names, conditions)
            groups = folder.groups()
            later = [dict(zip(names, sets)) for sets in more]
            asked = [dict.fromkeys(names, "12"), *({name: "12"} for name in names), *later]
            queries = [[all(cell[names.index(name)] in values for name, values in query.items())
                        for cell in itertools.product("123", repeat=len(names))]
                       for query in asked]
            expected = exact(folder, queries)
            words = []
            for query in asked:
                terms = [f"{name} in ({', '.join(values)})" for name, values in query.items()]
                words += ["--query", f"count where {' and '.join(terms)}"]
            answers = json.loads(self.command("answer", "--measurements", folder.measured, "--json",
                                              *words))
            found = [query["answers"][0] for query in answers["answers"]]
            measured = Measured(folder.measured, folder.schema, folder.statement["unit"])
            checked = Answers(folder, measured, groups)
            with open(folder.path / "answers.csv", encoding="utf-8") as table:
                written = list(csv.DictReader(table))
            for k, (estimate, variance) in enumerate(expected):
                error = math.sqrt(variance)
                pairs = [(found[k]["estimate"], found[k]["standard_error"])]
                if k < len(written):
                    pairs.append((checked.values[k], checked.deviations[k]))
                    self.assertLessEqual(abs(float(written[k]["estimate"]) - estimate),
                                         0.51e-6 + CLOSE * error)
                for value, deviation in pairs:
                    self.assertLessEqual(abs(Fraction(value) - estimate), CLOSE * max(error, 1.0))
                    self.assertLessEqual(abs(deviation - error), CLOSE * error)
            return [(math.sqrt(variance), f["standard_error"]) for (_, variance), f
                    in zip(expected, found)]

    def test_products_without_conditions(self):
        for names in ("a", "ab", "abc"):
            with self.subTest(names):
                self.agree(names, "")

    def test_impossible_cells_and_public_counts(self):
        # Public: all combinations of the cell 1 and the cells 1 and 2, but for the query itself.
        sets = [s for s in itertools.product(["1", "12"], repeat=3) if s != ("12",) * 3]
        public = "".join(f'[[public]]\nwhere = {{ {", ".join(parts)} }}\n' for parts in (
            [f'{name} = {json.dumps(list(values))}' for name, values in zip("abc", s)]
            for s in sets))
        impossible = '[[impossible]]\nwhere = { a = "3", b = "3", c = "3" }\n'
        # The cell (2, 2, 2) is the query on all attributes minus public counts: it has the same
        # standard error, and one that is more than 10^5 times as large without public counts.
        *_, known, cell = self.agree("abc", impossible + public, [("1", "2", "2"), ("2", "2", "2")])
        self.assertEqual(known, (0.0, 0.0))
        self.assertGreater(cell[1], 1.0)


if __name__ == "__main__":
    unittest.main()
