"""The lines of a report on a release, and comparisons that raise differences."""
import hashlib, json, math, re
from decimal import Decimal
from fractions import Fraction
from release_schema import Unsupported

CLOSE = 1e-9  # the agreement of recomputed doubles
CHECKED, FAILED, UNCHECKED = "checked", "failed", "could not be checked"

class Difference(Exception):
    """What was expected and what was found, and in which file."""

def differ(expected, found, file):
    raise Difference(str(expected), str(found), str(file))

def require(holds, expected, found, file):
    if not holds:
        differ(expected, found, file)

class Report:
    def __init__(self, folder):
        self.folder, self.items = folder, []

    def add(self, item, status, **details):
        self.items.append({"item": item, "status": status, **details})

    def check(self, item, function, *arguments):
        """Runs a check, which returns what was checked in words, and returns whether it passed."""
        try:
            self.add(item, CHECKED, what=function(*arguments))
            return True
        except Difference as difference:
            expected, found, file = difference.args
            self.add(item, FAILED, expected=expected, found=found, file=file)
        except Unsupported as unsupported:
            self.add(item, UNCHECKED, why=str(unsupported))
        except MemoryError:
            self.add(item, UNCHECKED, why="there is not enough memory")
        except Exception as error:  # a damaged file can raise any error
            kind = type(error).__name__
            self.add(item, FAILED, expected="files as a release writes them",
                     found=f"{kind}: {error}"[:300],
                     file=str(getattr(error, "filename", None) or self.folder))
        return False

    def failed(self):
        return sum(item["status"] == FAILED for item in self.items)

    def text(self):
        lines = []
        for item in self.items:
            if item["status"] == FAILED:
                details = f"expected {item['expected']}; found {item['found']}; in {item['file']}"
            else:
                details = item.get("what") or item.get("why")
            lines.append(f"{item['status']:<21}{item['item']}: {details}")
        count = {status: sum(item["status"] == status for item in self.items)
                 for status in (CHECKED, FAILED, UNCHECKED)}
        lines.append(", ".join(f"{number} {status}" for status, number in count.items()))
        return "\n".join(lines)

def near(expected, found, what, file, tolerance=CLOSE):
    close = abs(expected - found) <= tolerance * max(abs(expected), 1e-300)
    require(isinstance(found, (int, float)) and close, f"{what} {expected!r}", repr(found), file)

def decimal(number):  # a double stands for its shortest decimal
    return Fraction(Decimal(repr(number)))

def in_digits(number):  # as statements print numbers: at least six decimals and four digits
    places = math.ceil(-math.log10(abs(number))) + 4 if number else 6
    return f"{number:.{max(places, 6)}f}"

def strict(pairs):  # a repeated key could hide a number
    keys = [key for key, _ in pairs]
    require(len(keys) == len(set(keys)), "every key once", f"a repeated key in {keys[:8]}", "JSON")
    return dict(pairs)

def load(path):
    return json.loads(path.read_text("utf-8"), object_pairs_hook=strict)

def fraction(text, file):  # a deviation like 5/2
    found = re.fullmatch(r"(\d+)/([1-9]\d*)", text)
    require(found, "a deviation like 5/2", text, file)
    return Fraction(int(found[1]), int(found[2]))

def sha256(data):
    return hashlib.sha256(data).hexdigest()
