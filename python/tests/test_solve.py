"""`solve`, `certify` and `stream`: parity with the command, and independent oracles."""

import doctest
import importlib
import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
import time
import unittest
from pathlib import Path

import numpy as np

import matmech
from common import TestCase, command
from matmech._solve import workload_of


class Sparse:
    """A matrix in compressed rows, with the fields of scipy.sparse."""

    def __init__(self, matrix):
        matrix = np.asarray(matrix)
        rows, self.indices = np.nonzero(matrix)
        self.data = matrix[rows, self.indices]
        self.indptr = np.searchsorted(rows, np.arange(len(matrix) + 1))
        self.shape = matrix.shape

    def tocsr(self):
        return self

    def toarray(self):
        raise AssertionError("the workload is made dense")


def copied(value):
    return pickle.loads(pickle.dumps(value))


class Strategies(TestCase):
    """`compare` with `strategies`."""

    def test_errors_are_those_of_the_formula_next_to_the_optimum(self):
        queries = np.tril(np.ones((16, 16)))
        calls = []

        def scaled(workload):
            calls.append(workload)
            return 3 * np.eye(16) + queries

        own = {"identity": np.eye(16), "scaled": scaled, "wavelet": "wavelet"}
        rows = matmech.compare(queries, strategies=own).combinations
        self.assertEqual([row["strategy"] for row in rows], [*own, "optimal"])
        self.assertIs(calls[0], queries)

        def error(a):
            answers = queries @ np.linalg.pinv(a)
            return (a**2).sum(axis=0).max() * (answers**2).sum()

        for row, a in zip(rows, [np.eye(16), 3 * np.eye(16) + queries]):
            self.assertAlmostEqual(row["error"] / error(a), 1, places=9)
        self.assertEqual(len({row["lower_bound"] for row in rows}), 1)
        self.assertTrue(all(row["above_bound"] > 0.1 for row in rows[:3]), rows)
        self.assertLess(rows[-1]["above_bound"], 1e-6)

    def test_objective_and_factors_are_passed_on(self):
        factors = [np.eye(4), np.eye(8)]
        [own, best] = matmech.compare(
            "prefix:4x8", strategies={"identity": factors}, objective="max"
        ).combinations
        # The largest prefix sum adds all 32 cells.
        self.assertAlmostEqual(own["error"], 32, places=9)
        self.assertLess(best["error"], 32)

    def test_options_of_plans_are_refused(self):
        for options in [{"rho": 1.0}, {"ways": [1]}, {"planner": "auto"}, {"unit_rows": 2}]:
            with self.assertRaisesRegex(TypeError, "remedy"):
                matmech.compare("prefix:4", strategies={}, **options)
        with self.assertRaisesRegex(TypeError, "strategies"):
            matmech.compare([], ways=[1], participation="epochs:2")


class Parity(TestCase):
    def test_solve_has_the_reports_of_the_command(self):
        for workload, options in [
            ("range:64", {}),
            ("range:8x8", {}),
            ("prefix:64", {"objective": "max", "participation": "epochs:4"}),
            ("prefix:48", {"participation": "min-sep:8,3", "bands": 4}),
            ("prefix:5000", {}),
            ("residual(abs:8x8)", {"strategy": "eigen-design:wavelet"}),
            ("union(range:16; cdf:16)", {"tolerance": 1e-9}),
        ]:
            with self.subTest(workload=workload, options=options):
                words = [w for k, v in options.items() for w in (f"--{k}".replace("_", "-"), v)]
                expected = command("solve", "--workload", workload, *words)
                self.assert_same(matmech.solve(workload, **options).report, expected)

    def test_certify_has_the_reports_of_the_command(self):
        matrix = np.tril(np.ones((24, 24))) + np.eye(24)
        with tempfile.TemporaryDirectory() as folder:
            file, dual = f"{folder}/A.npy", f"{folder}/dual.npy"
            np.save(file, matrix)
            words = ["certify", file, "--workload", "range:24", "--save-dual", dual]
            expected = command(*words)
            found = matmech.certify(matrix, "range:24")
            self.assert_same(found.report, expected, but=("strategy", "dual"))
            np.testing.assert_array_equal(found.dual(), np.load(dual))
            words = ["--objective", "max", "--participation", "epochs:3"]
            expected = command("certify", file, "--workload", "prefix:24", *words)
            found = matmech.certify(
                matrix, "prefix:24", objective="max", participation="epochs:3"
            )
            self.assert_same(found.report, expected, but=("strategy",))
            words = ["--participation", "random:3", "--epsilon", "1", "--delta", "0.01"]
            expected = command("certify", file, "--workload", "prefix:24", *words)
            found = matmech.certify(
                matrix, "prefix:24", participation="random:3", epsilon=1.0, delta=0.01
            )
            self.assert_same(found.report, expected, but=("strategy",))
            self.assertIsNone(found.dual())
            self.assertFalse(hasattr(found, "svd_bound"))
            self.assertLessEqual(found.lower_bound, found.upper_bound)

    def test_stream_has_the_reports_and_the_coefficients_of_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            for participation, form in [("epochs:2", None), ("single", "chains")]:
                out = Path(folder) / f"{participation[:3]}.npz"
                words = ["--form", form] if form else []
                words += ["--participation", participation, "--out", out]
                expected = command("stream", "--workload", "prefix:64", *words)
                found = matmech.stream("prefix:64", participation=participation, form=form)
                self.assert_same(found.report, expected, but=("out",))
                read = matmech.read_stream(out)
                for ours, theirs in zip(found.noise(3, seed=7), read.noise(3, seed=7)):
                    np.testing.assert_array_equal(ours, theirs)

    def test_strategies_are_those_of_the_files(self):
        with tempfile.TemporaryDirectory() as folder:
            command("solve", "--workload", "range:6x9", "--save", f"{folder}/A")
            factors = matmech.solve("range:6x9").factors()
            for k, factor in enumerate(factors):
                np.testing.assert_array_equal(factor, np.load(f"{folder}/A-{k + 1}.npy"))


class Oracles(TestCase):
    def error(self, strategy, gram):
        norm = (strategy**2).sum(axis=0).max()
        return norm * np.trace(gram @ np.linalg.pinv(strategy.T @ strategy))

    def test_errors_and_bounds_hold_in_numpy(self):
        for workload in ["range:20", "prefix:4x5"]:
            solution = matmech.solve(workload)
            families = {"range:20": np.array([(np.arange(20) >= a) & (np.arange(20) <= b)
                                              for a in range(20) for b in range(a, 20)], float),
                        "prefix:4x5": np.kron(np.tri(4), np.tri(5))}
            rows = families[workload]
            gram = rows.T @ rows
            self.assertAlmostEqual(self.error(solution.strategy(), gram) / solution.error, 1, 9)
            root = np.sqrt(solution.dual())
            values = np.linalg.eigvalsh(root[:, None] * gram * root)
            bound = np.sqrt(np.maximum(values, 0)).sum() ** 2
            self.assertAlmostEqual(bound / solution.lower_bound, 1, 6)

    def test_matrices_are_workloads(self):
        rows = np.tri(32)
        by_name = matmech.solve("prefix:32")
        for workload in [rows, rows.astype(int), matmech.gram(rows.T @ rows)]:
            self.assertAlmostEqual(matmech.solve(workload).error / by_name.error, 1, 6)
        self.assertEqual(matmech.solve(Sparse(rows)).error, matmech.solve(rows).error)
        error = matmech.certify(np.eye(32), Sparse(rows)).error
        self.assertEqual(error, matmech.certify(np.eye(32), rows).error)
        with self.assertRaises(matmech.BadInput):
            matmech.solve(Sparse(rows), shape=(4, 4))
        try:
            import scipy.sparse
        except ImportError:
            self.skipTest("scipy is not installed")
        for sparse in [scipy.sparse.csr_matrix(rows), scipy.sparse.coo_array(rows)]:
            self.assertEqual(matmech.solve(sparse).error, matmech.solve(rows).error)

    def test_sparse_workloads_are_not_densified(self):
        # Dense, the queries take 16 GB.
        queries = 4_000_000
        sparse = Sparse(np.eye(1))
        sparse.shape = (queries, 512)
        sparse.indptr = np.arange(queries + 1)
        sparse.indices = np.arange(queries) % 512
        sparse.data = np.ones(queries)
        self.assertAlmostEqual(matmech.certify(np.eye(512), sparse).error, queries, 3)

    def test_noise_has_the_covariance_of_the_strategy(self):
        fitted = matmech.stream("prefix:6", buffers=2)
        noise = np.stack(list(fitted.noise((40_000, 5), seed=3)))
        self.assertEqual(noise.shape, (6, 40_000, 5))
        noise = noise.reshape(6, -1)
        inverse = np.linalg.inv(fitted.matrix())
        expected = inverse @ inverse.T
        deviation = np.sqrt((expected**2 + np.outer(np.diag(expected), np.diag(expected))) / 2e5)
        self.assertLess(np.abs((noise @ noise.T / 2e5 - expected) / deviation).max(), 5)
        first, second = (next(fitted.noise(4)) for _ in range(2))
        self.assertFalse(np.array_equal(first, second))


class Behaviour(TestCase):
    def test_results_and_workloads_pickle(self):
        rows = np.tri(8)
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/W.npy", rows)
            Path(f"{folder}/rates.csv").write_text("1\n0.5\n0.25\n")
            in_files = [
                matmech.Workload.parse(f"matrix(shape=2x4):{folder}/W.npy"),
                matmech.Workload.parse(f"schedule(file={folder}/rates.csv)"),
                matmech.Workload.parse(f"residual(matrix:{folder}/W.npy)"),
            ]
        # The files no longer exist.
        workloads = in_files + [
            matmech.Workload.parse("range:8"),
            matmech.Workload.of_queries(rows, [2, 4]),
            matmech.gram(rows.T @ rows),
            Sparse(rows),
        ]
        for workload in map(workload_of, workloads):
            with self.subTest(workload=workload.name):
                same = copied(workload)
                self.assertEqual((same.name, same.shape), (workload.name, workload.shape))
                solution = matmech.solve(workload)
                self.assert_same(matmech.solve(same).report, solution.report)
                self.assert_same_matrices(copied(solution), solution)
                self.assert_same_matrices(copied(copied(solution)), solution)
        with self.assertRaises(matmech.BadInput):
            matmech.solve(copied(matmech.gram(np.eye(4))), objective="max")
        epochs = matmech.certify(np.eye(8), "prefix:8", participation="epochs:2")
        self.assert_same_matrices(copied(epochs), epochs)
        for form, participation in [
            ("chains", "single"), ("recurrence", "epochs:2"), ("truncated", "min-sep:4,3")
        ]:
            fitted = matmech.stream("prefix:16", form=form, participation=participation)
            same = copied(fitted)
            self.assertEqual(same.report, fitted.report)
            np.testing.assert_array_equal(same.matrix(), fitted.matrix())

    def test_errors_pickle(self):
        for call in [
            lambda: matmech.solve("range:8", "optimum"),
            lambda: matmech.solve("matrix:missing.npy"),
            lambda: matmech.certify(np.ones((1, 3)), "prefix:3"),
        ]:
            with self.assertRaises(matmech.Error) as caught:
                call()
            same = copied(caught.exception)
            self.assertEqual(type(same), type(caught.exception))
            self.assertEqual(str(same), str(caught.exception))
            for name, value in vars(caught.exception).items():
                self.assertEqual(getattr(same, name), value)

    def test_solve_works_in_a_pool(self):
        workloads = ["prefix:16", matmech.Workload.parse("range:16"), np.tri(4)]
        expected = [matmech.solve(workload) for workload in workloads]
        for method in ["spawn", "fork"]:
            if method in multiprocessing.get_all_start_methods():
                with multiprocessing.get_context(method).Pool(2) as pool:
                    found = pool.map(matmech.solve, workloads)
                    with self.assertRaises(matmech.UnknownName):
                        pool.apply(matmech.solve, ("prefix:16", "optimum"))
                for same, solution in zip(found, expected):
                    self.assert_same_matrices(same, solution)

    def assert_same_matrices(self, found, expected):
        self.assertIs(type(found), type(expected))
        self.assert_same(found.report, expected.report)
        for same, factor in zip(found.factors(), expected.factors(), strict=True):
            np.testing.assert_array_equal(same, factor)
        np.testing.assert_equal(found.dual(), expected.dual())

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_noise_is_refused_in_a_copy_of_its_process(self):
        # The attack: two processes with one key, whose outputs differ by what the noise hides.
        noise = matmech.stream("prefix:16").noise(4)
        first = next(noise)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                next(noise)
                outcome = b"drawn"
            except matmech.BadInput as error:
                outcome = str(error).encode()
            except BaseException as error:
                outcome = repr(error).encode()
            os.write(writer, outcome)
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            self.assertIn(b"the process that created it", pipe.read())
        os.waitpid(child, 0)
        self.assertFalse(np.array_equal(next(noise), first))

    def test_errors_are_exceptions_with_fields(self):
        with self.assertRaises(matmech.UnknownName) as caught:
            matmech.solve("range:8", "optimum")
        self.assertEqual((caught.exception.kind, caught.exception.name), ("strategy", "optimum"))
        self.assertIn("optimal", caught.exception.known)
        self.assertIn("remedy", str(caught.exception))
        with self.assertRaises(ValueError) as caught:
            matmech.solve(matmech.gram(np.eye(4)), objective="max")
        self.assertIn("Gram matrix", caught.exception.what)
        with self.assertRaises(matmech.BadInput):
            matmech.gram(np.array([[1.0, 2.0], [2.0, 1.0]]))
        with self.assertRaises(matmech.FileError) as caught:
            matmech.solve("matrix:missing.npy")
        self.assertIsInstance(caught.exception, OSError)
        with self.assertRaises(matmech.Unanswered):
            matmech.certify(np.ones((1, 3)), "prefix:3")

    def test_progress_is_reported_and_ends_with_its_exception(self):
        seen = []
        solution = matmech.solve("range:200", progress=seen.append)
        # Coarser grids report, too.
        self.assertGreaterEqual(len(seen), solution.iterations)
        self.assertEqual(seen[-1]["iterations"], solution.iterations)
        self.assertGreaterEqual(seen[-1]["upper_bound"], seen[-1]["lower_bound"])

        def fail(step):
            raise LookupError("no more")

        with self.assertRaises(LookupError):
            matmech.solve("range:200", progress=fail)

    def test_interruption_returns_the_best_iterate_with_its_bound(self):
        timer = threading.Timer(0.7, signal.raise_signal, [signal.SIGINT])
        timer.start()
        # A gap that is not reached, in more iterations than the time allows.
        with self.assertRaises(matmech.Interrupted) as caught:
            matmech.solve("residual(prefix:300)", tolerance=1e-30, max_iterations=10**6)
        timer.join()
        self.assertIsInstance(caught.exception, KeyboardInterrupt)
        best = caught.exception.result
        self.assertEqual(best.status, "interrupted")
        optimum = matmech.solve("residual(prefix:300)")
        self.assertLessEqual(best.lower_bound, optimum.upper_bound * (1 + 1e-12))
        self.assertGreaterEqual(best.error, optimum.lower_bound * (1 - 1e-12))

    def test_other_threads_run_during_work(self):
        counts, stop = [0], threading.Event()

        def count():
            while not stop.is_set():
                counts[0] += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        before = counts[0]
        matmech.solve("residual(prefix:600)", tolerance=1e-12)
        during = counts[0] - before
        stop.set()
        thread.join()
        self.assertGreater(during, 10)


class Documentation(unittest.TestCase):
    def test_examples_of_docstrings(self):
        for name in ["_solve", "_stream", "_privacy", "_training", "_records"]:
            module = importlib.import_module(f"matmech.{name}")
            failed, tried = doctest.testmod(module, extraglobs={"np": np, "stream": matmech.stream})
            self.assertGreater(tried, 0)
            self.assertEqual(failed, 0)
        self.assertEqual(doctest.testmod(matmech).failed, 0)
        self.assertIn("optimal", matmech.strategies())
        self.assertIn("anova", matmech.planners())
        self.assertIn("staged", matmech.mechanisms())


if __name__ == "__main__":
    unittest.main()
