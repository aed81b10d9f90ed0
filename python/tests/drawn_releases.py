"""Draws schemas, tables, workloads and options of releases, and lets the command make them."""

import csv
import random
import subprocess
from pathlib import Path

from common import COMMAND

PLANNERS = ["query-smasher", "anova", "residual-planner", "residual-planner-plus",
            "residual-planner-plus-prefix", "weighted-fourier"]


class Attribute:
    """An attribute of a schema, with texts of values that a table can have."""

    def __init__(self, draw, name, closed):
        self.name = name
        kind = draw.choice(["values", "bins", "edges", "integers", "numbers", "levels"])
        self.numeric, self.levels = kind in ("bins", "edges", "integers", "numbers"), []
        size, self.limits, self.is_open = draw.randint(2, 5), [], False
        keys = {"kind": '"numeric"' if self.numeric else '"categorical"'}
        if kind == "values":
            values = draw.choice([["a b", "ç", "x·y", "<z>", "it's"],
                                  ["1.50", "02", "7", "-3", "0"],
                                  ["yes", "no", "true", "2020-01-31", "|"]])[:size]
            keys["values"] = "[" + ", ".join(f'"{value}"' for value in values) + "]"
            self.texts = values
        elif kind == "levels":
            self.texts = [f"leaf {k}" for k in range(size + 1)]
            nodes = [draw.choice("AB") for _ in self.texts]
            if draw.random() < 0.5:
                keys["values"] = "[" + ", ".join(f'"{value}"' for value in self.texts) + "]"
                listed = ", ".join(f'"{node}"' for node in nodes)
                keys["levels"] = f"{{ county = [{listed}] }}"
            else:
                lines = "\\n".join([f"{name},county", *map(",".join, zip(self.texts, nodes))])
                keys["levels"] = f'{{ file = "{lines}\\n", order = ["county"] }}'
            self.levels = ["county"]
        elif kind == "numbers":
            keys["size"] = str(size)
            self.texts = [str(k) for k in range(size)]
            self.limits = self.texts
        else:
            low, width = draw.choice([0, -2.5, 10]), draw.choice([1, 0.1, 7])
            if kind == "bins":
                keys["bins"] = f"{{ low = {low}, high = {low + size * width}, count = {size} }}"
            else:
                step = round(width) or 1
                low = round(low)
                if kind == "integers":
                    keys["kind"] = '"integer"'
                edges = [low + step * k * (k + 1) // 2 + k for k in range(size + 1)]
                keys["edges"] = str(edges)
                width = (edges[-1] - low) / size
            self.limits = [str(edge) for edge in edges] if kind != "bins" else [
                str(low), str(low + size * width)]
            self.texts = [f"{low + width * (k + 0.3):.{0 if kind == 'integers' else 3}f}"
                          for k in range(size)]
            for end, text in (("below", str(round(low) - 5)), ("above", str(round(low) + 1000))):
                if draw.random() < 0.3:
                    keys[end], self.is_open = "true", True
                    self.texts.append(text)
        if closed or draw.random() < 0.3:
            keys["other"] = '"any other"'
            self.texts.append("outside?")
        if draw.random() < 0.3:
            keys["missing"] = draw.choice(['"any other"', '"none given"'])
            self.texts.append("")
        self.ordered = self.numeric and not {"other", "missing"} & set(keys)
        keys = "\n".join(f"{key} = {value}" for key, value in keys.items())
        self.text = f'[[attribute]]\nname = "{name}"\n{keys}\n'


def condition(draw, attributes):
    """Returns the texts of one or two attributes of an [[impossible]] or [[public]] table."""
    chosen = {}
    for attribute in draw.sample(attributes, min(len(attributes), draw.randint(1, 2))):
        chosen[attribute] = draw.sample(attribute.texts[:2], draw.randint(1, 2))
    return chosen


def where(name, chosen):
    """Returns the table of a condition."""
    parts = []
    for attribute, texts in chosen.items():
        texts = [text if attribute.numeric else f'"{text}"' for text in texts]
        parts.append(f'"{attribute.name}" = [{", ".join(texts)}]')
    return f"\n[[{name}]]\nwhere = {{ {', '.join(parts)} }}\n"


def queries(draw, attributes, staged):
    """Returns [[queries]] tables of a workload."""
    names = [attribute.name for attribute in attributes]
    ways = draw.choice([[1], [2], [1, 2], [1, len(names)]]) if len(names) > 2 else [1, 2]
    tables = [f'family = "{draw.choice(["identity", "hybrid"])}"\nways = {ways}']
    ordered = [a.name for a in attributes if a.numeric]
    plain = [a.name for a in attributes if a.ordered]
    nested = [a.name for a in attributes if a.levels]
    for _ in range(draw.randint(0, 3)):
        family = draw.choice(["prefix", "range", "circular", "total", "predicate", "nested",
                              "level(county)", "affine", "abs", "matrix", "cdf", "random"])
        pool = {"nested": nested, "level(county)": nested, "affine": plain, "abs": plain,
                "total": names, "predicate": names, "matrix": names, "random": names}.get(family,
                                                                                          ordered)
        count = 2 if family in ("affine", "abs") else draw.randint(1, 2)
        if family in ("nested", "level(county)", "matrix", "predicate"):
            count = 1
        if len(pool) < count:
            continue
        chosen = sorted(draw.sample(pool, count), key=names.index)
        if family in ("nested", "level(county)") and draw.random() < 0.5:
            other = draw.choice(names)
            if other not in chosen and other not in nested:
                chosen = sorted([*chosen, other], key=names.index)
        table = f'family = "{family}"\nattributes = {str(chosen).replace(chr(39), chr(34))}'
        if family == "matrix":
            table += f'\nfile = "{chosen[0]}.csv"'
        elif not staged and draw.random() < 0.3:
            table += f"\nweight = {draw.choice([2.0, 0.5])}"
        tables.append(table)
    # Drawn apart, so that other parts of a release do not depend on the queries.
    words = random.Random(f"queries {draw.random()}")
    for _ in range(words.choice([0, 1, 2, 3])):
        tables.append(f"query = '''{query(words, attributes)}'''")
    return "\n\n".join(f"[[queries]]\n{table}" for table in tables) + "\n"


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


def test_of(draw, attribute):
    """Returns a condition of a query on an attribute."""
    name = quoted(attribute.name)
    if attribute.levels and draw.random() < 0.5:
        node = draw.choice("AB")
        return f"county of {name} {draw.choice(['=', '!='])} {node}"
    if not attribute.numeric:
        first, last = (quoted(draw.choice(attribute.texts[:2])) for _ in range(2))
        return draw.choice([f"{name} = {first}", f"{name} != {first}", f"{name} in ({first}, {last})"])
    limit, high = draw.choice(attribute.limits[:-1]), attribute.limits[-1]
    if attribute.limits is attribute.texts:
        return draw.choice([f"{name} <= {limit}", f"{name} != {limit}", f"{name} > {limit}",
                            f"{name} in ({limit}, {high})"])
    return draw.choice([f"{name} >= {limit}", f"{name} < {limit}", f"{name} <= {high}",
                        f"{name} between {limit} and {high}"])


def query(draw, attributes):
    """Returns a query in words; the command refuses some of them."""
    with_conditions = draw.sample(attributes, draw.randint(0, min(2, len(attributes))))
    numeric = [a for a in attributes if a.numeric]
    closed = [a for a in numeric if not a.is_open]
    kind = draw.choice(["count", "share", "total"] + ["quantile"] * bool(numeric)
                       + ["sum", "mean"] * bool(closed))
    if kind == "total":
        return kind
    of = draw.choice(closed if kind in ("sum", "mean") else numeric or attributes)
    by = [a for a in draw.sample(attributes, draw.randint(0, 2)) if a is not of]
    names = [f"county of {quoted(a.name)}" if a.levels and draw.random() < 0.5 else quoted(a.name)
             for a in by]
    group = f" by {', '.join(names)}" if names else ""
    def term():
        conditions = [test_of(draw, a) for a in with_conditions if a not in by]
        where = f" where {' and '.join(conditions)}" if conditions else ""
        measure = {"count": "count", "share": f"share of {test_of(draw, draw.choice(attributes))}",
                   "quantile": draw.choice([f"median({quoted(of.name)})",
                                            f"quantile({quoted(of.name)}, 0.8)"]),
                   }.get(kind, f"{kind}({quoted(of.name)})")
        return measure + draw.choice([where + group, group + where])
    return term() if draw.random() < 0.7 else f"{term()} {draw.choice('+-')} {term()}"


class Drawn:
    """A release that was drawn: its folder and its ledger."""

    def __init__(self, folder, seed, mechanism):
        draw = random.Random(f"{mechanism} {seed}")
        self.folder, self.out = Path(folder), Path(folder) / "out"
        self.ledger = self.folder / "ledger.jsonl"
        neighbours = draw.choice(["add-remove", "add-remove", "replace"])
        count = draw.randint(2, 4)
        closed = neighbours == "replace" and draw.random() < 0.6
        names = draw.sample(["age", "job type", "größe", "a_b*c", "town"], count)
        self.attributes = [Attribute(draw, name, closed) for name in names]
        staged = mechanism == "staged"
        schema = "\n".join(attribute.text for attribute in self.attributes)
        self.impossible = condition(draw, self.attributes) if draw.random() < 0.4 else {}
        if self.impossible:
            schema += where("impossible", self.impossible)
        if not staged and neighbours == "replace" and draw.random() < 0.5:
            schema += where("public", condition(draw, self.attributes))
        workload = queries(draw, self.attributes, staged)
        (self.folder / "schema.toml").write_text(schema, encoding="utf-8")
        (self.folder / "workload.toml").write_text(workload, encoding="utf-8")
        self.write_matrices(draw)
        self.write_table(draw)
        person = ["--person", "who"] if draw.random() < 0.2 else []
        rows = draw.choice([1, 1, 2, 3])
        unit = ["--neighbours", neighbours, "--unit-rows", str(rows)]
        different = random.Random(f"distinct {mechanism} {seed}")
        self.distinct = rows > 1 and different.random() < 0.6
        distinct = ["--distinct", different.choice(names)] if self.distinct else []
        epsilon, delta = draw.choice(["0.3", "1", "4", "20"]), draw.choice(["1e-9", "1e-6", "0.01"])
        budget = ["--epsilon", epsilon, "--delta", delta]
        if draw.random() < 0.25:  # so much that answers have more than six decimals
            budget = ["--rho", "1e6" if staged else "1e9"]
        options = self.options(draw, staged)
        self.command("ledger", "create", self.ledger, "--rho", "1e12", "--unit-rows", str(rows),
                     "--neighbours", neighbours, *person, *distinct)
        for out in ("before", "out", "after"):
            more = options if out == "out" else ["--out-of-domain", "drop"]
            self.command("release", *unit, *person, *distinct, *budget, *more, "--ledger", self.ledger,
                         "--data", self.folder / "table.csv", "--out", self.folder / out)

    def options(self, draw, staged):
        options = ["--out-of-domain", draw.choice(["drop", "clamp"])]
        if not staged:
            planner = draw.choice(PLANNERS)
            options += ["--planner", planner]
            if planner != "residual-planner-plus-prefix" and draw.random() < 0.3:
                options += ["--objective", draw.choice(["max", "balanced:0.3"])]
            return options + ["--adjust"] * (planner != "anova" and draw.random() < 0.2)
        options += ["--mechanism", draw.choice(["staged", "staged(stages=2)", "staged(switch=0)",
                                                "staged(stages=1, ratio=2, total=0.02)"])]
        options += draw.choice([[], [], ["--certificate", "0.2"], ["--certificate", "0"]])
        return options + draw.choice([[], ["--records", "auto"], ["--records", "57"]])

    def write_matrices(self, draw):
        for attribute in self.attributes:
            size = self.cells(attribute)
            rows = [[draw.choice([0, 1, -1, 2.5]) for _ in range(size)] for _ in range(3)]
            rows[0][0] = 1
            lines = "\n".join(",".join(map(str, row)) for row in rows)
            (self.folder / f"{attribute.name}.csv").write_text(lines + "\n", encoding="utf-8")

    @staticmethod
    def cells(attribute):
        """Returns the number of cells of an attribute; every text is in a cell of its own."""
        texts = attribute.texts
        same = 'missing = "any other"' in attribute.text and 'other = "any other"' in attribute.text
        return len(texts) - same

    def write_table(self, draw):
        with open(self.folder / "table.csv", "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow([*(attribute.name for attribute in self.attributes), "who"])
            for _ in range(draw.choice([30, 400])):
                values = [draw.choice(attribute.texts) for attribute in self.attributes]
                of = dict(zip(self.attributes, values))
                if self.impossible and all(of[a] in t for a, t in self.impossible.items()):
                    continue
                out.writerow([*values, draw.randint(1, 200)])

    def command(self, *words):
        """Runs a command; ValueError has the message of one that is refused."""
        words = [*map(str, words)]
        if words[0] == "release":
            words += ["--schema", str(self.folder / "schema.toml"),
                      "--workload", str(self.folder / "workload.toml")]
        done = subprocess.run([str(COMMAND), *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ValueError(done.stderr)
