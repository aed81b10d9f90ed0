"""scripts/check_release.py: it agrees with the program, and refuses releases that were changed.

MATMECH_RELEASES is the number of random releases, half of each mechanism (default 8)."""

import itertools
import json
import os
import random
import shutil
import sys
import tempfile
import unittest
from fractions import Fraction
from pathlib import Path

from common import COMMAND, ROOT, SURVEY, command

try:
    import numpy as np
except ImportError as error:
    raise unittest.SkipTest("no NumPy") from error
if not COMMAND.exists():
    raise unittest.SkipTest(f"no {COMMAND}: cargo build --release")

sys.path.insert(0, str(ROOT / "scripts"))
import check_release  # noqa: E402
import release_privacy  # noqa: E402
import release_schema  # noqa: E402
from drawn_releases import Drawn  # noqa: E402
from release_folder import Folder, Measured  # noqa: E402
from release_plan import Answers, stated  # noqa: E402
from tampered_releases import (  # noqa: E402
    PLAN, PUBLIC, QUERIES, SCHEMA, STAGED, WORDS, both, edit, field, more, settled,
    summed, write,
)

RELEASES = int(os.environ.get("MATMECH_RELEASES", "8"))

#: What cannot be checked of any release.
ALWAYS = {"origin", "randomness", "other releases"}

#: What cannot be checked of some releases.
SOMETIMES = {"fit", "values of records.csv", "adjusted.csv"}


def drawn(folder, mechanism, wanted, accepted=lambda release: True):
    """Makes a number of random releases; draws that the program refuses are left out."""
    seed, found, refused = 0, [], []
    while len(found) < wanted:
        path = Path(folder) / f"{mechanism}-{seed}"
        path.mkdir()
        try:
            release = Drawn(path, seed, mechanism)
            found += [release] * accepted(release)
        except ValueError as error:
            refused.append(str(error))
        seed += 1
        assert len(refused) < 10 + wanted, refused
    return found


class Agreement(unittest.TestCase):
    """The program's numbers are those of the checker, to 1e-9 or to the digits printed."""

    def agree(self, mechanism):
        with tempfile.TemporaryDirectory() as folder:
            for release in drawn(folder, mechanism, (RELEASES + 1) // 2):
                report = check_release.check(release.out, release.ledger)
                self.assertEqual(report.failed(), 0, f"{release.folder}\n{report.text()}")
                unchecked = {i["item"] for i in report.items
                             if i["status"] == "could not be checked"} - ALWAYS - SOMETIMES
                # Sets of records with different values are bounded from both sides.
                unchecked -= {"rho"} if release.distinct else set()
                statement = json.loads((release.out / "statement.json").read_text("utf-8"))
                has_bounds = mechanism == "plan" or statement["certificate"] is not None
                self.assertFalse(unchecked and has_bounds, f"{release.folder}: {unchecked}")

    def test_unbiased_releases(self):
        self.agree("plan")

    def test_staged_releases(self):
        self.agree("staged")

    def test_errors_that_are_rounded_up_to_whole_numbers(self):
        with tempfile.TemporaryDirectory() as folder:
            ledger = Path(folder) / "ledger.jsonl"
            command("ledger", "create", ledger, "--rho", "100")

            def released(rho):
                out = Path(folder) / f"{rho}"
                command("release", "--schema", SURVEY / "survey.toml", "--data",
                        SURVEY / "survey.csv", "--ways", "1,2", "--rho", rho,
                        "--out-of-domain", "drop", "--ledger", ledger, "--out", out)
                statement = json.loads((out / "statement.json").read_text("utf-8"))
                return out, statement["rmse"]

            _, at_one = released("1")
            for whole in (2, 7, 11):
                # The error is proportional to ρ^(−½).
                out, error = released(f"{(at_one / (whole - 0.05)) ** 2:.6f}")
                self.assertTrue(whole - 0.1 < error <= whole, error)
                report = check_release.check(out, ledger)
                self.assertEqual(report.failed(), 0, report.text())


class Brute(unittest.TestCase):
    """The checker's own computations agree with dense ones on small domains."""

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.kept.cleanup)
        cls.releases = drawn(cls.kept.name, "plan", 6)

    @staticmethod
    def dense(measured, schema):
        """Returns the rows of all measurements over the full domain, and their deviations."""
        rows, deviations, answers = [], [], []
        for term, noisy in zip(measured.terms, measured.noisy):
            b = np.ones((1, 1), dtype=object) * term.scale
            for factor in term.factors:
                n = factor.cells
                own = factor.rows if factor.rows is not None else \
                    n * np.eye(n, dtype=int).astype(object) - 1
                b = np.array([[x * y for x in r for y in s] for r in b for s in own], dtype=object)
            cells = list(itertools.product(*map(range, schema.sizes)))
            index = [int(np.ravel_multi_index([c[p] for p in term.positions],
                                              schema.shape(term.positions)))
                     if term.positions else 0 for c in cells]
            rows.append(b[:, index])
            deviations += [term.deviation] * len(b)
            answers += noisy
        return np.concatenate(rows), deviations, answers

    def test_estimates_are_those_of_dense_least_squares(self):
        for release in self.releases:
            folder = Folder(release.out)
            schema = folder.schema
            if np.prod(schema.sizes) > 400:
                continue
            measured = Measured(folder.measured, schema, folder.statement["unit"])
            rows, deviations, noisy = self.dense(measured, schema)
            # Answers without noise are known: they are constraints, as are the schema's.
            exact = np.array([deviation == 0 for deviation in deviations])
            scale = np.array([1.0 if d == 0 else float(d) for d in deviations])
            a = rows.astype(float) / scale[:, None]
            y = np.array([float(x) for x in noisy]) / scale
            groups = [g for g in folder.groups() if release_schema.queries(g) <= 200]
            mine = Answers(folder, measured, groups)
            if mine.estimates.directions:
                continue
            a, y, fixed, values = a[~exact], y[~exact], a[exact], y[exact]
            # x minimises |a x - y| with fixed x = values; the null space is not measured.
            precision = a.T @ a
            inverse = np.linalg.pinv(precision, rcond=1e-12, hermitian=True)
            x = inverse @ a.T @ y
            if len(fixed):
                x = x + (values - fixed @ x)[0] / fixed[0].sum() * np.ones(len(x))
            start = 0
            for group in groups:
                for query in self.queries(group, schema):
                    self.assertAlmostEqual(query @ x / max(1, abs(mine.values[start])),
                                           mine.values[start] / max(1, abs(mine.values[start])), 6)
                    if not len(fixed):
                        variance = query @ inverse @ query
                        self.assertAlmostEqual(variance / max(mine.deviations[start]**2, 1e-12),
                                               1.0 if mine.deviations[start] > 1e-6 else 0.0, 6)
                    start += 1

    @staticmethod
    def queries(group, schema):
        """Iterates over a group's queries as vectors over the full domain."""
        shape = schema.shape(group.positions)
        if group.joint is not None:
            joint = [row.reshape(shape) for row in group.joint]
        else:
            rows = [np.eye(n) if r is None else r for r, n in zip(group.factors, shape)]
            joint = []
            for parts in itertools.product(*rows):
                query = np.ones(())
                for part in parts:
                    query = np.multiply.outer(query, part)
                joint.append(query)
        spread = [n if p in group.positions else 1 for p, n in enumerate(schema.sizes)]
        for query in joint:
            yield np.broadcast_to(query.reshape(spread), schema.sizes).ravel()

    def test_rho_is_that_of_the_worst_pair_of_records(self):
        for release in self.releases:
            folder = Folder(release.out)
            if np.prod(folder.schema.sizes) > 120:
                continue
            unit = folder.statement["unit"]
            measured = Measured(folder.measured, folder.schema, unit)
            rows, deviations, _ = self.dense(measured, folder.schema)
            weights = np.array([0 if d == 0 else Fraction(1, 2) / d**2 for d in deviations])
            columns, worst = rows.T, Fraction(0)
            if unit["neighbours"] != release_privacy.REPLACE:
                worst = max((column * column * weights).sum() for column in columns)
            if unit["neighbours"] != release_privacy.ADD:
                for a, b in itertools.combinations(columns, 2):
                    worst = max(worst, ((a - b) * (a - b) * weights).sum())
            found = release_privacy.joint_rho(measured.terms, unit["neighbours"], unit["rows"])
            self.assertEqual(found.lower, worst * unit["rows"]**2, release.folder)

    def test_a_stage_without_questions_costs_nothing(self):
        found = release_privacy.joint_rho([], release_privacy.ADD, 1)
        self.assertIsNone(stated(0.0, found, True, "rho of a stage", "statement.json"))

    def test_the_search_over_corners_is_complete(self):
        for release in self.releases:
            folder = Folder(release.out)
            measured = Measured(folder.measured, folder.schema, folder.statement["unit"])
            terms = [term for term in measured.terms if term.positions]
            if 2**release_privacy.corner_tables(terms)[0] > 1 << 20:
                continue
            largest = release_privacy.corners(terms, 2)
            for target, above in ((1 - Fraction(1, 10**9), True), (1 + Fraction(1, 10**9), False)):
                found = release_privacy.corner_above(terms, 2, largest * target)
                self.assertIs(found, above, release.folder)

    def test_the_curve_is_that_of_gaussian_noise(self):
        from math import erfc, exp, log, sqrt
        for mu, epsilon in ((0.2, 0.5), (1, 1), (3, 4), (2.5, 0.1)):
            a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
            delta = erfc(a / sqrt(2)) / 2 - exp(epsilon) * erfc(b / sqrt(2)) / 2
            self.assertAlmostEqual(release_privacy.ln_gaussian_delta(mu, epsilon), log(delta), 10)


class Tampering(unittest.TestCase):
    """A changed release is refused, also if its checksums are written again."""

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.kept.cleanup)
        cls.root = Path(cls.kept.name)
        draw = random.Random(5)
        write(cls.root / "table.csv", "sex,age\n" + "".join(
            f"{draw.choice('fm')},{draw.choice([3, 20, 50, 70, ''])}\n" for _ in range(300)))
        write(cls.root / "workload.toml", '[[queries]]\nfamily = "identity"\nways = [1, 2]\n'
              + "".join(f"[[queries]]\nquery = '{query}'\n" for query in WORDS))
        for name, schema, neighbours, rows, more_options in (
                ("plan", SCHEMA, "add-remove", 2, []),
                ("public", SCHEMA + PUBLIC, "replace", 1, []),
                ("staged", SCHEMA, "add-remove", 1,
                 ["--mechanism", "staged", "--records", "auto"])):
            write(cls.root / f"{name}.toml", schema)
            ledger, unit = cls.root / f"{name}.jsonl", ["--neighbours", neighbours, "--unit-rows",
                                                        rows]
            cls.run_command("ledger", "create", ledger, "--rho", "10", *unit)
            for out in ("other", "out"):
                cls.run_command("release", "--schema", cls.root / f"{name}.toml", "--workload",
                                cls.root / "workload.toml", "--data", cls.root / "table.csv",
                                "--ledger", ledger, *unit, *more_options, "--epsilon", "1",
                                "--delta", "1e-9", "--out", cls.root / f"{name}-{out}")

    @classmethod
    def run_command(cls, *words):
        import subprocess
        subprocess.run([str(COMMAND), *map(str, words)], check=True, capture_output=True)

    def copy(self, name):
        """Returns copies of a release and its ledger."""
        folder = self.root / "copy"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.root / f"{name}-out", folder / "out")
        shutil.copy(self.root / f"{name}.jsonl", folder / "ledger.jsonl")
        return folder / "out", folder / "ledger.jsonl"

    def refused(self, name, changes, unseen=()):
        self.assertEqual(check_release.check(*self.copy(name)).failed(), 0)
        for what, change in changes.items():
            for hides in (False, True):
                with self.subTest(what, checksums_written_again=hides):
                    folder, ledger = self.copy(name)
                    kept, sums = ledger.read_bytes(), (folder / "SHA256SUMS").read_bytes()
                    change(folder, ledger, self.root / f"{name}-other")
                    if hides:
                        summed(folder)
                    report = check_release.check(folder, ledger)
                    self.assertGreater(report.failed(), 0, report.text())
                    if not hides or ledger.read_bytes() != kept:
                        continue
                    # The ledger has the hash of the checksums, unless it is written again too.
                    failed = {i["item"] for i in report.items if i["status"] == "failed"}
                    is_read = "schema and statement" not in failed
                    if is_read and (folder / "SHA256SUMS").read_bytes() != sums:
                        self.assertIn("ledger", failed)
                    settled(folder, ledger)
                    report = check_release.check(folder, ledger)
                    if what not in unseen:
                        self.assertGreater(report.failed(), 0, report.text())

    def test_changed_releases_are_refused(self):
        self.refused("plan", {k: c for k, c in PLAN.items() if "public" not in k},
                     unseen=["a checksum removed"])

    def test_changed_public_counts_are_refused(self):
        self.refused("public", {k: c for k, c in PLAN.items() if "public" in k})

    def test_changed_staged_releases_are_refused(self):
        # Only the checksums protect integers from which the published marginals were fitted.
        self.refused("staged", STAGED, unseen=["a changed integer of a stage"])
        common = ("lower epsilon", "delta", "answers of another", "measurements of another",
                  "ledger",
                  "limit removed", "report", "a changed schema", "workload", "reserved rho")
        self.refused("staged", {k: c for k, c in PLAN.items() if any(w in k for w in common)})

    def test_public_counts_and_impossible_cells_are_constraints_of_least_squares(self):
        folder = Folder(self.root / "public-out")
        schema = folder.schema
        measured = Measured(folder.measured, schema, folder.statement["unit"])
        answers = Answers(folder, measured, folder.groups())
        rows, deviations, noisy = Brute.dense(measured, schema)
        exact = np.array([deviation == 0 for deviation in deviations])
        scale = np.array([1.0 if d == 0 else float(d) for d in deviations])
        a, y = rows.astype(float) / scale[:, None], np.array([float(n) for n in noisy]) / scale
        boxes = [release_schema.box_cells(box, (0, 1), schema.shape((0, 1))).ravel()
                 for box in schema.public + schema.impossible]
        zero = np.eye(len(boxes[1]))[boxes[1] > 0]
        fixed = np.concatenate([a[exact], boxes[:1], zero])
        values = np.concatenate([y[exact], measured.public, np.zeros(len(zero))])
        self.assertEqual((exact.sum(), len(measured.public), len(zero)), (1, 1, 2))
        # Least squares over the null space of the constraints.
        start = np.linalg.lstsq(fixed, values, rcond=None)[0]
        null = np.linalg.svd(fixed)[2][np.linalg.matrix_rank(fixed):].T
        inner = a[~exact] @ null
        x = start + null @ np.linalg.lstsq(inner, y[~exact] - a[~exact] @ start, rcond=None)[0]
        covariance = null @ np.linalg.inv(inner.T @ inner) @ null.T
        queries = np.array([q for group in folder.groups() for q in Brute.queries(group, schema)])
        np.testing.assert_allclose(answers.values, queries @ x, atol=1e-8)
        variances = np.einsum("ij,jk,ik->i", queries, covariance, queries)
        np.testing.assert_allclose(answers.deviations**2, variances, atol=1e-8)
        self.assertEqual((answers.deviations == 0).sum(), len(zero) + 1)

    def test_changed_queries_in_words_are_refused(self):
        for name in ("plan", "staged"):
            for what, (old, new, item) in QUERIES.items():
                with self.subTest(what, release=name):
                    folder, ledger = self.copy(name)
                    both(folder, old, new)
                    edit(folder / "statement.md", old, new)
                    summed(folder)
                    settled(folder, ledger)
                    report = check_release.check(folder, ledger)
                    failed = {i["item"] for i in report.items if i["status"] == "failed"}
                    self.assertIn(item, failed, report.text())

    def test_series_are_recomputed(self):
        folder, ledger = self.copy("plan")
        later = folder.parent / "later"
        self.run_command("release", "--schema", self.root / "plan.toml", "--workload",
                         self.root / "workload.toml", "--data", self.root / "table.csv", "--ledger",
                         ledger, "--unit-rows", 2, "--rho", "0.1", "--out", later, "--after", folder)
        report = check_release.check(later, ledger)
        self.assertEqual(report.failed(), 0, report.text())
        checked = {item["item"] for item in report.items if item["status"] == "checked"}
        self.assertLessEqual({"series", "ledger", "statement.md", "report.html"}, checked)
        both(later, r'("rho_reserved": ?)0\.0', r"\g<1>0.01")  # of the earlier release
        summed(later)
        settled(later, ledger)
        failed = {item["item"] for item in check_release.check(later, ledger).items
                  if item["status"] == "failed"}
        self.assertLessEqual({"series", "ledger"}, failed)

    def test_the_command_says_what_failed(self):
        import subprocess
        folder, ledger = self.copy("plan")
        words = [sys.executable, ROOT / "scripts/check_release.py", folder, "--ledger", ledger]
        done = subprocess.run([*words, "--json"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, json.loads(done.stdout)["failed"]), (0, 0), done.stderr)
        field(folder / "answers.csv", 2, 4, more)
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"failed +estimates: expected line 2: estimate .* found .*"
                                      r"; in .*answers.csv")


if __name__ == "__main__":
    unittest.main()
