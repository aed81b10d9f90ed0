"""Checks of a release of unbiased answers; those of costs and tables are for every release."""
import csv, functools, itertools, math, re
from fractions import Fraction
import numpy as np
import release_distinct
import release_privacy as privacy
import release_schema
from release_estimates import Estimates, unmeasured
from release_folder import Measured
from release_report import CLOSE, UNCHECKED, decimal, differ, fraction, near, require
from release_schema import Unsupported

def stated(value, found, is_exact, what, file):
    """Checks a stated rho: at least the exact cost, and equal to it if it says so.

    Returns what remains unproved, in words, or None."""
    require(value is not None and decimal(value) >= found.lower,
            f"{what} of at least {float(found.lower)!r}", value, file)
    more = 1 + Fraction(1, 10**9)
    high = found.lower if found.lower == found.upper and is_exact else found.trivial
    require(decimal(value) <= high * more, f"{what} of at most {float(high)!r}", value, file)
    if is_exact and value > 0 and not found.is_above(decimal(value) / more):
        kind = f"that some neighbours attain {what} {value!r}"
    elif not found.is_at_most(decimal(value) * more):
        kind = f"that no neighbours exceed {what} {value!r}"
    else:
        return None
    return f"{kind}: {float(found.lower)!r} is attained, and {float(found.upper)!r} is a bound"

def measured_rows(rows, terms, schema, unit, file):
    """Checks the table of measurements of a statement."""
    require(len(rows) == len(terms), f"{len(terms)} measurements", len(rows), file)
    for row, term in zip(rows, terms):
        name = schema.title(term.positions) or "(number of records)"
        require(row["attributes"] == name, name, row["attributes"], file)
        require(fraction(row["deviation"], file) == term.deviation, f"{name}: deviation "
                f"{term.deviation}", row["deviation"], file)
        require(row["answers"] == term.rows(), f"{name}: {term.rows()} integers", row["answers"],
                file)
        square, found = int(row["squared_sensitivity"]), privacy.sensitivity(term,
                                                                             unit["neighbours"])
        attained = row.get("sensitivity_is_attained", True)
        high = found.lower if attained and found.lower == found.upper else found.trivial
        require(found.lower <= square <= high, f"{name}: squared sensitivity {high}", square, file)
        cost = term.cost(square, unit["rows"])
        if unit.get("distinct") is not None:  # then records of one person cost at most the square
            alone = release_distinct.joint_rho([term], unit)
            require(alone.lower <= decimal(row["rho"]) <= cost * (1 + Fraction(1, 10**12)),
                    f"{name}: rho from {float(alone.lower)!r} to {float(cost)!r}", row["rho"], file)
            continue
        require(cost <= decimal(row["rho"]) <= cost * (1 + Fraction(1, 10**12)),
                f"{name}: rho {float(cost)!r}", row["rho"], file)

def rho_of_plan(folder, measured, unit):
    statement = folder.statement
    measured_rows(statement["subspaces"], measured.terms, folder.schema, unit, folder.file)
    found = release_distinct.joint_rho(measured.terms, unit)
    unproved = stated(statement["rho"], found, statement["rho_is_exact_sum"], "rho", folder.file)
    require(decimal(statement["rho"]) <= decimal(statement["rho_reserved"]),
            f"a cost within the reserved rho {statement['rho_reserved']!r}", statement["rho"],
            folder.file)
    if unproved:
        raise Unsupported(unproved)
    kind = "exact" if found.lower == found.upper else "an upper bound"
    reserved = statement["rho_reserved"]
    high = min(float(found.upper), statement["rho"])
    return f"{high!r} from the integers ({kind}), {reserved!r} reserved"

def epsilon(folder):
    """Checks epsilon of the reserved rho at the stated delta."""
    statement = folder.statement
    delta, new = statement["delta"], statement.get("new_delta", 0.0)
    require(0 <= new < delta < 1, "delta between delta' and 1", delta, folder.file)
    found = privacy.epsilon_of(statement["rho_reserved"], float(decimal(delta) - decimal(new)))
    require(found * (1 - CLOSE) <= statement["epsilon"] <= found * (1 + 3 * CLOSE),
            f"epsilon {found!r} at delta {statement['delta']!r}", statement["epsilon"], folder.file)
    return f"{found!r} at delta {delta!r}" + (f", of which {new!r} is delta'" if new else "")

def table(file, columns):
    """Returns the rows of a table of answers, whose header starts with the given columns."""
    with open(file, "rb") as end:
        end.seek(-1, 2)
        require(end.read() == b"\n", "a complete last line", "a part of one", file)
    with open(file, newline="", encoding="utf-8") as source:
        known = {}  # equal texts are kept once
        rows = [[known.setdefault(x, x) for x in row] for row in csv.reader(source)]
    require(rows and rows[0] == columns, f"the columns {', '.join(columns)}", rows[:1], file)
    require(all(len(row) == len(columns) for row in rows), f"{len(columns)} values per line",
            "another number", file)
    return rows[1:]

PRINTED = re.compile(r"-?\d+\.\d{6,}").fullmatch
QUERY = ["attributes", "family", "query", "cells"]

def queries_of_table(folder, groups, rows, file):
    """Checks which queries a table has, and their descriptions."""
    count = sum(release_schema.queries(group) for group in groups)
    require(len(rows) == count, f"{count} queries", len(rows), file)
    start = 0
    for group in groups:
        title = folder.schema.title(group.positions)
        for cells in release_schema.cells_in_words(group):
            row = rows[start]
            if row[0] != title or row[1] != group.family or not same_cells(row[3], cells):
                differ(f"line {start + 2}: {title}, {group.family}, {cells}", row[:4], file)
            for texts in named_by(folder.schema, group, cells):
                if not any(text in row[2] for text in texts):
                    differ(f"line {start + 2}: a query that names {' or '.join(texts)}", row[2],
                           file)
            start += 1
    require(folder.statement["queries"] == str(count), f"{count} queries",
            folder.statement["queries"], folder.file)
    return f"{count} queries in {len(groups)} groups, with the cells and values that they sum"

def named_by(schema, group, cells):
    """Returns lists of texts; the description of a query must contain one of every list."""
    if group.joint is not None:
        names = [schema.names[p] for p in group.positions]
        return [[name] for name in names * (group.family in ("affine", "abs"))
                + [cells.split()[-1]]]
    is_nodes = lambda axis: group.nodes is not None and axis == group.nodes[0]
    return [texts for axis, (p, part) in enumerate(zip(group.positions, cells.split("; ")))
            for texts in named_on(schema.attributes[p], part, is_nodes(axis))]

def same_cells(found, expected):
    """Returns whether two descriptions of cells are equal, weights up to the last digits."""
    if found == expected:
        return True
    pairs = list(zip(found.split("; "), expected.split("; ")))
    if found.count(";") != expected.count(";"):
        return False
    def same(a, b):
        a, b = a.split(" "), b.split(" ")
        return a == b or len(a) == len(b) and a[0] == b[0] == "weights" and all(
            math.isclose(float(x), float(y), rel_tol=1e-14) for x, y in zip(a[1:], b[1:]))
    return all(same(*pair) for pair in pairs)

@functools.lru_cache(maxsize=None)
def named_on(attribute, part, nested):
    """Returns the texts for the cells of one attribute."""
    if nested and attribute.levels:
        return [attribute.nodes().get(part, []) + [attribute.name]]
    ends = re.fullmatch(r"(\d+)-(\d+)", part)
    names = attribute.names(int(ends[1]), int(ends[2])) if ends else []
    return [[attribute.name]] + [[text] for text in names]

def printed(texts, values, what, file, sides=None):
    """Checks numbers as they are printed; `sides` says which way intervals are rounded."""
    for k, text in enumerate(texts):
        if not PRINTED(text):
            differ(f"line {k + 2}: {what} with six decimals or more", text, file)
    found = np.array([float(text) for text in texts])
    unit = np.array([10.0**-len(text.partition(".")[2]) for text in texts])
    slack = CLOSE * np.maximum(1.0, abs(values))
    low = values - slack - (0.5 if sides is None else 1.0 * (sides == "low")) * unit
    high = values + slack + (0.5 if sides is None else 1.0 * (sides == "high")) * unit
    wrong = np.flatnonzero(~((found >= low) & (found <= high)))
    if len(wrong):
        k = wrong[0]
        differ(f"line {k + 2}: {what} {float(values[k])!r}", f"{texts[k]} ({len(wrong)} differ)",
               file)
    return f"{len(found)} numbers, to the digits printed"

class Answers:
    """The unbiased answers of a release, recomputed."""
    def __init__(self, folder, measured, groups):
        self.estimates = Estimates(folder.schema, measured.measures, measured.terms, measured.noisy)
        for group in groups:
            require(not unmeasured(self.estimates, group),
                    "queries that the measurements determine",
                    f"queries on {folder.schema.title(group.positions)}", folder.file)
        self.estimates.condition(measured.public)
        parts, errors = [self.estimates.answers(group) for group in groups], []
        for group, (_, before, _) in zip(groups, parts):
            weights = np.ones(len(before)) if group.query_weights is None else group.query_weights
            errors.append(group.weight * float((weights * before).sum()))
        self.values, _, variances = (np.concatenate(column) for column in zip(*parts))
        self.deviations = np.sqrt(np.maximum(variances, 0))
        self.counts = [len(before) for _, before, _ in parts]
        self.errors = errors

def weights_of(groups, counts):
    parts = [group.weight * np.array(group.query_weights or [1.0] * count)
             for group, count in zip(groups, counts)]
    return np.concatenate(parts)

def interval_lengths(folder, count):
    for name, missed in (("single", 0.05), ("simultaneous", 0.05 / count)):
        found, value = privacy.two_sided(missed), folder.statement["intervals"][name]
        require(found * (1 - 1e-12) <= value <= found * (1 + 3 * CLOSE),
                f"{name} intervals of {found!r} standard errors", value, folder.file)
    require(folder.statement["interval_unit"] == "standard errors", "standard errors",
            folder.statement["interval_unit"], folder.file)
    return "for the discrete noise itself, at 95 %"

def errors_of_plan(folder, answers):
    """Checks the root mean square error, and the value of another objective."""
    statement, count = folder.statement, sum(answers.counts)
    near(math.sqrt(sum(answers.errors) / count), statement["rmse"], "rmse", folder.file)
    near(statement["rounded_variance"] / statement["planned_variance"] - 1,
         statement["rounding_excess"], "rounding_excess", folder.file, 1e-6)
    if "objective" not in statement:
        return f"root mean square error {statement['rmse']!r}"
    groups = [error / n for error, n in zip(answers.errors, answers.counts)]
    name, _, share = statement["objective"].partition(":")
    largest, mean = max(groups), sum(answers.errors) / count
    share = {"max": 0.0, "mean": 1.0}.get(name) if name != "balanced" else float(share)
    near(largest, statement["largest_group_error"], "largest_group_error", folder.file)
    near(share * mean + (1 - share) * largest, statement["objective_value"], "objective_value",
         folder.file)
    return f"root mean square error and the objective {statement['objective']}"

def answers_of_plan(report, folder, measured):
    """Checks answers.csv of a release of unbiased answers."""
    file, made = folder.path / "answers.csv", {}
    names = ["estimate", "standard_error", "low_95", "high_95", "low_95_all", "high_95_all",
             "weight"]
    def read():
        made["groups"] = folder.groups()
        made["rows"] = table(file, QUERY + names)
        return queries_of_table(folder, made["groups"], made["rows"], file)
    def compute():
        answers = made["answers"] = Answers(folder, measured, made["groups"])
        made.update({name: [row[4 + k] for row in made["rows"]] for k, name in enumerate(names)})
        values = answers.values.copy()
        known = answers.deviations == 0
        values[known] = np.where(abs(values - np.round(values)) < 1e-6 * np.maximum(1, abs(values)),
                                 np.round(values), values)[known]
        made["values"] = values
        return printed(made["estimate"], values, "estimate", file)
    def intervals():
        reach, deviations = folder.statement["intervals"], made["answers"].deviations
        for suffix, length in (("", reach["single"]), ("_all", reach["simultaneous"])):
            for side, sign in (("low", -1), ("high", 1)):
                name = f"{side}_95{suffix}"
                printed(made[name], made["values"] + sign * length * deviations, name, file, side)
        return "95 % intervals of single answers and of all answers together"
    def weights():
        found = np.array([float(text) for text in made["weight"]])
        expected = weights_of(made["groups"], made["answers"].counts)
        require(np.allclose(found, expected, rtol=CLOSE, atol=0), "the weights of the workload",
                "others", file)
        return "those of the workload"
    if not report.check("queries", read):
        report.add("estimates, standard errors and intervals", UNCHECKED,
                   why="the queries are not known")
        return
    report.check("estimates", compute)
    if "answers" not in made:
        report.add("standard errors and intervals", UNCHECKED, why="the estimates are not known")
        return
    report.check("standard errors", lambda: printed(
        made["standard_error"], made["answers"].deviations, "standard error", file))
    report.check("lengths of intervals", interval_lengths, folder, len(made["rows"]))
    report.check("intervals", intervals)
    report.check("weights", weights)
    report.check("expected error", errors_of_plan, folder, made["answers"])
    if (folder.path / "adjusted.csv").exists():
        report.check("adjusted.csv", adjusted, folder, made["groups"])

def adjusted(folder, groups):
    """Checks that adjusted answers are whole numbers; how they were fitted is not recomputed."""
    file = folder.path / "adjusted.csv"
    rows = table(file, QUERY + ["adjusted_standard_errors_do_not_apply"])
    queries_of_table(folder, groups, rows, file)
    def is_whole(group):  # whether its queries are sums of counts
        parts = group.factors if group.joint is None else [group.joint]
        return all(rows is None or (rows == np.round(rows)).all() and rows.min() >= 0
                   for rows in parts)
    of_rows = itertools.chain(*([is_whole(g)] * release_schema.queries(g) for g in groups))
    whole = all(re.fullmatch(r"\d+", row[4]) for row, is_of_counts in zip(rows, of_rows)
                if is_of_counts)
    require(whole, "nonnegative integers", "others", file)
    raise Unsupported("the fit of the adjusted answers; they are nonnegative integers for the "
                      "queries of the release")

def plan(report, folder, unit):
    """Checks a release of unbiased answers."""
    made = {}
    def read():
        made["measured"] = Measured(folder.measured, folder.schema, folder.statement["unit"])
        inner = sorted(p.name for p in folder.measured.iterdir() if p.is_dir())
        require(not inner, "files of one measurement", inner, folder.measured)
        counts = [count["count"] for count in folder.statement.get("public_counts", [])]
        require(counts == made["measured"].public, f"public counts {made['measured'].public}",
                counts, folder.file)
        terms = made["measured"].terms
        return f"{sum(t.rows() for t in terms)} noisy integers of {len(terms)} measurements"
    if not report.check("measurements", read):
        report.add("rho and answers", UNCHECKED, why="the measurements cannot be read")
        return
    if unit is None:
        report.add("rho", UNCHECKED, why="the privacy unit is not known")
    else:
        report.check("rho", rho_of_plan, folder, made["measured"], unit)
    answers_of_plan(report, folder, made["measured"])
