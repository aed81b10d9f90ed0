//! Block-diagonalisation of Gram matrices whose cells can be exchanged along one attribute.
//!
//! Two values of an attribute are exchangeable if exchanging them does not change G: leaves of a
//! hierarchy under a common parent, the values of a total, of an identity. Then some optimal weights
//! are equal on the cells of exchangeable values. A class a of k exchangeable values splits into
//! their mean and k − 1 contrasts, on which G is the same matrix over the cells of the other
//! attributes:
//!
//! ```text
//! main[(a, x), (b, y)] = (k_a k_b)^½ · mean of G[(i, x), (j, y)] over i in a and j in b
//! contrast_a[x, y]     = G[(i, x), (i, y)] − G[(i, x), (j, y)]        for i ≠ j in a
//! ```
//!
//! The sum of c equal blocks is `c tr K^½ = tr (c² K)^½`, so that the dual function is that of one
//! block each, scaled by c². A Gram matrix over n values with m classes takes O(m³) per evaluation
//! in place of O(n³).

use ndarray::{Array1, Array2, ArrayView2};

use crate::error::Result;
use crate::factor::{GramSource, QueriesWithInverse};
use crate::symmetry::EQUAL;
use matmech_linalg::Semidefinite;

/// Minimum cells of a problem for which classes are searched; smaller dense problems take less than
/// a second.
const MIN_CELLS: usize = 257;

/// The classes of exchangeable values of one attribute of a box.
#[derive(Debug, Clone)]
pub(super) struct Exchangeable {
    /// The cells before the attribute, its values, and the cells after it.
    view: [usize; 3],
    /// The class of every value.
    class_of: Vec<usize>,
    /// The values of every class.
    members: Vec<Vec<usize>>,
}

/// The parts of a matrix that does not change when exchangeable values are exchanged.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    /// The block of the means of classes.
    pub main: Array2<f64>,
    /// The block of the contrasts of every class with at least two values.
    pub contrasts: Vec<Option<Array2<f64>>>,
}

impl Exchangeable {
    /// Finds the attribute of a box whose classes leave the fewest blocks; `None` if there is no
    /// attribute with at most half as many classes as values, or the problem is small.
    ///
    /// O(cells² · attributes), for values that differ early.
    pub fn of(shape: &[usize], gram: ArrayView2<'_, f64>) -> Option<Self> {
        if gram.nrows() < MIN_CELLS { None } else { Self::of_any_size(shape, gram) }
    }

    fn of_any_size(shape: &[usize], gram: ArrayView2<'_, f64>) -> Option<Self> {
        let scale = EQUAL * gram.diag().iter().copied().fold(0.0, f64::max);
        let along = |axis: usize| {
            let [outer, inner] = [&shape[..axis], &shape[axis + 1..]].map(|s| s.iter().product());
            Self::along([outer, shape[axis], inner], gram, scale)
        };
        let found = (0..shape.len()).map(along);
        let useful = found.filter(|found| 2 * found.members.len() <= found.class_of.len());
        useful.min_by_key(|found| found.members.len() * found.rest())
    }

    fn along(view: [usize; 3], gram: ArrayView2<'_, f64>, scale: f64) -> Self {
        let mut found = Exchangeable { view, class_of: Vec::new(), members: Vec::new() };
        for value in 0..view[1] {
            let class = (0..found.members.len())
                .find(|&class| found.exchanged(gram, scale, found.members[class][0], value));
            match class {
                Some(class) => found.members[class].push(value),
                None => found.members.push(vec![value]),
            }
            found.class_of.push(class.unwrap_or(found.members.len() - 1));
        }
        found
    }

    /// Returns whether exchanging two values leaves the matrix unchanged.
    fn exchanged(&self, gram: ArrayView2<'_, f64>, scale: f64, i: usize, j: usize) -> bool {
        let equal =
            |a: usize, b: usize, c: usize, d: usize| (gram[[a, b]] - gram[[c, d]]).abs() <= scale;
        let rest = self.rest();
        let same = |k: usize| {
            let other = if k == i {
                j
            } else if k == j {
                i
            } else {
                k
            };
            let pairs = (0..rest).flat_map(|x| (0..rest).map(move |y| (x, y)));
            pairs.into_iter().all(|(x, y)| {
                equal(self.cell(i, x), self.cell(k, y), self.cell(j, x), self.cell(other, y))
            })
        };
        // Values differ most often in their own entries.
        same(i) && (0..self.view[1]).all(same)
    }

    /// Returns the number of cells of the other attributes.
    fn rest(&self) -> usize {
        self.view[0] * self.view[2]
    }

    fn cell(&self, value: usize, rest: usize) -> usize {
        let [_, values, inner] = self.view;
        (rest / inner * values + value) * inner + rest % inner
    }

    /// Returns the number of cells of every orbit, by class and cell of the other attributes.
    pub fn orbit_sizes(&self) -> Vec<f64> {
        let of_class = |members: &Vec<usize>| vec![members.len() as f64; self.rest()];
        self.members.iter().flat_map(of_class).collect()
    }

    /// Returns the orbit of every cell.
    pub fn orbits(&self) -> Vec<usize> {
        let mut orbits = vec![0; self.class_of.len() * self.rest()];
        for (value, class) in self.class_of.iter().enumerate() {
            for rest in 0..self.rest() {
                orbits[self.cell(value, rest)] = class * self.rest() + rest;
            }
        }
        orbits
    }

    /// Returns the orbits of the columns of every block, and how many equal blocks there are: the
    /// main block, then those of the contrasts in the order of the classes.
    pub fn blocks(&self) -> Vec<(Vec<usize>, f64)> {
        let rest = self.rest();
        let mut blocks = vec![((0..self.members.len() * rest).collect(), 1.0)];
        let with_contrasts = self.members.iter().enumerate().filter(|(_, m)| m.len() > 1);
        blocks.extend(with_contrasts.map(|(class, members)| {
            ((class * rest..(class + 1) * rest).collect(), (members.len() - 1) as f64)
        }));
        blocks
    }

    /// Returns the parts of an invariant matrix.
    pub fn parts(&self, matrix: ArrayView2<'_, f64>) -> Parts {
        let rest = self.rest();
        let order = self.members.len() * rest;
        let slice = |i: usize, j: usize| {
            Array2::from_shape_fn((rest, rest), |(x, y)| matrix[[self.cell(i, x), self.cell(j, y)]])
        };
        let contrasts: Vec<Option<Array2<f64>>> = (self.members.iter())
            .map(|members| match members.as_slice() {
                [i, j, ..] => {
                    let contrast = slice(*i, *i) - slice(*i, *j);
                    Some((&contrast + &contrast.t()) / 2.0)
                }
                _ => None,
            })
            .collect();
        let mut main = Array2::zeros((order, order));
        for (a, first) in self.members.iter().enumerate() {
            for (b, second) in self.members.iter().enumerate() {
                let block = match first.as_slice() {
                    [i, j, others @ ..] if a == b => {
                        slice(*i, *i) + slice(*i, *j) * (others.len() + 1) as f64
                    }
                    _ => slice(first[0], second[0]) * ((first.len() * second.len()) as f64).sqrt(),
                };
                for ((x, y), entry) in block.indexed_iter() {
                    main[[a * rest + x, b * rest + y]] = *entry;
                }
            }
        }
        let main = (&main + &main.t()) / 2.0;
        Parts { main, contrasts }
    }

    /// Returns the matrix of some parts. O(cells²).
    pub fn assembled(&self, parts: &Parts) -> Array2<f64> {
        let (rest, cells) = (self.rest(), self.class_of.len() * self.rest());
        let mut out = Array2::zeros((cells, cells));
        for (i, &a) in self.class_of.iter().enumerate() {
            for (j, &b) in self.class_of.iter().enumerate() {
                let sizes = self.members[a].len() as f64 * self.members[b].len() as f64;
                let contrast = parts.contrasts[a].as_ref().filter(|_| a == b);
                let share = f64::from(u8::from(i == j)) - 1.0 / self.members[a].len() as f64;
                for x in 0..rest {
                    for y in 0..rest {
                        let main = parts.main[[a * rest + x, b * rest + y]] / sizes.sqrt();
                        let inside = contrast.map_or(0.0, |block| share * block[[x, y]]);
                        out[[self.cell(i, x), self.cell(j, y)]] = main + inside;
                    }
                }
            }
        }
        out
    }

    /// Returns the parts of a strategy from the rows of blocks, in the order of
    /// [`Exchangeable::blocks`]; omitted blocks are zero. Each row list is that of all equal blocks
    /// together.
    pub fn strategy_parts(&self, rows: Vec<(usize, Array2<f64>)>) -> Parts {
        let blocks = self.blocks();
        let mut grams: Vec<Array2<f64>> =
            blocks.iter().map(|(orbits, _)| Array2::zeros((orbits.len(), orbits.len()))).collect();
        for (index, rows) in rows {
            grams[index] = matmech_linalg::gram_of(rows.view()) / blocks[index].1;
        }
        self.parts_of_blocks(grams)
    }

    /// Returns the parts whose blocks are given in the order of [`Exchangeable::blocks`].
    pub fn parts_of_blocks(&self, blocks: Vec<Array2<f64>>) -> Parts {
        let mut blocks = blocks.into_iter();
        let main = blocks.next().unwrap_or_default();
        let contrasts =
            self.members.iter().map(|m| if m.len() > 1 { blocks.next() } else { None }).collect();
        Parts { main, contrasts }
    }
}

impl Parts {
    /// Returns the blocks in the order of [`Exchangeable::blocks`].
    pub fn blocks(&self) -> impl Iterator<Item = &Array2<f64>> {
        std::iter::once(&self.main).chain(self.contrasts.iter().flatten())
    }
}

/// A strategy that does not change when exchangeable values are exchanged, at unit privacy cost.
#[derive(Debug)]
pub(super) struct ExchangeableStrategy {
    values: Exchangeable,
    parts: Parts,
}

impl ExchangeableStrategy {
    /// Creates a strategy, scaled to unit privacy cost.
    pub fn new(values: Exchangeable, mut parts: Parts) -> Self {
        let rest = values.rest();
        let sensitivity = |class: usize, x: usize| {
            let size = values.members[class].len() as f64;
            let inside = parts.contrasts[class].as_ref().map_or(0.0, |block| block[[x, x]]);
            let cell = class * rest + x;
            parts.main[[cell, cell]] / size + (1.0 - 1.0 / size) * inside
        };
        let classes = 0..values.members.len();
        let all = classes.flat_map(|class| (0..rest).map(move |x| (class, x)));
        let largest = all.map(|(class, x)| sensitivity(class, x)).fold(0.0, f64::max);
        parts.main /= largest;
        parts.contrasts.iter_mut().flatten().for_each(|block| *block /= largest);
        ExchangeableStrategy { values, parts }
    }

    /// Writes the row of a block for the means of classes over the cells.
    fn spread(&self, row: ndarray::ArrayView1<'_, f64>, mut out: ndarray::ArrayViewMut1<'_, f64>) {
        let rest = self.values.rest();
        for (value, &class) in self.values.class_of.iter().enumerate() {
            let root = (self.values.members[class].len() as f64).sqrt();
            for x in 0..rest {
                out[self.values.cell(value, x)] = row[class * rest + x] / root;
            }
        }
    }
}

impl GramSource for ExchangeableStrategy {
    fn sensitivity_squared(&self) -> f64 {
        1.0
    }

    fn gram(&self) -> Result<Array2<f64>> {
        Ok(self.values.assembled(&self.parts))
    }

    /// The pseudo-inverses of the blocks.
    fn covariance(&self) -> Result<Option<Array2<f64>>> {
        let inverse = |block: &Array2<f64>| Ok(Semidefinite::of(block.view())?.pseudo_inverse());
        let contrasts = self.parts.contrasts.iter();
        let parts = Parts {
            main: inverse(&self.parts.main)?,
            contrasts: contrasts
                .map(|block| block.as_ref().map(inverse).transpose())
                .collect::<Result<_>>()?,
        };
        Ok(Some(self.values.assembled(&parts)))
    }

    /// Orthogonal queries: those of the main block, and for every class those of its block times
    /// Helmert's contrasts `(1, …, 1, −k, 0, …)/√(k(k + 1))`.
    fn queries_and_inverse(&self) -> Result<Option<QueriesWithInverse>> {
        let (values, rest) = (&self.values, self.values.rest());
        let cells = values.class_of.len() * rest;
        let main = Semidefinite::of(self.parts.main.view())?;
        let contrasts = self.parts.contrasts.iter();
        let contrasts: Vec<Option<Semidefinite>> = contrasts
            .map(|block| block.as_ref().map(|b| Semidefinite::of(b.view())).transpose())
            .collect::<std::result::Result<_, _>>()?;
        let count: usize = values.members.iter().zip(&contrasts).fold(main.rank(), |sum, of| {
            sum + of.1.as_ref().map_or(0, |block| (of.0.len() - 1) * block.rank())
        });
        let mut queries = Array2::zeros((count, cells));
        let mut inverse = Array2::zeros((cells, count));
        let mut next = 0;
        let (root, root_inverse) = (main.root(), main.root_inverse());
        for (row, column) in root.rows().into_iter().zip(root_inverse.columns()) {
            self.spread(row, queries.row_mut(next));
            self.spread(column, inverse.column_mut(next));
            next += 1;
        }
        for (members, block) in values.members.iter().zip(&contrasts) {
            let Some(block) = block else { continue };
            let (root, root_inverse) = (block.root(), block.root_inverse());
            for k in 1..members.len() {
                let contrast = helmert(k);
                for (row, column) in root.rows().into_iter().zip(root_inverse.columns()) {
                    for (&value, weight) in members.iter().zip(&contrast) {
                        for x in 0..rest {
                            queries[[next, values.cell(value, x)]] = weight * row[x];
                            inverse[[values.cell(value, x), next]] = weight * column[x];
                        }
                    }
                    next += 1;
                }
            }
        }
        Ok(Some((queries, inverse)))
    }
}

/// Returns Helmert's contrast of k values and the next one, of norm 1.
fn helmert(k: usize) -> Array1<f64> {
    let size = k as f64;
    let root = (size * (size + 1.0)).sqrt();
    Array1::from_shape_fn(k + 1, |i| if i < k { 1.0 } else { -size } / root)
}

#[cfg(test)]
mod tests {
    use approx::{assert_abs_diff_eq, assert_relative_eq};
    use rand::RngExt;

    use super::*;
    use crate::domain::Hierarchy;
    use crate::optimal::{Optimal, OptimalOptions};
    use crate::test_support::rng;
    use crate::workload::{Family, Gram, Workload};
    use crate::{StrategyFactor, StrategySelector};
    use matmech_linalg as linalg;

    /// A hierarchy of two levels with leaves in random order.
    fn tree(seed: u64, regions: usize, counties: usize, leaves: usize) -> Hierarchy {
        let mut rng = rng(seed);
        let mut labels = Vec::new();
        for region in 0..regions {
            for county in 0..counties {
                let county = (region, region * counties + county);
                labels.extend(vec![county; 1 + (region + county.1) % leaves]);
            }
        }
        for k in (1..labels.len()).rev() {
            labels.swap(k, rng.random_range(0..=k));
        }
        let level = |name: &str, of: fn(&(usize, usize)) -> usize| {
            (name.to_owned(), labels.iter().map(|label| of(label).to_string()).collect())
        };
        let levels = vec![level("region", |l| l.0), level("county", |l| l.1)];
        Hierarchy::new(levels, |leaf| leaf.to_string()).unwrap()
    }

    /// A residual Gram: all nodes, and more of the regions.
    fn residual(tree: &Hierarchy) -> Array2<f64> {
        let n = tree.leaves();
        let of = |family: Family| {
            let gram = Workload::family(family, &[n]).unwrap().gram().unwrap().residual();
            gram.factors()[0].matrix.as_ref().clone()
        };
        of(Family::nested(tree)) + of(Family::level(tree, "region").unwrap()) * 0.7
    }

    /// Boxes with exchangeable values first, last, and between other attributes.
    fn invariant() -> Vec<(Vec<usize>, Array2<f64>, usize)> {
        let values = residual(&tree(1, 2, 2, 5));
        let n = values.nrows();
        let other = Workload::parse("prefix:3").unwrap().gram().unwrap().to_dense().unwrap();
        let more = Workload::parse("range:3").unwrap().gram().unwrap().to_dense().unwrap();
        let sum = |first: &[&Array2<f64>], second: &[&Array2<f64>]| {
            let kron = |m: &[&Array2<f64>]| linalg::kron_all(m.iter().map(|m| m.view()));
            kron(first) + kron(second) * 0.3
        };
        let eye = Array2::eye(n);
        vec![
            (vec![n], values.clone(), 4),
            (vec![n, 3], sum(&[&values, &other], &[&eye, &more]), 4),
            (vec![3, n], sum(&[&other, &values], &[&more, &eye]), 4),
            (vec![3, n, 3], sum(&[&other, &values, &more], &[&more, &eye, &more]), 4),
        ]
    }

    #[test]
    fn parts_give_the_matrix_again() {
        for (shape, gram, classes) in invariant() {
            let values = Exchangeable::of_any_size(&shape, gram.view()).unwrap();
            assert_eq!(values.members.len(), classes, "{shape:?}");
            let parts = values.parts(gram.view());
            assert_abs_diff_eq!(values.assembled(&parts), gram, epsilon = 1e-11);
            let spectrum = |m: ArrayView2<'_, f64>| linalg::eigh(m).unwrap().values.to_vec();
            let blocks = values.blocks().into_iter().zip(parts.blocks());
            let mut split: Vec<f64> = blocks
                .flat_map(|((_, copies), b)| vec![spectrum(b.view()); copies as usize].concat())
                .collect();
            split.sort_by(f64::total_cmp);
            assert_abs_diff_eq!(
                Array1::from(split),
                Array1::from(spectrum(gram.view())),
                epsilon = 1e-10
            );
        }
        let prefix = Workload::parse("prefix:9").unwrap().gram().unwrap().to_dense().unwrap();
        assert!(Exchangeable::of_any_size(&[9], prefix.view()).is_none());
        let circular = Workload::parse("circular:9").unwrap().gram().unwrap().to_dense().unwrap();
        assert!(Exchangeable::of_any_size(&[9], circular.view()).is_none());
    }

    /// Covariance, queries and inverse compared with those computed from the matrix.
    #[test]
    fn the_forms_of_a_strategy_agree() {
        for (shape, gram, _) in invariant() {
            let values = Exchangeable::of_any_size(&shape, gram.view()).unwrap();
            let parts = values.parts(gram.view());
            let strategy = std::sync::Arc::new(ExchangeableStrategy::new(values, parts));
            let factor = StrategyFactor::from_gram_source(&shape, strategy);
            let dense = StrategyFactor::from_gram_scaled(&shape, gram).unwrap();
            assert_abs_diff_eq!(*factor.gram().unwrap(), *dense.gram().unwrap(), epsilon = 1e-11);
            let covariance = Semidefinite::of(dense.gram().unwrap().view()).unwrap();
            let covariance = covariance.pseudo_inverse();
            assert_abs_diff_eq!(*factor.covariance().unwrap(), covariance, epsilon = 1e-8);
            let (queries, inverse) = (factor.queries().unwrap(), factor.inverse().unwrap());
            assert_abs_diff_eq!(
                queries.t().dot(&*queries),
                *dense.gram().unwrap(),
                epsilon = 1e-10
            );
            assert_abs_diff_eq!(inverse.dot(&inverse.t()), covariance, epsilon = 1e-8);
            assert_eq!(
                queries.nrows(),
                linalg::eigh(covariance.view())
                    .unwrap()
                    .values
                    .iter()
                    .filter(|x| **x > 1e-9)
                    .count()
            );
        }
    }

    /// The optimum of all nodes compared with the solver for hierarchies, which has one weight per
    /// type of leaves; error, sensitivity and proof compared with the strategy's own matrix.
    #[test]
    fn the_optimum_of_a_tree_is_that_of_the_solver_for_trees() {
        let tree = tree(2, 3, 8, 40);
        assert!(tree.leaves() >= MIN_CELLS, "{}", tree.leaves());
        let workload = Workload::family(Family::nested(&tree), &[tree.leaves()]).unwrap();
        let optimal =
            Optimal::new(OptimalOptions { tolerance: 1e-9, ..Default::default() }).unwrap();
        let expected = optimal.select_for(&crate::Problem::new(&workload)).unwrap();
        let gram = workload.gram().unwrap();
        let found = optimal.select(&gram).unwrap();
        assert_relative_eq!(found.error, expected.error, max_relative = 2e-9);
        assert!(found.certificate.unwrap().gap() <= 1e-9);
        assert_relative_eq!(found.strategy.error(&gram).unwrap(), found.error, max_relative = 1e-9);
        let strategy = found.strategy.factors()[0].gram().unwrap();
        let largest = strategy.diag().iter().copied().fold(0.0, f64::max);
        assert_relative_eq!(largest, 1.0, max_relative = 1e-12);
        let again = found.proof.unwrap().selection(&gram).unwrap();
        assert_relative_eq!(again.error, found.error, max_relative = 1e-12);
    }

    /// The derivative by G compared with differences.
    #[test]
    fn the_derivative_is_that_of_differences() {
        let tree = tree(3, 3, 8, 40);
        let n = tree.leaves();
        let gram = residual(&tree);
        assert!(Exchangeable::of(&[n], gram.view()).is_some());
        let optimal =
            Optimal::new(OptimalOptions { tolerance: 1e-11, ..Default::default() }).unwrap();
        let at = |gram: &Array2<f64>| optimal.with_derivative(&[n], gram.view(), None).unwrap();
        let found = at(&gram);
        let dense = optimal.select(&Gram::dense(&[n], gram.clone()).unwrap()).unwrap();
        assert_relative_eq!(found.error, dense.error, max_relative = 1e-9);
        let county = Workload::family(Family::level(&tree, "county").unwrap(), &[n]).unwrap();
        let direction = county.gram().unwrap().residual().factors()[0].matrix.as_ref().clone();
        let step = 1e-3;
        let (more, less) =
            (at(&(&gram + &direction * step)).error, at(&(&gram - &direction * step)).error);
        let derivative = (&found.by_gram * &direction).sum();
        assert_relative_eq!(derivative, (more - less) / (2.0 * step), max_relative = 1e-5);
    }
}
