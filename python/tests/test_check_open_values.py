"""scripts/check_release.py on releases of values that are not public, and on tampered ones.

MATMECH_RELEASES is the number of random releases (default 8)."""

import csv
import json
import math
import random
import re
import shutil
import subprocess
import tempfile
import unittest
from fractions import Fraction
from pathlib import Path

from common import COMMAND
from tampered_releases import chained, edit, ledger_lines, line, summed, write
from test_check_release import ALWAYS, RELEASES

import check_release  # noqa: E402
import release_open_values  # noqa: E402
import release_privacy  # noqa: E402
from release_report import sha256  # noqa: E402

#: What cannot be checked of releases of values.
UNSEEN = ALWAYS | {"values that are not listed"}

TEXTS = ["baker", "Baker", "a, \"b\"", " cook ", "ünï|x", "c\\d", "7", "true", "x`y*z", "other",
         ""]


def run(*words):
    done = subprocess.run([str(COMMAND), *map(str, words)], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr


def draft(folder, draw):
    """Makes a random private draft; returns the folders of its values, and its ledger."""
    with open(folder / "table.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["who", "job|type", "town"])
        for _ in range(draw.choice([50, 2000])):
            rare = f"rare {draw.randint(1, 400)}"
            town = draw.choice(TEXTS[:4])
            out.writerow([draw.randint(1, 900), draw.choice([*TEXTS, rare]), town])
    columns = ["--open", "job|type"] + draw.choice([[], ["--open", "town"]])
    unit = ["--neighbours", draw.choice(["add-remove", "replace"]),
            "--unit-rows", draw.choice([1, 1, 2, 7])]
    unit += ["--person", "who"] * (draw.random() < 0.4)
    delta, new_delta = draw.choice([("1e-6", "1e-7"), ("0.01", "0.0099"), ("1e-30", "1e-250")])
    epsilon = draw.choice(["0.1", "2", "30"])
    budget = ["--epsilon", epsilon, "--delta", delta]
    ledger, out = folder / "ledger.jsonl", folder / "out"
    run("ledger", "create", ledger, *budget, *unit)
    run("draft-schema", "--private", "--data", folder / "table.csv", "--ledger", ledger, "--out",
        out, *columns, *budget, "--new-delta", new_delta, *unit)
    return [out / f"values-{k + 1}" for k in range(len(columns) // 2)], ledger


def everywhere(old, new):
    """Returns a change of the measurements and of both statements."""
    def change(folder, ledger, other):
        changed = 0
        for path in (folder / "measurements/values.json", folder / "statement.json",
                     folder / "statement.md"):
            text = path.read_text("utf-8")
            found = re.sub(old, new, text)
            changed += found != text
            write(path, found)
        assert changed, old
    return change


def stated(name, new):
    """Returns a change of a number of the statements."""
    def change(folder, ledger, other):
        old = json.loads((folder / "statement.json").read_text("utf-8"))[name]
        old = re.escape(json.dumps(old).replace("e-0", "e-"))
        edit(folder / "statement.json", rf'("{name}": ){old}', rf"\g<1>{new}")
        edit(folder / "statement.md", rf"(?<![\d.]){old}(?![\d.])", new, count=0)
    return change


def values(change):
    """Returns a change of values.json."""
    def changed(folder, ledger, other):
        path = folder / "measurements/values.json"
        document = json.loads(path.read_text("utf-8"))
        change(document)
        write(path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return changed


def listed(change):
    return values(lambda document: change(document["values"]))


def threshold(factor):
    """Returns a change of the threshold in all files, with numbers that agree."""
    def change(folder, ledger, other):
        path = folder / "measurements/values.json"
        document = json.loads(path.read_text("utf-8"))
        old = int(document["threshold"]) / 2**document["bits"]
        units = int(int(document["threshold"]) * factor)
        new = units / 2**document["bits"]
        edit(path, r'("threshold": ")\d+', rf"\g<1>{units}")
        edit(folder / "statement.json", rf'("threshold": ){old!r}', rf"\g<1>{new!r}")
        for name in ("statement.json", "statement.md"):
            edit(folder / name, f"{old:.6f}", f"{new:.6f}", count=0)
    return change


def entry(ledger, change):
    """Changes the last reservation of a ledger, and writes the chain of hashes again."""
    lines = ledger_lines(ledger)
    found = max(k for k, text in enumerate(lines) if '"reserve"' in text)
    document = json.loads(lines[found])
    change(document)
    lines[found] = json.dumps(document)
    chained(ledger, lines)


def reservation(change):
    """Returns a change of a reservation, whose hash the statements then have."""
    def changed(folder, ledger, other):
        path = folder / "statement.json"
        own = json.loads(path.read_text("utf-8"))["ledger"]
        entry(ledger, change)
        text = ledger_lines(ledger)[own["line"] - 1]
        for name in ("statement.json", "statement.md"):
            edit(folder / name, own["sha256"], sha256(text.encode("utf-8")))
    return changed


CHANGES = {
    "a lower threshold": lambda f, g, h: edit(
        f / "measurements/values.json", r'("threshold": "\d+)\d"', r'\g<1>"'),
    "a lower threshold in all files": threshold(0.9),
    "a higher threshold in all files": threshold(1.01),
    "a value added": listed(lambda v: v.append(["zz", v[0][1]])),
    "a value removed": listed(lambda v: v.pop()),
    "a value renamed": listed(lambda v: v[0].__setitem__(0, "A")),
    "a value twice": listed(lambda v: v.insert(0, v[0])),
    "values in another order": listed(lambda v: v.reverse()),
    "values in another order in all files": everywhere(
        r"\b([Bb])aker\b", lambda match: match[1].swapcase() + "aker"),
    "a label as a value": everywhere(r'"ünï\|x"', '"unknown"'),
    "a count below the threshold": listed(lambda v: v[1].__setitem__(1, "12")),
    "a count that is no integer": listed(lambda v: v[1].__setitem__(1, "4e9")),
    "another column": values(lambda d: d.update(column="town")),
    "less noise": values(lambda d: d.update(deviation="65536/1")),
    "a changed deviation": lambda f, g, h: edit(
        f / "measurements/values.json", r'("deviation": "\d*)(\d)(?=\d{3}/)',
        lambda m: m[1] + str((int(m[2]) + 1) % 10)),
    "more for a record": values(lambda d: d.update(bits=d["bits"] + 1)),
    "coarse noise": values(lambda d: d.update(deviation="4/1", bits=1, threshold="24")),
    "more entries in the file of values": values(lambda d: d.update(suppressed=[["x", "1"]])),
    "another file of measurements": lambda f, g, h: write(f / "measurements/more.json", "{}"),
    "a lower rho": stated("rho", "0.01"),
    "a lower reserved rho": stated("rho_reserved", "0.01"),
    "a lower epsilon": stated("epsilon", "1.5"),
    "a lower delta": stated("delta", "2e-7"),
    "a lower delta'": stated("new_delta", "1e-8"),
    "delta' of nothing": stated("new_delta", "0.0"),
    "a lower delta' in the text": lambda f, g, h: edit(
        f / "statement.md", r"(part δ′ = )1e-7", r"\g<1>1e-6"),
    "another threshold in the text": lambda f, g, h: edit(
        f / "statement.md", r"(at least )\d+\.", r"\g<1>9."),
    "a changed line of the statement's table": lambda f, g, h: edit(
        f / "statement.md", r"(\| job \| 0\.\d\d)\d+", r"\g<1>6"),
    "fewer records per person": everywhere(r'("rows": |most )2\b', r"\g<1>1"),
    "other neighbours": everywhere("add-or-remove-one-record", "replace-one-record"),
    "measurements of another release": lambda f, g, h: [
        shutil.rmtree(f / "measurements"), shutil.copytree(h / "measurements", f / "measurements")],
    "statements of another release": lambda f, g, h: [
        shutil.copy(h / name, f / name) for name in ("statement.json", "statement.md")],
    "checksums removed": lambda f, g, h: (f / "measurements/SHA256SUMS").unlink(),
    "delta' removed from the ledger": reservation(lambda r: r.pop("new_delta")),
    "a lower delta' in the ledger": reservation(lambda r: r.update(new_delta=1e-9)),
    "a lower rho in the ledger": reservation(lambda r: r.update(rho=0.01)),
    "a ledger whose delta is spent": lambda f, g, h: [
        edit(g, r'("delta":)1e-6', r"\g<1>1e-7"), chained(g, ledger_lines(g))],
    "a ledger of rho only": lambda f, g, h: [
        edit(g, r'("delta":)1e-6', r"\g<1>null"), chained(g, ledger_lines(g))],
    "a line removed from the ledger": lambda f, g, h: line(g, 3, lambda t: None),
}


class OpenValues(unittest.TestCase):
    """The checker agrees with the program, and refuses changed releases of values."""

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.kept.cleanup)
        cls.root = Path(cls.kept.name)
        jobs = ["baker", "cook", "ünï|x", "Baker"]
        write(cls.root / "table.csv", "job\n" + "".join(f"{jobs[k % 4]}\n" for k in range(3000)))
        ledger = cls.root / "ledger.jsonl"
        unit = ["--unit-rows", 2]
        run("ledger", "create", ledger, "--epsilon", "4", "--delta", "1e-6", *unit)
        for name, new_delta in (("first", "1e-9"), ("second", "1e-7")):
            run("draft-schema", "--private", "--data", cls.root / "table.csv", "--ledger", ledger,
                "--out", cls.root / name, "--open", "job", "--new-delta", new_delta, "--delta",
                "1e-6", "--epsilon", "1.9", *unit)

    def copy(self):
        folder = self.root / "copy"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.root / "second/values-1", folder)
        shutil.copy(self.root / "ledger.jsonl", self.root / "copy.jsonl")
        return folder, self.root / "copy.jsonl"

    def test_random_releases(self):
        draw, done, empty = random.Random(11), 0, 0
        while done < RELEASES:
            with tempfile.TemporaryDirectory() as folder:
                releases, ledger = draft(Path(folder), draw)
                for release in releases:
                    report = check_release.check(release, ledger)
                    self.assertEqual(report.failed(), 0, report.text())
                    unchecked = {item["item"] for item in report.items
                                 if item["status"] == "could not be checked"}
                    self.assertEqual(unchecked, UNSEEN, report.text())
                    text = (release / "measurements/values.json").read_text("utf-8")
                    done, empty = done + 1, empty + (not json.loads(text)["values"])
        self.assertLess(empty, done)

    def test_changed_releases_are_refused(self):
        report = check_release.check(*self.copy())
        self.assertEqual(report.failed(), 0, report.text())
        for what, change in CHANGES.items():
            for hides in (False, True):
                with self.subTest(what, checksums_written_again=hides):
                    folder, ledger = self.copy()
                    change(folder, ledger, self.root / "first/values-1")
                    if hides:
                        summed(folder)
                    report = check_release.check(folder, ledger)
                    self.assertGreater(report.failed(), 0, report.text())

    def test_the_bound_is_that_of_all_counts_of_one_person(self):
        """Against sums of exact probabilities for coarse noise, over all partitions of records."""
        def partitions(left, largest):
            yield ()
            for first in range(1, min(left, largest) + 1):
                yield from ((first, *rest) for rest in partitions(left - first, first))
        for one, sigma, rows in ((1, 4, 1), (2, 9, 3), (1, 30, 6), (8, 40, 5)):
            weights = {z: math.exp(-z * z / (2 * sigma * sigma)) for z in range(-1500, 1501)}
            total = sum(weights.values())
            question = release_open_values.Published.__new__(release_open_values.Published)
            question.bits, question.deviation = one.bit_length() - 1, Fraction(sigma)
            question.unit = {"neighbours": release_privacy.ADD, "rows": rows}
            for at in (3 * sigma + one * rows, 6 * sigma + one * rows):
                shown = [sum(w for z, w in weights.items() if one * c + z >= at) / total
                         for c in range(rows + 1)]
                largest = max(1 - math.prod(1 - shown[c] for c in counts)
                              for counts in partitions(rows, rows))
                bound = math.exp(release_open_values.ln_new_delta(question, at))
                # The bound has the tail of the continuous normal one unit lower.
                self.assertLessEqual(largest, bound)
                lower = math.exp(release_open_values.ln_new_delta(question, at + 1))
                self.assertLessEqual(lower, largest * 1.03)

    def test_tails_agree_where_their_formulas_meet(self):
        near, far = (release_open_values.ln_tail(20 + step) for step in (-1e-9, 0))
        self.assertAlmostEqual(near, far, 6)
        tail = release_open_values.ln_tail(6.0)
        self.assertAlmostEqual(tail, math.log(9.865876450376946e-10), 12)


if __name__ == "__main__":
    unittest.main()
