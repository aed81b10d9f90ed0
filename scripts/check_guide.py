"""Runs the commands of docs/guide-for-data-stewards.md and compares the output with the page.

python3 scripts/check_guide.py [MATMECH]        # default: target/release/matmech

In the page's console blocks a line `...` stands for any lines, `[..]` for any text, and after
`<!-- noisy -->` any number for any other. Then the privacy statements of the folders are compared
with the ε, δ and ρ that the page promises, and its table of errors with the plan."""
import json, os, re, shlex, subprocess, sys, tempfile
from pathlib import Path
from statistics import NormalDist

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "guide-for-data-stewards.md"
NUMBER = r"-?\d[\d.]*(?:e-?\d+)?"
WORKLOAD = "--schema docs/example/register.toml --workload docs/example/register-workload.toml"


def commands(text):
    """Yields the command, the shown lines and the noisiness of every command of the page."""
    blocks = re.findall(r"(<!-- noisy -->\n)?```console\n(.*?)```", text, flags=re.DOTALL)
    for noisy, block in blocks:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = part.splitlines()
            length = 1 + next(k for k, line in enumerate(lines) if not line.endswith("\\"))
            yield "\n".join(lines[:length]), lines[length:], bool(noisy)


def pattern(lines, noisy):
    """Returns a regular expression for the shown lines, with any spaces between words."""
    parts = []
    for line in lines:
        if line.strip() == "...":
            parts.append(r"(?:[^\n]*\n)*?")
            continue
        texts = [re.escape(" ".join(text.split())) if text.strip() else ""
                 for text in line.split("[..]")]
        expression = "[^\n]*".join(texts)
        if noisy:
            expression = re.sub(r"(?:\\-)?\d(?:\d|\\\.)*(?:e(?:\\-)?\d+)?", lambda _: NUMBER,
                                expression)
        parts.append(expression + r"\n")
    return "".join(parts)


def run(command, folder, program):
    """Runs a command; returns the lines of its output with single spaces."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1",
                   "PATH": os.pathsep.join([str(folder / "bin"), str(program.parent),
                                            os.environ["PATH"]])}
    done = subprocess.run(["sh", "-ec", command], cwd=folder, env=environment, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, encoding="utf-8")
    if done.returncode:
        raise AssertionError(f"`{command}` failed:\n{done.stdout}{done.stderr}")
    return "".join(" ".join(line.split()) + "\n" for line in done.stdout.splitlines())


def check_commands(text, folder, program):
    """Runs all commands in their order; returns their number."""
    count = 0
    for command, shown, noisy in commands(text):
        found = run(command, folder, program)
        if not re.fullmatch(pattern(shown, noisy), found):
            expected = "\n".join(shown)
            raise AssertionError(f"`{command}`: expected\n{expected}\nfound\n{found}")
        count += 1
    return count


def promised(text, name):
    """Returns the number of the page's promise `name = number`."""
    return float(re.search(rf"{name} = ([0-9.e-]*[0-9])", text).group(1))


def check_privacy(text, folder):
    """Compares the statements of both releases with the page's promise."""
    sentence = re.search(r"Each release promises [^.]*\.[^.]*\.[^.]*\.", text).group(0)
    for name in ("released", "staged"):
        statement = json.loads((folder / name / "statement.json").read_text(encoding="utf-8"))
        assert statement["epsilon"] == promised(sentence, "ε"), name
        assert statement["delta"] == promised(sentence, "δ"), name
        assert f"{statement['rho_reserved']:.8f}" == f"{promised(sentence, 'ρ'):.8f}", name
        assert statement["rho"] <= statement["rho_reserved"], name
        assert statement["person_limit"] == {"column": "person_id", "rows": 1}, name


def check_errors(text, folder, program):
    """Recomputes the page's table of errors; returns the number of its rows."""
    header = re.search(r"^\| ε \| (.*) \|$", text, flags=re.MULTILINE).group(1).split(" | ")
    rows = re.findall(r"^\| ([0-9.]+) \| (.*) \|$", text, flags=re.MULTILINE)
    for epsilon, cells in rows:
        words = f"matmech plan {WORKLOAD} --epsilon {epsilon} --delta 1e-9 --json"
        plan = json.loads(run(words, folder, program))
        errors = {" × ".join(group["attributes"]): group["rmse"] for group in plan["groups"]}
        guess = 100 * NormalDist().cdf(plan["privacy_cost"] ** 0.5 / 2)
        expected = [f"{guess:.0f} %", *(f"± {1.96 * errors[name]:.0f}" for name in header[1:])]
        assert cells.split(" | ") == expected, f"ε = {epsilon}: {expected}"
    return len(rows)


def main():
    program = Path(sys.argv[1] if sys.argv[1:] else ROOT / "target/release/matmech").resolve()
    text = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("docs", "scripts"):
            (folder / part).symlink_to(ROOT / part)
        (folder / "bin").mkdir()
        (folder / "bin" / "matmech").symlink_to(program)
        python = folder / "bin" / "python3"
        python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
        python.chmod(0o755)
        count = check_commands(text, folder, program)
        check_privacy(text, folder)
        rows = check_errors(text, folder, program)
    assert count >= 18 and rows >= 3, f"{count} commands, {rows} rows"
    print(f"{count} commands, {rows} rows of errors and the privacy of 2 releases agree")


if __name__ == "__main__":
    main()
