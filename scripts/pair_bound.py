"""A bound on the error of every matrix mechanism for S3's affine queries and absolute differences (docs/reference-measures.md, Proposition 4).

python3 scripts/pair_bound.py N D affine|abs [GAMMA]

Prints the trace norm of W diag(m)^(1/2) over the square root of the number of queries: the root mean square error at privacy cost 1 that
nothing is below. W: prefix sums on each of D attributes of N values, and the family on every pair. m: a product measure, each attribute's
proportional to (x(1-x))^-GAMMA at x = (i + 1/2)/N; any GAMMA gives a bound, and without one the best of 0, 0.05, ..., 1.5 is printed.

K = W diag(m) W^T holds the expected products of two queries under m. Permuting the attributes permutes its rows and columns, so that it
splits into a block on sums over all attributes, one on sums over the pairs of an attribute (D - 1 times) and one on the rest of the pairs
(D(D - 3)/2 times); its trace root is that of the blocks. Needs NumPy; time ~ (3N)^3. The lower ends of affine and abs in
data/expected/beyond_reference.csv come from it, rounded down."""
import sys
import numpy as np

def root(k):  # what rounding may have made of a zero counts as zero: the bound errs to the low side
    values = np.linalg.eigvalsh(k)
    return np.sqrt(values[values > len(k) * np.finfo(float).eps * values[-1]]).sum()

def bound(n, d, name, gamma):
    x = (np.arange(n) + 0.5) / n
    m = (x * (1 - x)) ** -gamma
    m /= m.sum()
    i = np.arange(n)
    value = i[:, None] + i[None, :] if name == "affine" else abs(i[:, None] - i[None, :])
    family = np.array([value <= c for c in range(value.max() + 1)], float)
    prefix, given = np.tril(np.ones((n, n))), family @ m  # given one attribute; both families are symmetric in their two
    one, two = prefix @ m, given @ m
    single = [(prefix * m) @ prefix.T, np.outer(one, one)]  # of one attribute, of two
    mixed = [(prefix * m) @ given.T, np.outer(one, two)]  # an attribute of the pair, another
    cells = family.reshape(len(family), -1)
    pair = [(cells * np.outer(m, m).ravel()) @ cells.T, (given * m) @ given.T, np.outer(two, two)]  # sharing two, one, none
    pairs = d * (d - 1) / 2
    everything = np.block([
        [single[0] + (d - 1) * single[1], np.sqrt(pairs / d) * (2 * mixed[0] + (d - 2) * mixed[1])],
        [np.zeros((len(two), n)), pair[0] + 2 * (d - 2) * pair[1] + (d - 2) * (d - 3) / 2 * pair[2]]])
    of_one = np.block([
        [single[0] - single[1], np.sqrt(d - 2) * (mixed[0] - mixed[1])],
        [np.zeros((len(two), n)), pair[0] + (d - 4) * pair[1] - (d - 3) * pair[2]]])
    rest = pair[0] - 2 * pair[1] + pair[2]
    symmetric = [np.triu(k) + np.triu(k, 1).T for k in (everything, of_one)]
    total = root(symmetric[0]) + (d - 1) * root(symmetric[1]) + d * (d - 3) / 2 * root(rest)
    return total / np.sqrt(d * n + pairs * len(family))

if len(sys.argv) not in (4, 5) or sys.argv[3] not in ("affine", "abs"):
    sys.exit(__doc__)
if not (sys.argv[1].isdecimal() and sys.argv[2].isdecimal() and min(int(sys.argv[1]), int(sys.argv[2])) >= 2):
    sys.exit(f"expected N and D of 2 or more, found {sys.argv[1]} and {sys.argv[2]}")
n, d, gammas = int(sys.argv[1]), int(sys.argv[2]), [float(g) for g in sys.argv[4:]] or np.arange(31) * 0.05
print(max(bound(n, d, sys.argv[3], gamma) for gamma in gammas))
