"""`plan`, `simulate`, `release` and `answer`: parity with the command, tables, and privacy."""

import csv
import inspect
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import numpy as np

import matmech
from common import ROOT, SURVEY, TestCase, command

SCHEMA = SURVEY / "survey.toml"
DATA = SURVEY / "survey.csv"
BUDGET = {"epsilon": 1.0, "delta": 1e-9}


def survey():
    """Returns the survey as a mapping from names to arrays."""
    with open(DATA, newline="") as file:
        rows = list(csv.DictReader(file))
    as_numbers = lambda values: np.array([float(v) if "." in v else int(v) for v in values])
    numeric = {"age", "trips"}
    return {
        name: (as_numbers if name in numeric else np.array)([row[name] for row in rows])
        for name in rows[0]
    }


def flags(**options):
    return [w for k, v in options.items() for w in (f"--{k}".replace("_", "-"), v)]


class Parity(TestCase):
    def test_plan_has_the_reports_of_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            workload = Path(folder) / "workload.toml"
            workload.write_text('[[queries]]\nfamily = "hybrid"\nways = [1, 2]\nweight = 0.5\n')
            entries = [{"family": "hybrid", "ways": [1, 2], "weight": 0.5}]
            for options in [
                {"epsilon": 1.0, "delta": 1e-6},
                {"privacy_cost": 1.0, "planner": "anova", "measure": "uniform"},
                {"rho": 0.5, "objective": "max"},
            ]:
                words = ["--schema", SCHEMA, "--workload", workload, *flags(**options)]
                expected = command("plan", *words)
                self.assert_same(matmech.plan(SCHEMA, workload, **options).report, expected)
                self.assert_same(matmech.plan(SCHEMA, entries, **options).report, expected)

    def test_targets_and_comparisons_are_those_of_the_command(self):
        words = ["plan", "--schema", SCHEMA, "--ways", "1,2"]
        for options in [{"target_rmse": 10.0},
                        {"target_interval": 25.0, "at_delta": 1e-6, "unit_rows": 3}]:
            found = matmech.plan(SCHEMA, ways=[1, 2], **options)
            self.assert_same(found.report, command(*words, *flags(**options)))
        expected = command(*words, "--compare", "epsilon=0.5,1", "unit-rows=1,2",
                           "planner=anova,hdmm")
        found = matmech.compare(SCHEMA, ways=[1, 2], epsilon=[0.5, 1], unit_rows=[1, 2],
                                planner=["anova", "hdmm"])
        self.assert_same(found.report, expected)
        for options in [{"target_rmse": 1, "rho": 1}, {"rho": 1, "unit_rows": 2},
                        {"target_rmse": 1, "target_interval": 1}]:
            self.assertRaises(TypeError, matmech.plan, SCHEMA, ways=[1], **options)

    def test_simulate_has_the_reports_of_the_command(self):
        options = {"mechanism": "residual-planner", "rho": 0.1, "trials": 2, "seed": 5}
        words = ["--schema", SCHEMA, "--data", DATA, "--ways", "1,2", *flags(**options)]
        expected = command("simulate", *words)
        for data in (DATA, survey()):
            found = matmech.simulate(SCHEMA, data, ways=[1, 2], **options)
            self.assert_same(found.report, expected)
        staged = matmech.simulate(SCHEMA, survey(), ways=[1, 2], rho=1.0, synthetic=True)
        self.assertEqual(set(staged.records), {"age", "job", "trips", "owner"})

    def test_release_has_the_plan_of_the_command(self):
        words = ["--schema", SCHEMA, "--ways", "1,2", "--dry-run", *flags(**BUDGET),
                 "--out-of-domain", "drop"]
        for options in [{}, {"mechanism": "staged"},
                        {"mechanism": "staged", "records_guess": 300}]:
            expected = command("release", *words, *flags(**options))
            found = matmech.release(SCHEMA, ways=[1, 2], dry_run=True, out_of_domain="drop",
                                    **BUDGET, **options)
            self.assert_same(found.report, expected)


class Releases(TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.ledger = self.folder / "budget.jsonl"
        matmech.create_ledger(self.ledger, epsilon=2, delta=1e-9)

    def release(self, name, data=None, **options):
        data = survey() if data is None else data
        out = self.folder / name
        options.setdefault("out_of_domain", "drop")
        return matmech.release(
            SCHEMA, data, ways=[1, 2], ledger=self.ledger, out=out, **BUDGET, **options
        )

    def test_a_release_charges_the_ledger_and_writes_the_files_of_the_command(self):
        released = self.release("released")
        balance = matmech.show_ledger(self.ledger)
        self.assertEqual((balance["reservations"], balance["unsettled"]), (1, 0))
        self.assert_same(balance, command("ledger", "show", self.ledger))
        self.assertGreaterEqual(balance["spent_rho"], released.rho * (1 - 1e-12))
        names = {path.name for path in (self.folder / "released").iterdir()}
        self.assertLessEqual({"answers.csv", "measurements", "statement.json"}, names)
        # Answers are exact sums of what was measured: `answer` has the same table, bit for bit.
        again = matmech.answer(released.measurements)
        self.assertEqual(set(again.answers), set(released.answers))
        for name, column in again.answers.items():
            np.testing.assert_array_equal(column, released.answers[name])
        out = self.folder / "command.csv"
        command("answer", "--measurements", released.measurements, "--out", out)
        for name, column in matmech.read_table(out).items():
            np.testing.assert_array_equal(column, released.answers[name])
        # The total of a marginal is near the number of records: within six standard errors.
        ages = [m for m in released.marginals() if set(m) == {"age", "count"}][0]
        np.testing.assert_array_equal(ages["age"], np.arange(9))
        self.assertLess(abs(ages["count"].sum() - 500), 300)
        more = matmech.answer(
            released.measurements, [{"family": "range", "attributes": ["age"]}]
        )
        self.assertEqual(len(more.answers["estimate"]), 45)

    def test_the_mapping_and_the_file_are_one_table(self):
        # With a budget without noise to speak of, both are the exact counts.
        budget = {"privacy_cost": 2e9}
        ledger = self.folder / "large.jsonl"
        matmech.create_ledger(ledger, privacy_cost=5e9)
        tables = [
            matmech.release(
                SCHEMA, data, ways=[1, 2], ledger=ledger, out=self.folder / f"exact{k}",
                out_of_domain="drop", **budget
            ).answers["estimate"].round(2)
            for k, data in enumerate([survey(), DATA])
        ]
        np.testing.assert_array_equal(*tables)
        data = survey()
        counts = [((data["job"] == job).sum()) for job in ("clerk", "baker", "nurse", "none")]
        job = matmech.read_table(self.folder / "exact0" / "answers.csv")
        found = job["estimate"][job["attributes"] == "job"]
        np.testing.assert_allclose(found, counts, atol=0.01)

    def test_steps_do_not_depend_on_records(self):
        """The attack: a table, and one without its last record."""
        data = survey()
        for mechanism in (None, "staged"):
            steps = []
            for name, table in [("all", data), ("fewer", {k: v[:-1] for k, v in data.items()})]:
                seen = []
                out = f"{name}-{mechanism}"
                released = self.release(out, table, mechanism=mechanism, progress=seen.append)
                matmech.answer(released.measurements, progress=seen.append)
                steps.append(seen)
                matmech.create_ledger(self.folder / f"{out}.jsonl", epsilon=2, delta=1e-9)
                self.ledger = self.folder / f"{out}.jsonl"
            self.assertEqual(*steps)
            self.assertEqual(steps[0][0], {"step": "planning", "parts": None, "done": 0})
            self.assertEqual(steps[0][-1]["parts"], steps[0][-1]["done"])

    def test_a_failing_callback_ends_a_release_before_it_spends(self):
        def refuse(step):
            raise RuntimeError(step["step"])

        # The plan takes longer than the callback.
        names = ["a", "b", "c"]
        schema = [{"name": name, "size": 300, "kind": "numeric"} for name in names]
        with self.assertRaisesRegex(RuntimeError, "planning"):
            matmech.release(
                schema, {name: np.arange(50) for name in names},
                [{"family": "prefix", "ways": [1, 2]}], ledger=self.ledger,
                out=self.folder / "refused", progress=refuse,
                out_of_domain="drop", **BUDGET,
            )
        self.assertEqual(matmech.show_ledger(self.ledger)["reservations"], 0)
        self.assertFalse((self.folder / "refused").exists())

    def test_noise_is_fresh(self):
        # No argument and no state of Python or NumPy repeats it.
        first, second = (self.release(name).answers["estimate"] for name in ("a", "b"))
        self.assertFalse(np.array_equal(first, second))
        with self.assertRaises(TypeError):
            self.release("c", seed=1)

    def test_no_argument_of_a_release_is_a_seed(self):
        for function in (matmech.release, matmech.answer):
            names = " ".join(inspect.signature(function).parameters)
            for word in ("seed", "rng", "random", "noise", "trials"):
                self.assertNotIn(word, names)
        source = (ROOT / "python" / "src" / "records.rs").read_text()
        release = source[source.index("fn release("):]
        for word in ("seed", "rand", "noise", "Rng"):
            self.assertNotIn(word, release)

    def test_an_exhausted_budget_is_refused_and_spends_nothing(self):
        self.ledger = self.folder / "small.jsonl"
        matmech.create_ledger(self.ledger, **BUDGET)
        self.release("first")
        before = matmech.show_ledger(self.ledger)
        with self.assertRaises(matmech.BudgetExhausted) as caught:
            self.release("second")
        self.assertGreater(caught.exception.asked, caught.exception.left)
        self.assertEqual(matmech.show_ledger(self.ledger), before)
        self.assertFalse((self.folder / "second").exists())

    def test_errors_do_not_depend_on_records(self):
        data = survey()
        # Neighbouring tables: one record fewer in one column only, whatever its values.
        for cut in (1, 400):
            broken = {**data, "age": data["age"][:-cut]}
            with self.assertRaises(ValueError) as caught:
                self.release("broken", broken)
            self.assertEqual(
                str(caught.exception).splitlines()[0],
                "data: expected columns of equal length, found columns of different lengths",
            )
            self.assertFalse(set("0123456789") & set(str(caught.exception)))
        # Values outside the schema drop their record, without a message.
        strange = {**data, "age": np.array(["secret"] * 500, dtype=object)}
        released = self.release("strange", strange)
        self.assertNotIn("secret", json.dumps(released.report))

    def test_the_text_of_a_panic_is_shown_nowhere(self):
        program = "import sys; from matmech import _matmech; _matmech.panic(*sys.argv[1:])"
        for function in ["run", "run_release", "guarded"]:
            words = [sys.executable, "-c", program, function, "sorcerer"]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("matmech._errors.Panic: panic: ", done.stderr)
            self.assertTrue(done.stderr.startswith("Traceback"), done.stderr)
            self.assertNotIn("sorcerer", done.stderr)
            self.assertNotIn("thread", done.stderr)
            self.assertEqual("work.rs" in done.stderr, function == "run", done.stderr)

    @unittest.skipUnless(Path("/proc/self/task").exists(), "needs /proc")
    def test_an_interrupted_release_spends_nothing(self):
        names = ["a", "b", "c"]
        schema = [{"name": name, "size": 700, "kind": "numeric"} for name in names]
        data = {name: np.arange(100) % 50 for name in names}
        threads = lambda: len(list(Path("/proc/self/task").iterdir()))
        before = threads()
        timer = threading.Timer(1.0, signal.raise_signal, [signal.SIGINT])
        timer.start()
        started = time.monotonic()
        with self.assertRaises(matmech.Interrupted) as caught:
            # The plan takes several seconds.
            matmech.release(
                schema, data, [{"family": "prefix", "ways": [1, 2]}],
                ledger=self.ledger, out=self.folder / "interrupted",
                out_of_domain="drop", **BUDGET,
            )
        timer.join()
        self.assertIsNone(caught.exception.result)
        # Also after the plan, which is not abandoned at once.
        while threads() > before and time.monotonic() - started < 120:
            time.sleep(0.1)
        # A thread of an earlier call may have ended since.
        self.assertLessEqual(threads(), before)
        self.assertEqual(matmech.show_ledger(self.ledger)["reservations"], 0)
        self.assertFalse((self.folder / "interrupted").exists())

    def test_staged_releases_have_records_and_error_bounds(self):
        staged = self.release("staged", mechanism="staged", records="auto")
        self.assertIn("error_bound_95", staged.answers)
        self.assertEqual(len(staged.records["age"]), staged.report["synthetic"]["count"])
        with self.assertRaises(ValueError):
            staged.linear_measurements()

    def test_tables_are_frames(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        released = self.release("pandas", pandas.DataFrame(survey()))
        frame = pandas.DataFrame(released.answers)
        self.assertEqual(len(frame), len(released.answers["estimate"]))
        self.assertEqual(list(frame.columns[:2]), ["attributes", "family"])
        self.assertEqual(len(pandas.DataFrame(released.marginals()[0])), 9)

    def test_polars_and_arrow_tables_are_mappings(self):
        try:
            import polars
        except ImportError:
            self.skipTest("polars is not installed")
        released = self.release("polars", polars.DataFrame(survey()))
        self.assertEqual(len(polars.DataFrame(released.answers)), len(released.answers["estimate"]))
        arrow = polars.DataFrame(survey()).to_arrow() if _has("pyarrow") else None
        if arrow is not None:
            matmech.simulate(SCHEMA, arrow, ways=[1], mechanism="residual-planner", rho=1.0)

    def test_measurements_build_an_mbi_model(self):
        released = self.release("mbi")
        measured = released.linear_measurements()
        for clique, counts, deviation in measured:
            self.assertEqual(counts.size, np.prod([{"age": 9, "job": 4, "trips": 6, "owner": 2}[a]
                                                   for a in clique]))
            self.assertGreater(deviation, 0)
        if not _has("mbi"):
            self.skipTest("mbi is not installed")
        import mbi

        domain = mbi.Domain(["age", "job", "trips", "owner"], [9, 4, 6, 2])
        measurements = [mbi.LinearMeasurement(y, clique, s) for clique, y, s in measured]
        if hasattr(mbi.estimation, "MirrorDescent"):  # mbi 2
            model = mbi.estimation.MirrorDescent().estimate(domain, measurements, iters=50)
        else:
            model = mbi.estimation.mirror_descent(domain, measurements, iters=50)
        total = float(model.project(("age",)).datavector().sum())
        self.assertLess(abs(total - 500), 300)


def _has(name):
    import importlib.util

    return importlib.util.find_spec(name) is not None


if __name__ == "__main__":
    unittest.main()
