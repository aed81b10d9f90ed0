"""Workloads of the result tables, for check_certificates.py.

A workload is a list of Gram matrices, one per Kronecker factor, and the number of queries."""
import functools, re
import numpy as np
import drawn_workloads as drawn

FIG1B = [[1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1],
         [1, 1, 0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0, 1, 1],
         [1, 1, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, -1, -1, -1, -1]]

# Of the random ranges of s1/fig3b and s1/fig3d: the first seed, and the numbers of queries.
FIRST_SEED, BIAS, SHARE, LEAST = 1, 10.0, 0.02, 200
COVERING = {"256": 500, "16x16": 1000, "8x8x4": 1000}

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
            "circular": lambda: ((n - distance) * (n - distance + 1)
                                 + distance * (distance + 1)) / 2,
            "predicate": lambda: 2.0 ** (n - 2) * (np.eye(n) + 1)}[family]()

def query_count(family, n):
    return {"range": n * (n + 1) // 2, "circular": n * n, "predicate": 2 ** n}.get(family, n)

def of_marginals(family, shape, sets):
    """The Gram matrix of a family on sets of attributes, and the number of queries."""
    grams, total, queries = [gram_of(family, n) for n in shape], 0, 0
    for inside in sets:
        part = np.ones((1, 1))
        for gram, n, kept in zip(grams, shape, inside):
            part = np.kron(part, gram if kept else np.ones((n, n)))
        total = total + part
        queries += np.prod([query_count(family, n) for n, kept in zip(shape, inside) if kept])
    return [total], float(queries)

@functools.lru_cache(maxsize=4)
def factors(workload):
    """The Gram matrices of the Kronecker factors, and the number of queries."""
    if workload == "fig1b":
        return [np.array(FIG1B, float).T @ np.array(FIG1B, float)], 8
    match = re.fullmatch(r"([a-z-]+)(?:\(([^)]*)\))?:([0-9x^]+)", workload)
    assert match, f"the workload {workload} is unknown"
    name, options, sizes = match.groups()
    options = dict(option.split("=") for option in (options or "").split(",") if option)
    shape = shape_of(sizes)
    queries, seed = int(options.get("queries", 0)), int(options.get("seed", 0))
    if name == "two-step-range-sample":
        return [drawn.gram_of_ranges(shape, *drawn.two_step_ranges(shape, queries, seed))], queries
    if name == "predicate-sample":
        probability, cells = float(options.get("p", 0.5)), int(np.prod(shape))
        return [drawn.gram_of_predicates(cells, queries, probability, seed)], queries
    if name == "random-marginals":
        sets = drawn.marginal_sets(len(shape), int(options["count"]), seed)
        return of_marginals("identity", shape, sets)
    family = name.removesuffix("-marginals")
    if family != name:
        ways = options.get("ways", "1")
        wanted = range(1, len(shape) + 1) if ways == "all" else [int(k) for k in ways.split("+")]
        sets = [[mask >> a & 1 for a in range(len(shape))] for mask in range(2 ** len(shape))]
        return of_marginals(family, shape, [inside for inside in sets if sum(inside) in wanted])
    counts = [float(query_count(family, n)) for n in shape]
    return [gram_of(family, n) for n in shape], float(np.prod(counts))

def sample(row, k):
    """The Gram matrix of sample k of a row of s1/fig3b or s1/fig3d."""
    name, sizes = row["workload"].split(":")
    shape, seed = shape_of(sizes), FIRST_SEED + k
    if "coverage" in row:
        ranges = drawn.covering_ranges(shape, COVERING[sizes], float(row["coverage"]), seed)
    elif name == "skew-range":
        n, = shape
        queries = min(max(int(SHARE * (n * (n + 1) // 2) + 0.5), LEAST), n * (n + 1) // 2)
        ranges = drawn.biased_ranges(n, queries, BIAS, seed)
    else:
        return gram_of("range", *shape)
    return drawn.gram_of_ranges(shape, *ranges)
