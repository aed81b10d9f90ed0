"""Changes of a release folder and its ledger, as somebody makes them who wants to deceive.

Every change is a function of the folder, the ledger and the folder of another release."""

import hashlib
import json
import re
import shutil
from pathlib import Path


def write(path, text):
    path.write_bytes(text.encode("utf-8"))


def edit(path, old, new, count=1):
    """Replaces a pattern in a file, which must contain it."""
    text = path.read_bytes().decode("utf-8")
    changed = re.sub(old, new, text, count=count)
    assert changed != text, f"{path} does not contain {old}"
    write(path, changed)


def line(path, number, change):
    """Changes a line, counted from 1; None removes it."""
    lines = path.read_bytes().decode("utf-8").split("\n")
    changed = change(lines[number - 1])
    lines[number - 1:number] = [] if changed is None else [changed]
    write(path, "\n".join(lines))


def field(path, number, column, change):
    """Changes a value of a table without quotation marks before it, counted from the end."""
    def changed(text):
        parts = text.split(",")
        parts[column] = change(parts[column])
        return ",".join(parts)
    line(path, number, changed)


def summed(folder):
    """Writes all checksums again, as somebody who hides a change does."""
    # Those within other folders first: the list of the release has their hashes.
    for sums in sorted(Path(folder).rglob("SHA256SUMS"), key=lambda sums: -len(sums.parts)):
        names = [text.partition("  ")[2] for text in sums.read_text("utf-8").splitlines()]
        names = [name for name in names if (sums.parent / name).exists()]
        digests = [hashlib.sha256((sums.parent / name).read_bytes()).hexdigest() for name in names]
        write(sums, "".join(f"{d}  {n}\n" for d, n in zip(digests, names)))


def chained(ledger, lines):
    """Writes the lines of a ledger with a chain of hashes that fits."""
    head, opening, *rest = (json.loads(text) for text in lines)
    texts = [json.dumps(opening, separators=(",", ":"))]
    for entry in rest:
        entry["previous"] = hashlib.sha256(texts[-1].encode()).hexdigest()
        texts.append(json.dumps(entry, separators=(",", ":")))
    head.update(lines=f"{len(texts) + 1:010}", last=hashlib.sha256(texts[-1].encode()).hexdigest())
    write(ledger, "\n".join([json.dumps(head, separators=(",", ":")), *texts, ""]))


def settled(folder, ledger):
    """Writes the settlement of the second release, as if the folder had been so from the start."""
    entries = [json.loads(text) for text in ledger_lines(ledger)]
    for entry in entries:
        if entry.get("settle") == 2:
            sums = (folder / "SHA256SUMS").read_bytes()
            entry["folder"] = hashlib.sha256(sums).hexdigest()
    chained(ledger, [json.dumps(entry) for entry in entries])


def both(folder, old, new):
    """Changes both statements."""
    for name in ("statement.json", "measurements/statement.json"):
        edit(folder / name, old, new)


def more(text):
    return f"{float(text) + 0.01:.6f}"


def one_digit(match):
    return match[1] + str((int(match[2]) + 1) % 10)


SIGMA = r'("deviation":"\d*)(\d)(?=\d{3}/)'

#: Changes of a release of unbiased answers: the folder, its ledger, and another release.
PLAN = {
    "a changed integer": lambda f, g, h: line(f / "measurements/noisy.csv", 3, lambda t: t + "7"),
    "a changed integer, by one standard error": lambda f, g, h: field(
        f / "measurements/noisy.csv", 4, 1, lambda t: str(int(t) + 200_000)),
    "a changed deviation": lambda f, g,
        h: edit(f / "measurements/strategies.json", SIGMA, one_digit),
    "a changed deviation in all files": lambda f, g, h: [
        edit(f / name, r'("deviation": ?"\d*)(\d)(?=\d{3}/)', one_digit)
        for name in ("measurements/strategies.json", "measurements/statement.json",
                     "statement.json")],
    "a changed row of a strategy": lambda f, g, h: edit(
        f / "measurements/strategies.json", r'"rows":\[\[(-?\d+)', r'"rows":[[\g<1>1'),
    "a lower rho": lambda f, g, h: both(f, r'("rho": ?)\d\.\d+(?=,\s*"rho_is)', r"\g<1>0.0001"),
    "a lower reserved rho": lambda f, g, h: both(f, r'("rho_reserved": ?)[\d.]+', r"\g<1>0.0001"),
    "a lower epsilon": lambda f, g, h: [both(f, r'("epsilon": ?)[\d.]+', r"\g<1>0.5"), edit(
        f / "statement.md", r"\(1, 1e-9\)", "(0.5, 1e-9)"), edit(
        f / "report.html", r"\(1, 1e-9\)", "(0.5, 1e-9)")],
    "a changed delta": lambda f, g, h: both(f, r'("delta": ?)1e-9', r"\g<1>1e-12"),
    "fewer records per person": lambda f, g, h: [both(f, r'("rows": ?)2', r"\g<1>1"), edit(
        f / "measurements/strategies.json", r'"rows":2', '"rows":1'), both(
        f, r", up to 2 times", "")],
    "other neighbours": lambda f, g, h: [both(
        f, "add-or-remove-one-record", "replace-one-record"), edit(
        f / "measurements/strategies.json", "add-or-remove-one-record", "replace-one-record")],
    "a changed answer": lambda f, g, h: field(f / "answers.csv", 2, 4, more),
    "a changed standard error": lambda f, g, h: field(f / "answers.csv", 3, 5, more),
    "a shorter interval": lambda f, g, h: field(f / "answers.csv", 4, 6, more),
    "a shorter interval of all answers": lambda f, g, h: field(f / "answers.csv", 4, 8, more),
    "a changed weight": lambda f, g, h: field(f / "answers.csv", 5, 10, lambda t: "2"),
    "two answers swapped": lambda f, g, h: [
        field(f / "answers.csv", 2, 3, lambda t: "1-1"),
        field(f / "answers.csv", 3, 3, lambda t: "0-0")],
    "the words of two queries swapped": lambda f, g, h: [
        field(f / "answers.csv", 2, 2, lambda t: "sex = m"),
        field(f / "answers.csv", 3, 2, lambda t: "sex = f")],
    "a truncated table of answers": lambda f, g, h: write(
        f / "answers.csv", (f / "answers.csv").read_text("utf-8")[:-200]),
    "an answer removed": lambda f, g, h: line(f / "answers.csv", 3, lambda t: None),
    "truncated integers": lambda f, g, h: write(
        f / "measurements/noisy.csv", (f / "measurements/noisy.csv").read_text("utf-8")[:-30]),
    "integers of another release": lambda f, g, h: shutil.copy(
        h / "measurements/noisy.csv", f / "measurements/noisy.csv"),
    "measurements of another release": lambda f, g, h: [
        shutil.rmtree(f / "measurements"), shutil.copytree(h / "measurements", f / "measurements")],
    "answers of another release": lambda f, g, h: shutil.copy(h / "answers.csv", f / "answers.csv"),
    "a lower squared sensitivity": lambda f, g, h: both(
        f, r'("squared_sensitivity": ?")\d', r"\g<1>0"),
    "a repeated key": lambda f, g, h: both(f, r'("epsilon": ?[\d.]+)', r'\g<1>, "epsilon": 0.5'),
    "another number of queries": lambda f, g, h: both(f, r'("queries": ?"\d)', r"\g<1>1"),
    "other words for the unit": lambda f, g, h: both(f, ", up to 2 times", ""),
    "a limit per person that nothing enforced": lambda f, g, h: [
        both(f, r'("person_limit": ?)null', r'\g<1>{"column": "id", "rows": 2}'),
        edit(f / "statement.md", "everybody with at most 2 record.s.",
             "everybody, with all records that have the same value of `id`")],
    "a number of records that is known exactly": lambda f, g, h: both(
        f, r'("number_of_records_is_public": ?)false', r"\g<1>true"),
    "a file added to the measurements": lambda f, g, h: write(
        f / "measurements/noisy-2.csv", "subspace,answer\n"),
    "a subspace removed": lambda f, g, h: edit(
        f / "measurements/strategies.json", r'("subspaces":\[)\{[^{}]*\},', r"\g<1>"),
    "a changed schema": lambda f, g, h: edit(
        f / "measurements/schema.toml", r'"f", "m"', '"m", "f"'),
    "a changed schema in all files": lambda f, g, h: [
        edit(f / "measurements/schema.toml", r'"f", "m"', '"m", "f"'),
        both(f, r'\\"f\\", \\"m\\"', r'\\"m\\", \\"f\\"'),
        edit(f / "statement.md", r'"f", "m"', '"m", "f"')],
    "a changed workload": lambda f, g, h: both(f, r"ways = \[1, 2\]", "ways = [2, 1]"),
    "a changed expected error": lambda f, g, h: both(f, r'("rmse": ?\d)', r"\g<1>1"),
    "shorter interval lengths": lambda f, g, h: both(f, r'("single": ?1\.)96', r"\g<1>95"),
    "a changed public count": lambda f, g,
        h: edit(f / "statement.json", r'("count": ?)', r"\g<1>1"),
    "a changed public count in all files": lambda f, g, h: [
        edit(f / "statement.json", r'("count": ?)', r"\g<1>1"),
        edit(f / "measurements/strategies.json", r'("public_counts":\[)', r"\g<1>1")],
    "a changed statement": lambda f, g,
        h: edit(f / "statement.md", r"at most 2 rec", "at most 1 rec"),
    "another rho in the statement": lambda f, g,
        h: edit(f / "statement.md", r"cost 0\.\d\d", "cost 0.00"),
    "a limit removed from the statement": lambda f, g,
        h: edit(f / "statement.md", r"- running.*\n", ""),
    "a changed line of the statement's table": lambda f, g, h: edit(
        f / "statement.md", r"(\| sex \| \d\.\d)\d", r"\g<1>"),
    "a changed report": lambda f, g, h: edit(f / "report.html", "0.0165560", "0.0165561"),
    "a checksum removed": lambda f, g, h: line(f / "measurements/SHA256SUMS", 1, lambda t: None),
    "checksums removed": lambda f, g, h: (f / "measurements/SHA256SUMS").unlink(),
    "a line removed from the ledger": lambda f, g, h: line(g, 3, lambda t: None),
    "an earlier release removed from the ledger": lambda f, g, h: chained(g, [
        text for text in ledger_lines(g) if not re.search(r'"(reserve|settle)":1\b', text)]),
    "entries of the ledger swapped": lambda f, g, h: swapped(g, 3, 5),
    "a cheaper release in the ledger": lambda f, g, h: [
        edit(g, r'("reserve":2,"rho":)[\d.]+', r"\g<1>0.001"), chained(g, ledger_lines(g))],
    "a smaller total of the ledger": lambda f, g, h: [
        edit(g, r'("total_rho":)[\d.]+', r"\g<1>0.001"), chained(g, ledger_lines(g))],
}

#: Changes of a staged release with records.
STAGED = {
    "a changed integer of a stage": lambda f, g, h: line(
        f / "measurements/stage-1/noisy.csv", 2, lambda t: t + "7"),
    "a changed distance": lambda f, g, h: edit(
        f / "measurements/certificate/distances.json", r'("distances":\[")-?\d+',
                                               r"\g<1>9876543210"),
    "a changed sum of distances": lambda f, g, h: edit(
        f / "measurements/certificate/distances.json", r'("sum_of_distances":")-?\d+',
        r"\g<1>9876543210"),
    "a changed deviation of the certificate": lambda f, g, h: edit(
        f / "measurements/certificate/distances.json", SIGMA, one_digit),
    "a changed published marginal": lambda f, g, h: line(
        f / "measurements/certificate/marginals.csv", 2, lambda t: t.split(",")[0] + ",123457"),
    "a changed estimate": lambda f, g, h: field(f / "answers.csv", 2, 4, more),
    "a lower bound of an answer": lambda f, g, h: field(f / "answers.csv", 2, 5, lambda t: "1.5"),
    "a slightly lower bound of an answer": lambda f, g, h: field(
        f / "answers.csv", 3, 5, lambda t: str(0.99 * float(t))),
    "another explanation of a bound": lambda f, g, h: field(
        f / "answers.csv", 3, 7, lambda t: t.replace("half the absolute", "0.25 times the absolute")),
    "a lower bound of the mean": lambda f, g, h: edit(
        f / "statement.json", r'("mean_error_bound_95": ?)[\d.]+', r"\g<1>1.5"),
    "a lower bound of the records": lambda f, g, h: edit(
        f / "statement.json", r'("mean_distance": ?)[\d.]+', r"\g<1>0.001"),
    "changed records": lambda f, g, h: write(
        f / "records.csv", (f / "records.csv").read_text("utf-8").replace("f,", "m,", 80)),
    "a record removed": lambda f, g, h: line(f / "records.csv", 2, lambda t: None),
    "records removed": lambda f, g, h: (f / "records.csv").unlink(),
    "a stage removed": lambda f, g, h: shutil.rmtree(f / "measurements/stage-1"),
    "the certificate removed": lambda f, g, h: shutil.rmtree(f / "measurements/certificate"),
    "a cheaper question": lambda f, g, h: edit(
        f / "statement.json", r'("rho": 0\.0)(?=\d+,\s*"squared)', r"\g<1>0"),
    "a cheaper stage": lambda f, g, h: edit(
        f / "statement.json", r'("rho": 0\.0)(?=\d+,\s*"rho_is)', r"\g<1>0"),
    "cheaper questions together": lambda f, g, h: edit(
        f / "statement.json", r'("rho_of_questions": ?0\.)', r"\g<1>0"),
}


def ledger_lines(ledger):
    return ledger.read_text("utf-8").splitlines()


def swapped(ledger, first, second):
    lines = ledger_lines(ledger)
    lines[first - 1], lines[second - 1] = lines[second - 1], lines[first - 1]
    write(ledger, "\n".join([*lines, ""]))


SCHEMA = """
[[attribute]]
name = "sex"
kind = "categorical"
values = ["f", "m"]
other = "unknown"

[[attribute]]
name = "age"
kind = "integer"
edges = [0, 18, 40, 65]
above = true
missing = "not given"
other = "not given"
"""

#: Queries in words of the workload.
WORDS = ["count where sex = f and age >= 18", "mean(age) where age <= 65 by sex",
         "quantile(age, 0.9) where age < 40", "share of sex in (m, unknown) by age"]

#: Changes of a query in words, by the items that fail if all texts of the release are changed.
QUERIES = {
    "another limit": ("age >= 18", "age >= 40", "queries"),
    "another value": ("sex = f", "sex = m", "queries"),
    "another quantile": ("age < 40", "age < 18", "queries"),
    "another term": ("mean.age. where age <= 65 by sex", "sum(age) where age <= 65 by sex", "queries"),
    "other combinations": ("unknown. by age", "unknown)", "queries"),
    "a text outside the grammar": ("sex = f", "sex == f", "queries"),
    "an attribute of another schema": ("sex = f", "race = f", "queries"),
}

PUBLIC = """
[[impossible]]
where = { sex = "unknown", age = { from = 0, to = 18 } }

[[public]]
where = { sex = "m" }
"""
