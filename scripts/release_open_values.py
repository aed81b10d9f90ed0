"""Checks of a release of values that are not public: those that enough records have.

A value with c records has the noisy count y = 2^bits c + N(0, sigma^2), and is published if y >= T.
With K records per person and s = 2^bits (docs/releasing.md, Drafting a schema):

    rho    = K^2 s^2 changed / (2 sigma^2),    changed = 1, or 2 if records are replaced
    delta' = max(K P(s + N >= T - 1), P(K s + N >= T - 1))"""
import math
from fractions import Fraction
from types import SimpleNamespace
import release_privacy as privacy
import release_schema
from release_report import CLOSE, UNCHECKED, decimal, fraction, in_digits, load, near, require

FILES = {"measurements", "statement.json", "statement.md", "SHA256SUMS"}
MISSING, OTHER = LABELS = ["unknown", "other"]
MAX_BITS = 60

class OpenValues:
    """The files of a release of values of a column."""
    is_staged, is_open = False, True

    def __init__(self, path):
        self.path, self.measured, self.file = path, path / "measurements", path / "statement.json"
        self.statement = load(self.file)
        column = self.statement["column"]
        attribute = release_schema.Attribute(entry(column, ["value"]))
        self.schema = SimpleNamespace(names=[column], sizes=[attribute.size], impossible=[],
                                      public=[], attributes=[attribute])

def entry(column, values):  # the attribute of published values, as TOML is read
    return {"name": column, "kind": "categorical", "values": values, "missing": MISSING,
            "other": OTHER}

class Published:
    """The published values, and the question that they answer."""
    def __init__(self, folder):
        self.file = folder.measured / "values.json"
        names = sorted(p.name for p in folder.measured.iterdir())
        require(names == ["SHA256SUMS", "values.json"], "values.json and its checksum", names,
                folder.measured)
        document = load(self.file)
        keys = {"column", "unit", "bits", "deviation", "threshold", "values"}
        require(set(document) == keys, sorted(keys), sorted(document), self.file)
        self.column, self.unit, self.bits = (document[k] for k in ("column", "unit", "bits"))
        require(type(self.bits) is int and 0 <= self.bits <= MAX_BITS, f"0 to {MAX_BITS} bits",
                self.bits, self.file)
        self.deviation = fraction(document["deviation"], self.file)
        require(self.deviation >= privacy.FINE, "fine noise: a deviation of 65536 or more",
                document["deviation"], self.file)
        self.threshold = int(document["threshold"])
        self.values = [(text, int(noisy)) for text, noisy in document["values"]]

def listed(folder, made):
    """Checks the published values, and that they are those of the statement's schema."""
    published = made["published"] = Published(folder)
    file, texts = published.file, [text for text, _ in published.values]
    ordered = [text.encode("utf-8") for text in texts]
    require(all(a < b for a, b in zip(ordered, ordered[1:])), "different values, ordered by bytes",
            "another order", file)
    wrong = [text for text in texts if text != text.strip() or text in ("", *LABELS)]
    require(not wrong, "trimmed texts that are no labels of cells", wrong[:3], file)
    low = [text for text, noisy in published.values if noisy < published.threshold]
    require(not low, f"noisy counts of {published.threshold} or more", f"less for {low[:3]}", file)
    statement = folder.statement
    for name in ("column", "unit"):
        require(getattr(published, name) == statement[name], statement[name],
                getattr(published, name), file)
    document = release_schema.toml(statement["schema"])
    wanted = {"attribute": [entry(published.column, texts)]} if texts else {}
    require(document == wanted, f"a schema with the {len(texts)} values",
            str(document)[:100] or "nothing", folder.file)
    one = 2.0**published.bits
    near(float(published.deviation) / one, statement["deviation"], "deviation", folder.file)
    near(published.threshold / one, statement["threshold"], "threshold", folder.file)
    words = f"# values with a noisy count of at least {in_digits(statement['threshold'])} records\n"
    require(statement["workload"] == words, words, statement["workload"], folder.file)
    return f"{len(texts)} values in the order of their bytes, none below the threshold of " \
        f"{in_digits(statement['threshold'])} records"

def rho(folder, published):
    """Checks rho, which is exact."""
    statement, unit = folder.statement, folder.statement["unit"]
    changed = 1 if unit["neighbours"] == privacy.ADD else 2
    cost = Fraction(unit["rows"]**2 * changed * 4**published.bits) / (2 * published.deviation**2)
    require(cost <= decimal(statement["rho"]) <= cost * (1 + Fraction(1, 10**12)),
            f"rho {float(cost)!r}, rounded up", statement["rho"], folder.file)
    require(decimal(statement["rho"]) <= decimal(statement["rho_reserved"]),
            f"a cost within the reserved rho {statement['rho_reserved']!r}", statement["rho"],
            folder.file)
    return f"{float(cost)!r} from the integers (exact), {statement['rho_reserved']!r} reserved"

def ln_tail(x):
    """Returns ln P(N(0, 1) >= x) for x >= 0."""
    if x < 20:
        return math.log(0.5 * math.erfc(x / math.sqrt(2)))
    rest = x  # the continued fraction of the Mills ratio
    for k in range(60, 0, -1):
        rest = x + k / rest
    return -x * x / 2 - 0.5 * math.log(2 * math.pi) - math.log(rest)

def ln_new_delta(published, threshold):
    """Returns ln of the probability that a value of one person is published, at most."""
    rows, one, sigma = published.unit["rows"], 2**published.bits, float(published.deviation)
    def tail(records):
        distance = threshold - 1 - one * records
        return ln_tail(distance / sigma) if distance >= 0 else 0.0
    return min(max(math.log(rows) + tail(1), tail(rows)), 0.0)

def new_delta(folder, published):
    """Checks that the threshold is the smallest that delta' allows."""
    stated = folder.statement["new_delta"]
    require(0 < stated < folder.statement["delta"], "delta' above 0 and below delta", stated,
            folder.file)
    found, lower = (ln_new_delta(published, published.threshold - k) for k in (0, 2))
    require(found <= math.log(stated) + CLOSE, f"delta' of at least {math.exp(found)!r}", stated,
            published.file)
    require(lower > math.log(stated) - CLOSE, "the smallest threshold for delta' "
            f"{stated!r}", f"one that allows {math.exp(found)!r}", published.file)
    return f"{math.exp(found)!r} for any value of one person, from the threshold; {stated!r} stated"

def open_values(report, folder, unit):
    """Checks a release of values."""
    made = {}
    report.check("published values", listed, folder, made)
    if unit is None or "published" not in made:
        report.add("rho and delta'", UNCHECKED, why="unit or values cannot be read")
        return
    report.check("rho", rho, folder, made["published"])
    report.check("delta'", new_delta, folder, made["published"])
    report.add("values that are not listed", UNCHECKED, why="that every value with such a noisy "
               "count is listed")
