"""The cost of records of one person that have different values of an attribute.

docs/releasing.md (Different values): with g = sum_A G_A / (2 sigma_A^2), a set of records c_k costs
sum_{k,l} g(c_k, c_l). Upper bounds are over boxes of the factors' entries, pair by pair; lower
bounds are sets of records, found by ascent and evaluated exactly."""
import itertools, math
from fractions import Fraction
import numpy as np
import release_privacy as privacy

MAX_VALUES, MAX_SETS, SLACK = 64, 1 << 17, 1 + 1e-11

def units_of(terms):  # the factors at their attributes, and those of every term
    units, found = {}, []
    for term in terms:
        found.append([units.setdefault((axes, id(factor)), (len(units), factor, axes))[0]
                      for factor, axes in zip(term.factors, term.axes)])
    return [(factor, axes) for _, factor, axes in sorted(units.values(), key=lambda x: x[0])], found

def box(terms, units, found, sign, ranges):
    """Returns the largest sum of sign * c_A prod r, each r one of the two ends of its range."""
    count = len(units)
    if 2**count * len(terms) > privacy.MAX_SUMS:
        return sum(privacy.weight(t) * float(math.prod(f.largest for f in t.factors))
                   for t in terms)
    total = np.zeros([2] * count)
    for term, indices in zip(terms, found):
        part = np.ones(())
        for k in sorted(indices):
            part = np.multiply.outer(part, np.array(ranges[k], float))
        shape = [2 if k in indices else 1 for k in range(count)]
        total = total + sign * privacy.weight(term) * part.reshape(shape)
    return float(total.max())

def kinds_of(units, position, size):
    """Returns the ranges of the attribute's factors for every kind of pairs, and pairs to kinds."""
    pairs = [(v, w) for v in range(size) for w in range(v)] if size <= MAX_VALUES else []
    of_pairs, whole = [{} for _ in pairs], {}
    for k, (factor, axes) in enumerate(units):
        if position not in axes:
            continue
        inner = math.prod(factor.shape[axes.index(position) + 1:])
        values = np.arange(factor.cells) // inner % size
        differ = values[:, None] != values
        whole[k] = float(factor.gram[differ].min()), float(factor.gram[differ].max())
        for pair, (v, w) in zip(of_pairs, pairs):
            entries = factor.gram[np.ix_(values == v, values == w)]
            pair[k] = float(entries.min()), float(entries.max())
    kinds, of = [], {}
    for pair, key in zip(of_pairs, pairs):
        if pair not in kinds:
            kinds.append(pair)
        of[key] = kinds.index(pair)
    return (kinds, of) if 1 < len(kinds) <= MAX_VALUES else ([whole], {})

def upper_of_one(terms, rows, position, size):
    """Returns an upper bound on the cost of one set, and on the largest -g of any two records and
    of two with different values."""
    units, found = units_of(terms)
    kinds, of = kinds_of(units, position, size)
    wide = {k: (float(f.smallest), float(f.largest)) for k, (f, _) in enumerate(units)}
    of_kinds = [box(terms, units, found, 1, {**wide, **kind}) for kind in kinds]
    record = float(privacy.largest_cost(terms, 1, False).upper)
    best = record
    for j in range(2, rows + 1):
        if not of:
            pairs = j * (j - 1) * of_kinds[0]
        elif math.comb(size, j) <= MAX_SETS:
            pairs = 2 * max(sum(of_kinds[of[w, v]] for v, w in itertools.combinations(chosen, 2))
                            for chosen in itertools.combinations(range(size), j))
        else:
            top = [sorted((of_kinds[of[max(v, w), min(v, w)]] for w in range(size) if w != v),
                          reverse=True)[:j - 1] for v in range(size)]
            pairs = j * max(map(sum, top))
        best = max(best, j * record + pairs)
    any_two = max(0.0, box(terms, units, found, -1, wide))
    different = max([0.0] + [box(terms, units, found, -1, {**wide, **kind}) for kind in kinds])
    return best * SLACK, any_two * SLACK, different * SLACK

def exact(terms, records):
    """Returns the cost of a set of records, which have a value per attribute."""
    total = Fraction(0)
    for term in terms:
        square = 0
        for a in records:
            for b in records:
                product = term.scale**2
                for factor, axes in zip(term.factors, term.axes):
                    cells = [int(np.ravel_multi_index([point[p] for p in axes], factor.shape))
                             for point in (a, b)]
                    product *= factor.entry(*cells)
                square += product
        total += term.cost(square, 1)
    return total

def lower_of_one(terms, rows, position, sizes):
    """Returns the cost of a set of records that no change of one record increases."""
    rng = np.random.default_rng(1)
    others = [p for p in sizes if p != position]
    def g(a, b):
        return sum(privacy.weight(t) * math.prod(
            float(f.gram[tuple(int(np.ravel_multi_index([x[p] for p in axes], f.shape))
                               for x in (a, b))])
            for f, axes in zip(t.factors, t.axes)) for t in terms)
    def change(records, k, new):  # of the cost, if record k is replaced by a new one
        rest = records[:k] + records[k + 1:]
        return g(new, new) + 2 * sum(g(new, r) for r in rest)
    found = Fraction(0)
    values = range(sizes[position])
    for start in range(12):
        first = {p: int(rng.integers(sizes[p])) for p in others}
        def other():
            return first if start < 4 else {p: int(rng.integers(sizes[p])) for p in others}
        records = [{**other(), position: v} for v in rng.permutation(values)[:rows].tolist()]
        for _ in range(4):
            for k in range(len(records)):
                used = {r[position] for r in records[:k] + records[k + 1:]}
                near = [{**records[k], p: v} for p in others for v in range(min(sizes[p], 12))]
                near += [{**records[k], position: v} for v in values if v not in used][:12]
                records[k] = max(near + [records[k]], key=lambda new: change(records, k, new))
        while records:
            found = max(found, exact(terms, records))
            records.remove(min(records, key=lambda r: change(records, records.index(r), r)))
    return found

def joint_rho(terms, unit):
    """Returns the largest cost between neighbours, with the attribute's different values."""
    neighbours, rows, position = unit["neighbours"], unit["rows"], unit.get("distinct")
    equal = privacy.joint_rho(terms, neighbours, rows)
    sizes = {p: s for t in terms for f, axes in zip(t.factors, t.axes)
             for p, s in zip(axes, f.shape)}
    if position is None or rows == 1 or position not in sizes:
        return equal
    counted = [t for t in terms if t.positions or neighbours != privacy.REPLACE]
    rows = min(rows, sizes[position])
    upper, any_two, different = upper_of_one(counted, rows, position, sizes[position])
    lower = lower_of_one(counted, rows, position, sizes)
    if neighbours == privacy.ADD:
        return privacy.Maximum(lower, min(Fraction(upper), equal.upper), equal.trivial)
    upper = min(4 * upper, 2 * (upper + rows * any_two + rows * (rows - 1) * different))
    return privacy.Maximum(lower if neighbours == privacy.BOTH else Fraction(0),
                           min(Fraction(upper), equal.upper), equal.trivial)
