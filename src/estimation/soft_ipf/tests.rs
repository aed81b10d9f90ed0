//! The update against a numerical minimiser of its objective; fits of exact and of random
//! measurements.

use approx::assert_relative_eq;
use rand::RngExt;
use rand_distr::StandardNormal;

use super::*;
use crate::domain::{AttributeSet, AxisSet};
use crate::estimation::graphical_model::cells_of_mb;
use crate::estimation::{MarginalEstimates, ResidualEstimates};
use crate::residual::summed;
use crate::test_support::{rng, schema, set};

const FIXED: [f64; 3] = [3.0, 2.0, 2.0];

fn soft(sizes: &[usize], cells: f64) -> SoftIpf {
    let schema = schema(sizes);
    let widths = Widths::fixed(FIXED);
    SoftIpf::new(ResidualEstimates::new(&schema), AttributeSet::first(sizes.len()), cells, widths)
        .unwrap()
}

/// Returns the minimiser of Σ (v − y)²/(2s²) + Σ (v ln(v/q) − v)/(τ²q) with Σv = total, by nested
/// bisection: the derivative in every cell is increasing in v, and the sum of the cells decreasing
/// in the multiplier.
fn minimiser(q: &[f64], y: &[f64], variance: f64, width: f64, total: f64) -> Vec<f64> {
    let cell = |q: f64, y: f64, multiplier: f64| {
        let slope = |u: f64| (q * u.exp() - y) / variance + u / (width * width * q) + multiplier;
        let (mut low, mut high) = (-60.0, 60.0);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if slope(middle) > 0.0 { high = middle } else { low = middle }
        }
        q * low.exp()
    };
    let all = |multiplier: f64| -> Vec<f64> {
        q.iter().zip(y).map(|(&q, &y)| cell(q, y, multiplier)).collect()
    };
    let (mut low, mut high) = (-1e3, 1e3);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if all(middle).iter().sum::<f64>() > total { low = middle } else { high = middle }
    }
    all(low)
}

#[test]
fn the_fixed_point_of_a_factor_is_the_minimiser_of_its_objective() {
    let mut rng = rng(1);
    for round in 0..40 {
        let n = rng.random_range(2..9);
        let q: Vec<f64> = (0..n).map(|_| rng.random_range(0.5..30.0)).collect();
        let total: f64 = q.iter().sum();
        let y: Vec<f64> = q.iter().map(|q| q + rng.random_range(-20.0..20.0)).collect();
        let (variance, width) =
            (10f64.powf(rng.random_range(-1.0..2.0)), [1.0, 2.0, 3.0][round % 3]);
        let expected = minimiser(&q, &y, variance, width, total);
        let (mut update, mut shift) = (Update::default(), 0.0);
        let evidence = Evidence { target: &y, variance, width };
        for _ in 0..200 {
            update.solve(&q, evidence, total, 1, &mut shift);
        }
        for (v, expected) in update.values.iter().zip(&expected) {
            assert!(
                (v - expected).abs() < 1e-8 * total,
                "{v} against {expected}: {q:?} {y:?} {variance}"
            );
        }
        assert_relative_eq!(update.values.iter().sum::<f64>(), total, max_relative = 1e-9);
    }
}

/// Sweeps over a model of one pair converge to the minimiser: to 1e-3 records with the default
/// tolerance, to a relative 1e-8 with a small one.
/// A projection has the given sum, and satisfies the conditions of the nearest point: y − v is the same
/// for all positive cells, and no larger y is 0.
#[test]
fn projections_are_the_nearest_nonnegative_points() {
    let mut rng = rng(21);
    for _ in 0..200 {
        let n = rng.random_range(1..40);
        let y: Vec<f64> = (0..n).map(|_| rng.random_range(-30.0..50.0)).collect();
        let total = rng.random_range(1.0..200.0);
        let mut update = Update::default();
        update.project(&y, total);
        let v = &update.values;
        assert_relative_eq!(v.iter().sum::<f64>(), total, max_relative = 1e-9);
        let largest = y.iter().zip(v).find(|(_, v)| **v > 0.0).map(|(y, v)| y - v).unwrap();
        for (y, v) in y.iter().zip(v) {
            assert!(if *v > 0.0 { (y - v - largest).abs() < 1e-9 } else { *y <= largest + 1e-9 });
        }
    }
}

#[test]
fn sweeps_over_one_factor_end_at_its_minimiser() {
    let widths = Widths { pair: Width::Fixed(1.5), ..Widths::fixed(FIXED) };
    let y = [14.0, -3.0, 6.0, 2.0, 9.0, 12.0];
    let mut residuals = ResidualEstimates::new(&schema(&[2, 3]));
    residuals.update_by_marginal(set(&[0, 1]), &y, 4.0).unwrap();
    assert_relative_eq!(residuals.cell_variance(set(&[0, 1])), 4.0, max_relative = 1e-12);
    let mut model = SoftModel::new(&[2, 3], AttributeSet::first(2), widths).unwrap();
    model.add(&[set(&[0, 1])]).unwrap();
    // Only the pair has evidence: the attributes' factors stay 1, and the cavity is uniform.
    model.follow_only(&residuals, set(&[0, 1]));
    let q = [40.0 / 6.0; 6];
    let expected = minimiser(&q, &y, 4.0, 1.5, 40.0);
    for (sweep_tolerance, tolerance) in [(None, 1e-3), (Some(1e-12), 1e-8 * 40.0)] {
        if let Some(sweep_tolerance) = sweep_tolerance {
            model.set_tolerance(sweep_tolerance);
        }
        model.sweep(400);
        for (found, expected) in model.tree().marginal(set(&[0, 1])).unwrap().iter().zip(&expected)
        {
            assert!((found - expected).abs() < tolerance, "{found} against {expected}");
        }
    }
}

/// Exactly measured marginals of a distribution over a tree of pairs: all marginals of the tree are
/// within 1e-6 of the records.
#[test]
fn exact_measurements_of_a_tree_are_reproduced() {
    let sizes = [2, 3, 4, 2, 3];
    let mut rng = rng(2);
    // A chain with a branch: 0 − 1 − 2 − 3, 1 − 4.
    let edges = [(0, 1), (1, 2), (2, 3), (1, 4)];
    let conditionals: Vec<Vec<f64>> = edges
        .iter()
        .map(|&(a, b)| {
            (0..sizes[a])
                .flat_map(|_| {
                    normalised((0..sizes[b]).map(|_| rng.random_range(0.2..1.0)).collect())
                })
                .collect()
        })
        .collect();
    let total: usize = sizes.iter().product();
    let digits = |cell: usize| {
        let mut rest = cell;
        let mut out = [0; 5];
        for p in (0..5).rev() {
            out[p] = rest % sizes[p];
            rest /= sizes[p];
        }
        out
    };
    let cells: Vec<f64> = (0..total)
        .map(|cell| {
            let x = digits(cell);
            let chain: f64 = edges
                .iter()
                .zip(&conditionals)
                .map(|(&(a, b), c)| c[x[a] * sizes[b] + x[b]])
                .product();
            1000.0 * 0.5 * chain
        })
        .collect();
    let truth = |gamma: AttributeSet| summed(&sizes, gamma.axes(), &cells);
    let mut estimates = soft(&sizes, 1e6);
    for &(a, b) in &edges {
        estimates.measured(set(&[a, b]), &truth(set(&[a, b])), 1e-9).unwrap();
    }
    estimates.sweep(40);
    assert_eq!(estimates.outside(), 0);
    for gamma in AttributeSet::first(5).of_size(3) {
        let l1: f64 = estimates
            .marginal(gamma)
            .unwrap()
            .iter()
            .zip(truth(gamma))
            .map(|(a, b)| (a - b).abs())
            .sum();
        assert!(l1 < 1e-6 * 1000.0, "{gamma:?}: {l1}");
    }
}

fn normalised(values: Vec<f64>) -> Vec<f64> {
    let sum: f64 = values.iter().sum();
    values.into_iter().map(|x| x / sum).collect()
}

/// 1,000 random noisy models with different numbers of records and size limits: tables are finite,
/// nonnegative and sum to N̂, the tree is within its limit, and marginals of the tree are
/// consistent.
#[test]
fn random_noisy_models_do_not_diverge() {
    for seed in 0..1000 {
        let mut rng = rng(seed);
        let sizes: Vec<usize> =
            (0..rng.random_range(2..=6)).map(|_| rng.random_range(1..=6)).collect();
        let all = AttributeSet::first(sizes.len());
        let limit = [0.0, 60.0, 1e6][seed as usize % 3];
        let singles: f64 = sizes.iter().map(|&n| n as f64).sum();
        let mut estimates = soft(&sizes, limit);
        let scale = 10f64.powf(rng.random_range(0.0..6.0));
        for round in 0..rng.random_range(3..12) {
            let bits = (0..rng.random_range(1..=3))
                .fold(0, |bits, _| bits | 1 << rng.random_range(0..sizes.len()));
            let gamma = all.at(AxisSet::from_number(bits));
            let sigma = scale * 10f64.powf(rng.random_range(-6.0..1.0));
            let n: usize = gamma.select(&sizes).iter().product();
            let values: Vec<f64> = (0..n)
                .map(|_| {
                    let count = if rng.random_bool(0.3) { scale / n as f64 } else { 0.0 };
                    count + sigma * rng.random_range(-2.0..2.0)
                })
                .collect();
            estimates.measured(gamma, &values, sigma * sigma).unwrap();
            estimates.sweep(if round % 4 == 3 { 40 } else { 3 });
            let tree = estimates.tree();
            assert!(tree.cells() as f64 <= limit.max(singles), "{} of {limit}", tree.cells());
            for clique in 0..tree.tree().cliques().len() {
                let table = tree.table(clique);
                assert!(
                    table.iter().all(|x| x.is_finite() && *x >= 0.0),
                    "seed {seed}, round {round}"
                );
                assert_relative_eq!(
                    table.iter().sum::<f64>(),
                    estimates.total(),
                    max_relative = 1e-6
                );
            }
            for gamma in all.of_size(2.min(sizes.len())) {
                let estimate = estimates.marginal(gamma).unwrap();
                assert!(
                    estimate.iter().all(|x| x.is_finite() && *x >= 0.0),
                    "seed {seed}, {gamma:?}"
                );
                if estimates.outside() == 0 {
                    let first = set(&[gamma.positions().next().unwrap()]);
                    let added = summed(&gamma.select(&sizes), gamma.axes_in(first), &estimate);
                    for (a, b) in added.iter().zip(estimates.marginal(first).unwrap()) {
                        assert!((a - b).abs() < 1e-6 * estimates.total(), "seed {seed}, {gamma:?}");
                    }
                }
            }
        }
    }
}

/// Estimates of sets outside the tree are close to their measurements.
#[test]
fn sets_outside_the_tree_follow_their_measurements() {
    let sizes = [4, 4, 4];
    let mut estimates = soft(&sizes, 0.0);
    let pair: Vec<f64> = (0..16).map(|k| if k % 5 == 0 { 97.6 } else { 0.8 }).collect();
    let triple: Vec<f64> = (0..64).map(|k| if k % 21 == 0 { 97.0 } else { 0.2 }).collect();
    estimates.measured(set(&[0, 1]), &pair, 1e-6).unwrap();
    estimates.sweep(40);
    assert_eq!((estimates.outside(), estimates.tree().cells()), (1, 12));
    let near = |found: Vec<f64>, y: &[f64], tolerance: f64| {
        let l1: f64 = found.iter().zip(y).map(|(a, b)| (a - b).abs()).sum();
        assert!(l1 < tolerance, "{l1}");
    };
    near(estimates.marginal(set(&[0, 1])).unwrap(), &pair, 0.1);
    let whole = estimates.marginal(set(&[0, 1, 2])).unwrap();
    near(summed(&sizes, AxisSet::of(3, |axis| axis < 2), &whole), &pair, 1.0);
    estimates.measured(set(&[0, 1, 2]), &triple, 1e-6).unwrap();
    estimates.sweep(40);
    assert_eq!(estimates.outside(), 4);
    near(estimates.marginal(set(&[0, 1, 2])).unwrap(), &triple, 1.0);
    // With a large limit every set is in the tree.
    let mut large = soft(&sizes, cells_of_mb(1.0));
    large.measured(set(&[0, 1, 2]), &triple, 1e-6).unwrap();
    large.sweep(200);
    assert_eq!((large.outside(), large.tree().cells()), (0, 64));
    near(large.marginal(set(&[0, 1, 2])).unwrap(), &triple, 1.0);
}

/// Rejected pairs are moved by one share: about a half if their biases are as large as the noise, to
/// estimates with a smaller squared error than the model and the measurements have; not at all
/// without biases.
#[test]
fn rejected_pairs_take_a_share_of_their_evidence() {
    let mut rng = rng(7);
    let sizes = [3; 14];
    let all = AttributeSet::first(sizes.len());
    let deviation = 30.0;
    for bias in [0.0, deviation] {
        let mut residuals = ResidualEstimates::new(&schema(&sizes));
        let mut truths = Vec::new();
        for single in all.of_size(1) {
            residuals.update_by_marginal(single, &[30_000.0; 3], 1e-3).unwrap();
        }
        for pair in all.of_size(2) {
            // Rows and columns of the biases add up to 0.
            let sign = if rng.random::<bool>() { 1.0 } else { -1.0 };
            let square = [1.0, -1.0, 0.0, -1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
            let truth = square.map(|x| 1e4 + sign * bias * x);
            let noisy = truth.map(|x| x + deviation * rng.sample::<f64, _>(StandardNormal));
            residuals.update_by_marginal(pair, &noisy, deviation * deviation).unwrap();
            truths.push((pair, truth));
        }
        let fit = LearnedFit { threshold: 1e9, ..LearnedFit::default() };
        let (found, _) = fit.fit(residuals, all, &[], &[]).unwrap();
        let (mut moved, mut distance, mut errors) = (0.0, 0.0, [0.0; 3]);
        for (pair, truth) in truths {
            let model = found.tree().marginal(pair).unwrap();
            let target = found.residuals().marginal(pair).unwrap();
            let estimate = found.marginal(pair).unwrap();
            for (k, truth) in truth.iter().enumerate() {
                let [model, target, estimate] = [model[k], target[k], estimate[k]];
                moved += (estimate - model) * (target - model);
                distance += (target - model).powi(2);
                for (error, x) in errors.iter_mut().zip([model, target, estimate]) {
                    *error += (x - truth).powi(2);
                }
            }
        }
        let share = moved / distance;
        if bias == 0.0 {
            assert!(share < 0.15, "{share}");
        } else {
            assert!((0.35..0.65).contains(&share), "{share}");
            assert!(errors[2] < 0.7 * errors[0].min(errors[1]), "{errors:?}");
        }
    }
}

#[test]
fn invalid_measurements_and_attributes_are_refused() {
    let mut estimates = soft(&[2, 3], 100.0);
    assert!(
        estimates.measured(set(&[0]), &[1.0], 1.0).unwrap_err().to_string().contains("2 cells")
    );
    assert!(
        estimates.measured(set(&[4]), &[1.0], 1.0).unwrap_err().to_string().contains("below 2")
    );
    assert!(
        estimates
            .measured(set(&[0]), &[1.0, 2.0], 0.0)
            .unwrap_err()
            .to_string()
            .contains("variance")
    );
    assert!(estimates.marginal(set(&[3])).is_err());
    let schema = schema(&[2]);
    assert!(SoftModel::new(&[2], AttributeSet::EMPTY, Widths::fixed(FIXED)).is_err());
    assert!(
        SoftIpf::new(ResidualEstimates::new(&schema), set(&[1]), 1.0, Widths::fixed(FIXED))
            .is_err()
    );
}

/// Records follow the pairs of the tree and outside it, and the same seed gives the same records.
#[test]
fn records_follow_pairs_outside_the_tree() {
    let sizes = [4, 4, 3];
    let schema = schema(&sizes);
    let mut estimates = soft(&sizes, 0.0);
    let pair: Vec<f64> = (0..16).map(|k| if k % 5 == 0 { 970.0 } else { 10.0 }).collect();
    let single = [2000.0, 1500.0, 500.0];
    estimates.measured(set(&[0, 1]), &pair, 1.0).unwrap();
    estimates.measured(set(&[2]), &single, 1.0).unwrap();
    estimates.sweep(40);
    assert_eq!(estimates.outside(), 1);
    let records = estimates.records(&schema, 2000, &mut rng(1)).unwrap();
    assert_eq!(records.len(), 2000);
    for gamma in AttributeSet::first(3).of_size(2) {
        let (found, expected) =
            (records.marginal(gamma).unwrap(), estimates.marginal(gamma).unwrap());
        let scale = 2000.0 / expected.iter().sum::<f64>();
        let l1: f64 = found.iter().zip(&expected).map(|(a, b)| (a - scale * b).abs()).sum();
        assert!(l1 < 0.02 * 2000.0, "{gamma:?}: {l1}");
    }
    let again = estimates.records(&schema, 2000, &mut rng(1)).unwrap();
    for p in 0..3 {
        assert!(records.column(p).unwrap().eq(again.column(p).unwrap()));
    }
    let one = estimates.records(&schema, 1, &mut rng(1)).unwrap();
    assert_eq!(one.len(), 1);
    let partial =
        SoftIpf::new(ResidualEstimates::new(&schema), set(&[0, 1]), 1.0, Widths::fixed(FIXED));
    let error = partial.unwrap().records(&schema, 5, &mut rng(1)).unwrap_err().to_string();
    assert!(error.contains("every attribute"), "{error}");
}

/// After every change, the tables have the increases of the present records.
#[test]
fn sweeps_over_records_never_increase_the_objective() {
    use super::record_fit::RecordFit;
    let sizes = [3, 2, 5];
    let mut rng = rng(3);
    let columns: Vec<Vec<u32>> = (sizes.iter())
        .map(|n| (0..200).map(|_| rng.random_range(0..*n) as u32).collect())
        .collect();
    let sets = [vec![0, 1], vec![1, 2], vec![0, 1, 2]];
    let targets: Vec<Vec<f64>> = (sets.iter())
        .map(|set| {
            let cells: usize = set.iter().map(|p| sizes[*p]).product();
            let values: Vec<f64> = (0..cells).map(|_| rng.random_range(0.0..9.0)).collect();
            let sum: f64 = values.iter().sum();
            values.iter().map(|x| 200.0 * x / sum).collect()
        })
        .collect();
    let objective = |columns: &[Vec<u32>]| -> f64 {
        let of = |(set, target): (&Vec<usize>, &Vec<f64>)| -> f64 {
            let mut counts = vec![0.0; target.len()];
            for record in 0..200 {
                counts[set.iter().fold(0, |k, p| k * sizes[*p] + columns[*p][record] as usize)] +=
                    1.0;
            }
            counts.iter().zip(target).map(|(x, t): (&f64, &f64)| (x - t).powi(2) / (t + 2.0)).sum()
        };
        sets.iter().zip(&targets).map(of).sum()
    };
    let first = objective(&columns);
    let mut last = first;
    let mut columns = columns;
    for _ in 0..4 {
        let mut fit = RecordFit::new(&sizes, columns);
        sets.iter().zip(&targets).for_each(|(set, target)| fit.add(set.clone(), target));
        fit.sweep(&mut rng);
        columns = fit.into_columns();
        let now = objective(&columns);
        assert!(now <= last + 1e-3, "{now} after {last}");
        last = now;
    }
    assert!(last < 0.8 * first, "{last} after {first}");
}
