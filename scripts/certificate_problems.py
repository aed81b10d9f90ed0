"""Bounds of problems with an objective and a participation, for check_certificates.py.

Equations: docs/certifying.md, docs/participation.md."""
import re
import numpy as np
from certificate_grams import normalised
from certificate_workloads import gram_of

PROBLEM = "workload", "objective", "participation"

def steps_of(n, participation, cells):
    """L with M = LLᵀ, and the patterns of steps with a block of M."""
    kind, _, numbers = participation.partition(":")
    k = 1 if kind == "single" else int(numbers.split(",")[-1])
    patterns = np.arange(n // k)[:, None] + n // k * np.arange(k)
    if k == 1:
        return np.diag(np.sqrt(normalised(cells))), patterns
    entries = k * (k + 1) // 2
    assert cells.shape == (entries * len(patterns),), "another number of blocks"
    factor, mass = np.zeros((n, n)), 0
    for pattern, part in zip(patterns, cells.reshape(len(patterns), entries)):
        lower = np.zeros((k, k))
        lower[np.tril_indices(k)] = part
        factor[np.ix_(pattern, pattern)] = lower
        mass += (lower ** 2).sum(axis=1).max()
    return factor / np.sqrt(mass), patterns

def rows_of(workload):
    """One row per query."""
    name, n = workload.split(":")
    n = int(n)
    i = np.arange(n)
    if name == "prefix":
        return np.tril(np.ones((n, n)))
    if name == "range":
        return np.array([(a <= i) & (i <= b) for a in i for b in i[a:]], float)
    if name == "circular":
        return np.array([(i - a) % n < length for a in i for length in 1 + i], float)
    rate = re.fullmatch(r"momentum\(rate=(.*)\)", name)
    if not rate:
        raise ValueError(f"the workload {workload} is unknown")
    powers = float(rate[1]) ** np.arange(n)
    return np.array([[powers[:k - j + 1].sum() if j <= k else 0 for j in i] for k in i])

def problem_bounds(row, arrays):
    """Lower bound and strategy's error; None for the error under min-separation."""
    workload, objective, participation = (row[k] for k in PROBLEM)
    n = int(workload.split(":")[1])
    if n > 2048:
        return long_bounds(workload, n, objective, arrays), None
    kind, _, share = objective.partition(":")
    share = 1.0 if kind == "mean" else float(share or 0)
    if kind == "mean" and workload.startswith("range"):
        rows, queries = np.linalg.cholesky(gram_of("range", n)).T, n * (n + 1) / 2
    else:
        rows = rows_of(workload)
        queries = len(rows)
    single = participation == "single"

    def at(role, want_error):
        cells = arrays[f"{role}.cells.0"]
        factor, patterns = steps_of(n, participation, cells)
        p = np.full(len(rows), 1 / queries)
        if kind != "mean":
            p = normalised(arrays.get(f"{role}.queries", cells[::-1]))
            # Rounding may have lowered a weight below the smallest one that is allowed.
            above = (p - share / queries).clip(0)
            p = share / queries + (1 - share) * above / above.sum()
        roots = factor.diagonal()
        scaled = np.sqrt(p)[:, None] * (rows * roots if single else rows @ factor)
        _, s, right = np.linalg.svd(scaled, full_matrices=False)
        if not want_error:
            return s.sum() ** 2, None
        if single:
            right = right / roots
            return s.sum() ** 2, min(map(objective_of, scaled_errors((right.T * s) @ right)))
        right = right @ np.linalg.inv(factor)
        barrier = arrays.get(f"{role}.barrier", np.zeros(1))[0] * s.sum() / n
        x = (right.T * s) @ right
        errors = pattern_errors(x, factor, patterns, barrier)
        return s.sum() ** 2, min(map(objective_of, errors), default=np.inf)

    def scaled_errors(x):
        """Errors of the rows with every column of length 1, and with all scaled by one number."""
        for scale in (x.diagonal() ** -0.5, np.full(n, x.diagonal().max() ** -0.5)):
            half = np.linalg.cholesky(x * np.outer(scale, scale))
            yield (np.linalg.solve(half, rows.T) ** 2).sum(axis=0)

    def objective_of(errors):
        # For `mean` the p-weighted errors of the rows are those of all queries.
        mean = errors.sum() / queries if kind == "mean" else errors.mean()
        return mean if kind == "mean" else (1 - share) * errors.max() + share * mean

    def pattern_errors(x, factor, patterns, barrier):
        """Errors of the rows for strategies with orthogonal columns in every pattern."""
        costs, sums = np.empty((2, n)), np.empty(n)
        for pattern in patterns:
            lower, block = (a[np.ix_(pattern, pattern)] for a in (factor, x))
            sums[pattern] = abs(block).sum(axis=1)
            inverse = np.linalg.inv(lower)
            for row, weight in enumerate((0.0, barrier)):
                balanced = (block + weight * inverse.T @ inverse) @ lower
                squares = (balanced ** 2).sum(axis=1) / (lower[0] ** 2).sum()
                costs[row, pattern] = np.sqrt(squares)
        for diagonal in (x.diagonal(), *costs, sums):
            scale = np.ones(n)
            for pattern in patterns:
                scale[pattern] = diagonal[pattern].sum() ** -0.5
            y = x * np.outer(scale, scale)
            for pattern in patterns:
                y[np.ix_(pattern, pattern)] = np.diag(diagonal[pattern] * scale[pattern] ** 2)
            try:
                half = np.linalg.cholesky(y)
            except np.linalg.LinAlgError:
                continue
            yield (np.linalg.solve(half, rows.T) ** 2).sum(axis=0)

    bounded = participation.startswith("min-sep")
    lower, error = at("dual", not bounded and "strategy.cells.0" not in arrays)
    if "strategy.cells.0" in arrays and not bounded:
        error = at("strategy", True)[1]
    return lower, error

def long_bounds(workload, n, objective, arrays):
    """The lower bound of a long sequence, in linear time.

    tr √K = (2/π) ∫ tr K (K + x²)⁻¹ dx. With t = 1/x² the integrand is t d/dt ln det(1 + tK). The
    determinant is Π (1 + t p_i s_i) by the recurrence s_{i+1} = m_{i+1} + f s_i/(1 + t p_i s_i)."""
    mu = normalised(arrays["dual.cells.0"])
    p = np.full(n, 1 / n)
    if objective == "max":
        p = normalised(arrays.get("dual.queries", mu[::-1]))
    k = np.arange(n, dtype=float)
    # W_kj = a_j r_{j+1} … r_k: prefix sums, or rows with the Gram matrix of all ranges.
    prefix = workload.startswith("prefix")
    m = mu if prefix else mu * (n + 1) * (k + 1) / (k + 2)
    squares = np.ones(n) if prefix else k / (k + 2)
    after = 0.0
    trace = 0.0
    for i in range(n - 1, -1, -1):
        after = p[i] + (after * squares[i + 1] if i + 1 < n else 0)
        trace += m[i] * after
    h = 0.4  # the error of the trapezoidal rule in ln x is about exp(-π²/h)
    x = np.sqrt(trace) * np.exp(h * np.arange(-58, 30))
    t = x ** -2
    s, d, total = np.zeros(len(t)), np.zeros(len(t)), np.zeros(len(t))
    y = np.ones(len(t))
    for i in range(n):
        s = m[i] + squares[i] * s / y
        if i:
            d = squares[i] * (d - p[i - 1] * before * before) / (y * y)
        before = s
        y = 1 + (t * p[i]) * s
        total += (p[i] * (s + t * d)) / y
    integrand = t * total
    unit = 1 if prefix else 2 / (n + 1)  # the mean over the queries
    # Below the first node the integrand is n, beyond the last it falls as 1/x².
    tails = (n * x[0] + integrand[-1] * x[-1]) / (np.exp(h) - 1)
    return unit * (2 / np.pi * h * ((x * integrand).sum() + tails)) ** 2
