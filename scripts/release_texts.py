"""Checks of the texts of a release for people, and of the ledger."""
import html, json, math, re
from fractions import Fraction
import release_privacy as privacy
from release_report import CLOSE, decimal, in_digits, require, sha256, strict

PROTECTS = {
    privacy.ADD: "whether or not these records are in the table",
    privacy.REPLACE: "whatever the values of these records are; the number of records is public "
                     "and published without noise",
    privacy.BOTH: "whatever the values of these records are, inside or outside the schema, and "
                  "whether or not they are in the table"}
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")

def plain(text):  # without the marks of Markdown
    return " ".join(re.sub(r"[\\`*]", "", text).split())

def numbers(value):  # all numbers of a JSON value
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [x for part in value for x in numbers(part)]
    return [float(value)] if isinstance(value, (int, float)) and not isinstance(value, bool) else []

def explained(folder):
    """Returns the numbers that the text may contain: those of statement.json, and fixed ones."""
    statement = folder.statement
    known = [number for name, value in statement.items()
             for number in numbers(value) if name not in ("subspaces", "not_protected")]
    known += [float(statement.get("queries", 0)), 95.0, 5.0, 20.0]  # ChaCha20 has 20 rounds
    known.append(float(len(statement.get("stages", []))))
    if "series" in statement:
        known.append(float(len(statement["series"]["earlier"]) + 1))
    known += [0.0] * bool(folder.schema.impossible)
    rounded = [statement.get("certificate"), statement.get("rmse")]
    known += [math.ceil(10 * x) / 10 for x in numbers(rounded)]
    return [abs(x) for x in known]

def unexplained(text, known):
    """Returns the first number of a text that is none of the known numbers, as printed."""
    for token in NUMBER.findall(text):
        value, digits = float(token), token.partition("e")[0].partition(".")[2]
        scale = 10.0**int(token.partition("e")[2] or 0)
        unit = 10.0**-len(digits) * scale * 1.000001 if digits else 0.0
        if not any(abs(value - x) <= max(unit, 1e-12 * abs(x)) for x in known):
            return token
    return None

def without(text, parts):  # parts that may contain any number, such as names
    for part in sorted(parts, key=len, reverse=True):
        if part.strip():  # a whole word, as names can be parts of other words
            text = re.sub(rf"(?<!\w){re.escape(plain(part))}(?!\w)", " ", text)
    return text

def fences(text):
    """Splits a Markdown text into its code blocks and the rest."""
    blocks = re.findall(r"^(`{3,})toml\n(.*?)^\1$", text, re.MULTILINE | re.DOTALL)
    return [block for _, block in blocks], re.sub(r"^(`{3,})toml\n(.*?)^\1$", "", text,
                                                  flags=re.MULTILINE | re.DOTALL)

def names_of(folder):
    statement = folder.statement
    names = list(folder.schema.names) + statement.get("impossible", [])
    names += [count["records"] for count in statement.get("public_counts", [])]
    ledger, limit = statement["ledger"], statement["person_limit"]
    names += [ledger["file"], ledger["sha256"]] if ledger else []
    names += [limit["column"]] if limit else []
    names += [statement[name] for name in ("version", "planner", "objective") if name in statement]
    for earlier in statement.get("series", {}).get("earlier", []):
        names += [earlier["folder"], earlier["sha256sums_sha256"]]
    return names + ["SHA-256"]

def markdown(folder):
    """Checks statement.md: its numbers, lists, table, schema and workload."""
    file, statement = folder.path / "statement.md", folder.statement
    blocks, text = fences(file.read_text("utf-8"))
    for name, block in zip(("schema", "workload"), blocks + ["", ""]):
        require(block.rstrip("\n") == statement[name].rstrip("\n"), f"the {name} of statement.json",
                "another", file)
    lines = text.split("\n")
    paragraphs = [plain(line) for line in lines if line and line[0] not in "#|-"]
    guarantee = [p for p in paragraphs if p.startswith("Guarantee.")]
    require(len(guarantee) == 1, "one guarantee", len(guarantee), file)
    budget = re.match(r"Guarantee\. \((\S+), (\S+)\)-differential privacy for (.*)", guarantee[0])
    stated = [float(number) for number in budget.groups()[:2]] if budget else None
    require(stated == [statement["epsilon"], statement["delta"]],
            f"({statement['epsilon']}, {statement['delta']})", stated, file)
    limit, rows = statement["person_limit"], statement["unit"]["rows"]
    who = f"everybody with at most {rows} record(s)" if limit is None else \
        f"everybody, with all records that have the same value of {plain(limit['column'])}"
    distinct = statement.get("distinct_values_of")
    if limit is None and distinct is not None:
        who += f", of which no two have the same value of {plain(distinct)} (an assumption that " \
            "the release did not enforce)"
    phrase = f"{who}, {PROTECTS[statement['unit']['neighbours']]}: "
    require(budget[3].startswith(phrase), phrase, budget[3][:200], file)
    new = [statement["new_delta"]] if folder.is_open else []
    for number in (statement["rho_reserved"], statement["rho"], *new):
        found = [float(token) for token in NUMBER.findall(guarantee[0])]
        require(number in found, f"the cost {number!r}", "none", file)
    ledger = statement["ledger"]
    if ledger:
        words = f"in line {ledger['line']} of the ledger {plain(ledger['file'])} (SHA-256 of the " \
            f"line: {ledger['sha256']})"
        require(any(words in p for p in paragraphs), words, "another", file)
    names, known = names_of(folder), explained(folder)
    for paragraph in paragraphs:
        token = unexplained(without(paragraph, names), known)
        require(token is None, "numbers of statement.json", f"{token} in: {paragraph[:60]}…", file)
    items = [plain(line[2:]) for line in lines if line.startswith("- ")]
    wanted = [plain(f"{v['attribute']}: {v['handling']}") for v in statement.get("values_outside",
                                                                                 [])]
    wanted += [plain(what) for what in statement["not_protected"]]
    for item in wanted:
        require(item in items, item, "nothing or another text", file)
    require(len(items) == len(wanted), f"{len(wanted)} items of lists", len(items), file)
    check_table(folder, lines, file)
    return "its guarantee, numbers, lists, table, schema and workload are those of statement.json"

def check_table(folder, lines, file):
    statement = folder.statement
    rows = [re.split(r"(?<!\\) \| ", line[2:-2]) for line in lines if line.startswith("| ")][1:]
    if folder.is_open:
        wanted = [statement["column"], statement["rho"], statement["new_delta"],
                  in_digits(statement["threshold"])]
        found = [[plain(name), float(rho), float(new), threshold]
                 for name, rho, new, threshold in rows]
        require(found == [[plain(wanted[0]), *wanted[1:]]], wanted, found, file)
        return
    if folder.is_staged:
        wanted = [[str(k)] + cells_of(row) for k, stage in enumerate(statement["stages"])
                  for row in stage["questions"]]
    else:
        wanted = [cells_of(row) for row in statement["subspaces"]]
    require(len(rows) == len(wanted), f"{len(wanted)} lines of the table", len(rows), file)
    for row, expected in zip(rows, wanted):
        row = [plain(cell) for cell in row]
        same = len(row) == len(expected) and all(
            a == b or (k == len(row) - 4 and float(a) == float(b))
            for k, (a, b) in enumerate(zip(row, expected)))
        require(same, " | ".join(expected), " | ".join(row), file)

def cells_of(row):
    bound = "at most " if row.get("sensitivity_is_attained") is False else ""
    return [plain(row["attributes"]), repr(row["rho"]), bound + row["squared_sensitivity"],
            row["deviation"], str(row["answers"])]

def html_page(folder):
    """Checks that report.html has the statement, and the numbers of its facts."""
    file = folder.path / "report.html"
    page = file.read_text("utf-8")
    require(page.rstrip().endswith("</html>"), "a complete page", "a part of one", file)
    tags = [re.sub(r'"[^"]*"', "", tag) for tag in re.findall(r"<[^>]*>", page)]
    active = [tag for tag in tags if re.match(r"<(script|iframe|link|object|embed|img)", tag)
              or re.search(r"\s(on\w+|src|href)=", tag)]
    require(not active and not re.search(r"url\(|@import", "".join(
        re.findall(r"<style>.*?</style>", page, re.DOTALL))),
            "a page without scripts and external resources", active[:1] or "a resource", file)
    body = re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
    text = plain(html.unescape(re.sub(r"<[^>]*>", "", body)))
    _, statement = fences((folder.path / "statement.md").read_text("utf-8"))
    for line in statement.split("\n"):
        if line and line[0] not in "#|":
            line = plain(line[2:] if line.startswith("- ") else line)
            require(line in text, f"the paragraph {line[:80]}…", "none or another", file)
    words = re.findall(r'<p class="summary">(.*?)</p>', body, re.DOTALL)
    words += re.findall(r'<section class="guarantees">(.*?)</section>', body, re.DOTALL)
    require(len(words) == 2, "a summary and what is guaranteed", f"{len(words)} of them", file)
    # e^ε, rounded up to two decimals.
    factor = math.ceil(100 * math.exp(min(folder.statement["epsilon"], 20.0))) / 100
    known = explained(folder) + [factor, 1.0]
    for part in words:
        part = without(plain(html.unescape(re.sub(r"<[^>]*>", " ", part))), names_of(folder))
        token = unexplained(part, known)
        require(token is None, "numbers of statement.json", f"{token} in: {part[:60]}…", file)
    facts = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", body)
    for name, fact in facts:
        fact = without(plain(html.unescape(re.sub(r"<[^>]*>", "", fact))), names_of(folder))
        token = unexplained(fact,
                            explained(folder)) if not name.endswith((".csv", ".md", "/")) else None
        require(token is None, "numbers of statement.json", f"{name}: {token}", file)
    return "its summary, facts and statement; the charts could not be checked"

def series(folder):
    """Checks the total of a series at its delta."""
    found, statement = folder.statement["series"], folder.statement
    total = decimal(statement["rho_reserved"]) + sum(
        (decimal(earlier["rho_reserved"]) for earlier in found["earlier"]), Fraction(0))
    near = total * (1 + Fraction(1, 10**15))
    require(total <= decimal(found["rho"]) <= near, f"rho {float(total)!r}", found["rho"],
            folder.file)
    require(found["delta"] == statement["delta"], statement["delta"], found["delta"], folder.file)
    epsilon = privacy.epsilon_of(found["rho"], found["delta"])
    require(epsilon * (1 - CLOSE) <= found["epsilon"] <= epsilon * (1 + 3 * CLOSE),
            f"epsilon {epsilon!r}", found["epsilon"], folder.file)
    return f"{len(found['earlier']) + 1} releases: rho {float(total)!r}, epsilon {epsilon!r}"

def ledger(folder, path):
    """Checks the chain of the ledger, its budget, and the reservation of the release."""
    lines = path.read_text("utf-8").split("\n")
    require(lines[-1] == "", "complete lines", "a part of one at the end", path)
    lines = lines[:-1]
    parsed = [json.loads(line, object_pairs_hook=strict) for line in lines]
    head, opening = parsed[0], parsed[1]
    require(head["ledger"] in (2, 3), "version 2 or 3", head["ledger"], path)
    count = int(head["lines"])
    require(len(lines) >= count >= 2, f"{count} lines", f"{len(lines)}: lines were removed", path)
    digests = [sha256(line.encode("utf-8")) for line in lines]
    require(digests[count - 1] == head["last"], f"line {count} of the hash in line 1",
            "a changed line", path)
    spent, new, open_, reserved, settled = Fraction(0), Fraction(0), set(), [], {}
    for number, line in enumerate(parsed[2:], 3):
        require(line["previous"] == digests[number - 2],
                f"line {number}: the hash of line {number - 1}",
                "another: lines were changed, moved or removed", path)
        if "reserve" in line:
            reserved.append(number)
            require(line["reserve"] == len(reserved), f"reservation {len(reserved)}",
                    line["reserve"],
                    path)
            require(line["rho"] > 0, "a positive rho", line["rho"], path)
            spent += decimal(line["rho"])
            require(0 < line.get("new_delta", 0.5) < 1, "delta' between 0 and 1",
                    line.get("new_delta"), path)
            new += decimal(line.get("new_delta", 0.0))
            open_.add(line["reserve"])
        else:
            require(line["settle"] in open_, "the settlement of an open reservation",
                    line["settle"],
                    path)
            open_.remove(line["settle"])
            settled[reserved[line["settle"] - 1]] = line.get("folder")
    require(spent <= decimal(opening["total_rho"]), f"at most {opening['total_rho']!r}",
            f"{float(spent)!r} reserved", path)
    if new:
        within_delta(opening, spent, new, path)
    own, statement = folder.statement["ledger"], folder.statement
    require(own is not None, "a reservation in the statement", "none", folder.file)
    require(own["line"] in reserved and digests[own["line"] - 1] == own["sha256"],
            f"line {own['line']} with SHA-256 {own['sha256']}", "another line", path)
    require(parsed[own["line"] - 1]["rho"] == statement["rho_reserved"],
            f"rho {statement['rho_reserved']!r} in line {own['line']}",
            parsed[own["line"] - 1]["rho"], path)
    found = parsed[own["line"] - 1].get("new_delta")
    require(found == statement.get("new_delta"),
            f"delta' {statement.get('new_delta')!r} in line {own['line']}", found, path)

    def is_settled(line, sums, what):
        require(line in settled, f"a settlement of line {line}, {what}", "an interrupted run", path)
        require(settled[line] in (None, sums), f"the checksums of {what}: {sums}", settled[line],
                path)
    binds = own["line"] in settled  # else the run was interrupted after its folder was complete
    if binds:
        is_settled(own["line"], sha256((folder.path / "SHA256SUMS").read_bytes()), "this release")
    for earlier in statement.get("series", {}).get("earlier", []):
        line = earlier["line"]
        require(line in reserved and digests[line - 1] == earlier["line_sha256"]
                and parsed[line - 1]["rho"] == earlier["rho_reserved"],
                f"line {line} of {earlier['folder']}", "another line", path)
        is_settled(line, earlier["sha256sums_sha256"], earlier["folder"])
    limit = statement["person_limit"]
    # Noise that also hides added and removed records hides replaced ones.
    unit = {name: statement["unit"][name] for name in ("neighbours", "rows")}
    weaker = {**unit, "neighbours": privacy.REPLACE}
    fits = opening["unit"] == unit or (
        opening["unit"] == weaker and statement["unit"]["neighbours"] == privacy.BOTH)
    require(fits, statement["unit"], opening["unit"], path)
    require(opening.get("person") == (limit and limit["column"]), f"persons by {limit}",
            opening.get("person"), path)
    distinct = statement.get("distinct_values_of")
    require(limit or distinct in (None, opening.get("distinct")), f"different values of {distinct}",
            opening.get("distinct"), path)
    return f"the chain of {len(lines)} lines; {len(reserved)} reservations of {float(spent)!r} " \
        f"in a total of {opening['total_rho']!r}; line {own['line']} is this release" + \
        ("" if binds else ", without a settlement that has the hash of the folder")

def within_delta(opening, spent, new, path):
    """Checks that rho and delta' of all reservations keep to the ledger's epsilon and delta."""
    delta = opening["delta"]
    require(delta is not None and new < decimal(delta), "a delta above the sum of delta'",
            f"{delta!r}, and {float(new)!r} reserved", path)
    most = privacy.epsilon_of(opening["total_rho"], delta)
    found = privacy.epsilon_of(float(spent), float(decimal(delta) - new))
    require(found <= most * (1 + 3 * CLOSE), f"at most epsilon {most!r} at delta {delta!r}",
            f"{found!r} reserved, with {float(new)!r} of delta", path)
