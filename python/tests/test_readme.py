"""The deterministic numbers of the README, through Python; and the examples of docs/python.md."""

import contextlib
import io
import os
import re
import tempfile
import unittest

import numpy as np

import matmech
from common import ROOT, SURVEY

README = (ROOT / "README.md").read_text(encoding="utf-8")


class Readme(unittest.TestCase):
    def number(self, pattern):
        found = re.search(pattern, README)
        self.assertIsNotNone(found, pattern)
        return found.group(1)

    def test_ranges(self):
        best = matmech.solve("range:1024")
        for label, value in [("error", best.error), ("SVD bound", best.svd_bound),
                             ("lower bound", best.lower_bound)]:
            # Rounding differs between machines in the last digits.
            shown = float(self.number(rf"\n{label} +([0-9.]+e6)"))
            self.assertLess(abs(value / shown - 1), 1e-8, label)
        self.assertEqual(f"{best.ratio:.6f}", self.number(r"error/bound ([0-9.]+)"))
        self.assertLess(best.gap, float(self.number(r"within ([0-9.e-]+):")))

    def test_streaming_noise(self):
        four = {"participation": "epochs:4"}
        excess = 100 * matmech.stream("prefix:1024", **four).excess
        self.assertEqual(f"{excess:.2f}", self.number(r"its error is ([0-9.]+) % above"))
        bound = matmech.solve("prefix:1024", **four).lower_bound
        blt = 100 * (matmech.solve("prefix:1024", "blt", **four).error / bound - 1)
        self.assertEqual(f"{blt:.1f}", self.number(r"that of BLT ([0-9.]+) %"))

    def test_forty_attributes(self):
        schema = [{"name": f"a{k}", "size": 50, "kind": "numeric"} for k in range(40)]
        for family in ("prefix", "range", "affine", "abs"):
            row = self.number(rf"\| {family} \| ([^\n]+) \|\n").split(" | ")
            entries = [{"family": family, "ways": [1, 2]}]
            plan = matmech.plan(schema, entries, planner="query-smasher", privacy_cost=1)
            self.assertEqual(f"{plan.rmse:.4f}", row[1])
            bounded = family in ("prefix", "range")
            plan = matmech.plan(
                schema, entries, planner="anova", global_bound=bounded, privacy_cost=1
            )
            self.assertEqual(f"{plan.rmse:.4f}", row[2])
            if bounded:
                self.assertEqual(f"{plan.global_lower_bound_rmse:.4f}", row[3])

    def test_adult(self):
        """One run against the means of the README, within five standard deviations of a run."""
        table = matmech.read_table(ROOT / "data" / "tables" / "adult15.csv")
        codes = {name: np.unique(values, return_inverse=True) for name, values in table.items()}
        schema = [
            {"name": name, "size": len(values), "kind": "categorical"}
            for name, (values, _) in codes.items()
        ]
        data = {name: cells for name, (_, cells) in codes.items()}
        for epsilon, tolerances in [
            (0.1, {0: 0.003, 1: 0.07}),
            (1, {0: 0.004, 1: 0.03, 5: 0.12}),
            (10, {0: 0.004, 1: 0.01}),
            (100, {0: 0.004, 1: 0.01}),
        ]:
            row = self.number(rf"\| {epsilon} \| ([0-9.]+ \| [^\n]+) \|\n").split(" | ")
            for column, tolerance in tolerances.items():
                mechanism = {0: "residual-planner", 1: "aim-grem", 5: "staged"}[column]
                found = matmech.simulate(
                    schema, data, ways=[3], mechanism=mechanism, epsilon=epsilon, delta=1e-9
                )
                error = found.mean_l1 / float(row[column]) - 1
                self.assertLess(abs(error), tolerance, f"{mechanism} at {epsilon}")

    def test_steward(self):
        with tempfile.TemporaryDirectory() as folder:
            ledger = os.path.join(folder, "budget.jsonl")
            matmech.create_ledger(ledger, epsilon=2, delta=1e-9)
            for name, options in [("released", {}), ("staged", {"mechanism": "staged"})]:
                released = matmech.release(
                    SURVEY / "survey.toml", SURVEY / "survey.csv", ways=[1, 2], epsilon=1,
                    delta=1e-9, ledger=ledger, out=os.path.join(folder, name), **options,
                )
                self.assertTrue(np.isfinite(released.answers["estimate"]).all())


class Page(unittest.TestCase):
    def test_examples_of_the_page_run(self):
        pages = [ROOT / "docs" / "python.md", ROOT / "python" / "README.md"]
        text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
        examples = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
        self.assertGreaterEqual(len(examples), 3)
        folder = os.getcwd()
        with tempfile.TemporaryDirectory() as place:
            os.chdir(place)
            try:
                for example in examples:
                    if "pandas" in example:
                        try:
                            import pandas  # noqa: F401
                        except ImportError:
                            continue
                    example = example.replace("docs/example", str(SURVEY))
                    with contextlib.redirect_stdout(io.StringIO()):
                        exec(compile(example, "page", "exec"), {})
            finally:
                os.chdir(folder)


if __name__ == "__main__":
    unittest.main()
