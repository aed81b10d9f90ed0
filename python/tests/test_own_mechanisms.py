"""Mechanisms of a researcher in `simulate`, without Rust."""

import unittest

import numpy as np

import matmech
from common import TestCase

SCHEMA = [
    {"name": "a", "size": 3, "kind": "categorical"},
    {"name": "b", "size": 4, "kind": "numeric"},
    {"name": "c", "size": 2, "kind": "categorical"},
]
COUNT = 600
DATA = {"a": np.arange(COUNT) % 3, "b": np.arange(COUNT) // 3 % 4, "c": np.arange(COUNT) % 5 // 4}


class Direct:
    """Measures every group with an equal share, axes in reverse order."""

    def run(self, access, workload):
        self.access = access
        variance = len(workload) / (2 * access.total)
        self.left = []
        for group in workload:
            reverse = group.attributes[::-1]
            yield access.measure(reverse, variance).transpose()
            self.left.append(access.remaining)


class Function:
    """A mechanism of a function."""

    name = "function"

    def __init__(self, run):
        self.run = run


def simulate(run, **options):
    options = {"ways": [1, 2], "rho": 0.5, **options}
    return matmech.simulate(SCHEMA, DATA, mechanism=Function(run), **options)


def zeros(workload):
    return [np.zeros(group.shape) for group in workload]


class Mechanisms(TestCase):
    def test_a_mechanism_has_the_errors_of_its_noise(self):
        mechanism = Direct()
        options = {"ways": [1, 2], "rho": 0.5, "mechanism": mechanism, "seed": 3}
        found = matmech.simulate(SCHEMA, DATA, trials=40, **options)
        self.assertEqual(found.mechanism, "Direct")
        # Noise of variance σ² per cell: an L1 error of √(2/π) σ per cell.
        cells = [3, 4, 2, 12, 6, 8]
        sigma = np.sqrt(len(cells) / (2 * 0.5))
        expected = np.sqrt(2 / np.pi) * sigma * np.mean(cells) / COUNT
        # Six standard errors of 40 · 35 cells.
        error = 6 * sigma * np.sqrt(1 - 2 / np.pi) / np.sqrt(40 * sum(cells)) * np.mean(cells)
        self.assertLess(abs(found.mean_l1 - expected), error / COUNT)
        self.assertAlmostEqual(mechanism.left[-1], 0, delta=1e-9)
        again = matmech.simulate(SCHEMA, DATA, trials=40, **options)
        self.assertEqual(again.mean_l1, found.mean_l1)
        with self.assertRaisesRegex(matmech.BadInput, "later"):
            mechanism.access.measure(["a"], 1.0)

    def test_other_families_are_answered_from_marginals(self):
        def run(access, workload):
            self.assertEqual([group.family for group in workload], ["prefix"])
            return [access.measure(workload[0].attributes, 1e-12)]

        queries = [{"family": "prefix", "attributes": ["b"]}]
        found = simulate(run, ways=None, workload=queries, rho=1e13)
        self.assertLess(found.mean_l1, 1e-6)

    def test_residuals_are_centred_and_cost_less(self):
        def run(access, workload):
            residual = access.measure_residual(["b", "a"], 2.0)
            self.assertEqual(residual.shape, (4, 3))
            np.testing.assert_allclose(residual.sum(axis=0), 0, atol=1e-9)
            np.testing.assert_allclose(residual.sum(axis=1), 0, atol=1e-9)
            cost = (1 - 1 / 4) * (1 - 1 / 3) / (2 * 2.0)
            self.assertAlmostEqual(access.total - access.remaining, cost, delta=1e-12)
            return zeros(workload)

        simulate(run)

    def test_selection_finds_the_bad_estimate(self):
        def run(access, workload):
            names = ["a", ("b",), ("c", "a")]
            true = [access.measure(name, 1e-6) for name in names]
            self.assertEqual(true[2].shape, (2, 3))
            true[1] = np.zeros(4)
            self.assertEqual(access.select(names, true, 10.0), 1)
            self.assertEqual(access.select(names, true, 10.0, [1, 0.0, 1]) in (0, 2), True)
            for weights in ([1, -3, 1], [0, 0, 0], [1, np.nan, 1]):
                with self.assertRaises(matmech.BadInput):
                    access.select(names, true, 10.0, weights)
            with self.assertRaises(matmech.BadInput):
                access.select(names, true[::-1], 10.0)
            with self.assertRaises(matmech.BadInput):
                access.select([("a",), ("a",)], [true[0], true[0]], 10.0)
            with self.assertRaises(matmech.BadInput):
                access.select([], [], 10.0)
            with self.assertRaises(matmech.BadInput):
                access.select(["a"], [np.full(3, np.nan)], 10.0)
            with self.assertRaises(matmech.BadInput):
                access.select(["a"], [true[0]], -1.0)
            return zeros(workload)

        simulate(run, rho=1e8)

    def test_a_budget_that_is_spent_is_refused(self):
        def run(access, workload):
            access.measure("a", 1.0)
            with self.assertRaises(matmech.BudgetExhausted):
                access.measure("a", 1.0)
            for variance in (0.0, -1.0, np.nan):
                with self.assertRaises(matmech.Error):
                    access.measure("a", variance)
            return zeros(workload)

        simulate(run, rho=0.5)

    def test_wrong_answers_and_exceptions_are_errors(self):
        class Own(Exception):
            pass

        def raises(access, workload):
            raise Own("mine")

        with self.assertRaisesRegex(Own, "mine"):
            simulate(raises)
        wrong = [
            lambda _, workload: zeros(workload)[:-1],
            lambda _, workload: zeros(workload) + [np.zeros(2)],
            lambda _, workload: [np.zeros(5) for _ in workload],
            lambda _, workload: [np.full(group.shape, np.nan) for group in workload],
        ]
        for run in wrong:
            with self.assertRaises(matmech.BadInput):
                simulate(run)
        with self.assertRaises(matmech.BadInput):
            simulate(lambda access, _: [access.measure(["d"], 1.0)])
        with self.assertRaises(matmech.BadInput):
            matmech.simulate(SCHEMA, DATA, ways=[1], rho=1, mechanism=3)
        self.assertRaises(TypeError, simulate, raises, synthetic=True)


if __name__ == "__main__":
    unittest.main()
