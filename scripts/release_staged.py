"""Checks of a staged release: questions and costs, certified bounds, answers, records.

docs/releasing.md, Staged releases, has the definitions."""
import csv, io, math, re
from fractions import Fraction
import numpy as np
import release_distinct
import release_privacy as privacy
from release_estimates import answered
from release_folder import Measured
from release_plan import QUERY, measured_rows, queries_of_table, stated, table
from release_report import CLOSE, UNCHECKED, decimal, fraction, load, require
from release_schema import Unsupported, box_cells, queries

COLUMNS = ["estimate", "error_bound_95", "extrapolated", "error_bound_is"]
MISSED = 0.05
MISSED_BY_RECORDS = 0.01  # of them, with which the number of records is not in its interval

class Staged:
    """The stages of a release, and its certificate if it has one."""
    def __init__(self, folder):
        self.folder, self.unit = folder, folder.statement["unit"]
        self.stages, self.certificate = [], None
        self.domain = folder.schema.with_levels()
        while (folder.measured / f"stage-{len(self.stages)}").is_dir():
            part = folder.measured / f"stage-{len(self.stages)}"
            self.stages.append(Measured(part, self.domain, self.unit))
        names = {p.name for p in folder.measured.iterdir() if p.is_dir()}
        wanted = {f"stage-{k}" for k in range(len(self.stages))}
        require(self.stages and names - {"certificate"} == wanted, "consecutive stages",
                sorted(names), folder.measured)
        if "certificate" in names:
            self.certificate = Certificate(folder, self.domain, len(self.stages))
        claimed = folder.statement["certificate"] is not None
        require(claimed == (self.certificate is not None), "a certificate in both or in neither",
                "one in one", folder.file)

    def total(self):  # the noisy number of records, and its standard error's deviation
        for term, noisy in zip(self.stages[0].terms, self.stages[0].noisy):
            if term.positions == ():
                return noisy[0] / term.scale, term

class Certificate:
    """Published marginals in units of 2^-bits, and noisy distances from them."""
    def __init__(self, folder, domain, stages):
        part = folder.measured / "certificate"
        self.file = part / "distances.json"
        document = load(self.file)
        require(document["format"] == 1 and document["stages"] == stages,
                f"format 1 and {stages} stages", [document["format"], document["stages"]],
                self.file)
        self.bits = document["bits"]
        require(0 < self.bits <= 60, "a number of bits", self.bits, self.file)
        self.sets = [domain.positions(names) for names in document["marginals"]]
        self.each, self.sum = (fraction(document[name], self.file)
                               for name in ("deviation", "deviation_of_sum"))
        for deviation in (self.each, self.sum):
            require(deviation >= privacy.FINE, "fine noise: a deviation of 65536 or more",
                    deviation,
                    self.file)
        self.distances = [int(text) for text in document["distances"]]
        self.sum_of_distances = int(document["sum_of_distances"])
        require(len(self.distances) == len(self.sets) == len(set(self.sets)),
                "a distance per marginal", len(self.distances), self.file)
        file = part / "marginals.csv"
        lines = file.read_text("utf-8").split("\n")
        shapes = [domain.shape(positions) for positions in self.sets]
        count = sum(map(math.prod, shapes))
        require(lines[0] == "marginal,units" and lines[-1] == "" and len(lines) == count + 2,
                f"{count} cells", len(lines) - 2, file)
        self.marginals, start = [], 1
        for index, shape in enumerate(shapes):
            end = start + math.prod(shape)
            cells = [line.split(",") for line in lines[start:end]]
            require(all(k == str(index) for k, _ in cells), f"cells of marginal {index}", "others",
                    file)
            self.marginals.append(np.array([int(t) for _, t in cells], dtype=object).reshape(shape))
            start = end

    def rho(self, unit):
        change = 2**self.bits * (1 if unit["neighbours"] == privacy.ADD else 2) * unit["rows"]
        square, m = Fraction(change)**2, len(self.sets)
        return m * square / (2 * self.each**2) + m * m * square / (2 * self.sum**2)

    def bound(self, noisy, deviation, missed):  # of a distance, in records
        units = max(noisy, 0) + privacy.one_sided(missed, deviation) * float(deviation)
        return units * 2.0**-self.bits

    def each_bound(self, missed):
        return [self.bound(noisy, self.each, missed) for noisy in self.distances]

    def total_of(self, units):  # of a marginal, in records
        return Fraction(int(units.sum()), 2**self.bits)

    def errors(self, total):
        """Returns, per marginal, bounds of the sum of all absolute errors at 95 %; of the same
        together with the error of the total; and of the error of the total."""
        (records, term), count = total, len(self.sets)
        spent = 0.0 if term.deviation == 0 else MISSED_BY_RECORDS
        low = high = Fraction(records)
        if spent:
            length = Fraction(privacy.one_sided(spent / 4, term.deviation)) * term.deviation
            low, high = max(0, low - length / term.scale), high + length / term.scale
            for units, bound in zip(self.marginals, self.each_bound(spent / 2 / count)):
                low = max(low, self.total_of(units) - Fraction(bound))
                high = min(high, self.total_of(units) + Fraction(bound))
        found = []
        for units, alone, together in zip(self.marginals, self.each_bound(MISSED),
                                          self.each_bound(MISSED - spent)):
            estimate = self.total_of(units)
            farthest = float(max(abs(estimate - low), abs(high - estimate)))
            found.append((alone, together, min(farthest, together)))
        return found

    def summary(self, total, distances):
        """Returns bounds of marginals at these distances from the published ones, with the unit to
        which each is rounded."""
        count = len(self.sets)
        mean = lambda missed: (self.bound(self.sum_of_distances, self.sum, missed)
                               + sum(distances)) / count
        records, term = total
        least = records - privacy.one_sided(MISSED / 2, term.deviation) * \
            float(term.deviation / term.scale)
        together = [b + d for b, d in zip(self.each_bound(MISSED / count), distances)]
        found = {"mean_error_bound_95": (mean(MISSED), 1e-6),
                 "mean_error_bound_95_per_record": (None, 0.0),
                 "largest_error_bound_95_of_all": (max(together), 1e-6)}
        if least > 0:
            value = mean(MISSED / 2) / least
            # Six decimals divided by a number of records, which is a difference.
            unit = 1e-6 * max(1.0, 1 / least) + CLOSE * value * abs(records) / least
            found["mean_error_bound_95_per_record"] = (value, unit)
        return found

def above(expected, found, what, file, unit=1e-6):  # a bound that is rounded up
    low, high = expected * (1 - 1e-11), expected * (1 + CLOSE) + 3 * unit
    holds = found is not None and low <= found <= high
    require(holds, f"{what} {float(expected)!r}, rounded up", repr(found), file)

def summary(expected, found, file):
    for name, (value, unit) in expected.items():
        if value is None:
            require(found[name] is None, f"no {name}", found[name], file)
        else:
            above(value, found[name], name, file, unit)

def costs(folder, made):
    """Checks the cost of every question, of every stage and of all together."""
    statement, unit, release = folder.statement, folder.statement["unit"], made
    require(len(statement["stages"]) == len(release.stages), f"{len(release.stages)} stages",
            len(statement["stages"]), folder.file)
    low, high, unproved = Fraction(0), Fraction(0), []
    for k, (stage, measured) in enumerate(zip(statement["stages"], release.stages)):
        measured_rows(stage["questions"], measured.terms, release.domain, unit, folder.file)
        found = release_distinct.joint_rho(measured.terms, unit)
        unproved.append(stated(stage["rho"], found, stage["rho_is_exact_sum"],
                               f"rho of stage {k}", folder.file))
        low, high = low + found.lower, high + decimal(stage["rho"])
    if release.certificate:
        rho, found = release.certificate.rho(unit), statement["certificate"]["rho"]
        require(rho <= decimal(found) <= rho * (1 + Fraction(1, 10**9)),
                f"rho of the certificate {float(rho)!r}", found, folder.file)
        low, high = low + rho, high + decimal(found)
    together = decimal(statement["rho_of_questions"])
    require(low <= together <= high * (1 + Fraction(1, 10**9)),
            f"rho_of_questions from {float(low)!r} to {float(high)!r}", float(together),
            folder.file)
    reserved = decimal(statement["rho_reserved"])
    require(together <= reserved and statement["rho"] == statement["rho_reserved"],
            f"questions within the reserved rho {float(reserved)!r}", float(together), folder.file)
    if any(unproved):
        raise Unsupported("; ".join(filter(None, unproved)))
    return f"{float(together)!r} for all questions, {float(reserved)!r} reserved"

def certificate(folder, release, groups):
    """Checks the certified bounds of the statement, and the published marginals."""
    found, claimed = release.certificate, folder.statement["certificate"]
    sets = list(dict.fromkeys(part.positions for group in groups
                              for part in parts(group, release.domain)))
    require(found.sets == sets, "the marginals of the workload", "others", found.file)
    for name, value in (("marginals", len(sets)), ("bits", found.bits)):
        require(claimed[name] == value, f"{name} {value}", claimed[name], folder.file)
    for name, value in (("deviation", found.each), ("deviation_of_sum", found.sum)):
        require(fraction(claimed[name], folder.file) == value, f"{name} {value}", claimed[name],
                folder.file)
    summary(found.summary(release.total(), [0.0] * len(sets)), claimed, folder.file)
    for positions, cells in zip(sets, found.marginals):
        for box in folder.schema.impossible:
            if set(box) <= set(positions):
                zero = box_cells(box, positions, cells.shape) > 0
                require(not np.any(cells[zero]), "0 in impossible cells", "others", found.file)
    return f"bounds of {len(sets)} published marginals"

def answers(folder, release, groups, rows):
    """Checks the answers against the published marginals, and their bounds."""
    file, found = folder.path / "answers.csv", release.certificate
    errors, start, titles = found.errors(release.total()), 0, {}
    for group in groups:
        part = rows[start:start + queries(group)]
        values, bounds = [], []
        for piece in parts(group, release.domain):
            containing = [k for k, s in enumerate(found.sets) if set(piece.positions) <= set(s)]
            best = min(containing, key=lambda k: (found.marginals[k].size, k))
            positions, units = found.sets[best], found.marginals[best]
            drop = tuple(k for k, p in enumerate(positions) if p not in piece.positions)
            units = units.sum(axis=drop) if drop else units
            of = answered(piece, units.astype(float) * 2.0**-found.bits)
            values.append(by_node(of, group, piece))
            cells = abs(units.astype(float)).sum() * 2.0**-found.bits
            titles[len(bounds)] = (errors[best], 5e-16 * (units.size + 2) * cells,
                                   release.domain.title(positions))
            bounds.append(by_node(np.full(len(of), len(bounds)), group, piece))
        values, bounds = (np.concatenate(x, axis=1).ravel() for x in (values, bounds))
        ends = zip(*weight_ranges(group))
        for k, (row, value, which, (low, high)) in enumerate(zip(part, values, bounds, ends)):
            line, (known, rounding, title) = f"line {start + k + 2}", titles[which]
            weight = max(abs(low), abs(high))
            slack = CLOSE * max(1.0, abs(value))
            require(abs(float(row[4]) - value) <= slack, f"{line}: estimate {float(value)!r}",
                    row[4], file)
            above(of_weights(known, low, high), float(row[5]) if row[5] else None,
                  f"{line}: error_bound_95", file, 2e-6 * max(1.0, weight) + weight * rounding)
            require(row[6] == "no", f"{line}: no extrapolation", row[6], file)
            require(is_in_words(row[7], known, low, high, title),
                    f"{line}: the bound of {title} in words", row[7], file)
        start += len(part)
    return f"{len(rows)} estimates from the published marginals, with their bounds"

def parts(group, domain):
    """Returns groups on levels that together have the queries of a group."""
    if group.nodes is None:
        return [group]
    axis, names = group.nodes
    position, rows = group.positions[axis], len(group.factors[axis])
    levels = [domain.level(position, name) for name in names]
    chosen = [(at, np.eye(domain.sizes[at])) for at in levels]
    if group.family == "nested":
        rest = rows - sum(len(eye) for _, eye in chosen) - domain.sizes[position]
        chosen[0] = levels[0], np.vstack([np.ones((rest, domain.sizes[levels[0]])), chosen[0][1]])
        chosen.append((position, None))
    pieces = []
    for at, of_nodes in chosen:
        axes = [(at if k == axis else p, of_nodes if k == axis else of)
                for k, (p, of) in enumerate(zip(group.positions, group.factors))]
        axes.sort(key=lambda pair: pair[0])
        positions, factors = zip(*axes)
        pieces.append(group._replace(positions=positions, shape=domain.shape(positions),
                                     factors=list(factors), nodes=None))
    return pieces

def by_node(values, group, piece):
    """Returns values per query of a part of a group: before, at and after the axis of the nodes."""
    if piece is group:
        return values.reshape(1, -1)
    counts = [n if rows is None else len(rows) for rows, n in zip(piece.factors, piece.shape)]
    cells = values.reshape(counts)
    moved = [k for k, p in enumerate(piece.positions) if p not in group.positions]
    if moved:  # a level is after all attributes
        axis = next(k for k, p in enumerate(group.positions) if p not in piece.positions)
        cells = np.moveaxis(cells, moved[0], axis)
    else:  # the leaves
        axis = next(k for k, (a, b) in enumerate(zip(group.factors, piece.factors)) if a is not b)
    before = math.prod(cells.shape[:axis])
    return cells.reshape(before, cells.shape[axis], -1)

def weight_ranges(group):  # the smallest and the largest weight of every query
    if group.joint is not None:
        return group.joint.min(axis=1), group.joint.max(axis=1)
    low, high = np.ones(1), np.ones(1)
    for rows, size in zip(group.factors, group.shape):
        if rows is None:
            ends = np.full(size, float(size == 1)), np.ones(size)
        else:
            ends = rows.min(axis=1), rows.max(axis=1)
        corners = [np.multiply.outer(a, b).ravel() for a in (low, high) for b in ends]
        low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
    return low, high

def of_weights(errors, low, high):
    """Returns the bound of the error of a sum with weights from low to high: with m their middle,
    |sum w e| = |m sum e + sum (w - m) e| <= |m| |sum e| + (high - low)/2 sum |e|."""
    alone, together, total = errors
    middle, half = (low + high) / 2, (high - low) / 2
    return half * alone if middle == 0 else abs(middle) * total + half * together

TIMES = r"(half |[\d.e+-]+ times )?"
WORDS = re.compile(rf"(?:{TIMES}(the sum of the absolute errors of all cells))?(?: and )?"
                   rf"(?:{TIMES}(the absolute error of the total))? of (.*)", re.DOTALL)

def is_in_words(text, errors, low, high, title):
    """Returns whether a text names the parts of a bound with their factors."""
    middle, half = abs(low + high) / 2, (high - low) / 2
    if middle == half == 0:
        return text == "0: all weights are 0"
    found = WORDS.fullmatch(text)
    if not found:
        return False
    of_cells, cells, of_total, total, name = found.groups()
    number = lambda words: 1.0 if words is None else 0.5 if words == "half " else \
        float(words.split()[0])
    same = lambda words, factor: abs(number(words) - factor) <= CLOSE * factor
    # A total without error is not named, but rounding may leave a part of a millionth.
    may_omit = errors[2] < 1e-5 and half > 0
    return (name == title and (cells is not None) == (half > 0)
            and (half == 0 or same(of_cells, half))
            and (may_omit or (total is not None) == (middle > 0))
            and (total is None or same(of_total, middle)))

def coded(folder, file):
    """Returns the cell numbers of the synthetic records."""
    rows = list(csv.reader(io.StringIO(file.read_text("utf-8"))))
    schema = folder.schema
    require(rows[:1] == [schema.names], f"the columns {', '.join(schema.names)}", rows[:1], file)
    columns = []
    for k, attribute in enumerate(schema.attributes):
        texts = [row[k] if row else "" for row in rows[1:]]
        cells = {text: attribute.cell(text) for text in set(texts)}
        for text, cell in cells.items():
            require(cell is not None, f"values of {attribute.name}", text[:40], file)
        columns.append(np.array([cells[text] for text in texts]))
    return columns

def records(folder, release):
    """Checks the number of synthetic records, and the bounds of the errors of their marginals."""
    file, claimed = folder.path / "records.csv", folder.statement["synthetic"]
    columns = coded(folder, file)
    require(len(columns[0]) == claimed["count"], f"{claimed['count']} records", len(columns[0]),
            file)
    found, errors = release.certificate, claimed.get("errors")
    require((errors is None) == (found is None), "bounds if there is a certificate", errors,
            folder.file)
    if found is None:
        raise Unsupported("their errors, as there is no certificate; their number and values are")
    for of, nodes in release.domain.node_of.values():
        columns.append(nodes[columns[of]])
    distances = []
    for positions, units in zip(found.sets, found.marginals):
        cells = np.ravel_multi_index([columns[p] for p in positions], units.shape)
        counts = np.bincount(cells, minlength=units.size)
        gaps = [abs((int(x) << found.bits) - int(t)) for x, t in zip(counts, units.ravel())]
        distances.append(sum(gaps) / 2**found.bits)
    require(errors["marginals"] == len(found.sets), len(found.sets), errors["marginals"],
            folder.file)
    above(sum(distances) / len(distances), errors["mean_distance"], "mean_distance", folder.file)
    summary(found.summary(release.total(), distances), errors, folder.file)
    return f"{claimed['count']} records, their distances to the published marginals, their bounds"

def staged(report, folder, unit):
    """Checks a staged release."""
    made, file = {}, folder.path / "answers.csv"
    def read():
        made["release"] = Staged(folder)
        stages = made["release"].stages
        count = sum(term.rows() for stage in stages for term in stage.terms)
        return f"{count} noisy integers of {len(stages)} stages"
    def read_answers():
        made["groups"] = folder.groups()
        made["rows"] = table(file, QUERY + COLUMNS)
        return queries_of_table(folder, made["groups"], made["rows"], file)
    if not report.check("measurements", read):
        report.add("rho and answers", UNCHECKED, why="the measurements cannot be read")
        return
    release = made["release"]
    if unit is None:
        report.add("rho", UNCHECKED, why="the privacy unit is not known")
    else:
        report.check("rho", costs, folder, release)
    known = report.check("queries", read_answers)
    if release.certificate is None:
        report.add("estimates and bounds", UNCHECKED, why="without a certificate the release has "
                   "no published marginals, and the fit of the model is not recomputed")
    elif not known:
        report.add("estimates and bounds", UNCHECKED, why="the queries are not known")
    else:
        report.check("certified bounds", certificate, folder, release, made["groups"])
        report.check("estimates and bounds", answers, folder, release, made["groups"], made["rows"])
        report.add("fit", UNCHECKED, why="that the published marginals follow from the noisy "
                   "integers of the stages; their certified bounds hold all the same")
    has_file, claimed = (folder.path / "records.csv").exists(), folder.statement["synthetic"]
    if has_file and claimed:
        report.check("synthetic records", records, folder, release)
        if not (folder.path / "SHA256SUMS").exists():
            report.add("values of records.csv", UNCHECKED, why="edits that leave the distances to "
                       "the published marginals as they are: the release has no hash of the file")
    elif has_file or claimed:
        report.check("synthetic records", require, False,
                     "records.csv and its entry in the statement",
                     "one of the two", folder.path)
