"""Queries in words: parity with the command, rows, and messages."""

import tempfile
import unittest
from pathlib import Path

import matmech
from common import SURVEY, TestCase, command

SCHEMA = SURVEY / "survey.toml"
DATA = SURVEY / "survey.csv"


class Queries(TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.ledger = self.folder / "ledger.jsonl"
        matmech.create_ledger(self.ledger, rho=4.0)

    def release(self, name, **options):
        return matmech.release(
            SCHEMA, DATA, rho=1.0, ledger=self.ledger, out=self.folder / name,
            out_of_domain="drop", **options,
        )

    def test_answers_are_those_of_the_command(self):
        texts = ["total", "mean(trips) by job", "quantile(age, 0.75) where owner = yes",
                 "share of owner = yes where age >= 60 - share of owner = yes where age < 30"]
        for name, options in [("plan", {}), ("staged", {"mechanism": "staged"})]:
            released = self.release(name, ways=[1, 2], **options)
            folder = self.folder / name
            words = [word for text in texts for word in ("--query", text)]
            report = command("answer", "--measurements", folder / "measurements", *words)
            for text, expected in zip(texts, report["answers"]):
                for source in (released, matmech.read_release(folder),
                               matmech.read_release(folder / "measurements")):
                    found = source.query(text)
                    self.assertEqual((found.query, found.notes),
                                     (expected["query"], expected["notes"]))
                    self.assertEqual(len(found), len(expected["answers"]))
                    for row, other in zip(found, expected["answers"]):
                        numbers = {key: value for key, value in other.items() if key != "by"}
                        by = dict(zip(expected["by"], other["by"]))
                        self.assertEqual(dict(row), {**by, **numbers})

    def test_rows_have_the_values_of_by(self):
        released = self.release("R", workload=[{"query": "mean(trips) by job"}])
        rows = released.query("mean(trips) by job")
        self.assertEqual([row["job"] for row in rows], ["clerk", "baker", "nurse", "none"])
        for row in rows:
            self.assertLess(row["low_95"], row["estimate"])
            self.assertGreater(row["high_95"], row["estimate"])
            self.assertEqual(row["interval"], "Fieller")

    def test_mistakes_have_their_position(self):
        released = self.release("R", ways=[1])
        with self.assertRaises(matmech.ParseError) as caught:
            released.query("count where agee >= 60")
        self.assertEqual((caught.exception.line, caught.exception.column), (1, 13))
        self.assertIn("^^^^", str(caught.exception))
        with self.assertRaises(matmech.BadInput) as caught:
            released.query("mean(trips) by job")
        self.assertIn("`job, trips`, not measured together", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
