"""The p-tables, privacy and additivity of scripts/compare_cell_key.py; no package is needed."""

import itertools
import math
import sys
import unittest

from common import ROOT

try:
    import numpy as np
except ImportError as error:
    raise unittest.SkipTest("no NumPy") from error

sys.path.insert(0, str(ROOT / "scripts"))
import cell_key  # noqa: E402

TABLES = [*cell_key.NOISE.values(), (5, 3, 0), (3, 2, 1)]


def entropy(p):
    return -sum(x * math.log(x) for x in p if x > 0)


class PTables(unittest.TestCase):
    def test_noise_has_the_largest_entropy_with_its_mean_and_variance(self):
        draw = np.random.default_rng(1)
        for reach, variance, blocked in TABLES:
            for count in range(1, 15):
                noise = cell_key.steps(count, reach, blocked)
                p = cell_key.max_entropy(noise, variance)
                self.assertAlmostEqual(p.sum(), 1, 12)
                self.assertAlmostEqual(p @ noise, 0, 9)
                self.assertAlmostEqual(p @ noise**2, variance, 9)
                fixed = np.stack([np.ones(len(noise)), noise, noise**2])
                free = np.linalg.svd(fixed)[2][3:]
                for _ in range(5 if len(free) else 0):
                    step = draw.standard_normal(len(free)) @ free
                    step *= 0.5 * min(p / np.maximum(abs(step), 1e-300))
                    self.assertLess(entropy(p + step), entropy(p))
        with self.assertRaises(ValueError):
            cell_key.max_entropy(cell_key.steps(1, 2, 2), 1)

    def test_tables_have_the_noise_in_shares_of_256_keys(self):
        for reach, variance, blocked in TABLES:
            table = cell_key.noise_table(reach, variance, blocked, 7)
            self.assertEqual(table.shape, (751, 256))
            self.assertFalse(table[0].any())
            for count in range(1, 751):
                noise = table[count]
                self.assertLess(abs(noise.mean()), 0.03)
                self.assertLess(abs(noise.var() - variance), 0.03 * variance)
                self.assertTrue((abs(noise) <= reach).all() and (count + noise >= 0).all())
                self.assertFalse(((count + noise >= 1) & (count + noise <= blocked)).any())
        again = cell_key.noise_table(*TABLES[0], 7)
        self.assertTrue((again == cell_key.noise_table(*TABLES[0], 7)).all())
        self.assertFalse((again == cell_key.noise_table(*TABLES[0], 8)).all())

    def test_counts_above_750_use_rows_501_to_750(self):
        rows = list(range(751))
        for count in range(751, 3000):
            rows.append(rows[count - 250])
        self.assertEqual(cell_key.row_of(np.arange(3000)).tolist(), rows)

    def test_published_counts(self):
        table = np.zeros((751, 256), int)
        table[12, 3], table[9, 3] = -3, 2
        found = cell_key.published([12, 12, 9, 0], [3, 4, 259, 3], table, 10)
        self.assertEqual(found.tolist(), [0, 12, 11, 0])


class Privacy(unittest.TestCase):
    table = cell_key.noise_table(3, 2, 1, 1)

    def pairs(self):
        for count in (0, 1, 2, 6):
            yield cell_key.outputs(count, self.table), cell_key.outputs(count + 1, self.table)

    def test_delta_is_the_largest_over_all_events(self):
        for p, q in self.pairs():
            outputs = sorted(set(p) | set(q))
            for epsilon in (0, 0.5, 2, 20):
                largest = 0.0
                for event in itertools.product((0, 1), repeat=len(outputs)):
                    of = [sum(d.get(o, 0) for o, e in zip(outputs, event) if e) for d in (p, q)]
                    gap = max(of[0] - math.exp(epsilon) * of[1], of[1] - math.exp(epsilon) * of[0])
                    largest = max(largest, gap)
                self.assertAlmostEqual(cell_key.delta_at(p, q, epsilon), largest, 12)
            overlap = sum(min(p.get(o, 0), q.get(o, 0)) for o in outputs)
            self.assertAlmostEqual(cell_key.delta_at(p, q, 0), 1 - overlap, 12)
            self.assertAlmostEqual(cell_key.delta_at(p, q, 50), cell_key.unbounded(p, q), 12)
            self.assertGreater(cell_key.unbounded(p, q), 0)

    def test_composition_is_that_of_all_outputs(self):
        for p, q in self.pairs():
            joint = [{tuple(o): math.prod(d[x] for x in o)
                      for o in itertools.product(d, repeat=3)} for d in (p, q)]
            for epsilon in (0, 1, 3):
                exact = cell_key.delta_at(*joint, epsilon)
                low, high = cell_key.composed_delta(p, q, 3, epsilon)
                self.assertLessEqual(low, exact + 1e-12)
                self.assertGreaterEqual(high, exact - 1e-12)
                self.assertLess(high - low, 1e-3)
            one = cell_key.composed_delta(p, q, 1, 1.0)
            self.assertAlmostEqual(sum(one) / 2, cell_key.delta_at(p, q, 1.0), 3)

    def test_rounding_hides_nothing_at_its_steps(self):
        table = np.zeros((751, 256), int)
        for count in range(1, 751):
            rounded = 0 if count < 10 else 5 * ((count + 2) // 5)
            table[count] = rounded - count
        found = [cell_key.worst_delta(table, 30, [count], 10)[0] for count in range(8, 15)]
        self.assertEqual(found, [0, 1, 0, 0, 1, 0, 0])

    def test_deltas_of_the_page(self):
        rows = {}
        for line in (ROOT / "docs/cell-key.md").read_text("utf-8").splitlines():
            name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
            rows[name] = cells
        for column, noise in enumerate(cell_key.NOISE.values(), 1):
            table = cell_key.noise_table(*noise, seed=1)
            outputs = [cell_key.outputs(count, table) for count in (0, 1, 100, 101)]
            found = {"smallest δ of one count, for every ε": cell_key.unbounded(*outputs[2:]),
                     "the same, of a cell with 0 or 1 records": cell_key.unbounded(*outputs[:2])}
            for epsilon in (1, 10):
                low, high = cell_key.composed_delta(*outputs[2:], 36, epsilon)
                found[f"δ of 36 tables at ε = {epsilon}"] = (low + high) / 2
            for name, value in found.items():
                text = rows[name][column]
                digits = len(text.partition(".")[2])
                self.assertEqual(f"{value:.{digits}f}", text, name)

    def test_keys_of_independent_cells_are_jointly_uniform(self):
        """All record keys modulo 4, over all of their values."""
        for rows, uniform in (([[1, 1, 0], [0, 1, 1]], True), ([[1, 1, 0], [1, 1, 0]], False),
                              ([[1, 1, 0], [0, 1, 1], [1, 0, 1]], False),
                              ([[1, 1, 1], [0, 1, 1], [0, 0, 1]], True)):
            rows = np.array(rows)
            keys = np.array(list(itertools.product(range(4), repeat=3)))
            _, times = np.unique(keys @ rows.T % 4, axis=0, return_counts=True)
            is_uniform = len(times) == 4**len(rows) and len(set(times)) == 1
            self.assertIs(is_uniform, uniform)
            self.assertIs(cell_key.rank_modulo_2(rows) == len(rows), uniform)
        draw = np.random.default_rng(2)
        for _ in range(20):
            rows = draw.integers(0, 2, (4, 7))
            combined = {tuple(np.array(c) @ rows % 2) for c in
                        itertools.product((0, 1), repeat=4)}
            self.assertEqual(2**cell_key.rank_modulo_2(rows), len(combined))


class Additivity(unittest.TestCase):
    def test_gaps_are_sums_of_cells_less_published_sums(self):
        pair = np.array([[5, 1, 0], [2, 2, 2]])
        tables = {(): np.array(11), ("a",): np.array([6, 7]), ("b",): np.array([7, 3, 2]),
                  ("a", "b"): pair}
        found = {key: gap.tolist() for key, gap in cell_key.gaps(tables).items()}
        self.assertEqual(found, {(("a",), "a"): [2], (("b",), "b"): [1],
                                 (("a", "b"), "a"): [0, 0, 0], (("a", "b"), "b"): [0, -1]})


if __name__ == "__main__":
    unittest.main()
