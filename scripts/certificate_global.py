"""The bound over all matrix mechanisms from its weights, for check_certificates.py.

docs/reference-measures.md, Proposition 4: the squared trace of √K, K = D^½ G D^½ in the basis of a
product measure, for queries on one and two attributes; or of the whole domain."""
import numpy as np

STEP = 0.5  # of the trapezoidal rule in ln x; its error is about exp(-π²/STEP)

def whole_domain(sizes, groups, mu, family_rows):
    cells = int(np.prod(sizes))
    gram = np.zeros((cells, cells))
    for group in groups:
        assert group.rows is None, "joint queries"
        part = np.ones((1, 1))
        for a, n in enumerate(sizes):
            if a in group.attributes:
                rows = family_rows(group.families[group.attributes.index(a)], n)
                part = np.kron(part, rows.T @ rows)
            else:
                part = np.kron(part, np.ones((n, n)))
        gram += group.weight * part
    mu = mu / mu.sum()
    values = np.linalg.eigvalsh(np.sqrt(np.outer(mu, mu)) * gram)
    return np.sqrt(values[values > 1e-13 * cells * values[-1]]).sum() ** 2

class Axis:
    """s00, s and w of an attribute's queries in pairs, and those of its single queries."""
    def __init__(self, m, pair, alone):
        u = np.sqrt(m)
        s = np.outer(u, u) * pair
        complement = np.linalg.svd(u[None, :])[2][1:]
        self.w, vectors = np.linalg.eigh(complement @ s @ complement.T)
        self.w = self.w.clip(0)
        basis = vectors.T @ complement
        self.s00, self.s = u @ s @ u, basis @ s @ u
        t = np.outer(u, u) * alone
        self.alone = u @ t @ u, basis @ t @ u, basis @ t @ basis.T

def global_bound(sizes, groups, measures, arrays, family_rows):
    if "dual.cells.0" in arrays:
        return whole_domain(sizes, groups, arrays["dual.cells.0"], family_rows)
    d = len(sizes)
    gram = lambda f, n: (lambda r: r.T @ r)(family_rows(f, n))
    family, pairs = [None] * d, {}
    alone = [np.zeros((n, n)) for n in sizes]
    grams = {}
    for group in groups:
        for a, f in zip(group.attributes, group.families):
            grams.setdefault((f, sizes[a]), None)
    grams = {key: gram(*key) for key in grams}
    for group in groups:
        if len(group.attributes) == 2:
            assert group.families, "joint queries"
            for a, f in zip(group.attributes, group.families):
                assert family[a] in (None, f), "several families of pairs"
                family[a] = f
            key = group.attributes
            pairs[key] = pairs.get(key, 0.0) + group.weight
        else:
            (a,), (f,) = group.attributes, group.families
            alone[a] = alone[a] + group.weight * grams[f, sizes[a]]
    known, axes = {}, []
    for a, n in enumerate(sizes):
        key = (family[a], n, measures[a].tobytes(), alone[a].tobytes())
        if key not in known:
            pair = grams[family[a], n] if family[a] else np.ones((n, n))
            known[key] = Axis(measures[a], pair, alone[a])
        axes.append(known[key])
    exchangeable = len(known) == 1 and len(pairs) == d * (d - 1) // 2 > 0 \
        and len(set(pairs.values())) == 1
    if exchangeable:
        evaluate = lambda x: of_equal_axes(axes[0], d, pairs[0, 1], x)
        r = len(axes[0].w)
        diagonal = (d * (d - 1) / 2) * np.sqrt(pairs[0, 1] * np.outer(axes[0].w, axes[0].w)).sum()
        rows = 1 + d * r
    else:
        firsts = np.cumsum([1] + [len(axis.w) for axis in axes])
        rows = firsts[-1]
        evaluate = lambda x: of_axes(axes, firsts, pairs, x)
        diagonal = sum(np.sqrt(p * np.outer(axes[i].w, axes[j].w)).sum()
                       for (i, j), p in pairs.items())
    largest = sum(p * axes[i].s00 * axes[j].s00 for (i, j), p in pairs.items()) + sum(
        axis.alone[0] for axis in axes)
    nodes = np.sqrt(largest) * np.exp(STEP * np.arange(-44, 28))
    terms = []
    for x in nodes:
        value = rows - x * x * evaluate(x)
        terms.append(max(value, 0.0) * x)
    # Below the first node the integrand is the number of rows, beyond the last it falls as 1/x².
    tails = (rows * nodes[0] + terms[-1]) / (np.exp(STEP) - 1)
    return (diagonal + 2 / np.pi * STEP * (sum(terms) + tails)) ** 2

def of_axes(axes, firsts, pairs, x):
    """tr S_x⁻¹ (I + Bᵀ(Δ + x²)⁻² B)."""
    rows = firsts[-1]
    s, m = np.zeros((rows, rows)), np.eye(rows)
    for axis, first in zip(axes, firsts):
        part = slice(first, first + len(axis.w))
        s[0, 0] += axis.alone[0]
        s[0, part] += axis.alone[1]
        s[part, part] += axis.alone[2]
    for (i, j), p in pairs.items():
        a, b = axes[i], axes[j]
        ia, jb = slice(firsts[i], firsts[i] + len(a.w)), slice(firsts[j], firsts[j] + len(b.w))
        s[0, 0] += p * a.s00 * b.s00
        s[0, ia] += p * a.s * b.s00
        s[0, jb] += p * b.s * a.s00
        s[ia, ia] += np.diag(p * a.w * b.s00)
        s[jb, jb] += np.diag(p * b.w * a.s00)
        s[ia, jb] += p * np.outer(a.s, b.s)
        g = 1 / (p * np.outer(a.w, b.w) + x * x)
        for matrix, weight in ((s, -g), (m, g * g)):
            weight = p * p * weight
            over_b, over_a = weight @ b.s ** 2, a.s ** 2 @ weight
            matrix[0, 0] += a.s ** 2 @ over_b
            matrix[0, ia] += a.s * a.w * over_b
            matrix[0, jb] += b.s * b.w * over_a
            matrix[ia, ia] += np.diag(a.w ** 2 * over_b)
            matrix[jb, jb] += np.diag(b.w ** 2 * over_a)
            matrix[ia, jb] += np.outer(a.w * a.s, b.w * b.s) * weight
    s[np.diag_indices(rows)] += x * x
    symmetric = lambda k: np.triu(k) + np.triu(k, 1).T
    return np.trace(np.linalg.solve(symmetric(s), symmetric(m)))

def of_equal_axes(a, d, p, x):
    """The same for equal attributes: a block of sums, and d − 1 blocks of differences."""
    r, pairs = len(a.w), d * (d - 1) / 2
    g = 1 / (p * np.outer(a.w, a.w) + x * x)
    result = []
    corner = d * a.alone[0] + pairs * p * a.s00 ** 2
    edge = a.alone[1] + (d - 1) * p * a.s * a.s00
    same = a.alone[2] + np.diag((d - 1) * p * a.w * a.s00)
    other = p * np.outer(a.s, a.s)
    one = 1.0, 0 * edge, np.eye(r), 0 * other
    for weight, base in ((-g, (corner, edge, same, other)), (g * g, one)):
        weight = p * p * weight
        over = weight @ a.s ** 2
        result.append((base[0] + pairs * (a.s ** 2 @ over), base[1] + (d - 1) * a.s * a.w * over,
                       base[2] + np.diag((d - 1) * a.w ** 2 * over),
                       base[3] + np.outer(a.w * a.s, a.w * a.s) * weight))
    def blocks(corner, edge, same, other, shift):
        whole = np.empty((r + 1, r + 1))
        whole[0, 0] = corner + shift
        whole[0, 1:] = whole[1:, 0] = np.sqrt(d) * edge
        whole[1:, 1:] = same + (d - 1) * other + shift * np.eye(r)
        return whole, same - other + shift * np.eye(r)
    (s_sum, s_rest), (m_sum, m_rest) = blocks(*result[0], x * x), blocks(*result[1], 0.0)
    return np.trace(np.linalg.solve(s_sum, m_sum)) + (d - 1) * np.trace(
        np.linalg.solve(s_rest, m_rest))
