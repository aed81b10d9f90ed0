//! Tests against enumerated patterns and sampled contributions.

use approx::assert_relative_eq;
use ndarray::{Array2, Axis};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::*;
use crate::workload::Workload;
use crate::{Objective, Problem, Request};

fn random_gram(n: usize, seed: u64) -> Array2<f64> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let a = Array2::from_shape_fn((n, n), |(i, j)| {
        rng.random_range(-1.0f64..1.0) / (1.0 + i.abs_diff(j) as f64)
    });
    matmech_linalg::gram_of(a.view())
}

/// Lists the patterns of min-separation.
fn patterns(steps: usize, separation: usize, count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    let mut next = 0;
    while next < all.len() {
        let pattern = all[next].clone();
        next += 1;
        let first = pattern.last().map_or(0, |last| last + separation);
        if pattern.len() < count {
            for step in first..steps {
                all.push([pattern.clone(), vec![step]].concat());
            }
        }
    }
    all
}

/// Oracle: the eigenvalues of the dual slack, and sampled unit vectors.
#[test]
fn sampled_contributions_do_not_exceed_the_dual() {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    for (k, seed) in [(2, 1), (3, 2), (5, 3), (8, 4), (16, 5)] {
        let gram = random_gram(k, seed);
        let found = pattern_sensitivity(gram.view()).unwrap();
        assert!(found.upper <= found.lower * (1.0 + 1e-9), "{k}: {found:?}");
        let slack = Array2::from_diag(&found.dual) - &gram;
        let smallest = matmech_linalg::eigvalsh(slack.view()).unwrap()[0];
        assert!(smallest >= -1e-13 * found.upper, "{k}: {smallest}");
        for _ in 0..200 {
            let mut u: Array2<f64> =
                Array2::from_shape_fn((k, k), |_| rng.random_range(-1.0f64..1.0));
            u.rows_mut().into_iter().for_each(|mut row| {
                let norm = row.dot(&row).sqrt();
                row /= norm;
            });
            assert!((gram.dot(&u) * &u).sum() <= found.upper, "{k}");
        }
    }
    // Two steps: X_11 + X_22 + 2|X_12|.
    let gram = ndarray::array![[2.0, -0.5], [-0.5, 1.0]];
    assert_relative_eq!(pattern_sensitivity(gram.view()).unwrap().upper, 4.0, max_relative = 1e-10);
}

/// Oracle: every pattern listed.
#[test]
fn min_separation_matches_enumerated_patterns() {
    for (n, separation, count) in [(9, 3, 2), (12, 3, 3), (11, 2, 4), (10, 4, 2), (7, 7, 1)] {
        let participation = Participation::MinSeparation { separation, count };
        let full = random_gram(n, 7 + n as u64);
        let mut banded = full.clone();
        for ((s, t), x) in banded.indexed_iter_mut() {
            if s.abs_diff(t) >= separation {
                *x = 0.0;
            }
        }
        let patterns = patterns(n, separation, count);
        let weight = |pattern: &Vec<usize>| pattern.iter().map(|&s| banded[[s, s]]).sum::<f64>();
        let expected = patterns.iter().map(weight).fold(0.0, f64::max);
        let exact = sensitivity(banded.view(), participation).unwrap();
        assert_relative_eq!(exact.squared, expected, max_relative = 1e-14);
        assert_eq!(exact.bound, None);
        // The bound is above the semidefinite program of every pattern.
        let bound = sensitivity(full.view(), participation).unwrap();
        let largest = patterns
            .iter()
            .filter(|pattern| !pattern.is_empty())
            .map(|p| {
                let block = full.select(Axis(0), p).select(Axis(1), p);
                pattern_sensitivity(block.view()).unwrap().lower
            })
            .fold(0.0, f64::max);
        assert!(bound.attained <= largest * (1.0 + 1e-12));
        assert!(largest <= bound.squared * (1.0 + 1e-12), "{largest} {bound:?}");
        assert_eq!(bound.bound.is_some(), count > 1);
    }
}

/// The prefix workload itself, whose columns are nested: the sensitivity of epochs is the sum of
/// all entries, because they are nonnegative.
#[test]
fn epochs_of_nonnegative_matrices_sum_all_entries() {
    let workload = Workload::parse("prefix:12").unwrap();
    let gram = workload.gram().unwrap();
    let x = &gram.factors()[0].matrix;
    for count in [1, 2, 3, 4, 6, 12] {
        let found = sensitivity(x.view(), Participation::Epochs(count)).unwrap();
        let sum = |p: &Vec<usize>| p.iter().flat_map(|&s| p.iter().map(move |&t| x[[s, t]])).sum();
        let expected =
            Participation::Epochs(count).partition(12).iter().map(sum).fold(0.0, f64::max);
        assert_relative_eq!(found.squared, expected, max_relative = 1e-9);
        assert_eq!(found.bound, None);
    }
}

/// Closed forms for the identity: every query of `prefix:n` has its length as error, and k
/// participations cost k.
#[test]
fn requests_give_the_error_of_their_problem() {
    let workload = Workload::parse("prefix:12").unwrap();
    for (text, expected) in [
        ("identity", 78.0),
        ("identity(objective=max)", 12.0),
        ("identity(objective=balanced:0.5)", 0.5 * 12.0 + 0.5 * 6.5),
        ("identity(participation=epochs:3)", 234.0),
        ("identity(objective=max, participation=min-sep:4,2)", 24.0),
    ] {
        let selection = Request::parse(text).unwrap().select(&workload).unwrap();
        assert_relative_eq!(selection.error, expected, max_relative = 1e-12);
    }
    assert!(Request::parse("identity(objective=least)").is_err());
    assert!(Request::parse("identity(tolerance=1)").is_err());
    // The workload as its own strategy: total n and largest error 1 at unit noise.
    let own = Request::parse("workload(participation=epochs:2,objective=max)").unwrap();
    let sum = 12.0 + 6.0 + 2.0 * 6.0;
    assert_relative_eq!(own.select(&workload).unwrap().error, sum, max_relative = 1e-9);
}

#[test]
fn participations_that_do_not_fit_are_refused() {
    for (workload, participation, part) in [
        ("prefix:12", "epochs:5", "multiple of 5"),
        ("prefix:12", "epochs:13", "multiple of 13"),
        ("prefix:12", "min-sep:4,4", "at least 4 * 4 steps"),
        ("prefix:3x4", "epochs:2", "one attribute"),
    ] {
        let workload = Workload::parse(workload).unwrap();
        let participation = participation.parse().unwrap();
        let problem = Problem { workload: &workload, objective: Objective::Mean, participation };
        let message = problem.check().unwrap_err().to_string();
        assert!(message.contains(part) && message.contains("remedy"), "{message}");
    }
}
