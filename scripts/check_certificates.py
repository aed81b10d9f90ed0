"""Checks the lower bounds of all result tables from their certificates, with NumPy alone.

python3 scripts/check_certificates.py [RESULTS] [TABLE ...]

RESULTS: the folder of the tables, `results` by default. TABLE: ids such as s1/fig1; all by default.
For every row with a lower bound, the bound is computed again from the row's workload and the weights
in TABLE.certificates.npz, and so is the error of the weights' strategy. Nothing of matmech is used.
Rows of workloads that are drawn by another random generator than NumPy's are counted as skipped.
Equations: docs/certifying.md, docs/participation.md, docs/reference-measures.md."""
import csv, json, os, re, sys, time
import numpy as np
from certificate_plans import plan_bounds

BOUND, STRATEGY = 1e-7, 1e-6  # relative tolerances: of the lower bound, of the strategy's error
SVD = "svd-bound"

class Skipped(Exception):
    pass

def load(path):
    """Cell -> name -> array, with long arrays interpolated between their knots."""
    if not os.path.exists(path):
        return {}
    arrays = np.load(path)
    cells = json.loads(bytes(arrays["manifest"]))["cells"]
    out = {}
    for cell, names in cells.items():
        out[cell] = {}
        for name, array in names.items():
            if ":" in name:
                name, n = name.split(":")
                out[cell][name] = interpolated(arrays[array].astype(float),
                                               arrays[names[name + ".at"]], int(n))
            elif not name.endswith(".at"):
                out[cell][name] = arrays[array].astype(float)
    return out

def interpolated(values, at, n):
    """Cubic interpolation of logarithms in the logit of the step."""
    logit = lambda i: np.log((i + 0.5) / (n - i - 0.5))
    at = at.astype(float)
    steps = np.arange(n, dtype=float)
    right = np.searchsorted(at, steps).clip(1)
    first = (right - 2).clip(0, len(at) - 4)
    x, knots, logs = logit(steps), logit(at), np.log(values)
    out = np.zeros(n)
    for k in range(4):
        term = logs[first + k]
        for j in range(4):
            if j != k:
                term = term * (x - knots[first + j]) / (knots[first + k] - knots[first + j])
        out += term
    return np.exp(out)

# Workloads: Gram matrices per attribute, or rows.
def shape_of(sizes):
    shape = []
    for part in sizes.split("x"):
        n, _, power = part.partition("^")
        shape += [int(n)] * int(power or 1)
    return shape

def gram_of(family, n):
    i = np.arange(n)
    low, high = np.minimum.outer(i, i), np.maximum.outer(i, i)
    distance = high - low
    return {"identity": lambda: np.eye(n),
            "prefix": lambda: (n - high).astype(float),
            "cdf": lambda: (n - high).astype(float),
            "range": lambda: (low + 1.0) * (n - high),
            "circular": lambda: ((n - distance) * (n - distance + 1) + distance * (distance + 1)) / 2,
            "predicate": lambda: 2.0 ** (n - 2) * (np.eye(n) + 1)}[family]()

FIG1B = [[1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1],
         [1, 1, 0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0, 1, 1],
         [1, 1, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, -1, -1, -1, -1]]

def factors(workload):
    """The Gram matrices of the Kronecker factors, and the number of queries."""
    if workload == "fig1b":
        return [np.array(FIG1B, float).T @ np.array(FIG1B, float)], 8
    match = re.fullmatch(r"([a-z]+)(-marginals(?:\(ways=([^)]*)\))?)?:([0-9x^]+)", workload)
    if not match or match[1] == "random":
        raise Skipped("a workload drawn by another generator")
    family, marginals, ways, sizes = match.groups()
    shape = shape_of(sizes)
    count = lambda n: {"identity": n, "range": n * (n + 1) // 2, "circular": n * n,
                       "predicate": 2 ** n}.get(family, n)
    grams = [gram_of(family, n) for n in shape]
    if not marginals:
        return grams, float(np.prod([float(count(n)) for n in shape]))
    ways = range(1, len(shape) + 1) if ways == "all" else map(int, (ways or "1").split("+"))
    wanted, total, queries = set(ways), 0, 0
    for mask in range(2 ** len(shape)):
        inside = [mask >> a & 1 for a in range(len(shape))]
        if sum(inside) in wanted:
            part = np.ones((1, 1))
            for a, n in enumerate(shape):
                part = np.kron(part, grams[a] if inside[a] else np.ones((n, n)))
            total = total + part
            queries += np.prod([count(n) for a, n in enumerate(shape) if inside[a]])
    return [total], float(queries)

ROOTS = {}

def root_of(gram):
    """R with the Gram matrix RᵀR; directions of rounding errors are dropped, which lowers bounds."""
    key = (gram.shape, hash(gram.tobytes()))
    if key not in ROOTS:
        try:
            ROOTS[key] = np.linalg.cholesky(gram).T
        except np.linalg.LinAlgError:
            values, vectors = np.linalg.eigh(gram)
            kept = values > 1e-13 * len(gram) * values[-1]
            ROOTS[key] = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    return ROOTS[key]

def normalised(weights):
    assert np.isfinite(weights).all() and (weights >= 0).all(), "weights are not nonnegative"
    return weights / weights.sum()

def lower_bound(root, mu):
    return np.linalg.norm(root * np.sqrt(mu), "nuc") ** 2

def bounds_at(root, mu):
    """The lower bound, and the error of V = RᵀK^(-1/2)R, K = R diag(mu) Rᵀ, at maximum diagonal 1."""
    left, s, _ = np.linalg.svd(root * np.sqrt(mu), full_matrices=False)
    kept = s > 1e-12 * s[0]
    largest = (((left.T @ root)[kept] ** 2) / s[kept, None]).sum(axis=0).max()
    return s.sum() ** 2, s[kept].sum() * largest

def both_bounds(roots, arrays, prefix=""):
    """Lower bound and strategy's error, as products over Kronecker factors."""
    lower, error, known = 1.0, 1.0, {}
    for k, root in enumerate(roots):
        dual = normalised(arrays[f"{prefix}dual.cells.{k}"])
        name = f"{prefix}strategy.cells.{k}"
        weights = normalised(arrays[name]) if name in arrays else dual
        assert dual.shape == weights.shape == (root.shape[1],), "another number of cells"
        key = (id(root), dual.tobytes(), weights.tobytes())
        if key not in known:
            first = bounds_at(root, dual)
            second = first if weights is dual else bounds_at(root, weights)
            known[key] = first[0], second[1]
        lower, error = lower * known[key][0], error * known[key][1]
    return lower, error

GRAM_BOUNDS = {}

def shared(known, names, arrays, compute):
    """Computes what many rows share once."""
    key = names, tuple((name, array.tobytes()) for name, array in sorted(arrays.items()))
    if key not in known:
        known[key] = compute()
    return known[key]

def gram_bounds(workload, arrays):
    """Lower bound, strategy's error or None, SVD bound, number of queries."""
    if not arrays and workload.startswith("permuted-"):
        workload = workload.removeprefix("permuted-")  # does not change the SVD bound
    grams, queries = factors(workload)
    roots = [root_of(gram) for gram in grams]
    known = {id(r): lower_bound(r, np.full(r.shape[1], 1 / r.shape[1])) for r in roots}
    svd = np.prod([known[id(r)] for r in roots])
    if "dual.cells.0" not in arrays:
        return svd, None, svd, queries
    lower, error = both_bounds(roots, arrays)
    return max(lower, svd), error, svd, queries

# Objectives and participations.
def steps_of(n, participation, cells):
    """M and its patterns, and the participation's patterns."""
    kind, _, numbers = participation.partition(":")
    if kind == "single":
        return np.diag(normalised(cells)), [[i] for i in range(n)]
    k = int(numbers.split(",")[-1])
    patterns = np.arange(n // k)[:, None] + n // k * np.arange(k)
    if k == 1:
        return np.diag(normalised(cells)), patterns
    entries = k * (k + 1) // 2
    assert cells.shape == (entries * len(patterns),), "another number of blocks"
    m, mass = np.zeros((n, n)), 0
    for pattern, part in zip(patterns, cells.reshape(len(patterns), entries)):
        lower = np.zeros((k, k))
        lower[np.tril_indices(k)] = part
        block = lower @ lower.T  # positive semidefinite by construction
        m[np.ix_(pattern, pattern)] = block
        mass += block.diagonal().max()
    return m / mass, patterns

def rows_of(workload):
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
        raise Skipped(f"the workload {workload}")
    powers = float(rate[1]) ** np.arange(n)
    return np.array([[powers[:k - j + 1].sum() if j <= k else 0 for j in i] for k in i])

def problem_bounds(row, arrays):
    workload, objective, participation = (row[k] for k in ("workload", "objective", "participation"))
    n = int(workload.split(":")[1])
    if n > 2048:
        return long_bounds(workload, n, objective, arrays), None
    kind, _, share = objective.partition(":")
    share = 1.0 if kind == "mean" else float(share or 0)
    if kind == "mean" and workload.startswith("range"):
        rows, queries = root_of(gram_of("range", n)), n * (n + 1) / 2
    else:
        rows = rows_of(workload)
        queries = len(rows)
    single = participation == "single"

    def at(role, want_error):
        cells = arrays[f"{role}.cells.0"]
        m, patterns = steps_of(n, participation, cells)
        p = np.full(len(rows), 1 / queries)
        if kind != "mean":
            p = arrays.get(f"{role}.queries", cells[::-1])
            p = normalised(p)
            # Rounding may have lowered a weight below the smallest one that is allowed.
            above = (p - share / queries).clip(0)
            p = share / queries + (1 - share) * above / above.sum()
        if single:
            scaled = np.sqrt(p)[:, None] * rows * np.sqrt(m.diagonal())
        else:
            values, vectors = np.linalg.eigh(m)
            root_m = (vectors * np.sqrt(values.clip(0))) @ vectors.T
            scaled = np.sqrt(p)[:, None] * (rows @ root_m)
        _, s, right = np.linalg.svd(scaled, full_matrices=False)
        if not want_error:
            return s.sum() ** 2, None
        if single:
            x = (right.T * s) @ right / np.sqrt(np.outer(m.diagonal(), m.diagonal()))
            return s.sum() ** 2, min(map(objective_of, scaled_errors(x)))
        inverse = np.linalg.inv(root_m)
        x = inverse @ (right.T * s) @ right @ inverse
        return s.sum() ** 2, min(map(objective_of, candidates(x, m, patterns)), default=np.inf)

    def scaled_errors(x):
        """Errors of the rows with every column of length 1, and with all scaled by one number."""
        for scale in (x.diagonal() ** -0.5, np.full(n, x.diagonal().max() ** -0.5)):
            half = np.linalg.cholesky(x * np.outer(scale, scale))
            yield (np.linalg.solve(half, rows.T) ** 2).sum(axis=0)

    def objective_of(errors):
        # For `mean` the p-weighted errors of the rows are those of all queries.
        mean = errors.sum() / queries if kind == "mean" else errors.mean()
        return mean if kind == "mean" else (1 - share) * errors.max() + share * mean

    def candidates(x, m, patterns):
        """Errors of the rows for strategies with orthogonal columns in every pattern."""
        products = x @ m @ x
        scales = [m[pattern[0], pattern[0]] for pattern in patterns]
        costs = x.diagonal().copy()
        for pattern, mass in zip(patterns, scales):
            costs[pattern] = np.sqrt(products.diagonal()[pattern].clip(0) / mass)
        sums = x.diagonal().copy()
        for pattern in patterns:
            sums[pattern] = abs(x[np.ix_(pattern, pattern)]).sum(axis=1)
        for diagonal in (x.diagonal(), costs, sums):
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
    """The lower bound of a long sequence in linear time: tr √K = (2/π) ∫ tr K (K + x²)⁻¹ dx.

    With t = 1/x² the integrand is t d/dt ln det(1 + tK), where det(1 + tK) = Π (1 + t p_i s_i) by
    the recurrence s_{i+1} = m_{i+1} + f s_i/(1 + t p_i s_i)."""
    mu = normalised(arrays["dual.cells.0"])
    p = normalised(arrays.get("dual.queries", mu[::-1])) if objective == "max" else np.full(n, 1 / n)
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

# Rows of every kind of table.
def strategy_bounds(row, arrays, rows):
    lower, error, svd, queries = shared(
        GRAM_BOUNDS, row["workload"], arrays, lambda: gram_bounds(row["workload"], arrays))
    if row["workload"] == "fig1b" and row["method"] == SVD:
        lower = svd
    if row["workload"] == "fig1b" and row["method"] != "optimal":
        error = None
    metric = row["metric"]
    if metric == "total_error":
        return lower, error
    if metric == "ratio_to_svdb":
        return lower / svd, error and error / svd
    if metric == "ratio_to_bound":
        return (lower / svd) ** 0.5, error and (error / svd) ** 0.5
    # rmse = √(2 ln(2/δ)/ε² · error/queries), ε = 0.5, δ = 1e-4
    scale = 2 * np.log(2 / 1e-4) / 0.25 / queries
    return (scale * lower) ** 0.5, error and (scale * error) ** 0.5

KNOWN = {}

def bounds_of(row, arrays, certificates, table):
    kind = table[0].keys()
    if "participation" in kind:
        names = tuple(row[k] for k in ("workload", "objective", "participation"))
        return shared(KNOWN, names, arrays, lambda: problem_bounds(row, arrays))
    if "d" in kind or "dataset" in kind:
        return plan_bounds(row, arrays, certificates)
    if row["metric"] == "l1_error":
        raise Skipped("weights of Laplace noise")
    closed = not arrays and row["metric"] in ("ratio_to_svdb", "ratio_to_bound")
    if closed:  # the SVD bound as a multiple of itself
        return 1.0, None
    if "sample.0.dual.cells.0" in arrays:
        raise Skipped("a workload drawn by another generator")
    return strategy_bounds(row, arrays, table)

def main():
    results = sys.argv[1] if len(sys.argv) > 1 else "results"
    tables = sys.argv[2:] or sorted(
        f"{paper}/{name[:-4]}" for paper in os.listdir(results)
        if os.path.isdir(os.path.join(results, paper)) and paper not in ("cells", "quick", "paper")
        for name in os.listdir(os.path.join(results, paper)) if name.endswith(".csv"))
    checked, refused, skipped = 0, [], {}
    for table in tables:
        with open(os.path.join(results, table + ".csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        bound_rows = [row for row in rows if row.get("lower_bound")]
        bound_rows += [row for row in rows if row["method"] == "global-bound"
                       and row["metric"] in ("rmse", "wrmse")]
        if not bound_rows:
            continue
        started, known = time.time(), {}
        certificates = load(os.path.join(results, table + ".certificates.npz"))
        for row in bound_rows:
            key = row["cell"], row["metric"]
            value = float(row["value"])
            claimed = float(row["lower_bound"] or value)
            try:
                arrays = certificates.get(row["cell"], {})
                lower, error = bounds_of(row, arrays, certificates, rows)
            except Skipped as why:
                skipped[str(why)] = skipped.get(str(why), 0) + 1
                continue
            except (KeyError, AssertionError, ValueError) as why:
                refused.append(f"{key}: {type(why).__name__}: {why}")
                continue
            checked += 1
            if not lower >= claimed * (1 - BOUND):
                refused.append(f"{key}: lower bound {lower} instead of {claimed}")
            gap = max(0.0, value / claimed - 1)
            if error is not None and not error <= value * (1 + gap + STRATEGY):
                refused.append(f"{key}: a strategy of {error} instead of {value}")
        print(f"{table:<24}{len(bound_rows):>5} rows {time.time() - started:8.1f} s", flush=True)
    for why, count in sorted(skipped.items()):
        print(f"skipped: {count} rows, {why}")
    for line in refused[:40]:
        print("refused:", line)
    print(f"{checked} lower bounds hold" if not refused else
          f"{len(refused)} of {checked + len(refused)} refused")
    sys.exit(bool(refused))

if __name__ == "__main__":
    main()
