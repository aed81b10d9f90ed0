"""Bounds of weighted design queries with Laplace noise, for check_certificates.py.

Design queries Q with weights u have the error ‖diag(u)Q‖₁² tr G(AᵀA)⁺, A = diag(u)Q. It is at
least Σ c_i/u_i² at |Q|ᵀu ≤ 1, c_i = (Q⁺ᵀGQ⁺)_ii, if the rows of Q are independent. Every point y of
the simplex over the cells proves the lower bound (Σ c_i^⅓ (|Q|y)_i^⅔)³ of the latter."""
import numpy as np
from certificate_grams import normalised
from certificate_workloads import factors, shape_of

NO_COST = 8 * np.finfo(float).eps

def tree(n):
    """The intervals of a binary tree over n cells, level by level."""
    nodes = [(0, n)]
    for start, end in nodes:
        if end - start > 1:
            middle = start + (end - start + 1) // 2
            nodes += [(start, middle), (middle, end)]
    return nodes

def queries_of(method, n):
    """The design queries on an attribute."""
    cells = np.arange(n)
    inside = lambda start, end: ((start <= cells) & (cells < end)).astype(float)
    if method == "identity":
        return np.eye(n)
    if method == "hierarchical":
        return np.array([inside(*node) for node in tree(n)])
    rows = [np.ones(n)]
    if method == "wavelet":
        for start, end in tree(n):
            if end - start > 1:
                middle = start + (end - start + 1) // 2
                rows.append(inside(start, middle) - inside(middle, end))
        return np.array(rows)
    assert method == "fourier" and n & (n - 1) == 0, "unknown design queries"
    matrix = np.ones((1, 1))
    while len(matrix) < n:
        matrix = np.kron(matrix, np.array([[1, 1], [1, -1]]))
    return matrix

def design_of(method, shape, gram):
    """Q and the costs c for a factor of the workload."""
    parts = [queries_of(method, n) for n in shape]
    inverses = [np.linalg.solve(q.T @ q, q.T) for q in parts]
    q, inverse = np.ones((1, 1)), np.ones((1, 1))
    for part, inverse_of_part in zip(parts, inverses):
        q, inverse = np.kron(q, part), np.kron(inverse, inverse_of_part)
    costs = ((gram @ inverse) * inverse).sum(axis=0)
    costs[costs <= NO_COST * len(gram) * costs.max()] = 0
    if method == "fourier":  # the queries of the workload; the others do not occur
        q, costs = q[costs > 0], costs[costs > 0]
    return q, costs

def laplace_bounds(row, arrays):
    """Lower bound for all weights, and the error of the weights (c_i/(|Q|y)_i)^⅓."""
    sizes = row["workload"].split(":")[1]
    grams, _ = factors(row["workload"])
    shape = shape_of(sizes)
    shapes = [[n] for n in shape] if len(grams) == len(shape) else [shape]
    lower, error = 1.0, 1.0
    for k, (gram, shape) in enumerate(zip(grams, shapes)):
        dual = normalised(arrays[f"dual.{k}"])
        assert dual.shape == (len(gram),), "another number of cells"
        q, costs = design_of(row["method"], shape, gram)
        s = abs(q) @ dual
        lower *= np.sum(np.cbrt(costs * s * s)) ** 3
        kept = costs > 0
        weights = np.cbrt(costs[kept] / s[kept])
        norm = (abs(q[kept]).T @ weights).max()
        if len(q) <= q.shape[1]:  # independent rows
            error *= norm ** 2 * np.sum(costs[kept] / weights ** 2)
        else:
            a = weights[:, None] * q[kept]
            error *= norm ** 2 * np.trace(np.linalg.solve(a.T @ a, gram))
    return lower, error
