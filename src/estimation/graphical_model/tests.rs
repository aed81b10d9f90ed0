//! Graphical models against enumeration of all cells, Clarabel's quadratic program, and sampling.

use approx::assert_relative_eq;
use clarabel::algebra::CscMatrix;
use clarabel::solver::SupportedConeT::{NonnegativeConeT, ZeroConeT};
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus};
use rand::RngExt;
use rand_chacha::ChaCha20Rng;

use super::*;
use crate::domain::{AttributeSet, AxisSet};
use crate::residual::summed;
use crate::test_support::{rng, schema, set};

/// Returns random sizes of up to six attributes, and random sets of one to three attributes.
fn instance(rng: &mut ChaCha20Rng) -> (Vec<usize>, Vec<AttributeSet>) {
    let sizes: Vec<usize> = (0..rng.random_range(1..=6)).map(|_| rng.random_range(1..=3)).collect();
    let random = |rng: &mut ChaCha20Rng| {
        let bits = (0..rng.random_range(1..=3))
            .fold(0, |bits, _| bits | 1 << rng.random_range(0..sizes.len()));
        AttributeSet::first(sizes.len()).at(AxisSet::from_number(bits))
    };
    let sets = (0..rng.random_range(0..7)).map(|_| random(rng)).collect();
    (sizes, sets)
}

/// Returns exp Σ θ over all cells, scaled to the total.
fn enumerated(
    sizes: &[usize],
    tree: &JunctionTree,
    potentials: &[Vec<f64>],
    total: f64,
) -> Vec<f64> {
    let all = AttributeSet::first(sizes.len());
    let mut cells = vec![0.0; sizes.iter().product()];
    for (clique, potential) in tree.cliques().iter().zip(potentials) {
        for (cell, x) in cells.iter_mut().enumerate() {
            *x += potential[index(sizes, all, *clique, cell)];
        }
    }
    let largest = cells.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    cells.iter_mut().for_each(|x| *x = (*x - largest).exp());
    let sum: f64 = cells.iter().sum();
    cells.into_iter().map(|x| x * total / sum).collect()
}

/// Returns the cell of a smaller table to which a cell of a larger one maps, digit by digit.
fn index(sizes: &[usize], larger: AttributeSet, smaller: AttributeSet, cell: usize) -> usize {
    let (mut rest, mut index, mut stride) = (cell, 0, 1);
    for p in larger.positions().collect::<Vec<_>>().into_iter().rev() {
        let digit = rest % sizes[p];
        rest /= sizes[p];
        if smaller.contains(p) {
            index += digit * stride;
            stride *= sizes[p];
        }
    }
    index
}

fn marginal(sizes: &[usize], cells: &[f64], of: AttributeSet) -> Vec<f64> {
    let all = AttributeSet::first(sizes.len());
    let mut out = vec![0.0; of.select(sizes).iter().product()];
    cells.iter().enumerate().for_each(|(cell, x)| out[index(sizes, all, of, cell)] += x);
    out
}

/// Every marginal of random models, also those that no clique contains, against enumeration, for
/// potentials of moderate and of extreme size.
#[test]
fn propagation_and_elimination_agree_with_enumeration() {
    let mut rng = rng(1);
    for round in 0..200 {
        let (sizes, sets) = instance(&mut rng);
        let all = AttributeSet::first(sizes.len());
        let tree = JunctionTree::new(&sizes, all, &sets).unwrap();
        let spread = if round % 4 == 0 { 300.0 } else { 3.0 };
        let potentials: Vec<Vec<f64>> = tree
            .cliques()
            .iter()
            .map(|c| {
                (0..c.select(&sizes).iter().product())
                    .map(|_| rng.random_range(-spread..spread))
                    .collect()
            })
            .collect();
        let cells = enumerated(&sizes, &tree, &potentials, 50.0);
        let model = CalibratedTree::of_potentials(&sizes, &tree, potentials, 50.0);
        assert_relative_eq!(model.total(), 50.0, max_relative = 1e-12);
        let mut messages = Messages::default();
        for gamma in all.subsets() {
            let found = model.marginal_with(&mut messages, gamma).unwrap();
            for (found, expected) in found.iter().zip(marginal(&sizes, &cells, gamma)) {
                assert!(
                    (found - expected).abs() < 1e-9,
                    "{sizes:?} {sets:?} {gamma:?}: {found} against {expected}"
                );
            }
            let alone = model.marginal(gamma).unwrap();
            found.iter().zip(alone).for_each(|(a, b)| assert!((a - b).abs() < 1e-11, "{gamma:?}"));
        }
    }
}

/// Returns the cells of the triangulation by a given elimination order, with an adjacency matrix.
fn cells_by_order(sizes: &[usize], sets: &[AttributeSet], order: &[usize]) -> f64 {
    let d = sizes.len();
    let mut linked = vec![vec![false; d]; d];
    for set in sets {
        for a in set.positions() {
            set.positions().for_each(|b| linked[a][b] = true);
        }
    }
    let mut cliques: Vec<Vec<usize>> = Vec::new();
    for (k, &v) in order.iter().enumerate() {
        let mut clique: Vec<usize> =
            order[k + 1..].iter().copied().filter(|&u| linked[v][u]).collect();
        for &a in &clique {
            clique.iter().for_each(|&b| linked[a][b] = true);
        }
        clique.push(v);
        if !cliques.iter().any(|known| clique.iter().all(|p| known.contains(p))) {
            cliques.push(clique);
        }
    }
    cliques.iter().map(|clique| clique.iter().map(|&p| sizes[p] as f64).product::<f64>()).sum()
}

fn orders(left: &[usize]) -> Vec<Vec<usize>> {
    if left.is_empty() {
        return vec![Vec::new()];
    }
    let starting_with = |k: usize| {
        let (mut rest, first) = (left.to_vec(), left[k]);
        rest.remove(k);
        orders(&rest).into_iter().map(move |order| [vec![first], order].concat())
    };
    (0..left.len()).flat_map(starting_with).collect()
}

#[test]
fn trees_are_valid_and_small() {
    let mut rng = rng(2);
    let (mut greedy, mut best) = (0.0, 0.0);
    for _ in 0..60 {
        let (sizes, sets) = instance(&mut rng);
        let all = AttributeSet::first(sizes.len());
        let tree = JunctionTree::new(&sizes, all, &sets).unwrap();
        let cells = tree.cells(&sizes);
        assert_eq!(cells, JunctionTree::cells_for(&sizes, all, &sets));
        assert_eq!(tree.megabytes(&sizes), cells * 8.0 / 1_048_576.0);
        let positions: Vec<usize> = (0..sizes.len()).collect();
        let by_order: Vec<f64> =
            orders(&positions).iter().map(|order| cells_by_order(&sizes, &sets, order)).collect();
        // The size is that of some elimination order; on average it is close to the smallest.
        assert!(by_order.contains(&cells), "{sizes:?} {sets:?}: {cells} of {by_order:?}");
        greedy += cells;
        best += by_order.iter().copied().fold(f64::INFINITY, f64::min);
        for &set in &sets {
            assert!(tree.cliques().iter().any(|clique| set.is_subset(*clique)));
        }
        // Running intersection: an attribute of a clique is in its parent, except at one clique.
        for p in all.positions() {
            let having = (0..tree.cliques().len()).filter(|&k| tree.cliques()[k].contains(p));
            let tops = having.filter(|&k| {
                tree.parent(k).is_none_or(|(parent, _)| !tree.cliques()[parent].contains(p))
            });
            assert_eq!(tops.count(), 1);
        }
        for k in 1..tree.cliques().len() {
            let (parent, separator) = tree.parent(k).unwrap();
            assert!(parent < k && tree.children(parent).contains(&k));
            assert_eq!(separator, tree.cliques()[k].intersection(tree.cliques()[parent]));
        }
    }
    assert!(greedy <= 1.02 * best, "{greedy} against {best}");
}

/// Returns min Σ ‖A_c x − y_c‖²/(2σ_c²) over x ≥ 0, 1ᵀx = N by Clarabel, in the cells of the whole
/// domain.
fn by_quadratic_program(
    sizes: &[usize],
    measured: &[(AttributeSet, Vec<f64>, f64)],
    total: f64,
) -> f64 {
    let all = AttributeSet::first(sizes.len());
    let n: usize = sizes.iter().product();
    let mut quadratic = vec![vec![0.0; n]; n];
    let (mut linear, mut constant) = (vec![0.0; n], 0.0);
    for (set, y, variance) in measured {
        for i in 0..n {
            let row = index(sizes, all, *set, i);
            linear[i] -= y[row] / variance;
            for (j, entry) in quadratic[i].iter_mut().enumerate() {
                *entry += f64::from(u8::from(row == index(sizes, all, *set, j))) / variance;
            }
        }
        constant += y.iter().map(|y| y * y).sum::<f64>() / (2.0 * variance);
    }
    // Clarabel expects the upper triangle.
    for (i, row) in quadratic.iter_mut().enumerate() {
        row[..i].fill(0.0);
    }
    let p = CscMatrix::from(&quadratic);
    let mut rows = vec![vec![1.0; n]];
    rows.extend((0..n).map(|i| (0..n).map(|j| if i == j { -1.0 } else { 0.0 }).collect()));
    let a = CscMatrix::from(&rows);
    let mut b = vec![total];
    b.resize(n + 1, 0.0);
    let settings =
        DefaultSettingsBuilder::default().verbose(false).tol_gap_rel(1e-10).build().unwrap();
    let cones = [ZeroConeT(1), NonnegativeConeT(n)];
    let mut solver = DefaultSolver::new(&p, &linear, &a, &b, &cones, settings).unwrap();
    solver.solve();
    assert!(matches!(solver.solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved));
    solver.solution.obj_val + constant
}

/// Returns noisy marginals of random records. With large noise some cells of the optimum are zero.
fn noisy(
    sizes: &[usize],
    sets: &[AttributeSet],
    sigma: f64,
    rng: &mut ChaCha20Rng,
) -> Vec<(AttributeSet, Vec<f64>, f64)> {
    let cells: Vec<f64> =
        (0..sizes.iter().product()).map(|_| rng.random_range(0.0..10f64).powi(2) / 10.0).collect();
    let noise =
        |rng: &mut ChaCha20Rng| sigma * (0..12).map(|_| rng.random_range(-0.5..0.5)).sum::<f64>();
    sets.iter()
        .map(|&set| {
            let y = marginal(sizes, &cells, set).into_iter().map(|x| x + noise(rng)).collect();
            (set, y, sigma * sigma)
        })
        .collect()
}

const PRECISE: FitSettings = FitSettings { iterations: 100_000, tolerance: 1e-7, stall: 0.0 };

#[test]
fn the_fit_is_the_certified_constrained_optimum() {
    let mut rng = rng(3);
    let sizes = [2, 3, 2, 3];
    let sets = [set(&[0]), set(&[0, 1]), set(&[1, 2]), set(&[2, 3]), set(&[0, 3]), set(&[1, 2, 3])];
    for sigma in [0.5, 3.0, 10.0] {
        let measured = noisy(&sizes, &sets, sigma, &mut rng);
        let mut model = GraphicalModel::new(&sizes, AttributeSet::first(4)).unwrap();
        for (set, y, variance) in &measured {
            model.measure(*set, y.clone(), *variance).unwrap();
        }
        let rough = model.clone().fit(FitSettings { iterations: 20, ..PRECISE }).unwrap();
        let fit = model.fit(PRECISE).unwrap();
        let optimum = by_quadratic_program(&sizes, &measured, model.total());
        assert!(
            (fit.loss - optimum).abs() <= 1e-6 * optimum.max(1.0),
            "{sigma}: {fit:?} against {optimum}"
        );
        for fit in [rough, fit] {
            assert!(
                fit.gap >= fit.loss - optimum - 1e-6 * optimum.max(1.0),
                "{fit:?} against {optimum}"
            );
        }
        assert!(
            fit.status != FitStatus::OutOfIterations && fit.gap < 1e-4 * optimum.max(1.0),
            "{fit:?}"
        );
        // A fit that starts from the optimum ends quickly.
        let again = model.fit(PRECISE).unwrap();
        assert!(again.iterations <= 200 && again.loss <= fit.loss * (1.0 + 1e-12), "{again:?}");
    }
}

#[test]
fn marginals_of_a_fitted_model_agree_and_measurements_are_pooled() {
    let mut rng = rng(4);
    let sizes = [3, 2, 4, 2, 3];
    let sets = [set(&[0, 1]), set(&[1, 2]), set(&[2, 3]), set(&[3, 4]), set(&[0, 4]), set(&[2])];
    let mut model = GraphicalModel::new(&sizes, AttributeSet::first(5)).unwrap();
    let mut twice = model.clone();
    for (set, y, variance) in noisy(&sizes, &sets, 2.0, &mut rng) {
        let shifted =
            |by: f64| y.iter().enumerate().map(|(k, y)| if k == 0 { y + by } else { *y }).collect();
        twice.measure(set, shifted(3.0), 2.0 * variance).unwrap();
        twice.measure(set, shifted(-3.0), 2.0 * variance).unwrap();
        model.measure(set, y, variance).unwrap();
    }
    let settings = FitSettings { iterations: 200, tolerance: 1e-6, stall: 0.0 };
    model.fit(settings).unwrap();
    twice.fit(settings).unwrap();
    let all = AttributeSet::first(5);
    for gamma in all.subsets() {
        let larger = model.marginals().marginal(gamma).unwrap();
        assert!(larger.iter().all(|x| *x >= 0.0));
        for beta in gamma.subsets() {
            let added = summed(&gamma.select(&sizes), gamma.axes_in(beta), &larger);
            let smaller = model.marginals().marginal(beta).unwrap();
            added
                .iter()
                .zip(&smaller)
                .for_each(|(a, b)| assert!((a - b).abs() < 1e-9, "{gamma:?} {beta:?}"));
        }
        for (a, b) in larger.iter().zip(twice.marginals().marginal(gamma).unwrap()) {
            assert!((a - b).abs() < 1e-6 * model.total());
        }
    }
    let tree = model.marginals();
    let allocated: usize = (0..tree.tree().cliques().len()).map(|k| tree.table(k).len()).sum();
    assert_eq!(tree.cells(), allocated);
    assert_relative_eq!(tree.megabytes(), tree.tree().megabytes(&sizes), max_relative = 1e-12);
}

/// 40,000 draws: every cell of every pair is within six standard deviations of the model.
#[test]
fn draws_follow_the_model() {
    const DRAWS: usize = 40_000;
    let sizes = [3, 2, 4, 2];
    let [schema, other] = [sizes, [3, 2, 4, 3]].map(|sizes| schema(&sizes));
    let all = AttributeSet::first(4);
    let tree = JunctionTree::new(&sizes, all, &[set(&[0, 1]), set(&[1, 2]), set(&[0, 2])]).unwrap();
    let mut rng = rng(5);
    let potential = |c: &AttributeSet| {
        (0..c.select(&sizes).iter().product()).map(|_| rng.random_range(-2.0..2.0)).collect()
    };
    let potentials = tree.cliques().iter().map(potential).collect();
    let model = CalibratedTree::of_potentials(&sizes, &tree, potentials, 1.0);
    let records = model.sample(&schema, DRAWS, &mut rng).unwrap();
    assert_eq!(records.len(), DRAWS);
    for pair in all.of_size(2) {
        let (found, expected) = (records.marginal(pair).unwrap(), model.marginal(pair).unwrap());
        for (found, p) in found.iter().zip(expected) {
            let bound = 6.0 * (DRAWS as f64 * p * (1.0 - p)).sqrt() + 1e-9;
            assert!((found - DRAWS as f64 * p).abs() < bound, "{pair:?}: {found} against {p}");
        }
    }
    assert!(model.sample(&other, 1, &mut rng).unwrap_err().to_string().contains("sizes"));
    // Systematic draws: the marginal on the first clique is rounded up or down.
    let columns = model.columns(&schema, DRAWS, Draws::Systematic, &mut rng).unwrap();
    let columns = columns.into_iter().map(crate::data::Column::from_iter).collect();
    let records = crate::data::Records::new(&schema, columns).unwrap();
    let found = records.marginal(model.tree().cliques()[0]).unwrap();
    for (found, p) in found.iter().zip(model.table(0)) {
        assert!((found - DRAWS as f64 * p).abs() < 1.0 + 1e-6, "{found} against {p}");
    }
}

#[test]
fn invalid_measurements_and_attributes_are_refused() {
    let sizes = [3, 2];
    assert!(JunctionTree::new(&sizes, AttributeSet::EMPTY, &[]).is_err());
    assert!(JunctionTree::new(&sizes, AttributeSet::first(3), &[]).is_err());
    assert!(JunctionTree::new(&sizes, set(&[0]), &[set(&[0, 1])]).is_err());
    let mut model = GraphicalModel::new(&sizes, set(&[0])).unwrap();
    assert!(model.measure(set(&[1]), vec![0.0; 2], 1.0).unwrap_err().to_string().contains("[0]"));
    assert!(
        model
            .measure(set(&[0]), vec![0.0; 2], 1.0)
            .unwrap_err()
            .to_string()
            .contains("3 finite numbers")
    );
    assert!(model.measure(set(&[0]), vec![f64::NAN; 3], 1.0).is_err());
    for variance in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-320] {
        assert!(model.measure(set(&[0]), vec![0.0; 3], variance).is_err());
    }
    assert!(model.marginals().marginal(set(&[1])).is_err());
    let schema = schema(&sizes);
    assert!(
        model
            .marginals()
            .sample(&schema, 1, &mut rng(6))
            .unwrap_err()
            .to_string()
            .contains("every attribute")
    );
}

/// The model of the marginals of random tables has these marginals, and the largest entropy of all
/// tables with them: Σ (p − q) ln p = 0 for another such table q.
///
/// Half of the tables have no zeros. The others have zeros in a marginal on one attribute.
#[test]
fn proportional_fits_have_the_largest_entropy() {
    let mut rng = rng(21);
    let fit = ProportionalFit { sweeps: 20_000, tolerance: 1e-13 };
    for case in 0..200 {
        let (sizes, mut sets) = instance(&mut rng);
        let all = AttributeSet::first(sizes.len());
        sets.extend(all.positions().map(AttributeSet::single));
        let mut table: Vec<f64> =
            (0..sizes.iter().product()).map(|_| rng.random_range(1..50).into()).collect();
        if case % 2 == 1 && sizes[0] > 1 {
            let cells = 0..table.len();
            for cell in cells.filter(|cell| index(&sizes, all, AttributeSet::single(0), *cell) == 1)
            {
                table[cell] = 0.0;
            }
        }
        let marginals: Vec<(AttributeSet, Vec<f64>)> =
            sets.iter().map(|set| (*set, marginal(&sizes, &table, *set))).collect();
        let (model, sweeps) = fit.fit(&sizes, all, &marginals).unwrap();
        assert!(sweeps < fit.sweeps, "{sizes:?} {sets:?}");
        let total: f64 = table.iter().sum();
        for (set, cells) in &marginals {
            for (found, y) in model.marginal(*set).unwrap().iter().zip(cells) {
                assert!((found - y).abs() < 1e-10 * total, "{sizes:?} {sets:?}");
            }
        }
        let joint = model.marginal(all).unwrap();
        let positive = joint.iter().zip(&table).filter(|(p, _)| **p > 0.0);
        let sum: f64 = positive.map(|(p, q)| (p - q) * p.ln()).sum();
        assert!(sum.abs() < 1e-8 * total, "{sizes:?} {sets:?}: {sum}");
        assert!(joint.iter().zip(&table).all(|(p, q)| *p > 0.0 || *q == 0.0));
    }
}

#[test]
fn invalid_marginals_of_proportional_fits_are_refused() {
    let fit = ProportionalFit { sweeps: 1, tolerance: 0.0 };
    let all = set(&[0, 1]);
    for (of, cells) in [
        (set(&[0]), vec![1.0; 3]),
        (set(&[0]), vec![1.0, -1.0]),
        (set(&[0]), vec![0.0; 2]),
        (set(&[0]), vec![f64::NAN, 1.0]),
        (set(&[2]), vec![1.0; 2]),
    ] {
        assert!(fit.fit(&[2, 3], all, &[(of, cells.clone())]).is_err(), "{of:?} {cells:?}");
    }
    assert!(fit.fit(&[2, 3], all, &[]).unwrap_err().to_string().contains("at least one marginal"));
}

/// Every order of five axes, one of them of size one, against the coordinates of each cell.
#[test]
fn permuted_tables_have_the_right_cells() {
    let sizes = [3usize, 1, 9, 2, 10];
    let values: Vec<f64> = (0..540).map(f64::from).collect();
    for code in 0..5usize.pow(5) {
        let order: Vec<usize> = (0..5).map(|k| code / 5usize.pow(k) % 5).collect();
        if (0..5).any(|p| !order.contains(&p)) {
            continue;
        }
        let moved = super::axis_order::permuted(&sizes, &[0, 1, 2, 3, 4], &order, &values);
        for (index, &value) in moved.iter().enumerate() {
            let (mut rest, mut at) = (index, [0; 5]);
            for &p in order.iter().rev() {
                (at[p], rest) = (rest % sizes[p], rest / sizes[p]);
            }
            let cell = at.iter().zip(sizes).fold(0, |cell, (at, n)| cell * n + at);
            assert_eq!(value, cell as f64, "{order:?}");
        }
    }
}
