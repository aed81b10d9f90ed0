"""Bounds of plans over many attributes from their certificates, for check_certificates.py.

Every residual problem's Gram matrix is built from the workload's definition. Any weights on its
cells prove a lower bound; those of the certificate are tried in the order of likely fit."""
import itertools, math
import numpy as np
from certificate_global import global_bound
from certificate_grams import bounds_at, bounds_at_rows, normalised

DATASETS = {"Adult": ([100, 100, 100, 99, 85], [42, 16, 15, 9, 7, 6, 5, 2, 2]),
            "CPS": ([50, 100], [7, 4, 2]),
            "Loans": ([101, 101, 101, 101], [3, 8, 36, 6, 51, 4, 5, 15])}
PRODUCT_ABOVE, WEIGHT_SEED = 5000, 42
CLOSE = 1e-6  # the gap from which on no other weights are tried

def family_rows(family, n):
    i = np.arange(n)
    if family == "identity":
        return np.eye(n)
    if family == "prefix":
        return np.tril(np.ones((n, n)))
    if family == "range":
        return np.array([(a <= i) & (i <= b) for a in i for b in i[a:]], float)
    return np.array([(i - a) % n < length for a in i for length in 1 + i], float)  # circular

def joint_rows(family, a, b):
    i, j = np.arange(a)[:, None], np.arange(b)[None, :]
    value = i + j if family == "affine" else abs(i - j)
    count = a + b - 1 if family == "affine" else max(a, b)
    return np.array([value <= c for c in range(count)], float)

class Group:
    """Queries on some attributes: families per attribute, or joint rows (queries × cells)."""
    def __init__(self, attributes, weight, families=None, rows=None, label=None):
        self.attributes, self.weight, self.families = tuple(attributes), weight, families
        self.rows, self.label = rows, label

    def count(self, sizes):
        if self.rows is not None:
            return len(self.rows)
        number = {"identity": lambda n: n, "prefix": lambda n: n,
                  "range": lambda n: n * (n + 1) // 2, "circular": lambda n: n * n}
        return math.prod(number[f](sizes[a]) for f, a in zip(self.families, self.attributes))

def workload_of(row):
    """The sizes and the groups of queries of a row's workload."""
    name, groups = row["workload"], []
    if "dataset" in row:
        numeric, categorical = DATASETS[row["dataset"]]
        sizes = numeric + categorical
        hybrid = ["prefix"] * len(numeric) + ["identity"] * len(categorical)
        ways = {"1-way": [1], "2-way": [2], "3-way": [3], "<=3-way": [1, 2, 3]}.get(name, [1])
        for way in ways:
            for s in itertools.combinations(range(len(sizes)), way):
                groups.append(Group(s, 1.0, [hybrid[a] for a in s]))
        if name in ("affine", "abs_diff"):
            family, shared = name[:3], {}
            for a, b in itertools.combinations(range(len(sizes)), 2):
                shape = sizes[a], sizes[b]
                if (shape[0] - 1) * (shape[1] - 1) > PRODUCT_ABOVE:
                    groups.append(Group((a, b), 1.0, ["prefix", "prefix"]))
                    continue
                if shape not in shared:
                    shared[shape] = joint_rows("affine" if family == "aff" else "abs", *shape)
                groups.append(Group((a, b), 1.0, rows=shared[shape], label=(family, shape)))
        return sizes, groups
    n, d = int(row["n"]), int(row["d"])
    sizes = [n] * d
    ways = [1, 2, 3] if name == "mixed" else [1, 2]
    sets = [s for way in ways for s in itertools.combinations(range(d), way)]
    weights = np.ones(len(sets))
    if row["metric"] == "wrmse":
        weights = np.random.RandomState(WEIGHT_SEED).randint(1, 6, len(sets)).astype(float)
    if name == "random":
        state = np.random.RandomState(42 + n)
        random = {way: (state.rand(3 * n ** way, n ** way) < 0.3).astype(float) for way in (1, 2)}
    joint = joint_rows(name if name == "abs" else "affine", n, n)
    for s, weight in zip(sets, weights):
        if name == "random":
            groups.append(Group(s, weight, rows=random[len(s)], label=("random", len(s))))
        elif len(s) == 2 and name in ("affine", "abs", "mixed"):
            groups.append(Group(s, weight, rows=joint, label=(name, (n, n))))
        else:
            family = {"marginal": "identity", "affine": "prefix", "abs": "prefix"}.get(name, name)
            if name == "mixed":
                family = "range" if len(s) == 1 else "prefix"
            groups.append(Group(s, weight, [family] * len(s)))
    return sizes, groups

class Plan:
    """Residual problems of a workload for a reference measure, and their bounds."""
    def __init__(self, sizes, groups, measures, classes, arrays):
        self.sizes, self.measures, self.classes = sizes, measures, classes
        self.kernels, self.energies, self.found, self.zero = {}, {}, {}, set()
        self.by_attributes, self.by_length = {}, {}
        k = 0
        while f"problem.{k}.attributes" in arrays:
            attributes = tuple(arrays[f"problem.{k}.attributes"].astype(int))
            dual = arrays[f"problem.{k}.dual.cells.0"]
            pair = dual, arrays.get(f"problem.{k}.strategy.cells.0", dual)
            self.by_attributes.setdefault(attributes, []).append(pair)
            self.by_length.setdefault(len(dual), []).append(pair)
            k += 1

    def single(self, family, a):
        """Rows of a family on one attribute, centred, and the energy of their means."""
        key = family, self.sizes[a], self.classes[a]
        if key not in self.kernels:
            rows, nu = family_rows(family, self.sizes[a]), self.measures[a]
            means = rows @ nu
            gram = (rows - means[:, None]).T @ (rows - means[:, None])
            self.kernels[key], self.energies[key] = gram, (means ** 2).sum()
            if np.trace(gram) <= 1e-12 * (rows ** 2).sum():
                self.zero.add(key)
        return key

    def joint(self, group, kept):
        """Residual rows of a joint group on the kept ones of its attributes."""
        classes = tuple(self.classes[a] for a in group.attributes)
        key = group.label, kept, classes
        if key not in self.kernels:
            shape = [self.sizes[a] for a in group.attributes]
            rows = group.rows.reshape([len(group.rows)] + shape)
            for axis, a in reversed(list(enumerate(group.attributes))):
                mean = np.tensordot(rows, self.measures[a], (axis + 1, 0))
                rows = rows - np.expand_dims(mean, axis + 1) if axis in kept else mean
            self.kernels[key] = rows.reshape(len(rows), -1)
            self.energies[key] = (rows ** 2).sum()
            dropped = np.prod([n for k, n in enumerate(shape) if k not in kept])
            if self.energies[key] * dropped <= 1e-12 * (group.rows ** 2).sum():
                self.zero.add(key)
        return key

    def residuals(self, groups):
        """Attributes -> terms: (coefficient, tuple of kernels)."""
        terms = {}
        for group in groups:
            size = len(group.attributes)
            for mask in range(2 ** size):
                kept = tuple(k for k in range(size) if mask >> k & 1)
                attributes = tuple(group.attributes[k] for k in kept)
                if group.rows is None:
                    keys = [self.single(f, a) for f, a in zip(group.families, group.attributes)]
                    factor = math.prod(
                        self.energies[keys[k]] for k in range(size) if k not in kept)
                    coefficient, kernels = group.weight * factor, tuple(keys[k] for k in kept)
                else:
                    key = self.joint(group, kept)
                    coefficient, kernels = group.weight, (key,)
                    if not kept:
                        coefficient, kernels = group.weight * self.energies[key], ()
                if not self.zero.intersection(kernels):
                    part = terms.setdefault(attributes, {})
                    part[kernels] = part.get(kernels, 0.0) + coefficient
        return terms

    def problem(self, attributes, part):
        """Lower bound and strategy's error of a residual problem."""
        if not attributes:
            total = sum(part.values())
            return total, total
        part = {kernels: c for kernels, c in part.items() if c > 0}
        if not part:
            return 0.0, 0.0
        if len(part) == 1 and len(next(iter(part))) > 1:
            (kernels, coefficient), = part.items()
            if kernels not in self.found:
                bounds = [self.problem((a,), {(k,): 1.0}) for a, k in zip(attributes, kernels)]
                self.found[kernels] = [math.prod(side) for side in zip(*bounds)]
            return tuple(coefficient * x for x in self.found[kernels])
        scale = next(iter(part.values()))
        key = tuple((kernels, round(c / scale, 9)) for kernels, c in part.items())
        if key not in self.found:
            self.found[key] = self.solve(attributes, part, scale)
        return tuple(scale * x for x in self.found[key])

    def solve(self, attributes, part, scale):
        sizes = [self.sizes[a] for a in attributes]
        cells, stacked, gram = int(np.prod(sizes)), [], 0
        for kernels, c in part.items():
            if all(isinstance(k[0], tuple) for k in kernels):
                stacked.append(np.sqrt(c / scale) * self.kernels[kernels[0]])
                continue
            matrix = np.ones((1, 1))
            for k in kernels:
                matrix = np.kron(matrix, self.kernels[k])
            gram = gram + c / scale * matrix
        rows = np.vstack(stacked) if stacked else None
        if rows is not None and (len(rows) > cells or not np.isscalar(gram)):
            gram, rows = gram + rows.T @ rows, None
        at = lambda mu: bounds_at(gram, mu) if rows is None else bounds_at_rows(rows, mu)
        candidates = self.by_attributes.get(attributes, []) or self.by_length.get(cells, [])
        candidates = [pair for pair in candidates if len(pair[0]) == cells]
        best = evaluated(at, candidates)
        if best[1] > best[0] * (1 + CLOSE):  # those of another problem of this size
            more = evaluated(at, self.by_length.get(cells, []))
            best = max(best[0], more[0]), min(best[1], more[1])
        return best

def evaluated(at, candidates):
    """The best lower bound and the best strategy of some weights."""
    lower, error = 0.0, np.inf
    for dual, weights in candidates:
        for mu in (dual,) if weights is dual else (dual, weights):
            bounds = at(normalised(mu))
            lower, error = max(lower, bounds[0]), min(error, bounds[1])
        if error <= lower * (1 + CLOSE):
            break
    return lower, error

KNOWN = {}

def measures_of(arrays, sizes):
    """The measures of the attributes and their classes."""
    classes = arrays.get("classes", np.zeros(len(sizes))).astype(int)
    out = [arrays.get(f"measure.{c}", np.ones(n)) for c, n in zip(classes, sizes)]
    return [nu / nu.sum() for nu in out], list(classes)

def plan_bounds(row, arrays, certificates):
    """Lower bound and strategy's error of a row, as root mean square errors."""
    own = bool(arrays)
    cell = row["cell"]
    if not own:  # QuerySmasher's bound holds for other strategies for the residual subspaces
        cell = cell.rsplit("/method=", 1)[0] + "/method=query-smasher"
        arrays = certificates[cell]
    if cell in KNOWN:
        lower, error = KNOWN[cell]
        return lower, error if own else None
    sizes, groups = workload_of(row)
    queries = sum(group.count(sizes) for group in groups)
    measures, classes = measures_of(arrays, sizes)
    if row["method"] == "global-bound":
        total = global_bound(sizes, groups, measures, arrays, family_rows)
        return (total / queries) ** 0.5, None
    hdmm = row["method"].startswith("hdmm")
    plan = Plan(sizes, groups, measures, classes, arrays)
    if hdmm:  # one strategy per attribute set: no centring
        plan.measures = [np.zeros(n) for n in sizes]
        residuals = {}
        for group in groups:
            whole = tuple(range(len(group.attributes)))
            kernels = tuple(plan.single(f, a) for f, a in zip(group.families, group.attributes)) \
                if group.rows is None else (plan.joint(group, whole),)
            part = residuals.setdefault(group.attributes, {})
            part[kernels] = part.get(kernels, 0.0) + group.weight
    else:
        residuals = plan.residuals(groups)
    roots = np.sqrt([plan.problem(attributes, part) for attributes, part in residuals.items()])
    KNOWN[cell] = tuple(np.sqrt((roots.sum(axis=0) ** 2) / queries))
    return KNOWN[cell][0], KNOWN[cell][1] if own else None
