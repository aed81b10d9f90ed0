"""Bounds of the total error of a workload from weights of its cells, for check_certificates.py.

Equations: docs/certifying.md."""
import numpy as np
from certificate_workloads import factors, sample
from drawn_workloads import Generator

ROOTS = {}

def root_of(gram):
    """R with the Gram matrix RᵀR. Directions of rounding errors are dropped: it lowers bounds."""
    key = gram.shape, hash(gram.tobytes())
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
    """The lower bound, and the error of V = RᵀK^(-1/2)R / (maximum diagonal), K = R diag(mu) Rᵀ."""
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

def gram_bounds(workload, arrays):
    """Lower bound, strategy's error or None, SVD bound, number of queries.

    `permuted-…` stands for the permutation with seed 1: weight k is that of cell order[k]. Without
    weights the bound is the SVD bound, which does not depend on the order of the cells."""
    plain = workload.removeprefix("permuted-")
    grams, queries = factors(plain)
    if plain != workload and arrays:
        gram, = grams
        order = np.argsort(Generator(1).permutation(len(gram)))
        arrays = {name: array[order] for name, array in arrays.items()}
    roots = [root_of(gram) for gram in grams]
    svd = np.prod([svd_bound(root) for root in roots])
    if "dual.cells.0" not in arrays:
        return svd, None, svd, queries
    lower, error = both_bounds(roots, arrays)
    return max(lower, svd), error, svd, queries

SVD_BOUNDS = {}

def svd_bound(root):
    if id(root) not in SVD_BOUNDS:
        SVD_BOUNDS[id(root)] = lower_bound(root, np.full(root.shape[1], 1 / root.shape[1]))
    return SVD_BOUNDS[id(root)]

def sample_bounds(row, arrays):
    """Means over the samples of a certificate: lower bound and error over the SVD bound."""
    ratios, k = [], 0
    while f"sample.{k}.dual.cells.0" in arrays:
        root = root_of(sample(row, k))
        svd = lower_bound(root, np.full(root.shape[1], 1 / root.shape[1]))
        lower, error = both_bounds([root], arrays, f"sample.{k}.")
        ratios.append((max(lower, svd) / svd, error / svd))
        k += 1
    numbers = {name.split(".")[1] for name in arrays}
    assert len(numbers) == k, "the samples are not consecutive"
    return tuple(np.mean(ratios, axis=0))
