"""A bound on the error of every matrix mechanism for S3's affine queries and absolute differences (docs/reference-measures.md, Proposition 4).

python3 scripts/pair_bound.py N D affine|abs GAMMA

Prints the trace norm of W diag(m)^(1/2) over the square root of the number of queries: the root mean square error at privacy cost 1 that
nothing is below. W: prefix sums on each of D attributes of N values, and the family on every pair. m: a product measure, each attribute's
proportional to (x(1-x))^-GAMMA at x = (i + 1/2)/N; any GAMMA gives a bound. Needs NumPy, 16 queries^2 bytes and time ~ queries^3. The
lower ends of affine and abs in data/expected/beyond_reference.csv come from it (10, 5: gamma 0.6 and 0.8; 20, 10: 0.6 and 0.8; 10, 40: 0.6
and 0.8), rounded down."""
import itertools, sys
import numpy as np

def pair_family(name, n):
    i = np.arange(n)
    value = i[:, None] + i[None, :] if name == "affine" else abs(i[:, None] - i[None, :])
    return np.array([value <= c for c in range(value.max() + 1)], float)

def gram(n, d, name, m):  # W diag(m) W^T: the expected products of two queries under m
    prefix, family = np.tril(np.ones((n, n))), pair_family(name, n)
    pairs, t = list(itertools.combinations(range(d), 2)), len(family)
    given = family @ m  # given one attribute; both families are symmetric in their two
    mean = np.concatenate([np.tile(prefix @ m, d), np.tile(given @ m, len(pairs))])
    k = np.outer(mean, mean)
    one = [slice(i * n, (i + 1) * n) for i in range(d)]
    two = [slice(d * n + p * t, d * n + (p + 1) * t) for p in range(len(pairs))]
    shared, mixed = (given * m) @ given.T, (prefix * m) @ given.T
    for i in range(d):
        k[one[i], one[i]] = (prefix * m) @ prefix.T
        of_i = [p for p, pair in enumerate(pairs) if i in pair]
        for p in of_i:
            k[one[i], two[p]], k[two[p], one[i]] = mixed, mixed.T
            for other in of_i:
                k[two[p], two[other]] = shared
    for p in two:
        k[p, p] = np.einsum("tij,sij,i,j->ts", family, family, m, m)
    return k

if len(sys.argv) != 5 or sys.argv[3] not in ("affine", "abs"):
    sys.exit(__doc__)
n, d, gamma = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[4])
x = (np.arange(n) + 0.5) / n
m = (x * (1 - x)) ** -gamma
k = gram(n, d, sys.argv[3], m / m.sum())
print(np.sqrt(np.clip(np.linalg.eigvalsh(k), 0, None)).sum() / np.sqrt(len(k)))
