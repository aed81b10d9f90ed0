"""scripts/release_query.py: the grammar of queries in words, and the weights of every query.

Oracle: the definitions of docs/releasing.md on all records of a small domain, one by one."""

import itertools
import sys
import unittest

from common import ROOT

try:
    import numpy as np
except ImportError as error:
    raise unittest.SkipTest("no NumPy") from error

sys.path.insert(0, str(ROOT / "scripts"))
import release_query  # noqa: E402
from release_schema import Schema, groups  # noqa: E402

SCHEMA = Schema("""
[[attribute]]
name = "age"
kind = "integer"
edges = [0, 18, 40, 65]
above = true
missing = "not given"

[[attribute]]
name = "place of work"
kind = "categorical"
values = ["a", "b \\"c\\"", "by"]
levels = { region = ["N", "S", "N"] }

[[attribute]]
name = "pay"
kind = "numeric"
edges = [0, 0.5, 2]

[[attribute]]
name = "employed"
kind = "categorical"
values = [false, true]

[[attribute]]
name = "day"
kind = "categorical"
values = [2024-01-31, 2024-02-29]
""")


def weights(text):
    """Returns the weights of the linear queries of a text over all cells, times any number."""
    found = []
    for rows in release_query.products(SCHEMA, text):
        array = np.ones((1, 1))
        for position, size in enumerate(SCHEMA.sizes):
            array = np.kron(array, rows.get(position, np.ones((1, size))))
        found.append(array)
    return found


def cells():
    """Yields the cells as texts and numbers that are in them."""
    ages = [(5, 8.5), (20, 28.5), (50, 52.5), (70, None), (None, None)]
    places = [("a", "N"), ('b "c"', "S"), ("by", "N")]
    pays = [(0.2, 0.25), (1.7, 1.25)]
    yield from itertools.product(ages, places, pays, [False, True], ["2024-01-31", "2024-02-29"])


class Weights(unittest.TestCase):
    def same(self, text, *expected):
        """Checks the weights of all linear queries; each expects a function of a cell."""
        found = weights(text)
        self.assertEqual(sum(map(len, found)), len(expected), text)
        rows = np.concatenate(found)
        for row, function in zip(rows, expected):
            wanted = np.array([float(function(*cell)) for cell in cells()])
            largest = abs(wanted).max() / abs(row).max()
            np.testing.assert_allclose(row * largest, wanted, rtol=1e-12, err_msg=text)

    def test_counts(self):
        self.same("total", lambda *_: 1)
        self.same("count where age >= 18 and employed", lambda a, p, y, e, d:
                  a[0] is not None and a[0] >= 18 and e)
        self.same("count where age<40", lambda a, *_: a[0] is not None and a[0] < 40)
        self.same("count where age <= 39", lambda a, *_: a[0] is not None and a[0] < 40)
        self.same("count where age > 65", lambda a, *_: a[0] == 70)
        self.same("count where age between 18 and 65", lambda a, *_: a[0] in (20, 50))
        self.same('count where age = "not given"', lambda a, *_: a[0] is None)
        self.same('count where age != "not given"', lambda a, *_: a[0] is not None)
        self.same("count where pay <= 2", lambda *_: True)
        self.same("count where pay >= 1/2", lambda a, p, y, *_: y[0] >= 0.5)
        self.same("count where day >= 2024-02-01", lambda a, p, y, e, d: d == "2024-02-29")
        self.same("count where employed != true", lambda a, p, y, e, d: not e)

    def test_names_and_quotes(self):
        self.same('count where "place of work" in (a, "by")', lambda a, p, *_: p[0] in ("a", "by"))
        self.same('count where "place of work" = "b ""c"""', lambda a, p, *_: p[0] == 'b "c"')
        self.same("count where region = N", lambda a, p, *_: p[1] == "N")
        self.same('count where region of "place of work" != N', lambda a, p, *_: p[1] == "S")

    def test_combinations(self):
        self.same("count by region", *(lambda a, p, *_, r=r: p[1] == r for r in "NS"))
        by_age = [lambda a, p, y, e, d, k=k, r=r: e and a[0] == k and p[1] == r
                  for k in (5, 20) for r in "NS"]
        self.same("count where age < 40 and employed by age, region", *by_age)
        self.same("count by age, region where age < 40 and employed", *by_age)

    def test_sums_means_shares_and_quantiles(self):
        self.same("sum(pay) where employed", lambda a, p, y, e, d: y[1] * e)
        self.same("mean(age) where age <= 65",
                  lambda a, *_: a[1] or 0, lambda a, *_: a[1] is not None)
        self.same("share of employed where age < 18",
                  lambda a, p, y, e, d: e and a[0] == 5, lambda a, *_: a[0] == 5)
        self.same("quantile(age, 0.9) where employed",
                  *(lambda a, p, y, e, d, k=k: e and a[0] is not None and a[0] <= k
                    for k in (5, 20, 50, 70)))
        self.same("median(pay) - mean(pay) + total",
                  *(lambda a, p, y, e, d, k=k: y[0] <= k for k in (0.2, 1.7)),
                  lambda a, p, y, *_: y[1], lambda *_: 1)

    def test_other_texts_are_refused(self):
        for text in ("", "number", "total-count", '"count"', "count were employed", "count where",
                     "total where employed", "count where where = 1", "count where age >= ",
                     "count where age = 20", "count where age >= 20", "count where age < 65",
                     "count where employed or age < 18", "count where day", "count where age in 1",
                     "count where employed where employed", "count where race = 1", "count by age, age",
                     "count where age < 18 and age >= 18", "mean(age)", "mean(region)",
                     "median(employed)", "quantile(age, 1)", "share employed", "count -",
                     'count where employed = "true', "count where age & employed", "count by region,",
                     "quantile(age, 0.5) by age", "count where region < N", "sum(day)"):
            with self.assertRaises(Exception, msg=text):
                release_query.products(SCHEMA, text)

    def test_groups_are_those_of_the_families(self):
        def of(text):
            found = groups(SCHEMA, f"[[queries]]\nquery = '''{text}'''\n", {})
            return [(SCHEMA.title(group.positions), group.family) for group in found]
        self.assertEqual(of("total"), [("age", "total")])
        self.assertEqual(of("count by employed"), [("employed", "identity")])
        self.assertEqual(of("count by region"), [("place of work", "level(region)")])
        self.assertEqual(of("median(age)"), [("age", "prefix")])
        self.assertEqual(of("median(age) where age >= 18"), [("age", "rows")])
        self.assertEqual(of("mean(pay) by employed"),
                         [("pay, employed", "product"), ("employed", "identity")])


if __name__ == "__main__":
    unittest.main()
