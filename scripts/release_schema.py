"""The schema and the workload of a release: which cells there are, and what every query sums.

Formats: docs/planning.md. Cells are row-major, attributes in the order of the schema."""
import copy, csv, datetime, io, itertools, math, re
from collections import namedtuple
from decimal import Decimal
from fractions import Fraction
import numpy as np
import release_query, release_random
try:
    import tomllib
except ImportError:  # Python 3.10: the same module within pip
    from pip._vendor import tomli as tomllib

MAX_ENTRIES = 60_000_000  # of a matrix of queries
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?")

class Unsupported(Exception):
    """What this program cannot read or compute, in words."""

def toml(text):
    return tomllib.loads(text)

def number(value):  # the fraction of a number; a double is its shortest decimal
    return Fraction(Decimal(repr(value)) if isinstance(value, float) else value)

def parsed(text):  # the number that a text denotes, if any
    return Fraction(Decimal(text)) if NUMBER.fullmatch(text) else None

def time_of(text):  # the time that a text denotes, in nanoseconds
    if not TIME.fullmatch(text):
        return None
    whole, _, fraction = text.replace(" ", "T").partition(".")
    try:
        time = datetime.datetime.fromisoformat(whole)
    except ValueError:
        return None
    since = time - datetime.datetime(1970, 1, 1)
    nanoseconds = (since.days * 86400 + since.seconds) * 10**9
    return nanoseconds + int((fraction + "0" * 9)[:9])

def boolean_of(text):
    return {"true": True, "false": False}.get(text if text.islower() else
        text.lower() if text in ("True", "TRUE", "False", "FALSE") else "")

def key(value):  # what listed values are compared by: a kind and a value
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, str):
        return "text", value.strip()
    if isinstance(value, (int, float)):
        return "number", number(value)
    return "time", time_of(str(value))

class Listed:
    """Cells of listed values. A text also stands for what it denotes, unless that is listed."""
    def __init__(self, values):
        self.cells, denoted = {}, {}
        for cell, value in enumerate(values):
            self.cells[key(value)] = cell
        for cell, value in enumerate(values):
            text = value.strip() if isinstance(value, str) else None
            if text is None:
                continue
            if parsed(text) is not None:
                known = ("number", parsed(text))
                if known not in denoted or str(parsed(text)) == text:
                    denoted[known] = cell
            elif boolean_of(text) is not None:
                denoted.setdefault(("boolean", boolean_of(text)), cell)
            elif time_of(text) is not None:
                denoted.setdefault(("time", time_of(text)), cell)
        self.cells = {**denoted, **self.cells}

    def cell(self, value):
        kind, what = key(value)
        if (kind, what) in self.cells or kind != "text":
            return self.cells.get((kind, what))
        if boolean_of(what) is not None:
            return self.cells.get(("boolean", boolean_of(what)))
        if parsed(what) is not None:
            return self.cells.get(("number", parsed(what)))
        return self.cells.get(("time", time_of(what))) if time_of(what) is not None else None

class Attribute:
    """An attribute: its cells, and the cell of a value."""
    def __init__(self, entry):
        self.name, self.kind = entry["name"], entry["kind"]
        self.numeric, self.integer = self.kind != "categorical", self.kind == "integer"
        self.below, self.above = entry.get("below", False), entry.get("above", False)
        levels = dict(entry.get("levels", {}))
        lines = levels_of_file(levels, self.name) if "file" in levels else None
        self.edges, self.values = None, entry.get("values")
        if self.values is None and lines is not None and not {"bins", "edges"} & set(entry):
            self.values = list(lines)
        if "bins" in entry:
            bins = entry["bins"]
            low, high, count = number(bins["low"]), number(bins["high"]), bins["count"]
            self.edges = [low + Fraction(k, count) * (high - low) for k in range(count + 1)]
        elif "edges" in entry:
            self.edges = [number(edge) for edge in entry["edges"]]
        if self.edges:
            self.size = len(self.edges) - 1 + self.below + self.above
        else:
            self.size = len(self.values) if self.values is not None else entry["size"]
        self.coded, self.labels, self.levels = self.size, [], []
        if levels:
            self.levels = self.read_levels(levels, lines)
        self.listed = Listed(self.values) if self.values is not None else None
        self.other, self.missing = (self.added(entry.get(k)) for k in ("other", "missing"))
        self.extra = len(self.labels) if self.numeric else 0
        for label in self.labels:
            for _, nodes in self.levels:
                nodes.append(label)

    def added(self, value):  # the cell of `other` or `missing`; a text without a cell adds one
        if value is None:
            return None
        cell = self.code(value)
        if cell is None:
            cell = self.size
            self.labels.append(value.strip())
            self.size += 1
        return cell

    def read_levels(self, levels, lines):
        if lines is None:
            named = sorted((name, [str(x).strip() for x in nodes]) for name,
                           nodes in levels.items())
            return sorted(named, key=lambda level: len(set(level[1])))
        leaves = Listed(self.values) if self.values is not None else None
        of_cell = [None] * self.size
        for leaf, nodes in lines.items():
            of_cell[leaves.cell(leaf) if leaves else int(leaf)] = nodes
        return [(name, [nodes[k] for nodes in of_cell]) for k, name in enumerate(levels["order"])]

    def code(self, value):
        """Returns the cell of a value of the schema or of a text; None if it has none."""
        if self.listed is not None:
            cell = self.listed.cell(value)
            return cell if cell is not None else self.label(value)
        kind, what = key(value)
        what = parsed(what) if kind == "text" else what if kind == "number" else None
        if what is None or (self.integer and what.denominator != 1):
            return self.label(value)
        if self.edges is None:
            fits = what.denominator == 1 and 0 <= what < self.coded
            return int(what) if fits else self.label(value)
        if what < self.edges[0]:
            return 0 if self.below else self.label(value)
        if what > self.edges[-1]:
            return self.coded - 1 if self.above else self.label(value)
        low, high = 0, len(self.edges) - 2
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.edges[middle] <= what else (low, middle - 1)
        return low + self.below

    kind_of = staticmethod(key)

    def limit(self, text, is_time):
        """Returns the number, or the time, that a word of a query denotes; a/b is a fraction."""
        if is_time:
            time = time_of(text)
            return None if time is None else Fraction(time)
        numbers = [parsed(part) for part in text.split("/", 1)]
        if None in numbers or numbers[1:] == [0]:
            return None
        return numbers[0] / numbers[1] if len(numbers) == 2 else numbers[0]

    def label(self, value):
        cell = Listed(self.labels).cell(value)
        return None if cell is None else self.coded + cell

    def cell(self, text):  # of a record: also of missing and other values
        text = text.strip()
        cell = self.code(text)
        if cell is None and text == "":
            cell = self.missing
        return cell if cell is not None else self.other

    def nodes(self):
        """Returns the names of the nodes of all levels by the cells that they contain."""
        found = {}
        for _, nodes in self.levels:
            for label in dict.fromkeys(nodes):
                row = np.array([label == node for node in nodes], float)
                found.setdefault(described(row), []).append(label)
        for cell in range(self.size):
            found.setdefault(f"{cell}-{cell}", []).extend(self.names(cell, cell))
        return found

    def names(self, first, last):
        """Returns the texts that name the cells first to last: values, or numbers at the ends."""
        if first == 0 and last == self.size - 1:
            return [self.name]
        if last >= self.coded or self.edges is None:
            def name(cell):
                if cell >= self.coded:
                    return self.labels[cell - self.coded]
                return written(self.values[cell]) if self.values is not None else str(cell)
            return [name(cell) for cell in (first, last) if cell >= self.coded or not self.edges]
        first, last, bins = first - self.below, last - self.below, len(self.edges) - 1
        if first < 0:
            return [exact(self.edges[last + 1])] if last < bins else []
        low = self.edges[first]
        if self.integer:  # the last bin contains its upper edge
            low = Fraction(-(-low // 1)) if first < bins else Fraction(low // 1 + 1)
        if last == bins:
            return [exact(low)]
        high = self.edges[last + 1]
        if self.integer:
            high = Fraction(high // 1 if last + 1 == bins else -(-high // 1) - 1)
        return [exact(low), exact(high)]

def exact(fraction):  # the decimal of a fraction, or a quotient
    scale, rest = 0, fraction.denominator
    while rest % 10 == 0 or rest % 2 == 0 or rest % 5 == 0:
        rest //= 10 if rest % 10 == 0 else 2 if rest % 2 == 0 else 5
        scale += 1
    if rest != 1:
        return f"{fraction.numerator}/{fraction.denominator}"
    text = f"{abs(fraction.numerator) * 10**scale // fraction.denominator:0{scale + 1}d}"
    whole, part = text[:len(text) - scale], text[len(text) - scale:].rstrip("0")
    return ("-" if fraction < 0 else "") + whole + ("." + part if part else "")

def written(value):  # a value of the schema as a text
    if isinstance(value, bool):
        return str(value).lower()
    return exact(number(value)) if isinstance(value, (int, float)) else str(value).strip()

def levels_of_file(levels, name):  # nodes of every leaf, coarsest first; a release has the content
    if "\n" not in levels["file"]:
        raise Unsupported("the schema names a file of levels that the release does not contain")
    lines = csv.reader(io.StringIO(levels["file"].removeprefix("\ufeff")))
    lines = [[field.strip() for field in line] for line in lines if line]
    header, leaf = lines[0], levels.get("leaf", name)
    columns = [header.index(level) for level in levels["order"]]
    return {line[header.index(leaf)]: [line[k] for k in columns] for line in lines[1:]}

class Schema:
    def __init__(self, text):
        document = toml(text)
        self.attributes = [Attribute(entry) for entry in document["attribute"]]
        self.names = [attribute.name for attribute in self.attributes]
        self.sizes = [attribute.size for attribute in self.attributes]
        self.impossible = [self.box(table) for table in document.get("impossible", [])]
        self.public = [self.box(table) for table in document.get("public", [])]

    def box(self, table):  # the chosen cells per attribute that has a condition
        chosen = {}
        for name, condition in table.get("where", {}).items():
            position = self.names.index(name)
            attribute = self.attributes[position]
            if isinstance(condition, dict):
                first, last = attribute.code(condition["from"]), attribute.code(condition["to"])
                cells = range(first, last + 1)
            else:
                values = condition if isinstance(condition, list) else [condition]
                cells = [attribute.code(value) for value in values]
            chosen[position] = np.zeros(attribute.size)
            chosen[position][list(cells)] = 1.0
        return dict(sorted(chosen.items()))

    def positions(self, names):
        return tuple(sorted(self.names.index(name) for name in names))

    def with_levels(self):
        """Returns the schema with every level as an attribute after the others."""
        domain = copy.copy(self)
        domain.names, domain.sizes, domain.node_of = [*self.names], [*self.sizes], {}
        for position, attribute in enumerate(self.attributes):
            for level, nodes in attribute.levels:
                labels = list(dict.fromkeys(nodes))
                domain.node_of[len(domain.names)] = position, np.array([labels.index(node)
                                                                        for node in nodes])
                domain.names.append(f"{attribute.name}.{level}")
                domain.sizes.append(len(labels))
        return domain

    def level(self, position, name):
        """Returns the position of a level of an attribute."""
        return self.names.index(f"{self.names[position]}.{name}")

    def shape(self, positions):
        return tuple(self.sizes[p] for p in positions)

    def title(self, positions):
        return ", ".join(self.names[p] for p in positions)

def box_cells(box, positions, shape):  # 1 for the cells of a marginal that are in a box
    cells = np.ones(())
    for position, size in zip(positions, shape):
        cells = np.multiply.outer(cells, box.get(position, np.ones(size)))
    return cells

def intervals(pairs, n):
    cells = np.arange(n)
    return np.array([(first <= cells) & (cells <= last) for first, last in pairs], float)

def rows_of(family, n):
    """Returns the queries of a family on one attribute of n cells as rows; None for identity."""
    counts = {"range": n * (n + 1) // 2, "circular": n * n, "predicate": 2**min(n, 40)}
    if counts.get(family, n) * n > MAX_ENTRIES:
        raise Unsupported(f"{family} queries over {n} cells are too many for this program")
    cells = range(n)
    if family == "total":
        return np.ones((1, n))
    if family in ("prefix", "cdf"):
        return intervals([(0, c) for c in cells], n)
    if family == "range":
        return intervals([(s, e) for s in cells for e in cells[s:]], n)
    if family == "circular":
        return np.array([(np.arange(n) + n - s) % n < length for s in cells
                         for length in range(1, n + 1)], float)
    if family == "predicate":
        return np.array([[bits >> cell & 1 for cell in cells] for bits in range(2**n)], float)
    raise Unsupported(f"queries of the family `{family}`")

def on_attribute(family, attribute):
    """Returns the queries of a family; the last cells of an attribute may be outside its order."""
    n, extra = attribute.size, attribute.extra
    if family == "identity":
        return None
    if family in ("total", "predicate") or extra == 0:
        return rows_of(family, n)
    ordered = rows_of(family, n - extra)
    rows = np.zeros((len(ordered) + extra, n))
    rows[:len(ordered), :n - extra] = ordered
    rows[len(ordered):, n - extra:] = np.eye(extra)
    return rows

def nodes_of(attribute, level):
    """Returns the sums over the nodes of an attribute's levels, and its family's name."""
    chosen = [one for one in attribute.levels if level in (None, one[0])]
    if not chosen:
        return None
    rows, n = [], attribute.size
    for _, nodes in chosen:
        nodes = np.array(nodes, dtype=object)
        rows += [nodes == label for label in dict.fromkeys(nodes)]
    if level is None:
        has_root = len(set(chosen[0][1])) > 1
        rows = [np.ones(n)] * has_root + rows + list(np.eye(n))
    return np.array(rows, float), "nested" if level is None else f"level({level})"

Group = namedtuple("Group", "positions shape family factors joint weight query_weights nodes")
Group.__doc__ = """Queries on a set of attributes: one matrix per attribute, None for identity; or
the rows of `joint` over all cells. `nodes` is the axis whose queries are nodes of levels, with the
names of the levels, or None."""

def queries(group):  # the number of queries of a group
    if group.joint is not None:
        return len(group.joint)
    return math.prod(n if rows is None else len(rows) for rows,
                     n in zip(group.factors, group.shape))

def groups(schema, text, matrices):
    """Returns the groups of a workload; `matrices` are the files that it names."""
    found = []
    for entry in toml(text)["queries"]:
        if "query" in entry:
            found += query_groups(schema, entry["query"], float(entry.get("weight", 1.0)))
            continue
        if "attributes" in entry:
            sets = [schema.positions(entry["attributes"])]
        else:
            every = range(len(schema.sizes))
            sets = [set_ for way in entry["ways"] for set_ in itertools.combinations(every, way)]
        weights = entry.get("weights", [entry.get("weight", 1.0)] * len(sets))
        drawn = Drawn(entry)
        for positions, weight in zip(sets, weights):
            of = [schema.attributes[p] for p in positions]
            family, factors, joint = one_group(entry, of, matrices, drawn)
            nodes = None if joint is not None else nodes_axis(entry["family"], of, factors)
            found.append(Group(positions, schema.shape(positions), family, factors, joint,
                               float(weight), entry.get("query_weights"), nodes))
    return found

def nodes_axis(family, of, factors):
    """Returns the axis of the attribute whose queries are nodes of levels, and the levels."""
    level = family[6:-1].strip() if family.startswith("level(") else None
    for axis, (attribute, factor) in enumerate(zip(of, factors)):
        names = [name for name, _ in attribute.levels if level in (None, name)]
        if names and (level or family == "nested") and factor is not None:
            return axis, names
    return None

def query_groups(schema, text, weight):
    """Returns the groups that measure a query in words."""
    found = []
    for rows in release_query.products(schema, text):
        if not rows:  # the number of records
            rows = {0: np.ones((1, schema.sizes[0]))}
            known = [("total", rows[0], None)]
        else:
            known = [known_family(schema.attributes[p], of) for p, of in rows.items()]
        positions, names = tuple(rows), [name for name, _, _ in known]
        name = names[0] if len(set(names)) == 1 else "product"
        nodes = [(axis, [level]) for axis, (_, _, level) in enumerate(known) if level is not None]
        found.append(Group(positions, schema.shape(positions), name, [of for _, of, _ in known],
                           None, weight, None, nodes[0] if nodes else None))
    return found

def known_family(attribute, rows):
    """Returns the family with these rows, its rows (None for identity), and its level if any."""
    n, extra = attribute.size, attribute.extra
    if np.array_equal(rows, np.eye(n)):
        return "identity", None, None
    for name, nodes in attribute.levels:
        of_nodes = nodes_of(attribute, name)[0]
        if np.array_equal(rows, of_nodes):
            return f"level({name})", of_nodes, name
    if attribute.numeric:
        prefix = on_attribute("prefix", attribute)
        if len(rows) == n - extra and np.array_equal(rows, prefix[:n - extra]):
            return "prefix", prefix, None
    return "rows", rows, None

class Drawn:
    """Random queries: those of sets with equal sizes are equal, and new sizes draw new numbers."""
    def __init__(self, entry):
        self.entry, self.known, self.skip = entry, {}, 0

    def rows(self, sizes):
        if sizes not in self.known:
            cells = math.prod(sizes)
            queries = self.entry.get("queries_per_cell", 3) * cells
            if queries * cells > MAX_ENTRIES:
                raise Unsupported(f"{queries} random queries over {cells} cells")
            self.known[sizes] = release_random.rows(
                self.entry.get("seed", 0), self.skip, queries, cells,
                self.entry.get("probability", 0.3))
            self.skip += queries * cells
        return self.known[sizes]

def one_group(entry, of, matrices, drawn):
    family = entry["family"]
    if family == "matrix":
        return family, None, matrices[entry["file"]]
    if family in ("affine", "abs") and len(of) == 2:
        a, b = np.meshgrid(*(np.arange(attribute.size) for attribute in of), indexing="ij")
        measured = (a + b if family == "affine" else abs(a - b)).ravel()
        return family, None, np.array([measured <= c for c in range(measured.max() + 1)], float)
    if family in ("affine", "abs"):
        return "prefix", [on_attribute("prefix", of[0])], None
    if family == "random":
        return family, None, drawn.rows(tuple(attribute.size for attribute in of))
    if family == "hybrid":
        chosen = ["prefix" if attribute.numeric else "identity" for attribute in of]
        return family, [on_attribute(f, a) for f, a in zip(chosen, of)], None
    if family == "nested" or family.startswith("level("):
        level = None if family == "nested" else family[6:-1].strip()
        nodes = [nodes_of(attribute, level) for attribute in of]
        name = next((n[1] for n in nodes if n), "nested" if level is None else "level")
        return name, [n[0] if n else None for n in nodes], None
    return family, [on_attribute(family, attribute) for attribute in of], None

def digits(x):  # the shortest digits of a double, without an exponent
    text = f"{Decimal(repr(float(x))):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text

def described(row):  # the cells that a query on one attribute sums, as in answers.csv
    chosen = np.flatnonzero(row)
    if len(chosen) == 0 or (row[chosen] != 1).any():
        return "weights " + " ".join(map(digits, row))
    if chosen[-1] - chosen[0] + 1 == len(chosen):
        return f"{chosen[0]}-{chosen[-1]}"
    return "cells " + " ".join(map(str, chosen))

def cells_in_words(group):
    """Returns what the column `cells` of answers.csv has for every query of a group."""
    if group.joint is not None:
        return [f"row {k}" for k in range(len(group.joint))]
    axes = []
    for rows, size in zip(group.factors, group.shape):
        axes.append([f"{k}-{k}" for k in range(size)] if rows is None else [*map(described, rows)])
    return ["; ".join(parts) for parts in itertools.product(*axes)]
