"""Checks a published release with NumPy and no part of matmech; docs/checking-a-release.md.

python3 scripts/check_release.py FOLDER [--ledger LEDGER] [--json]

Recomputes everything that the folder states from its noisy integers, schema and workload. Every
line is `checked`, `failed` or `could not be checked`. The exit status is 0 if nothing failed."""
import argparse, json, sys
from pathlib import Path
from release_folder import Folder, checksums, statements, unit_of
from release_open_values import FILES, OpenValues, open_values
from release_plan import epsilon, plan
from release_report import Report, UNCHECKED
from release_staged import staged
from release_texts import html_page, ledger as ledger_of, markdown, series

def main():
    parser = argparse.ArgumentParser(description="Check a published release.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ledger", type=Path)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    report = check(options.folder, options.ledger)
    print(json.dumps({"folder": str(options.folder), "failed": report.failed(),
                      "items": report.items}, indent=1) if options.json else report.text())
    sys.exit(report.failed() > 0)

def check(path, ledger=None):
    """Checks a folder; returns the report."""
    report, made = Report(path), {}
    def read():
        is_open = (path / "measurements" / "values.json").exists()
        made["folder"] = OpenValues(path) if is_open else Folder(path)
        return f"{len(made['folder'].schema.sizes)} attributes"
    report.check("checksums", checksums, path)
    if not report.check("schema and statement", read):
        return report
    folder = made["folder"]
    if not folder.is_open:
        report.check("agreement of the files", statements, folder)
    unit = folder.statement["unit"] if report.check("privacy unit", unit_of, folder) else None
    report.check("epsilon", epsilon, folder)
    if "series" in folder.statement:
        report.check("series", series, folder)
    if folder.is_open:
        open_values(report, folder, unit)
    elif folder.is_staged:
        staged(report, folder, unit)
    else:
        plan(report, folder, unit)
    report.check("statement.md", markdown, folder)
    if not folder.is_open:
        report.check("report.html", html_page, folder)
    if ledger is None:
        report.add("ledger", UNCHECKED, why="it was not given: --ledger LEDGER")
    else:
        report.check("ledger", ledger_of, folder, ledger)
    known = FILES if folder.is_open else FILES | {"answers.csv", "adjusted.csv", "records.csv",
                                                  "report.html"}
    extra = sorted(p.name for p in path.iterdir() if p.name not in known)
    if extra:
        report.add("other files", UNCHECKED, why=", ".join(extra))
    for item, why in (
            ("origin", "that the noisy integers were computed from the records"),
            ("randomness", "that the noise was random, and drawn once"),
            ("other releases", "releases about the same people that are in no ledger")):
        report.add(item, UNCHECKED, why=why)
    return report

if __name__ == "__main__":
    main()
