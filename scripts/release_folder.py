"""The files of a release, and whether they agree with each other."""
import math, re
import numpy as np
import release_privacy as privacy
import release_schema
from release_report import fraction, load, require, sha256
from release_schema import Unsupported

NEIGHBOURS = {privacy.ADD: "add or remove one record", privacy.REPLACE: "replace one record",
              privacy.BOTH: "replace, add or remove one record"}

def checksums(folder):
    """Checks every SHA256SUMS, and that every file next to one is in it."""
    lists, files = sorted(folder.rglob("SHA256SUMS")), 0
    measured = folder / "measurements"
    wanted = [measured] + [p for p in sorted(measured.iterdir()) if p.is_dir()]
    for part in wanted:
        require(part / "SHA256SUMS" in lists, "the file SHA256SUMS", "none", part)
    for sums in lists:
        named = {}
        for line in sums.read_text("utf-8").splitlines():
            digest, _, name = line.partition("  ")
            require(name and name not in named, "SHA-256 and name of a file", line, sums)
            named[name] = digest
        for name, digest in named.items():
            found = sha256((sums.parent / name).read_bytes())
            require(found == digest, f"SHA-256 {digest}", found, sums.parent / name)
        extra = {p.name for p in sums.parent.iterdir() if p.is_file()} - set(named) - {"SHA256SUMS"}
        require(not extra, "only files that SHA256SUMS names", sorted(extra), sums.parent)
        files += len(named)
    return f"SHA-256 of {files} files in {len(lists)} lists"

class Folder:
    """The files of a release."""
    is_open = False

    def __init__(self, path):
        self.path, self.measured = path, path / "measurements"
        self.statement = load(path / "statement.json")
        self.before = load(self.measured / "statement.json")
        self.schema_text = (self.measured / "schema.toml").read_bytes().decode("utf-8")
        self.schema = release_schema.Schema(self.schema_text)
        self.is_staged = "stages" in self.statement
        self.file = path / "statement.json"

    def matrices(self):
        if not (self.measured / "inputs.json").exists():
            return {}
        entries = load(self.measured / "inputs.json")["files"]
        for entry in entries:
            require("/" not in entry["file"] and "\\" not in entry["file"], "files of the folder",
                    entry["file"], self.measured / "inputs.json")
        return {entry["name"]: np.load(self.measured / entry["file"]) for entry in entries
                if entry["kind"] == "matrix"}

    def groups(self):
        return release_schema.groups(self.schema, self.statement["workload"], self.matrices())

def statements(folder):
    """Checks that the statements before and after the records were read, and the schema, agree."""
    later = {"stages", "certificate", "synthetic", "rho_of_questions"} if folder.is_staged else \
        {"adjusted"}
    names = set(folder.statement) ^ set(folder.before)
    require(not names - later - {"public_counts"}, "the same entries in both statements",
            sorted(names), folder.file)
    for name, value in folder.before.items():
        found = folder.statement.get(name)
        if name == "public_counts":
            value = [{**count, "count": None} for count in value]
            found = [{**count, "count": None} for count in found or []]
        if name not in later:
            require(found == value, f"{name} as in measurements/statement.json: "
                    f"{str(value)[:80]}", str(found)[:80], folder.file)
    require(folder.statement["schema"] == folder.schema_text,
            "the schema of measurements/schema.toml",
            "another schema", folder.file)
    return "schema, workload, unit, budget and ledger line agree in all files"

def unit_of(folder):
    """Checks the privacy unit, and that its neighbours fit the schema."""
    statement, unit, schema = folder.statement, folder.statement["unit"], folder.schema
    if set(unit) - {"distinct"} != {"neighbours", "rows"}:
        raise Unsupported(f"a privacy unit with {sorted(unit)}")
    neighbours, rows = unit["neighbours"], unit["rows"]
    require(neighbours in NEIGHBOURS, "known neighbours", neighbours, folder.file)
    require(isinstance(rows, int) and rows > 0, "records per person", rows, folder.file)
    words = NEIGHBOURS[neighbours] + (f", up to {rows} times" if rows > 1 else "")
    distinct, limit = unit.get("distinct"), statement["person_limit"]
    name = None if distinct is None else schema.names[distinct]
    words += f", with different values of `{name}`" if name is not None and rows > 1 else ""
    words += f", of a person by `{limit['column']}`" if limit is not None else ""
    require(statement.get("distinct_values_of") == name, f"different values of {name}",
            statement.get("distinct_values_of"), folder.file)
    require(limit is None or limit.get("distinct") == name, f"different values of {name}", limit,
            folder.file)
    require(statement["unit_in_words"] == words, words, statement["unit_in_words"], folder.file)
    public = neighbours == privacy.REPLACE
    require(statement["number_of_records_is_public"] == public,
            f"number_of_records_is_public {public}", not public, folder.file)
    if public:  # then no record may be left out
        closed = all(attribute.other is not None for attribute in schema.attributes)
        require(closed and statement["person_limit"] is None,
                "a cell for other values in every attribute, and no limit per person",
                "records can be left out, so that their number is not public", folder.file)
    require(limit is None or limit["rows"] == rows, f"{rows} records per person", limit,
            folder.file)
    require(not schema.public or neighbours != privacy.ADD,
            "neighbours that replace records, as counts are public", neighbours, folder.file)
    require(len(statement.get("impossible", [])) == len(schema.impossible)
            and len(statement.get("public_counts", [])) == len(schema.public),
            "the impossible and public tables of the schema", "others", folder.file)
    return words

class Measured:
    """The integer strategies of a folder with their noisy integers."""
    def __init__(self, folder, schema, unit):
        self.file = folder / "strategies.json"
        document = load(self.file)
        require(document["format"] in (2, 3), "format 3", document["format"], self.file)
        require(document["unit"] == unit, f"the unit {unit}", document["unit"], self.file)
        self.measures, self.public = document["measures"], document.get("public_counts", [])
        fits = len(self.measures) == len(schema.sizes) and \
            all(len(p) in (0, n) for p, n in zip(self.measures, schema.sizes))
        require(fits, "a measure per attribute", "others", self.file)
        require(len(self.public) == len(schema.public), "the public counts of the schema",
                self.public, self.file)
        self.known = {}  # equal factors are one object
        factors = [self.factor(entry) for entry in document["factors"]]
        self.terms = [self.term(entry, factors, schema) for entry in document["subspaces"]]
        sets = [term.positions for term in self.terms]
        require(len(sets) == len(set(sets)), "every set of attributes once", "one twice", self.file)
        self.noisy = self.read_noisy(folder / "noisy.csv")

    def factor(self, entry):
        shape, rows = tuple(entry["shape"]), entry.get("rows")
        if entry.get("form") == "centred-identity":
            return self.shared(shape, None), [[1] * n for n in shape]
        matrix = np.empty((len(rows), len(rows[0])), dtype=object)
        for k, row in enumerate(rows):
            require(len(row) == math.prod(shape) and all(type(x) is int for x in row),
                    f"rows of {math.prod(shape)} integers", row[:5], self.file)
            matrix[k] = row
        array = matrix.reshape((len(rows),) + shape)
        for axis, p in enumerate(entry["measures"]):
            require(len(p) == shape[axis] and sum(p) > 0, "a measure with a positive sum", p,
                    self.file)
            sums = np.tensordot(array, np.array(p, dtype=object), axes=(axis + 1, 0))
            require(not np.any(sums), "rows that annihilate the measure", "others", self.file)
        n = len(matrix)
        is_uniform = all(set(p) == {1} for p in entry["measures"])
        is_centred = is_uniform and shape == (n,) and n > 2 and all(
            matrix[i, j] == (n - 1 if i == j else -1) for i in range(n) for j in range(n))
        return self.shared(shape, None if is_centred else matrix), entry["measures"]

    def shared(self, shape, rows):
        key = shape, None if rows is None else tuple(rows.ravel())
        return self.known.setdefault(key, privacy.Factor(shape, rows))

    def term(self, entry, factors, schema):
        positions, scale, chosen, measures = schema.positions(entry["attributes"]), 1, [], []
        for factor, of in (factors[k] for k in entry["factors"]):
            if factor.shape:
                chosen.append(factor)
                measures += of
            else:
                scale *= int(factor.rows[0, 0])
        shape = tuple(n for factor in chosen for n in factor.shape)
        require(scale > 0 and shape == schema.shape(positions) and
                measures == [self.measures[p] for p in positions],
                "factors with the sizes and measures of their attributes", entry, self.file)
        deviation = fraction(entry["deviation"], self.file)
        require(deviation == 0 or deviation >= privacy.FINE,
                "fine noise: a deviation of 65536 or more",
                entry["deviation"], self.file)
        term = privacy.Term(positions, scale, chosen, deviation)
        require(term.rows() == entry["answers"], f"{term.rows()} integers", entry["answers"],
                self.file)
        return term

    def read_noisy(self, file):
        lines = file.read_text("utf-8").split("\n")
        require(lines[0] == "subspace,answer" and lines[-1] == "", "a table of noisy integers",
                "another start or end", file)
        total = sum(term.rows() for term in self.terms)
        require(len(lines) - 2 == total, f"{total} noisy integers", len(lines) - 2, file)
        noisy, start = [], 1
        for index, term in enumerate(self.terms):
            end = start + term.rows()
            found = [re.fullmatch(rf"{index},(-?\d+)", line) for line in lines[start:end]]
            require(all(found), f"integers of measurement {index}", "something else", file)
            noisy.append([int(match[1]) for match in found])
            start = end
        return noisy
