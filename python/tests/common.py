"""What the tests share: the project's folder, and the command `matmech`."""

import json
import os
import signal
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
COMMAND = Path(os.environ.get("MATMECH_COMMAND", TARGET / "release" / "matmech"))
SURVEY = ROOT / "docs" / "example"

# A shell starts background jobs with SIGINT ignored, and Python keeps that.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Fields that differ from run to run.
MEASURED = {"seconds", "peak_mb", "expected_seconds", "expected_mb"}


def command(*words):
    """Returns the JSON of a command."""
    if not COMMAND.exists():
        raise unittest.SkipTest(f"no {COMMAND}: cargo build --release")
    words = [str(COMMAND), *map(str, words), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def comparable(report):
    """Returns a report without the fields that differ from run to run."""
    if isinstance(report, dict):
        return {k: comparable(v) for k, v in report.items() if k not in MEASURED}
    return [comparable(item) for item in report] if isinstance(report, list) else report


def hexadecimal(report):
    """Returns a report with its numbers as bits."""
    if isinstance(report, dict):
        return {k: hexadecimal(v) for k, v in report.items()}
    if isinstance(report, list):
        return [hexadecimal(item) for item in report]
    return report.hex() if isinstance(report, float) else report


class TestCase(unittest.TestCase):
    def assert_same(self, found, expected, but=()):
        """Checks that two reports are equal bit for bit."""
        drop = lambda report: {k: v for k, v in report.items() if k not in but}
        self.assertEqual(
            hexadecimal(comparable(drop(found))), hexadecimal(comparable(drop(expected)))
        )
