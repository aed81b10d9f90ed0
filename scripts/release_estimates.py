"""Unbiased answers and their variances, recomputed from the noisy integers (docs/releasing.md).

Every measured set S has y = B x_S + noise, B a product of factors times a number. With
P = I - nu 1^T along every attribute, the least-squares estimate of P x_S is P B^+ y, independent of
those of other sets. A marginal is the sum of these over its subsets, times nu along its other
attributes. Known answers Q x = v, impossible cells and public counts, are then imposed:

    x <- x + C Q^T (Q C Q^T)^+ (v - Q x),        C the covariance of the estimates."""
import itertools, math
import numpy as np
from release_schema import MAX_ENTRIES, Unsupported, box_cells

MAX_IMPOSSIBLE = 2048

def along(array, axis, matrix):  # the product of a matrix with an array along an axis
    return np.moveaxis(np.tensordot(matrix, array, axes=(1, axis)), 0, axis)

def subsets(positions):
    return [set_ for k in range(len(positions) + 1) for set_ in itertools.combinations(positions,
                                                                                       k)]

class Estimates:
    def __init__(self, schema, measures, terms, noisy):
        self.schema, self.parts, self.noise, self.terms = schema, {}, {}, {}
        self.nu = [np.array(p, float) / sum(p) if p else np.full(n, 1 / n)
                   for p, n in zip(measures, schema.sizes)]
        self.inverses, self.covariances, self.directions = {}, {}, []
        for term, answers in zip(terms, noisy):
            values = np.array([float(y) for y in answers]) / float(term.scale)
            values = values.reshape([factor.count for factor in term.factors])
            for axis, (factor, axes) in enumerate(zip(term.factors, term.axes)):
                values = along(values, axis, self.inverse(factor, axes))
            self.parts[term.positions] = values.reshape(schema.shape(term.positions))
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

    def covariance(self, factor, axes):  # of the estimates, per unit of noise
        known = (id(factor), axes)
        if known not in self.covariances:
            inverse = self.inverse(factor, axes)
            self.covariances[known] = inverse @ inverse.T
        return self.covariances[known]

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
        return any(subset not in self.parts and abs(self.component(positions, subset, query)).max()
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
        """Imposes the public counts and the impossible cells of the schema."""
        schema = self.schema
        known = [(tuple(box), box_cells(box, tuple(box), schema.shape(box)), float(count))
                 for box, count in zip(schema.public, public_counts)]
        for box in schema.impossible:
            sets = [s for s in self.parts if set(box) <= set(s)]
            for s in (s for s in sets if not any(set(s) < set(t) for t in sets)):
                cells = np.flatnonzero(box_cells(box, s, schema.shape(s)))
                if len(known) + len(cells) > MAX_IMPOSSIBLE + len(schema.public):
                    raise Unsupported("more impossible cells than a release allows")
                for cell in cells:
                    one = np.zeros(schema.shape(s))
                    one.ravel()[cell] = 1.0
                    known.append((s, one, 0.0))
        known = [(s, query[..., None], v) for s, query, v in known]
        known = [(s, q, v) for s, q, v in known if not self.missing(s, q)]
        if not known:
            return
        if len(known) * sum(part.size for part in self.parts.values()) > MAX_ENTRIES:
            raise Unsupported("the estimates with so many impossible cells")
        times, gaps = {}, np.array([v for _, _, v in known])
        gram = np.zeros((len(known), len(known)))
        for subset, part in self.parts.items():
            rows = np.zeros((len(known), part.size))
            for k, (s, query, _) in enumerate(known):
                if set(subset) <= set(s):
                    rows[k] = self.component(s, subset, query).ravel()
            gaps = gaps - rows @ part.ravel()
            times[subset] = self.times_covariance(subset, rows)
            gram += rows @ times[subset].T
        deviations = np.sqrt(gram.diagonal())
        used = deviations > 1e-9 * max(deviations.max(), 1e-300)
        scale = np.where(used, 1 / np.where(used, deviations, 1), 0)
        values, vectors = np.linalg.eigh(gram * scale[:, None] * scale)
        kept = values > 1e-9 * values.max()
        root = scale[:, None] * vectors[:, kept] / np.sqrt(values[kept])
        steps = root.T @ gaps
        rest = gaps - (gram @ root) @ steps
        if (abs(rest) > 1e-6 * np.maximum(1.0, abs(gaps).max())).any():
            raise ValueError("the public counts and the impossible cells contradict each other")
        for subset, rows in times.items():
            directions = (root.T @ rows).reshape((-1,) + self.parts[subset].shape)
            self.parts[subset] = self.parts[subset] + np.tensordot(steps, directions, axes=1)
            times[subset] = directions
        self.directions = times

    def times_covariance(self, subset, rows):
        array = rows.reshape([-1] + [factor.cells for factor in self.terms[subset].factors])
        for axis, (factor, axes) in enumerate(zip(self.terms[subset].factors,
                                                  self.terms[subset].axes)):
            array = along(array, axis + 1, self.covariance(factor, axes))
        return self.noise[subset] * array.reshape(rows.shape)

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
            after[after < 1e-9 * before] = 0.0
        return estimates, before, after

    def product(self, group):
        """Returns the variances of products of queries: products of one number per factor."""
        positions, sizes = group.positions, self.schema.shape(group.positions)
        counts = [n if rows is None else len(rows) for rows, n in zip(group.factors, sizes)]
        means = [(self.nu[p] if rows is None else rows @ self.nu[p])**2
                 for p, rows in zip(positions, group.factors)]
        total = np.zeros(counts)
        for subset in (s for s in subsets(positions) if s in self.parts):
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
        """Returns q C q^T for all products of rows of matrices, C the covariance of a factor."""
        covariance = self.covariance(factor, axes)
        if len(axes) == 1:
            rows = matrices[0]
            if rows is None:
                return covariance.diagonal()
            centred = rows - (rows @ self.nu[axes[0]])[:, None]
            centred[abs(centred) < 1e-13 * abs(rows).max()] = 0.0  # rounding errors of 0
            return np.einsum("ij,ij->i", centred @ covariance, centred)
        rows = np.ones((1, 1))
        for matrix, size in zip(matrices, factor.shape):
            rows = np.kron(rows, np.eye(size) if matrix is None else matrix)
            if rows.size > MAX_ENTRIES:
                raise Unsupported("so many queries on attributes with a joint strategy")
        return np.einsum("ij,ij->i", rows @ covariance, rows)

    def joint(self, group):
        positions, total = group.positions, np.zeros(len(group.joint))
        shape = self.schema.shape(positions)
        query = group.joint.T.reshape(shape + (-1,))
        for subset in (s for s in subsets(positions) if s in self.parts):
            rows = self.component(positions, subset, query)
            rows = rows.reshape(-1, len(group.joint)).T
            total += np.einsum("ij,ij->i", rows, self.times_covariance(subset, rows))
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
        if subset not in estimates.parts:
            size = 1.0
            for p, rows in zip(group.positions, group.factors):
                rows = np.eye(estimates.schema.sizes[p]) if rows is None else rows
                mean = rows @ estimates.nu[p]
                size *= abs(mean if p not in subset else rows - mean[:, None]).max()
            if size > 1e-9:
                return True
    return False
