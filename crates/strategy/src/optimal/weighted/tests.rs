//! Tests against published optima and against the dual vectors.

use super::*;
use crate::Status;
use crate::workload::{Training, Workload};
use crate::{
    Certificate, Objective, Optimal, OptimalOptions, Participation, Problem, Request,
    StrategySelector,
};
use approx::{assert_abs_diff_eq, assert_relative_eq};
use ndarray::{Array2, Axis};

fn optimum(workload: &str, request: &str, tolerance: f64) -> (Certificate, f64) {
    let workload = Workload::parse(workload).unwrap();
    let request = Request::parse(request).unwrap();
    let problem = request.problem(&workload);
    let optimal = Optimal::new(OptimalOptions { tolerance, max_iterations: 500 }).unwrap();
    let (selection, dual) = optimal.solve_dense(&problem).unwrap();
    let certificate = selection.certificate.unwrap();
    assert_eq!(certificate.status, Status::Converged, "{certificate:?}");
    // The error and the bound do not depend on the solver.
    let error = problem.error(&selection.strategy).unwrap();
    assert_relative_eq!(error, certificate.upper_bound, max_relative = 1e-9);
    let proved = dual.lower_bound(&problem).unwrap();
    assert!(proved >= certificate.lower_bound * (1.0 - 1e-10), "{proved} {certificate:?}");
    assert!(proved <= certificate.upper_bound * (1.0 + 1e-10), "{proved} {certificate:?}");
    assert_relative_eq!(
        problem.sensitivity(&selection.strategy).unwrap().squared,
        1.0,
        max_relative = 1e-9
    );
    (certificate, workload.count().as_f64())
}

/// Known optima, to the digits shown.
#[test]
fn largest_errors_match_the_published_optima() {
    for (n, expected) in [
        (2, 1.33333333),
        (4, 1.91197867),
        (8, 2.67719352),
        (16, 3.64362184),
        (32, 4.81604082),
        (64, 6.19328298),
    ] {
        let (found, _) = optimum(&format!("range:{n}"), "optimal(objective=max)", 1e-7);
        assert!(found.lower_bound <= expected * (1.0 + 4e-9), "{n}: {found:?}");
        assert!(found.upper_bound >= expected * (1.0 - 4e-9), "{n}: {found:?}");
    }
    for (n, expected) in [(2, 1.33333333), (8, 2.28156059), (64, 4.45786915)] {
        // A matrix, so that no structure is used.
        let rows = Array2::from_shape_fn((n, n), |(i, j)| f64::from(u8::from(j <= i)));
        let workload = Workload::explicit(&[n], rows).unwrap();
        let problem = Problem { objective: Objective::Max, ..Problem::new(&workload) };
        let options = OptimalOptions { tolerance: 1e-9, max_iterations: 500 };
        let found = solve(&problem, &options).unwrap().certificate;
        assert_relative_eq!(found.lower_bound, expected, max_relative = 4e-9);
        assert_relative_eq!(found.upper_bound, expected, max_relative = 4e-9);
    }
}

/// The weights of twelve queries and twelve steps vanish. A strategy without their directions has
/// no error for these queries, although its pseudo-inverse gives one.
#[test]
fn strategies_answer_queries_whose_weights_vanish() {
    let (found, _) = optimum("momentum(rate=0.9):128", "optimal(objective=max)", 2e-8);
    assert!(found.lower_bound <= 205.4993695 && found.upper_bound >= 205.4993685, "{found:?}");
    let workload = Workload::parse("momentum(rate=0.9):128").unwrap();
    let problem = Problem { objective: Objective::Max, ..Problem::new(&workload) };
    let options = OptimalOptions { tolerance: 1e-6, max_iterations: 500 };
    let found = solve(&problem, &options).unwrap();
    let inverse = matmech_linalg::spd_inverse(found.gram.view()).unwrap();
    let error = (0..128)
        .map(|last| {
            // Σ_{l ≤ i − j} 0.9^l
            let weight = |j: usize| (1.0 - 0.9f64.powi(last as i32 - j as i32 + 1)) / 0.1;
            let sum = |i: usize| (0..=last).map(|j| inverse[[i, j]] * weight(j)).sum::<f64>();
            (0..=last).map(|i| weight(i) * sum(i)).sum::<f64>()
        })
        .fold(0.0, f64::max);
    assert_relative_eq!(error, found.certificate.upper_bound, max_relative = 1e-8);
}

/// Cosine decay with a linear warm-up over an eighth of the steps, alone and with momentum: in linear
/// time for the schedule alone, and dense for both and for the schedule's matrix.
#[test]
fn largest_errors_of_a_schedule_match_the_published_optima() {
    let n = 128;
    let rates: Vec<f64> = (0..n)
        .map(|t| {
            let t = f64::from(t);
            ((t + 1.0) / 16.0).min(1.0) * 0.5 * (1.0 + (std::f64::consts::PI * t / 128.0).cos())
        })
        .collect();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rates.csv");
    let lines: Vec<String> = rates.iter().map(f64::to_string).collect();
    std::fs::write(&file, lines.join("\n")).unwrap();
    let file = file.display();
    for (workload, expected, digit) in [
        (format!("schedule(file={file})"), 3.0031221, 1e-7),
        (format!("schedule(file={file},momentum=0.9)"), 100.55597, 1e-5),
    ] {
        let (found, _) = optimum(&workload, "optimal(objective=max)", 1e-7);
        assert!(found.lower_bound <= expected + 0.51 * digit, "{workload}: {found:?}");
        assert!(found.upper_bound >= expected - 0.51 * digit, "{workload}: {found:?}");
    }
    let rows = Array2::from_shape_fn(
        (n as usize, n as usize),
        |(i, j)| {
            if j <= i { rates[j] } else { 0.0 }
        },
    );
    let workload = Workload::explicit(&[n as usize], rows).unwrap();
    let problem = Problem { objective: Objective::Max, ..Problem::new(&workload) };
    let options = OptimalOptions { tolerance: 1e-7, max_iterations: 500 };
    let dense = solve(&problem, &options).unwrap().certificate;
    assert_eq!(dense.status, Status::Converged, "{dense:?}");
    assert_relative_eq!(dense.lower_bound, 3.0031221, max_relative = 1.2e-7);
    assert_relative_eq!(dense.upper_bound, 3.0031221, max_relative = 1.2e-7);
}

#[test]
fn fixed_epochs_match_the_published_optima() {
    for (k, expected) in [(2, 10.680577), (4, 23.083291), (8, 56.388325), (16, 160.605626)] {
        let request = format!("optimal(participation=epochs:{k})");
        let (found, queries) = optimum("prefix:128", &request, 1e-6);
        let (low, high) = (found.lower_bound / queries, found.upper_bound / queries);
        assert!(low <= expected * (1.0 + 1e-8) && high >= expected * (1.0 - 1e-8), "{k} {found:?}");
    }
    for (k, expected) in [(2, 11.213563), (4, 26.414889)] {
        let request = format!("optimal(objective=max, participation=epochs:{k})");
        let (found, _) = optimum("prefix:128", &request, 1e-5);
        assert!(found.lower_bound <= expected * (1.0 + 1e-7), "{k} {found:?}");
        assert!(found.upper_bound >= expected * (1.0 - 1e-7), "{k} {found:?}");
    }
}

/// Known optima for many epochs, where weights vanish and the central path is followed.
#[test]
fn largest_errors_of_many_epochs_match_the_published_optima() {
    for (k, low, high, tolerance) in
        [(8, 77.3813895, 77.3813905, 1e-6), (16, 272.583, 272.642, 1e-6)]
    {
        let request = format!("optimal(objective=max, participation=epochs:{k})");
        let (found, _) = optimum("prefix:128", &request, tolerance);
        assert!(found.lower_bound <= high && found.upper_bound >= low, "{k} {found:?}");
    }
}

/// The columns of a strategy for fixed epochs are orthogonal in every pattern.
#[test]
fn strategies_for_epochs_have_orthogonal_columns() {
    for workload in ["range:12", "circular:12", "total:12", "prefix:12"] {
        let workload = Workload::parse(workload).unwrap();
        for text in [
            "optimal(participation=epochs:3)",
            "optimal(objective=balanced:0.5, \
                                                          participation=epochs:3)",
        ] {
            let request = Request::parse(text).unwrap();
            let selection = request.select(&workload).unwrap();
            let gram = selection.strategy.factors()[0].gram().unwrap();
            let mut largest = 0.0f64;
            for pattern in Participation::Epochs(3).partition(12) {
                for &s in &pattern {
                    for &t in &pattern {
                        assert!(s == t || gram[[s, t]] == 0.0, "{text}: {}", gram[[s, t]]);
                    }
                }
                largest = largest.max(pattern.iter().map(|&s| gram[[s, s]]).sum());
            }
            assert_relative_eq!(largest, 1.0, max_relative = 1e-12);
            let error = request.problem(&workload).error(&selection.strategy).unwrap();
            assert_relative_eq!(error, selection.error, max_relative = 1e-9);
        }
    }
}

/// One epoch is one participation, whose optimum the solver for Gram matrices finds.
#[test]
fn one_epoch_is_one_participation() {
    let (one, _) = optimum("range:20", "optimal(participation=epochs:1)", 1e-8);
    let gram = Workload::parse("range:20").unwrap().gram().unwrap();
    let by_gram = Optimal::default().select(&gram).unwrap().certificate.unwrap();
    assert_relative_eq!(one.lower_bound, by_gram.lower_bound, max_relative = 2e-7);
}

/// The balanced objective is between its parts: at most the balance of any strategy's errors, and
/// at least the balance of the two optima.
#[test]
fn balanced_objectives_are_between_mean_and_max() {
    let balanced = optimum("range:16", "optimal(objective=balanced:0.5)", 1e-6).0;
    let (max, count) = optimum("range:16", "optimal(objective=max)", 1e-6);
    let gram = Workload::parse("range:16").unwrap().gram().unwrap();
    let mean = Optimal::default().select(&gram).unwrap().error / count;
    assert!(balanced.upper_bound >= 0.5 * max.lower_bound + 0.5 * mean * (1.0 - 1e-6));
    assert!(balanced.lower_bound <= max.upper_bound);
}

/// A small part of the mean buys a large part of the maximum.
#[test]
fn the_balanced_family_matches_the_published_errors() {
    let workload = Workload::parse("prefix:1024").unwrap();
    for (text, max, mean) in
        [("optimal(objective=balanced:0.9)", 8.844, 8.751), ("optimal", 10.202, 8.7347)]
    {
        let strategy = Request::parse(text).unwrap().select(&workload).unwrap().strategy;
        let error =
            |objective| Problem { objective, ..Problem::new(&workload) }.error(&strategy).unwrap();
        assert_abs_diff_eq!(error(Objective::Max), max, epsilon = 1e-3);
        assert_abs_diff_eq!(error(Objective::Mean) / 1024.0, mean, epsilon = 5e-4);
    }
}

#[test]
fn products_of_optima_are_optimal_for_the_largest_error() {
    let workload = Workload::parse("range:3x4").unwrap();
    let request = Request::parse("optimal(objective=max)").unwrap();
    let selection = request.select(&workload).unwrap();
    assert_eq!(selection.strategy.factors().len(), 2);
    let product = selection.certificate.unwrap();
    let error = request.problem(&workload).error(&selection.strategy).unwrap();
    assert_relative_eq!(error, product.upper_bound, max_relative = 1e-9);
    let problem = Problem { objective: Objective::Max, ..Problem::new(&workload) };
    let options = OptimalOptions { tolerance: 1e-6, max_iterations: 500 };
    let whole = solve(&problem, &options).unwrap().certificate;
    assert_relative_eq!(product.lower_bound, whole.lower_bound, max_relative = 2e-6);
}

#[test]
fn too_many_cells_and_workloads_of_zeros_are_refused() {
    let large = Workload::parse("range:4097").unwrap();
    let problem = Problem { objective: Objective::Max, ..Problem::new(&large) };
    let options = OptimalOptions::default();
    assert!(solve(&problem, &options).unwrap_err().to_string().contains("4096"));
    let zero = Workload::explicit(&[4], Array2::zeros((2, 4))).unwrap();
    let problem = Problem { objective: Objective::Max, ..Problem::new(&zero) };
    assert!(solve(&problem, &options).unwrap_err().to_string().contains("zeros"));
}

fn bound_of_epochs(workload: &Workload, separation: usize, count: usize) -> f64 {
    let participation = Participation::MinSeparation { separation, count };
    let problem = Problem { workload, objective: Objective::Mean, participation };
    lower_bound_of_epochs(&problem, &OptimalOptions::default()).unwrap().0
}

fn schedule(rates: Vec<f64>) -> Workload {
    Workload::training(Training::new(rates, 0.0, 1.0).unwrap())
}

/// Oracle: the queries on the other steps, where the steps without a rate are a whole pattern.
#[test]
fn bounds_do_not_depend_on_steps_that_reach_no_query() {
    let whole = schedule(vec![0.0, 0.2, 0.5, 1.0, 0.0, 1.0, 0.8, 0.3]);
    let rows: Vec<f64> = whole.rows().unwrap().flatten().collect();
    let rows = Array2::from_shape_vec((8, 8), rows).unwrap();
    let others = Workload::explicit(&[6], rows.select(Axis(1), &[1, 2, 3, 5, 6, 7])).unwrap();
    let expected = bound_of_epochs(&others, 3, 2);
    assert_relative_eq!(bound_of_epochs(&whole, 4, 2), expected, max_relative = 2e-7);
}

/// Oracle: small rates, whose share of the bound is small. Steps without a rate are in patterns with
/// others.
#[test]
fn bounds_of_warm_ups_are_limits_of_small_rates() {
    let rates = |first: f64| -> Vec<f64> {
        (0..48).map(|k| if k < 3 { first } else { (k as f64 / 10.0).min(1.0) }).collect()
    };
    let limit = bound_of_epochs(&schedule(rates(0.0)), 12, 4);
    for small in [1e-2, 1e-3] {
        let near = bound_of_epochs(&schedule(rates(small)), 12, 4);
        assert!(near > limit * (1.0 - 1e-6), "{near} {limit}");
        assert_relative_eq!(near, limit, max_relative = 0.2 * small);
    }
}
