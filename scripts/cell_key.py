"""Cell-key perturbation: p-tables, privacy of their noise, additivity. NumPy only.

A record has a random key, a cell the sum of its records' keys modulo 256. The p-table has the
noise of every count and cell key. Noise tables follow Giessing (2016): the distribution of largest
entropy with mean 0, variance V and support within +-D that leads to no count from 1 to `blocked`.
"""
import math
import numpy as np

KEYS, ROWS, REUSED = 256, 750, 250  # counts above 750 use the rows 501 to 750
NOISE = {"D = 2": (2, 1, 0), "D = 5": (5, 3, 2)}  # D, V, blocked: examples of the R package ptable

def row_of(count):
    """Returns the rows of the p-table for counts."""
    count = np.asarray(count)
    return np.where(count <= ROWS, count, (count - 1) % REUSED + ROWS - REUSED + 1)

def steps(count, reach, blocked):
    """Returns the possible noise of a count."""
    return np.array([v for v in range(-min(reach, count), reach + 1)
                     if not 1 <= count + v <= blocked])

def max_entropy(noise, variance):
    """Returns probabilities proportional to exp(a v + b v^2) with mean 0 and a variance."""
    noise, weights = noise.astype(float), np.zeros(2)
    features = np.stack([noise, noise**2])
    target = np.array([0.0, variance])
    def probabilities(weights):
        powers = weights @ features
        p = np.exp(powers - powers.max())
        return p / p.sum()
    def value(weights):  # convex; its gradient is the expected features less the target
        powers = weights @ features
        return powers.max() + math.log(np.exp(powers - powers.max()).sum()) - weights @ target
    for _ in range(500):
        p = probabilities(weights)
        mean = features @ p
        if abs(mean - target).max() < 1e-12:
            return p
        hessian = (features * p) @ features.T - np.outer(mean, mean)
        step = np.linalg.solve(hessian + 1e-14 * np.eye(2), target - mean)
        size = 1.0
        while size > 1e-9 and value(weights + size * step) > value(weights):
            size /= 2
        weights = weights + size * step
    if abs(mean - target).max() < 1e-9:
        return p
    raise ValueError(f"no noise of variance {variance} with the values {noise}")

def in_keys(p):
    """Returns the numbers of keys per noise value: shares of 256, by largest remainders."""
    whole = np.floor(KEYS * p).astype(int)
    order = np.argsort(whole - KEYS * p, kind="stable")
    whole[order[:KEYS - whole.sum()]] += 1
    return whole

def noise_table(reach, variance, blocked, seed):
    """Returns noise by count and cell key; the keys of every row are in a random order."""
    draw, known = np.random.default_rng(seed), {}
    table = np.zeros((ROWS + 1, KEYS), int)
    for count in range(1, ROWS + 1):
        noise = steps(count, reach, blocked)
        if tuple(noise) not in known:
            known[tuple(noise)] = np.repeat(noise, in_keys(max_entropy(noise, variance)))
        table[count] = draw.permutation(known[tuple(noise)])
    return table

def published(counts, keys, table, threshold):
    """Returns perturbed counts; suppressed ones are 0."""
    noisy = counts + table[row_of(counts), np.asarray(keys) % KEYS]
    return np.where(noisy < threshold, 0, noisy)

def outputs(count, table, threshold=0):
    """Returns the distribution of a published count over a uniform cell key; 0 has no noise."""
    values, times = np.unique(published(np.full(KEYS, count), np.arange(KEYS), table, threshold),
                              return_counts=True)
    return dict(zip(values.tolist(), (times / KEYS).tolist()))

def delta_at(p, q, epsilon):
    """Returns the least delta of two distributions, in both directions."""
    everything = set(p) | set(q)
    one_way = lambda a, b: sum(max(0.0, a.get(x, 0.0) - math.exp(epsilon) * b.get(x, 0.0))
                               for x in everything)
    return max(one_way(p, q), one_way(q, p))

def unbounded(p, q):
    """Returns delta for every epsilon, however large: the outputs that only one of them has."""
    return max(sum(x for o, x in a.items() if o not in b) for a, b in ((p, q), (q, p)))

def worst_delta(table, epsilon, counts, threshold=0):
    """Returns the largest delta of a cell between neighbouring counts, and the smaller count."""
    found = [(delta_at(outputs(n, table, threshold), outputs(n + 1, table, threshold), epsilon), n)
             for n in counts]
    return max(found, key=lambda pair: pair[0])

def composed_delta(p, q, times, epsilon, grid=2e-4):
    """Returns bounds of delta for independent cells with the same two distributions.

    Privacy losses ln p/q are rounded to a grid, down and up."""
    bounds = []
    for rounding in (np.floor, np.ceil):
        found = []
        for a, b in ((p, q), (q, p)):
            infinite = 1 - (1 - sum(x for o, x in a.items() if o not in b))**times
            common = [o for o in a if o in b]
            places = [int(rounding(math.log(a[o] / b[o]) / grid)) for o in common]
            first, total = min(places), np.zeros(max(places) - min(places) + 1)
            np.add.at(total, [k - first for k in places], [a[o] for o in common])
            length = times * (len(total) - 1) + 1
            size = 1 << (length - 1).bit_length()
            sums = np.fft.irfft(np.fft.rfft(total, size)**times, size)[:length]
            losses = (times * first + np.arange(length)) * grid
            shares = -np.expm1(np.minimum(epsilon - losses, 0.0))
            found.append(infinite + float(np.clip(sums, 0, None) @ shares))
        bounds.append(min(max(found), 1.0))
    return bounds

def rank_modulo_2(rows):
    """Returns the rank of rows of 0 and 1 modulo 2."""
    rows, rank = np.array(rows, bool), 0
    for column in range(rows.shape[1]):
        pivots = rank + np.flatnonzero(rows[rank:, column])
        if len(pivots):
            rows[[rank, pivots[0]]] = rows[[pivots[0], rank]]
            others = np.flatnonzero(rows[:, column])
            rows[others[others != rank]] ^= rows[rank]
            rank += 1
        if rank == len(rows):
            break
    return rank

def gaps(tables):
    """Returns the differences between sums of a table's cells and the published sums.

    `tables` has arrays by tuples of attributes; () is the number of records."""
    found = {}
    for attributes, table in tables.items():
        for axis, attribute in enumerate(attributes):
            rest = attributes[:axis] + attributes[axis + 1:]
            if rest in tables:
                found[attributes, attribute] = np.ravel(table.sum(axis=axis) - tables[rest])
    return found
