"""Bounds of the total error of a workload from weights of its cells, for check_certificates.py.

Equations: docs/certifying.md."""
import numpy as np
from certificate_workloads import factors, sample
from drawn_workloads import Generator

SVD_BOUNDS = {}

def normalised(weights):
    assert np.isfinite(weights).all() and (weights >= 0).all(), "weights are not nonnegative"
    return weights / weights.sum()

def kept_roots(values):
    """The square roots of eigenvalues above rounding errors. The omission lowers bounds."""
    kept = values > 1e-13 * len(values) * values[-1]
    return kept, np.sqrt(values[kept])

def bounds_at(gram, mu):
    """The lower bound (tr √K)², K = D^½ G D^½, D = diag(mu), and the error of D^-½ √K D^-½.

    The squares of the rows of S⁻¹WᵀD^½G, K = W S² Wᵀ, over S sum to the strategy's diagonal."""
    d = np.sqrt(mu)
    values, vectors = np.linalg.eigh(gram * np.outer(d, d))
    kept, s = kept_roots(values)
    products = (vectors[:, kept] * d[:, None]).T @ gram
    largest = np.einsum("kj,kj,k->j", products, products, s ** -3).max()
    return s.sum() ** 2, s.sum() * largest

def bounds_at_rows(rows, mu):
    """The same for a workload with fewer rows than cells, in the order of the rows."""
    values, left = np.linalg.eigh((rows * mu) @ rows.T)
    kept, s = kept_roots(values)
    products = left[:, kept].T @ rows
    largest = np.einsum("kj,kj,k->j", products, products, 1 / s).max()
    return s.sum() ** 2, s.sum() * largest

def svd_bound(gram):
    key = gram.shape, hash(gram.tobytes())
    if key not in SVD_BOUNDS:
        SVD_BOUNDS[key] = kept_roots(np.linalg.eigvalsh(gram))[1].sum() ** 2 / len(gram)
    return SVD_BOUNDS[key]

def both_bounds(grams, arrays, prefix=""):
    """Lower bound and strategy's error, as products over Kronecker factors."""
    lower, error, known = 1.0, 1.0, {}
    for k, gram in enumerate(grams):
        dual = normalised(arrays[f"{prefix}dual.cells.{k}"])
        name = f"{prefix}strategy.cells.{k}"
        weights = normalised(arrays[name]) if name in arrays else dual
        assert dual.shape == weights.shape == (len(gram),), "another number of cells"
        key = gram.shape, gram.tobytes(), dual.tobytes(), weights.tobytes()
        if key not in known:
            first = bounds_at(gram, dual)
            second = first if weights is dual else bounds_at(gram, weights)
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
    svd = np.prod([svd_bound(gram) for gram in grams])
    if "dual.cells.0" not in arrays:
        return svd, None, svd, queries
    lower, error = both_bounds(grams, arrays)
    return max(lower, svd), error, svd, queries

def sample_bounds(row, arrays):
    """Means over the samples of a certificate: lower bound and error over the SVD bound."""
    ratios, k = [], 0
    while f"sample.{k}.dual.cells.0" in arrays:
        gram = sample(row, k)
        svd = svd_bound(gram)
        lower, error = both_bounds([gram], arrays, f"sample.{k}.")
        ratios.append((max(lower, svd) / svd, error / svd))
        k += 1
    numbers = {name.split(".")[1] for name in arrays}
    assert len(numbers) == k, "the samples are not consecutive"
    return tuple(np.mean(ratios, axis=0))
