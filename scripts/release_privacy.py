"""The privacy of a release, recomputed: its exact rho, and epsilon at a delta.

The mathematics is in docs/releasing.md (The mechanism; Neighbours; (epsilon, delta)). Here:

    rho = max over neighbours of sum_A K^2 |B_A (x_A - x'_A)|^2 / (2 sigma_A^2)

For one record more or less at cell a the terms are G_A(a, a), for one replaced by another
G_A(a, a) + G_A(b, b) - 2 G_A(a, b), where G_A = B_A^T B_A is a product over the factors."""
import functools, math
from fractions import Fraction
import numpy as np

FINE = 2**16  # the least deviation of fine noise
KAPPA, REACH = 2.0**-15, 8.0
MAX_SUMS = 100_000_000  # of an enumeration
MAX_PARTIAL = 1 << 19  # partial choices of a search
ADD, REPLACE, BOTH = ("add-or-remove-one-record", "replace-one-record",
                      "replace-add-or-remove-one-record")

NODES = np.polynomial.legendre.leggauss(60)

class Factor:
    """A Kronecker factor: integer rows over the cells of some attributes; nI - J without rows."""
    def __init__(self, shape, rows):
        self.shape, self.rows = tuple(shape), rows
        self.cells = math.prod(self.shape)
        self.count = self.cells if rows is None else len(rows)

    @functools.cached_property
    def gram(self):  # B^T B in doubles
        if self.rows is None:
            return self.cells * (self.cells * np.eye(self.cells) - 1)
        real = self.rows.astype(float)
        return real.T @ real

    @functools.cached_property
    def diagonal(self):  # the squared norms of the columns, exactly
        if self.rows is None:
            return np.array([self.cells * (self.cells - 1)] * self.cells, dtype=object)
        return (self.rows * self.rows).sum(axis=0)

    @functools.cached_property
    def largest(self):
        return max(self.diagonal)

    def entry(self, a, b):  # of B^T B, exactly
        if self.rows is None:
            return self.cells * (self.cells - 1) if a == b else -self.cells
        return self.diagonal[a] if a == b else self.rows[:, a].dot(self.rows[:, b])

    @functools.cached_property
    def smallest(self):  # the smallest entry of B^T B, exactly up to the choice in doubles
        if self.rows is None:
            return -self.cells if self.cells > 1 else 0
        return self.entry(*np.unravel_index(int(self.gram.argmin()), self.gram.shape))

    @functools.cached_property
    def pinv(self):  # B^+ in doubles, and whether the rank is that of the residual subspace
        n = self.cells
        if self.rows is None:
            return (np.eye(n) - 1 / n) / n, True
        scale = float(abs(self.rows).max()) or 1.0
        u, s, v = np.linalg.svd((self.rows / scale).astype(float), full_matrices=False)
        rank = int((s > 1e-10 * s[0]).sum())
        inverse = (v[:rank].T / s[:rank]) @ u[:, :rank].T / scale
        return inverse, rank == math.prod(k - 1 for k in self.shape)

class Term:
    """A measurement: attributes, the number that scales it, its factors and its deviation."""
    def __init__(self, positions, scale, factors, deviation):
        self.positions, self.scale, self.factors = positions, scale, factors
        self.deviation = deviation  # a fraction
        self.axes, start = [], 0
        for factor in factors:
            self.axes.append(positions[start:start + len(factor.shape)])
            start += len(factor.shape)

    def rows(self):
        return math.prod(factor.count for factor in self.factors)

    def largest(self):
        return self.scale**2 * math.prod(factor.largest for factor in self.factors)

    def cost(self, square, rows):  # K^2 square / (2 sigma^2), exactly
        if square == 0:
            return Fraction(0)
        if self.deviation == 0:
            raise ValueError("no noise on answers that depend on the records")
        return rows * rows * Fraction(square) / (2 * self.deviation**2)

class Maximum:
    """The largest sum over records or pairs of records: bounds, equal if it is exact.

    `exceeds` says whether a relaxation of the sum exceeds a target: None if that is unknown. If
    the relaxation is `tight`, some neighbours then exceed it too."""
    def __init__(self, lower, upper, trivial, exceeds=lambda target: None, tight=False):
        self.lower, self.upper = lower, upper
        self.trivial = trivial  # the sum of bounds of every term
        self.exceeds, self.tight = exceeds, tight

    def is_at_most(self, target):
        return self.upper <= target or self.exceeds(target) is False

    def is_above(self, target):
        return self.lower > target or (self.tight and self.exceeds(target) is True)

    def joined(self, other):
        """Returns the larger of two maxima."""
        if other.upper <= self.lower or self.upper <= other.lower:
            return self if other.upper <= self.lower else other
        def exceeds(target):
            parts = [part.lower > target or (False if part.upper <= target else
                                             part.exceeds(target)) for part in (self, other)]
            return True if True in parts else None if None in parts else False
        return Maximum(max(self.lower, other.lower), max(self.upper, other.upper),
                       max(self.trivial, other.trivial), exceeds, self.tight and other.tight)

def factors_of(terms, position):  # the factors whose attributes contain a position
    return {id(f): f for t in terms for f, axes in zip(t.factors, t.axes)
            if position in axes}.values()

def classes(terms, position, size, replaced):
    """Returns pairs (a, b) of an attribute's cells, one of all that are alike in every factor.

    b = a if no record is replaced; then cells that are nowhere larger than another are left out.
    None if a factor of several attributes contains the attribute, or there are too many cells."""
    factors = factors_of(terms, position)
    listed = [f for f in factors if f.rows is not None]
    if any(len(f.shape) > 1 for f in factors) or (listed and replaced and size > 400):
        return None
    if not listed:  # all cells of nI - J are alike, and so are all pairs of different cells
        return [(0, 0), (0, 1)] if replaced and size > 1 else [(0, 0)]
    if replaced:
        seen = [(np.arange(size)[:, None] == np.arange(size)).ravel().astype(float)]
        for f in listed:
            d, top = f.gram.diagonal(), float(f.largest)
            seen += [np.repeat(d, size) / top, np.tile(d, size) / top, f.gram.ravel() / top]
        _, first = np.unique(np.round(np.array(seen), 11), axis=1, return_index=True)
        return [(int(k) // size, int(k) % size) for k in first]
    seen = np.array([[float(x / f.largest) for x in f.diagonal] for f in listed])
    _, first = np.unique(seen, axis=1, return_index=True)
    kept = [k for k in first if not any((seen[:, k] <= seen[:, j]).all() and
                                        (seen[:, k] < seen[:, j]).any() for j in first)]
    return [(int(k), int(k)) for k in kept]

def square_at(term, point, replaced):
    """Returns |B(e_a - e_b)|^2 exactly, or |B e_a|^2; the point has (a, b) of every attribute."""
    products = [term.scale**2] * 3
    for factor, axes in zip(term.factors, term.axes):
        a, b = (int(np.ravel_multi_index([point[p][k] for p in axes], factor.shape))
                for k in (0, 1))
        with_ = (factor.entry(a, a), factor.entry(b, b), factor.entry(a, b)) if replaced else \
            (factor.entry(a, a), 0, 0)
        products = [x * y for x, y in zip(products, with_)]
    return products[0] + products[1] - 2 * products[2] if replaced else products[0]

def at_point(terms, point, rows, replaced):  # the exact cost of a record or of a pair
    return sum((term.cost(square_at(term, point, replaced), rows) for term in terms), Fraction(0))

def largest_cost(terms, rows, replaced):
    """Returns the largest joint cost when a record is added or removed, or is replaced."""
    sizes = {p: s for t in terms for f, axes in zip(t.factors, t.axes)
             for p, s in zip(axes, f.shape)}
    trivial = sum((t.cost(simple(t) if replaced else t.largest(), rows) for t in terms),
                  Fraction(0))
    choices = {}
    for p, size in sorted(sizes.items()):
        choices[p] = classes(terms, p, size, replaced)
        if choices[p] is None and size**(1 + replaced) <= 4096:
            choices[p] = [(a, b) for a in range(size) for b in (range(size) if replaced else (a,))]
    if None not in choices.values():
        if math.prod(map(len, choices.values())) * len(terms) <= MAX_SUMS:
            exact = at_point(terms, enumerated(terms, choices, replaced), rows, replaced)
            return Maximum(exact, exact, trivial)
    for p, size in sizes.items():
        if choices[p] is None:  # a sample; the result is a lower bound all the same
            cells = sorted({round(x) for x in np.linspace(0, size - 1, 40)})
            choices[p] = [(a, b) for a in cells for b in (cells if replaced else (a,))]
    lower = at_point(terms, climbed(terms, choices, replaced), rows, replaced)
    upper = trivial
    if replaced:
        parts = sum((t.cost(tighter(t), rows) for t in terms), Fraction(0))
        upper = min(corners(terms, rows), parts, trivial)
    if not replaced:
        return Maximum(lower, upper, trivial)
    return Maximum(lower, upper, trivial, lambda target: corner_above(terms, rows, target),
                   are_independent(terms))

def weight(term):
    return float(Fraction(term.scale**2) / (2 * term.deviation**2)) if term.deviation else 0.0

def table(factor, axes, choices, replaced):
    """Returns G(a, a), G(b, b) and G(a, b) of a factor for all choices of its attributes."""
    cells = [np.zeros((1,) * len(axes), int) for _ in (0, 1)]
    for k, (p, size) in enumerate(zip(axes, factor.shape)):
        shape = [1] * len(axes)
        shape[k] = -1
        for side in (0, 1):
            chosen = np.array([pair[side] for pair in choices[p]]).reshape(shape)
            cells[side] = cells[side] * size + chosen
    diagonal = factor.diagonal.astype(float)
    if not replaced:
        return diagonal[cells[0]], 0.0, 0.0
    return diagonal[cells[0]], diagonal[cells[1]], factor.gram[cells[0], cells[1]]

def summed(parts, replaced):
    return parts[0] + parts[1] - 2 * parts[2] if replaced else parts[0]

def enumerated(terms, choices, replaced):
    """Returns the choice per attribute with the largest sum, in doubles."""
    attributes = [p for p, found in choices.items() if len(found) > 1]
    total = np.zeros([len(choices[p]) for p in attributes])
    for term in terms:
        parts = [np.ones([1] * len(attributes))] * 3
        for factor, axes in zip(term.factors, term.axes):
            shape = [len(choices[p]) if p in axes else 1 for p in attributes]
            new = table(factor, axes, choices, replaced)
            parts = [x * np.reshape(y, shape) if np.ndim(y) else x * y for x, y in zip(parts, new)]
        total += weight(term) * summed(parts, replaced)
    best = np.unravel_index(int(total.argmax()), total.shape)
    point = {p: found[0] for p, found in choices.items()}
    return {**point, **{p: choices[p][k] for p, k in zip(attributes, best)}}

def climbed(terms, choices, replaced):
    """Returns a point from which no change of one attribute is an ascent."""
    best, found = -1.0, None
    for start in (0, -1):
        point = {p: options[start] for p, options in choices.items()}
        for _ in range(30):
            before = dict(point)
            for p, options in choices.items():
                around = {q: options if q == p else [point[q]] for q in choices}
                sums = np.zeros(len(options))
                for term in (t for t in terms if p in t.positions):
                    parts = [np.ones(1)] * 3
                    for factor, axes in zip(term.factors, term.axes):
                        new = table(factor, axes, around, replaced)
                        parts = [x * np.ravel(y) for x, y in zip(parts, new)]
                    sums = sums + weight(term) * summed(parts, replaced)
                point[p] = options[int(sums.argmax())]
            if point == before:
                break
        value = float(at_point(terms, point, 1, replaced))
        if value > best:
            best, found = value, point
    return found

def simple(term):
    """Returns the upper bound 2 (prod D - prod r) of |B(e_a - e_b)|^2, r_f between the extremes."""
    low, high = 1, 1
    for factor in term.factors:
        ends = [x * y for x in (low, high) for y in (factor.smallest, factor.largest)]
        low, high = min(ends), max(ends)
    return 2 * (term.largest() - term.scale**2 * low)

def tighter(term):  # the largest |B(e_a - e_b)|^2 if there is one factor, else the simple bound
    if len(term.factors) != 1 or term.factors[0].rows is None:
        return simple(term)
    factor, gram = term.factors[0], term.factors[0].gram
    d = gram.diagonal()
    a, b = map(int, np.unravel_index(int((d[:, None] + d - 2 * gram).argmax()), gram.shape))
    return term.scale**2 * (factor.entry(a, a) + factor.entry(b, b) - 2 * factor.entry(a, b))

def corner_tables(terms):
    """Returns the terms 2 c_A (prod D - prod r) for r_f the largest or the smallest entry.

    Their sum is affine in every r_f, which is between the two, so its maximum is an upper bound.
    A term has the indices of its factors, in ascending order, and an axis of two per factor."""
    units, found = {}, []
    for term in terms:
        for factor, axes in zip(term.factors, term.axes):
            units.setdefault((axes, id(factor)), len(units))
    for term in terms:
        of = sorted(((units[axes, id(factor)], factor)
                     for factor, axes in zip(term.factors, term.axes)), key=lambda x: x[0])
        part = np.ones(())
        for _, factor in of:
            part = np.multiply.outer(part, [float(factor.largest), float(factor.smallest)])
        found.append(([k for k, _ in of], weight(term) * 2 * (part.ravel()[0] - part)))
    return len(units), found

def corners(terms, rows):
    """Returns the maximum of the sum of `corner_tables`."""
    count, tables = corner_tables(terms)
    if 2**count * len(terms) > MAX_SUMS:
        return Fraction(10**300)
    total = np.zeros([2] * count)
    for indices, values in tables:
        total += values.reshape([2 if k in indices else 1 for k in range(count)])
    return Fraction(float(total.max())) * rows * rows

def are_independent(terms):
    """Returns whether every choice of extremes is attained: the factors have constant diagonals,
    and every attribute is in one of them."""
    units = {(axes, id(f)): f for t in terms for f, axes in zip(t.factors, t.axes)}
    attributes = [p for axes, _ in units for p in axes]
    return len(attributes) == len(set(attributes)) and all(
        len(set(f.diagonal)) == 1 for f in units.values())

def corner_above(terms, rows, target):
    """Returns whether a choice of extremes has a sum above a target, by branch and bound.

    None if there are too many choices. Choices of the first factors are kept while the largest
    values of all terms that agree with them add up to more than the target."""
    count, tables = corner_tables(terms)
    target = float(target / (rows * rows))
    # levels[j]: the largest value for every choice of a term's first j factors.
    levels = []
    for indices, values in tables:
        levels.append([values.reshape(2**j, -1).max(axis=1) for j in range(len(indices) + 1)])
    bounds = np.array([sum(level[0][0] for level in levels)])
    chosen = np.zeros((1, 0), dtype=np.int8)
    for k in range(count):
        change = np.zeros((len(bounds), 2))
        for (indices, _), level in zip(tables, levels):
            if k in indices:
                j = indices.index(k)
                prefix = np.zeros(len(bounds), dtype=int)
                for earlier in indices[:j]:
                    prefix = 2 * prefix + chosen[:, earlier]
                for choice in (0, 1):
                    change[:, choice] += level[j + 1][2 * prefix + choice] - level[j][prefix]
        bounds = (bounds[:, None] + change).ravel()
        chosen = np.concatenate([np.repeat(chosen, 2, axis=0),
                                 np.tile(np.array([[0], [1]], np.int8), (len(chosen), 1))], axis=1)
        kept = bounds > target
        bounds, chosen = bounds[kept], chosen[kept]
        if len(bounds) > MAX_PARTIAL:
            return None
    return len(bounds) > 0

def joint_rho(terms, neighbours, rows):
    """Returns the largest cost between neighbours, for K = rows records per person."""
    found = Maximum(Fraction(0), Fraction(0), Fraction(0))
    if neighbours in (ADD, BOTH):
        found = found.joined(largest_cost(terms, rows, False))
    if neighbours in (REPLACE, BOTH):  # the number of records stays the same
        found = found.joined(largest_cost([t for t in terms if t.positions], rows, True))
    return found

def sensitivity(term, neighbours):
    """Returns the squared sensitivity of one measurement: bounds, equal if it is exact."""
    one = joint_rho([Term(term.positions, term.scale, term.factors, Fraction(1))], neighbours, 1)
    return Maximum(2 * one.lower, 2 * one.upper, 2 * one.trivial)

def ln_gaussian_delta(mu, epsilon):
    """Returns ln delta of Gaussian noise: phi(a) int_0^inf exp(-a t - t^2/2) (1 - exp(-mu t)) dt.

    a = epsilon/mu - mu/2; delta = Phi(-a) - e^epsilon Phi(-a - mu), without cancellation."""
    a = epsilon / mu - mu / 2
    if a < -6:
        # Almost 1, where cancellation is harmless.
        tail = 0.5 * math.erfc(-a / math.sqrt(2))
        b = a + mu
        rest = math.exp(epsilon + math.log(0.5 * math.erfc(b / math.sqrt(2)))) if b < 37 else 0.0
        return math.log1p(-(tail + rest))
    peak = max(0.0, -a)
    length = peak + min(40.0, 45.0 / max(a, 1e-300)) if a > 0 else peak + 12.0
    nodes, weights = NODES
    ends = np.linspace(0, length, 41)
    half = (ends[1:] - ends[:-1]) / 2
    t = (ends[:-1] + half)[:, None] + half[:, None] * nodes
    value = np.exp(-a * t - t * t / 2) * -np.expm1(-mu * t)
    integral = float((half[:, None] * weights * value).sum())
    return -a * a / 2 - 0.5 * math.log(2 * math.pi) + math.log(integral)

def ln_general_delta(rho, epsilon):
    """Returns the least ln of exp((x - 1)(x rho - epsilon) + x ln(1 - 1/x)) / (x - 1), x > 1."""
    def value(u):  # convex in x; u = ln(x - 1)
        t = math.exp(u)
        return t * ((1 + t) * rho - epsilon - math.log1p(1 / t)) - math.log1p(t)
    low, high = -40.0, 60.0
    for _ in range(150):
        third = (high - low) / 3
        if value(low + third) < value(high - third):
            high -= third
        else:
            low += third
    return min(value(low), 0.0)

def ln_fine_delta(rho, epsilon):
    """Returns ln delta of answers with fine noise that are rho-zCDP (docs/releasing.md)."""
    mu = math.sqrt(2 * rho)
    shifted = epsilon - KAPPA * mu * REACH + KAPPA**2 * mu**2 / 2
    return 0.0 if shifted <= 0 else \
        ln_gaussian_delta(mu * math.sqrt(1 + KAPPA**2), shifted) + 1e-13

@functools.lru_cache
def epsilon_of(rho, delta):
    """Returns the least epsilon at a delta: by the curve of fine noise, or of every rho-zCDP."""
    target, found = math.log(delta), []
    for curve in (ln_fine_delta, ln_general_delta):
        low, high = 0.0, 1.0
        while curve(rho, high) > target:
            low, high = high, 2 * high
        while high - low > 1e-13 * high and high > 1e-300:
            middle = (low + high) / 2
            low, high = (low, middle) if curve(rho, middle) <= target else (middle, high)
        found.append(high)
    return 0.0 if min(found) <= 1e-300 else min(found)

def upper_point(missed):
    """Returns x with Q(x) = missed for the normal tail Q."""
    low, high = 0.0, 40.0
    for _ in range(120):
        middle = (low + high) / 2
        if 0.5 * math.erfc(middle / math.sqrt(2)) > missed:
            low = middle
        else:
            high = middle
    return high

def two_sided(missed):
    """Returns t with P(|S| >= t s) <= missed for a sum S of fine noise of standard error s."""
    return math.sqrt(1 + KAPPA**2) * upper_point(missed / 2) + KAPPA * REACH

def one_sided(missed, deviation):
    """Returns t with P(N >= t sigma) <= missed for one discrete Gaussian."""
    any_noise = math.sqrt(-2 * math.log(missed))
    return min(two_sided(2 * missed), any_noise) if deviation >= FINE else any_noise
