"""Unbiased answers and their variances, recomputed from the noisy integers (docs/releasing.md).

Every measured set S has y = B x_S + noise of variance V, B a product of factors times a number.
With P = I - nu 1^T along every attribute, the least-squares estimate of P x_S is P B^+ y,
independent of those of other sets. A marginal is the sum of these over its subsets, times nu along
its other attributes. The estimate of a query with the components q_S is the sum of p_S y_S,
p_S = q_S P B^+, and its variance that of |w_S|^2, w_S = sqrt(V) p_S. Known answers v with rows W of
these w, impossible cells and public counts, are then imposed by the singular value decomposition
W = U diag(s) D:

    y <- y + sqrt(V) D^T diag(1/s) U^T (v - estimates),        variance = |w - w D^T D|^2"""
import functools, itertools, math
import numpy as np
from release_schema import MAX_ENTRIES, Unsupported, box_cells

MAX_IMPOSSIBLE = 2048
LEFT = 1e-10  # a query is known if at most this share of its norm is outside the known ones
CANCELLED = 1e-4  # variances below this share of what they were are computed without cancellation

def along(array, axis, matrix):  # the product of a matrix with an array along an axis
    return np.moveaxis(np.tensordot(matrix, array, axes=(1, axis)), 0, axis)

def subsets(positions):
    return [set_ for k in range(len(positions) + 1) for set_ in itertools.combinations(positions,
                                                                                       k)]

def products(left, right):  # every row of the result is the Kronecker product of two rows
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)

class Estimates:
    def __init__(self, schema, measures, terms, noisy):
        self.schema, self.noise, self.terms, self.noisy = schema, {}, {}, {}
        self.nu = [np.array(p, float) / sum(p) if p else np.full(n, 1 / n)
                   for p, n in zip(measures, schema.sizes)]
        # Set by condition(): estimates by set; directions D by set, and what they add to cells.
        self.inverses, self.parts, self.whitened, self.directions = {}, {}, {}, {}
        for term, answers in zip(terms, noisy):
            for factor, axes in zip(term.factors, term.axes):
                self.inverse(factor, axes)
            self.noisy[term.positions] = np.array([float(y) for y in answers]) / float(term.scale)
            self.noise[term.positions] = float(term.deviation / term.scale)**2
            self.terms[term.positions] = term

    def centred(self, matrix, axes):  # (I - nu 1^T) along the attributes of the rows of a matrix
        shape = self.schema.shape(axes)
        array = matrix.reshape(shape + (-1,))
        for axis, p in enumerate(axes):
            total = array.sum(axis=axis, keepdims=True)
            nu = self.nu[p].reshape([-1 if k == axis else 1 for k in range(array.ndim)])
            array = array - nu * total
        return array.reshape(matrix.shape)

    def inverse(self, factor, axes):  # P B^+
        known = (id(factor), axes)
        if known not in self.inverses:
            if factor.cells > 4000:
                raise Unsupported(f"a strategy over {factor.cells} cells")
            inverse, is_full = factor.pinv
            if not is_full:
                raise ValueError(f"the rows for {self.schema.title(axes)} do not span its subspace")
            self.inverses[known] = self.centred(inverse, axes)
        return self.inverses[known]

    def reconstructed(self, subset, rows):  # P B^+ y for rows y
        term = self.terms[subset]
        array = rows.reshape([-1] + [factor.count for factor in term.factors])
        for axis, (factor, axes) in enumerate(zip(term.factors, term.axes)):
            array = along(array, axis + 1, self.inverse(factor, axes))
        return array.reshape((-1,) + self.schema.shape(subset))

    def weights(self, positions, rows):
        """Returns the weights p of the answers of every set in the estimates of products of rows:
        the k-th query has the k-th row of every attribute. None if a set was not measured."""
        found, parts = {}, {}
        for p, of_axis in zip(positions, rows):
            mean = of_axis @ self.nu[p]
            centred = of_axis - mean[:, None]
            least = 1e-13 * abs(of_axis).max(initial=0.0)  # smaller numbers are rounding errors of 0
            parts[p] = [np.where(abs(x) > least, x, 0.0) for x in (mean[:, None], centred)]
        for subset in subsets(positions):
            weights = np.ones((len(rows[0]) if rows else 1, 1))
            for p in (p for p in positions if p not in subset):
                weights = weights * parts[p][0]
            if not all(x.any() for x in (weights, *(parts[p][1] for p in subset))):
                continue
            if subset not in self.terms:
                return None
            for factor, axes in zip(self.terms[subset].factors, self.terms[subset].axes):
                row = functools.reduce(products, [parts[p][1] for p in axes])
                weights = products(weights, row @ self.inverse(factor, axes))
            found[subset] = weights
        return found

    def spread(self, positions, parts):
        """Returns the marginal with the given parts in the subspaces of its subsets."""
        marginal = np.zeros(self.schema.shape(positions))
        for subset in subsets(positions):
            if subset in parts:
                part = parts[subset]
                shape = [n if p in subset else 1
                         for p, n in zip(positions, self.schema.shape(positions))]
                part = part.reshape(shape)
                for axis, p in enumerate(positions):
                    if p not in subset:
                        nu = [-1 if k == axis else 1 for k in range(len(positions))]
                        part = part * self.nu[p].reshape(nu)
                marginal = marginal + part
        return marginal

    def missing(self, positions, query):
        """Returns whether queries (last axis) have a component in a set that was not measured."""
        return any(subset not in self.terms and abs(self.component(positions, subset, query)).max()
                   > 1e-9 * max(1.0, abs(query).max()) for subset in subsets(positions))

    def component(self, positions, subset, query):
        """Returns the part of queries in a subspace: averaged by nu outside it, centred inside."""
        array = query
        for axis in range(len(positions) - 1, -1, -1):
            p = positions[axis]
            mean = np.tensordot(self.nu[p], array, axes=(0, axis))
            if p not in subset:
                array = mean
            else:
                array = array - np.expand_dims(mean, axis)
        array[abs(array) < 1e-13 * abs(query).max()] = 0.0  # rounding errors of 0
        return array

    def condition(self, public_counts):
        """Imposes the public counts and the impossible cells of the schema, and estimates."""
        weights, values = self.known(public_counts)
        if len(values):
            rows = np.concatenate(list(weights.values()), axis=1)
            estimates = sum(p @ self.noisy[s] for s, p in weights.items())
            roots = np.concatenate([np.full(p.shape[1], math.sqrt(self.noise[s]))
                                    for s, p in weights.items()])
            rows, gaps = rows * roots, values - estimates
            norms = np.linalg.norm(rows, axis=1)
            scale = np.where(norms > 0, norms, 1.0)
            u, s, v = np.linalg.svd(rows / scale[:, None], full_matrices=False)
            kept = s > LEFT
            u, s, v = u[:, kept], s[kept], v[kept]
            steps = u.T @ (gaps / scale)
            rest = gaps - scale * (u @ steps)
            if (abs(rest) > 1e-6 * np.maximum(1.0, abs(gaps).max())).any():
                raise ValueError("the public counts and the impossible cells contradict each other")
            change, start = roots * (v.T @ (steps / s)), 0
            for subset, p in weights.items():
                end = start + p.shape[1]
                self.noisy[subset] = self.noisy[subset] + change[start:end]
                self.whitened[subset] = v[:, start:end]
                if len(v):
                    self.directions[subset] = self.reconstructed(
                        subset, v[:, start:end] * math.sqrt(self.noise[subset]))
                start = end
        for subset, answers in self.noisy.items():
            self.parts[subset] = self.reconstructed(subset, answers)[0]

    def known(self, public_counts):
        """Returns the weights of the answers in known queries by set, and the known values."""
        schema, queries = self.schema, []
        for box, count in zip(schema.public, public_counts):
            rows = [box_cells(box, (p,), schema.shape((p,)))[None, :].astype(float)
                    for p in sorted(box)]
            queries.append((tuple(sorted(box)), rows, [float(count)]))
        impossible = 0
        for box in schema.impossible:
            sets = [s for s in self.terms if set(box) <= set(s)]
            for s in (s for s in sets if not any(set(s) < set(t) for t in sets)):
                cells = np.nonzero(box_cells(box, s, schema.shape(s)))
                impossible += len(cells[0])
                if impossible > MAX_IMPOSSIBLE:
                    raise Unsupported("more impossible cells than a release allows")
                rows = [np.eye(n)[c] for n, c in zip(schema.shape(s), cells)]
                queries.append((s, rows, [0.0] * len(cells[0])))
        found = [(weights, values) for s, rows, values in queries
                 if (weights := self.weights(s, rows)) is not None]
        sets = [s for s in self.terms if any(s in weights for weights, _ in found)]
        count = sum(len(values) for _, values in found)
        if count * sum(self.terms[s].rows() for s in sets) > MAX_ENTRIES:
            raise Unsupported("the estimates with so many impossible cells")
        all_weights = {s: np.zeros((count, self.terms[s].rows())) for s in sets}
        start = 0
        for weights, values in found:
            for s, part in weights.items():
                all_weights[s][start:start + len(values)] = part
            start += len(values)
        return all_weights, np.array([v for _, values in found for v in values])

    def left(self, weights):
        """Returns the variances that known answers leave of queries with given weights of answers:
        0 if they are known."""
        whitened = {s: p * math.sqrt(self.noise[s]) for s, p in weights.items()}
        before = sum((w**2).sum(axis=1) for w in whitened.values())
        for _ in range(2):  # the second time removes the rounding errors of the first
            shares = sum(w @ self.whitened[s].T for s, w in whitened.items() if s in self.whitened)
            for s, v in self.whitened.items():
                whitened[s] = whitened.get(s, 0.0) - shares @ v
        after = sum((w**2).sum(axis=1) for w in whitened.values())
        return np.where(after > LEFT**2 * before, after, 0.0)

    def answers(self, group):
        """Returns the estimates of a group's queries, and their variances before and after what is
        known is imposed."""
        positions = group.positions
        estimates = answered(group, self.spread(positions, self.parts))
        before = self.joint(group) if group.joint is not None else self.product(group)
        after = before.copy()
        if self.directions:
            count = len(next(iter(self.directions.values())))
            if count * before.size > 20 * MAX_ENTRIES:
                raise Unsupported("standard errors with so many impossible cells")
            for k in range(count):
                parts = {s: d[k] for s, d in self.directions.items() if set(s) <= set(positions)}
                after -= answered(group, self.spread(positions, parts))**2
            again = np.flatnonzero(after < CANCELLED * before)
            width = sum(v.shape[1] for v in self.whitened.values())
            step = max(1, MAX_ENTRIES // max(width, 1))
            for chunk in (again[k:k + step] for k in range(0, len(again), step)):
                after[chunk] = self.left(self.weights_of(group, chunk))
        return estimates, before, after

    def weights_of(self, group, queries):
        """Returns the weights of the answers in some queries of a group."""
        positions, shape = group.positions, self.schema.shape(group.positions)
        if group.joint is not None:
            joint = group.joint[queries].T.reshape(shape + (-1,))
            return {s: self.times_inverse(s, self.component(positions, s, joint).reshape(
                -1, len(queries)).T) for s in subsets(positions) if s in self.terms}
        rows = [np.eye(n) if rows is None else rows for rows, n in zip(group.factors, shape)]
        indices = np.unravel_index(queries, [len(of_axis) for of_axis in rows])
        return self.weights(positions, [of_axis[k] for of_axis, k in zip(rows, indices)])

    def times_inverse(self, subset, rows):  # the weights of answers for rows of components
        term = self.terms[subset]
        array = rows.reshape([-1] + [factor.cells for factor in term.factors])
        for axis, (factor, axes) in enumerate(zip(term.factors, term.axes)):
            array = along(array, axis + 1, self.inverse(factor, axes).T)
        return array.reshape(len(rows), -1)

    def product(self, group):
        """Returns the variances of products of queries: products of one number per factor."""
        positions, sizes = group.positions, self.schema.shape(group.positions)
        counts = [n if rows is None else len(rows) for rows, n in zip(group.factors, sizes)]
        means = [(self.nu[p] if rows is None else rows @ self.nu[p])**2
                 for p, rows in zip(positions, group.factors)]
        total = np.zeros(counts)
        for subset in (s for s in subsets(positions) if s in self.terms):
            part, term = np.full([1] * len(counts), self.noise[subset]), self.terms[subset]
            for factor, axes in zip(term.factors, term.axes):
                places = [positions.index(p) for p in axes]
                shape = [c if k in places else 1 for k, c in enumerate(counts)]
                part = part * self.squares(factor, axes, [group.factors[k] for k in places]
                                           ).reshape(shape)
            for k, p in enumerate(positions):
                if p not in subset:
                    part = part * means[k].reshape([-1 if j == k else 1
                                                    for j in range(len(counts))])
            total = total + part
        return total.ravel()

    def squares(self, factor, axes, matrices):
        """Returns |q P B^+|^2 for all products q of rows of matrices, B a factor."""
        inverse = self.inverse(factor, axes)
        if len(axes) == 1:
            rows = matrices[0]
            if rows is None:
                return (inverse**2).sum(axis=1)
            centred = rows - (rows @ self.nu[axes[0]])[:, None]
            centred[abs(centred) < 1e-13 * abs(rows).max()] = 0.0  # rounding errors of 0
            return ((centred @ inverse)**2).sum(axis=1)
        rows = np.ones((1, 1))
        for matrix, size in zip(matrices, factor.shape):
            rows = np.kron(rows, np.eye(size) if matrix is None else matrix)
            if rows.size > MAX_ENTRIES:
                raise Unsupported("so many queries on attributes with a joint strategy")
        return ((rows @ inverse)**2).sum(axis=1)

    def joint(self, group):
        positions, total = group.positions, np.zeros(len(group.joint))
        shape = self.schema.shape(positions)
        query = group.joint.T.reshape(shape + (-1,))
        for subset in (s for s in subsets(positions) if s in self.terms):
            rows = self.component(positions, subset, query)
            rows = rows.reshape(-1, len(group.joint)).T
            total += self.noise[subset] * (self.times_inverse(subset, rows)**2).sum(axis=1)
        return total

def answered(group, marginal):
    """Returns the answers of a group's queries from the marginal on its attributes."""
    if group.joint is not None:
        return group.joint @ marginal.ravel()
    for axis, rows in enumerate(group.factors):
        if rows is not None:
            marginal = along(marginal, axis, rows)
    return marginal.ravel()

def unmeasured(estimates, group):
    """Returns whether a query of a group has a component in a set that was not measured."""
    shape = estimates.schema.shape(group.positions)
    if group.joint is not None:
        return estimates.missing(group.positions, group.joint.T.reshape(shape + (-1,)))
    for subset in subsets(group.positions):
        if subset not in estimates.terms:
            size = 1.0
            for p, rows in zip(group.positions, group.factors):
                rows = np.eye(estimates.schema.sizes[p]) if rows is None else rows
                mean = rows @ estimates.nu[p]
                size *= abs(mean if p not in subset else rows - mean[:, None]).max()
            if size > 1e-9:
                return True
    return False
