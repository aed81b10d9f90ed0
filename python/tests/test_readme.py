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
        self.assertEqual(f"{excess:.2f}", self.number(r"its squared error is ([0-9.]+) % above"))
        root = 100 * ((1 + excess / 100) ** 0.5 - 1)
        self.assertEqual(f"{root:.2f}", self.number(r"optimum \(RMSE ([0-9.]+) %\)"))
        bound = matmech.solve("prefix:1024", **four).lower_bound
        blt = 100 * (matmech.solve("prefix:1024", "blt", **four).error / bound - 1)
        self.assertEqual(f"{blt:.1f}", self.number(r"that of BLT ([0-9.]+) %"))
        root = 100 * ((1 + blt / 100) ** 0.5 - 1)
        self.assertEqual(f"{root:.1f}", self.number(r"% \(RMSE ([0-9.]+) %\)\. BLT"))

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
            row = self.number(rf"\| {epsilon} \| ([0-9.]+ ± [^\n]+) \|\n").split(" | ")
            for column, tolerance in tolerances.items():
                mechanism = {0: "residual-planner", 1: "aim-grem", 5: "staged"}[column]
                found = matmech.simulate(
                    schema, data, ways=[3], mechanism=mechanism, epsilon=epsilon, delta=1e-9
                )
                error = found.mean_l1 / float(row[column].split(" ± ")[0]) - 1
                self.assertLess(abs(error), tolerance, f"{mechanism} at {epsilon}")

    def test_steward(self):
        with tempfile.TemporaryDirectory() as folder:
            ledger = os.path.join(folder, "budget.jsonl")
            matmech.create_ledger(ledger, epsilon=2, delta=1e-9)
            for name, options in [("released", {}), ("staged", {"mechanism": "staged"})]:
                released = matmech.release(
                    SURVEY / "survey.toml", SURVEY / "survey.csv", ways=[1, 2], epsilon=1,
                    delta=1e-9, ledger=ledger, out=os.path.join(folder, name),
                    out_of_domain="drop", **options,
                )
                self.assertTrue(np.isfinite(released.answers["estimate"]).all())


class Records(np.ndarray):
    """Data of an example that log which records a step of its training reads."""

    def __getitem__(self, key):
        self.log(key)
        return np.asarray(self)[key]

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        self.log(slice(None))
        plain = [np.asarray(i) if isinstance(i, Records) else i for i in inputs]
        return getattr(ufunc, method)(*plain, **options)

    def __array_function__(self, function, types, arguments, options):
        self.log(slice(None))
        plain = [np.asarray(i) if isinstance(i, Records) else i for i in arguments]
        return function(*plain, **options)


class Training(unittest.TestCase):
    """The privacy of the examples that train with correlated noise, from the records they read."""

    def run_example(self, example):
        """Runs an example; returns its names, the noise used and the records of every step."""
        steps, used, drawn = [], [], np.random.default_rng

        def default_rng(seed):
            generator = drawn(seed)

            class Generator:
                def normal(self, size):
                    values = generator.normal(size=size).view(Records)
                    values.log = lambda key: steps and steps[-1].update(
                        np.arange(len(values))[key].tolist()
                    )
                    return values

                def __getattr__(self, name):
                    return getattr(generator, name)

            return Generator()

        def noise(coefficients, *arguments, **options):
            used.append(coefficients)
            for values in original(coefficients, *arguments, **options):
                steps.append(set())
                yield values

        original = matmech.Coefficients.noise
        names = {}
        try:
            np.random.default_rng, matmech.Coefficients.noise = default_rng, noise
            exec(compile(example, "page", "exec"), names)
        finally:
            np.random.default_rng, matmech.Coefficients.noise = drawn, original
        self.assertEqual(len(used), 1)
        return names, used[0], steps

    def worst(self, coefficients, steps):
        """Returns the largest change of C g, for gradients of norm 1 of any direction and sign."""
        gram = np.abs(coefficients.matrix().T @ coefficients.matrix())
        patterns = {tuple(t for t, s in enumerate(steps) if record in s)
                    for record in set().union(*steps)}
        return np.sqrt(max(gram[np.ix_(pattern, pattern)].sum() for pattern in patterns))

    def examples(self):
        pages = [*(ROOT / "docs").glob("*.md"), ROOT / "python" / "README.md", ROOT / "README.md"]
        for page in pages:
            text = page.read_text(encoding="utf-8")
            for example in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
                if ".noise(" in example:
                    yield page.name, example

    def test_the_noise_is_that_of_the_participation(self):
        examples = list(self.examples())
        self.assertGreaterEqual(len(examples), 1)
        for page, example in examples:
            with self.subTest(page=page):
                names, coefficients, steps = self.run_example(example)
                self.assertEqual(len(steps), coefficients.steps)
                needed = names["clip"] * self.worst(coefficients, steps) / np.sqrt(2 * names["rho"])
                self.assertGreaterEqual(names["scale"], needed * (1 - 1e-9))
                self.assertLess(names["scale"], needed * 1.01)

    def test_a_wrong_example_is_found(self):
        """Full batches, and another order in every epoch, with the same noise."""
        _, example = next(self.examples())
        for right, wrong in [
            ("batches[step % len(batches)]", "np.arange(len(x))"),
            ("batches[step % len(batches)]", "batches[(step + step // 16) % len(batches)]"),
            ('participation=f"epochs:{epochs}"', 'participation="single"'),
        ]:
            self.assertIn(right, example)
            names, coefficients, steps = self.run_example(example.replace(right, wrong))
            needed = names["clip"] * self.worst(coefficients, steps) / np.sqrt(2 * names["rho"])
            self.assertGreater(needed, 1.01 * names["scale"], wrong)


class Page(unittest.TestCase):
    def test_examples_of_the_page_run(self):
        pages = [ROOT / "docs" / "python.md", ROOT / "docs" / "streams.md",
                 ROOT / "python" / "README.md"]
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
