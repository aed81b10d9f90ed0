"""Lower bound on the error of all matrix mechanisms for S3's affine and absolute-difference queries
(docs/reference-measures.md, Proposition 4).

python3 scripts/pair_bound.py N D affine|abs [GAMMA]

Prints the trace norm of W diag(m)^(1/2) over the square root of the number of queries: a lower
bound on the root mean square error at privacy cost 1.

W: prefix sums on each of D attributes of N values, and the family on every pair.
m: a product measure, on each attribute proportional to (x(1-x))^-GAMMA at x = (i + 1/2)/N. Every
GAMMA gives a bound; without one the best of 0, 0.05, ..., 1.5 is printed.

K = W diag(m) W^T holds the expected products of two queries under m. Permuting the attributes
permutes its rows and columns, so K splits into three blocks: sums over all attributes (once), sums
over the pairs of an attribute (D - 1 times), and the rest of the pairs (D(D - 3)/2 times). Its
trace root is the sum of theirs.

Needs NumPy; time ~ (3N)^3. The lower ends of affine and abs in data/expected/beyond_reference.csv
are its values, rounded down."""
import sys
import numpy as np

def root(k):  # eigenvalues within rounding error of zero are dropped, which lowers the bound
    values = np.linalg.eigvalsh(k)
    return np.sqrt(values[values > len(k) * np.finfo(float).eps * values[-1]]).sum()

def bound(n, d, name, gamma):
    x = (np.arange(n) + 0.5) / n
    m = (x * (1 - x)) ** -gamma
    m /= m.sum()
    i = np.arange(n)
    value = i[:, None] + i[None, :] if name == "affine" else abs(i[:, None] - i[None, :])
    family = np.array([value <= c for c in range(value.max() + 1)], float)
    # Expectations given one attribute; both families are symmetric in their two attributes.
    prefix, given = np.tril(np.ones((n, n))), family @ m
    one, two = prefix @ m, given @ m
    # Two prefix sums: on the same attribute, on different ones.
    single = [(prefix * m) @ prefix.T, np.outer(one, one)]
    # A prefix sum and a query on a pair: on an attribute of the pair, on another.
    mixed = [(prefix * m) @ given.T, np.outer(one, two)]
    cells = family.reshape(len(family), -1)
    # Two queries on pairs that share two attributes, one, none.
    pair = [(cells * np.outer(m, m).ravel()) @ cells.T, (given * m) @ given.T, np.outer(two, two)]
    pairs = d * (d - 1) / 2
    everything = np.block([
        [single[0] + (d - 1) * single[1],
         np.sqrt(pairs / d) * (2 * mixed[0] + (d - 2) * mixed[1])],
        [np.zeros((len(two), n)),
         pair[0] + 2 * (d - 2) * pair[1] + (d - 2) * (d - 3) / 2 * pair[2]]])
    of_one = np.block([
        [single[0] - single[1], np.sqrt(d - 2) * (mixed[0] - mixed[1])],
        [np.zeros((len(two), n)), pair[0] + (d - 4) * pair[1] - (d - 3) * pair[2]]])
    rest = pair[0] - 2 * pair[1] + pair[2]
    symmetric = [np.triu(k) + np.triu(k, 1).T for k in (everything, of_one)]
    total = root(symmetric[0]) + (d - 1) * root(symmetric[1]) + d * (d - 3) / 2 * root(rest)
    return total / np.sqrt(d * n + pairs * len(family))

if len(sys.argv) not in (4, 5) or sys.argv[3] not in ("affine", "abs"):
    sys.exit(__doc__)
if not all(text.isdecimal() and int(text) >= 2 for text in sys.argv[1:3]):
    sys.exit(f"expected N and D of 2 or more, found {sys.argv[1]} and {sys.argv[2]}")
n, d = int(sys.argv[1]), int(sys.argv[2])
gammas = [float(g) for g in sys.argv[4:]] or np.arange(31) * 0.05
print(max(bound(n, d, sys.argv[3], gamma) for gamma in gammas))
