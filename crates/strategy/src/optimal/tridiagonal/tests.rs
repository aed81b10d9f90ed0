//! Tests against the specification's values, dense decompositions and the dense solver.

use crate::Certificate;
use ndarray::Array2;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::*;
use crate::workload::{Training, Workload};
use crate::{Objective, Optimal, OptimalOptions, Participation, Problem, Status, StrategySelector};
use approx::assert_relative_eq;
use matmech_linalg as linalg;

fn optimum(workload: &Workload, objective: Objective, tolerance: f64) -> TridiagonalOptimum {
    let problem = Problem { objective, ..Problem::new(workload) };
    let options = OptimalOptions { tolerance, max_iterations: 300 };
    solve(&problem, &options).unwrap().unwrap()
}

fn of(text: &str, objective: Objective, tolerance: f64) -> TridiagonalOptimum {
    optimum(&Workload::parse(text).unwrap(), objective, tolerance)
}

fn assert_value(
    text: &str,
    objective: Objective,
    tolerance: f64,
    per: f64,
    value: f64,
    digit: f64,
) {
    let Certificate { lower_bound, upper_bound, status, .. } =
        of(text, objective, tolerance).certificate;
    assert_eq!(status, Status::Converged, "{text} {objective}");
    assert!(upper_bound / lower_bound - 1.0 <= tolerance, "{text} {objective}");
    for bound in [lower_bound / per, upper_bound / per] {
        assert!(
            (bound - value).abs() <= 0.51 * digit + tolerance * value,
            "{text} {objective}: {bound} is not {value}"
        );
    }
}

#[test]
fn largest_errors_of_prefix_sums_are_those_of_the_specification() {
    for (n, value) in [
        (2, 1.33333333),
        (4, 1.75860133),
        (8, 2.28156059),
        (16, 2.90525290),
        (32, 3.63072336),
        (64, 4.45786915),
        (100, 5.04396517),
        (128, 5.38608654),
        (256, 6.41465103),
        (512, 7.54289605),
        (1024, 8.77027395),
        (2048, 10.09636024),
        (4096, 11.52083573),
    ] {
        assert_value(&format!("prefix:{n}"), Objective::Max, 1e-10, 1.0, value, 1e-8);
    }
    assert_value("prefix:65536", Objective::Max, 1e-9, 1.0, 18.19872999, 1e-8);
}

#[test]
fn mean_errors_are_those_of_the_specification() {
    // The specification has lower bounds for the smaller sizes, up to 3e-8 (relative) below the
    // optimum.
    for (n, value, digit) in [
        (128, 5.3407267, 2e-7),
        (256, 6.3726680, 3e-7),
        (512, 7.5042283, 1e-7),
        (4096, 11.49055343, 1e-8),
    ] {
        assert_value(&format!("prefix:{n}"), Objective::Mean, 1e-10, n as f64, value, digit);
    }
    assert_value("prefix:65536", Objective::Mean, 1e-9, 65536.0, 18.17584508, 1e-8);
}

#[test]
fn the_balanced_objective_trades_the_mean_for_the_largest_error() {
    let largest = |errors: &[f64]| errors.iter().copied().fold(0.0, f64::max);
    for (objective, max, mean) in
        [(Objective::Balanced(0.9), 8.844, 8.751), (Objective::Mean, 10.202, 8.7347)]
    {
        let errors = of("prefix:1024", objective, 1e-8).query_errors.unwrap();
        let digit = if objective == Objective::Mean { 1e-4 } else { 1e-3 };
        assert!((largest(&errors) - max).abs() < 1e-3, "{objective}: {}", largest(&errors));
        let found = errors.iter().sum::<f64>() / 1024.0;
        assert!((found - mean).abs() < digit, "{objective}: {found}");
    }
}

/// The workload's matrix.
fn rows(workload: &Workload) -> Array2<f64> {
    let rows: Vec<Vec<f64>> = workload.rows().unwrap().collect();
    Array2::from_shape_fn((rows.len(), workload.cells()), |(q, i)| rows[q][i])
}

/// Returns `w X⁻¹ wᵀ` for every row.
fn errors(rows: &Array2<f64>, gram: &Array2<f64>) -> Vec<f64> {
    let solved = linalg::spd_solve(gram.view(), rows.t()).unwrap();
    (0..rows.nrows()).map(|q| rows.row(q).dot(&solved.column(q))).collect()
}

fn value(objective: Objective, errors: &[f64]) -> f64 {
    let (sum, max) = (errors.iter().sum::<f64>(), errors.iter().copied().fold(0.0, f64::max));
    match objective {
        Objective::Mean => sum,
        Objective::Max => max,
        Objective::Balanced(share) => (1.0 - share) * max + share * sum / errors.len() as f64,
    }
}

fn training(n: usize, decay: f64) -> Workload {
    let rates = (0..n).map(|t| 0.1 + 1.0 / (1.0 + t as f64)).collect();
    Workload::training(Training::new(rates, 0.0, decay).unwrap())
}

#[test]
fn certificates_agree_with_dense_decompositions() {
    let parse = |text: &str| Workload::parse(text).unwrap();
    let all = [Objective::Mean, Objective::Max, Objective::Balanced(0.7)];
    let workloads = [
        (parse("prefix:1"), 1e-9),
        (parse("prefix:2"), 1e-9),
        (parse("cdf:37"), 1e-9),
        (parse("prefix:512"), 1e-9),
        (parse("decay(rate=0.9):100"), 1e-9),
        (parse("decay(rate=0.2):17"), 1e-9),
        (training(64, 0.95), 1e-5),
        (training(300, 1.0), 1e-5),
    ];
    for (workload, tolerance) in &workloads {
        let rows = rows(workload);
        for objective in all {
            let name = format!("{} {objective}", workload.name());
            let found = optimum(workload, objective, *tolerance);
            let Certificate { lower_bound, upper_bound, .. } = found.certificate;
            assert!(found.certificate.gap() <= *tolerance, "{name}: {:?}", found.certificate);
            // The lower bound from singular values.
            let per = if objective == Objective::Mean { rows.nrows() as f64 } else { 1.0 };
            if let Objective::Balanced(share) = objective {
                let least = share / rows.nrows() as f64 * (1.0 - 1e-12);
                assert!(found.query_weights.iter().all(|&p| p >= least), "{name}");
            }
            let scaled = Array2::from_shape_fn(rows.dim(), |(q, i)| {
                (found.query_weights[q] * found.cell_weights[i]).sqrt() * rows[[q, i]]
            });
            assert_relative_eq!(found.query_weights.iter().sum::<f64>(), 1.0, epsilon = 1e-12);
            assert_relative_eq!(found.cell_weights.iter().sum::<f64>(), 1.0, epsilon = 1e-12);
            let eigenvalues = linalg::eigvalsh(linalg::gram_of(scaled.view()).view()).unwrap();
            let norm: f64 = eigenvalues.iter().map(|x| x.max(0.0).sqrt()).sum();
            let bound = norm * norm * per;
            assert!(lower_bound <= bound * (1.0 + 1e-11), "{name}: {lower_bound} > {bound}");
            assert!(
                lower_bound >= bound * (1.0 - 2.0 * tolerance),
                "{name}: {lower_bound} < {bound}"
            );
            // The upper bound from the strategy's matrix.
            let gram = found.strategy().factors()[0].gram().unwrap();
            for (x, diagonal) in gram.diag().iter().zip(&found.diagonal) {
                assert_relative_eq!(x, diagonal, max_relative = tolerance + 1e-9);
                assert!(*x <= 1.0);
            }
            let errors = errors(&rows, &gram);
            let error = value(objective, &errors);
            assert!(error <= upper_bound * (1.0 + 1e-10), "{name}: {error} > {upper_bound}");
            assert!(
                error >= upper_bound * (1.0 - 2.0 * tolerance),
                "{name}: {error} < {upper_bound}"
            );
            for (a, b) in errors.iter().zip(found.query_errors.as_ref().unwrap()) {
                assert_relative_eq!(a, b, max_relative = tolerance + 1e-9);
            }
        }
    }
}

#[test]
fn no_strategy_near_the_optimum_is_better() {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let workload = training(4, 0.9);
    let rows = rows(&workload);
    for objective in [Objective::Mean, Objective::Max, Objective::Balanced(0.4)] {
        let found = optimum(&workload, objective, 1e-9);
        let gram = found.strategy().factors()[0].gram().unwrap();
        for round in 0..300 {
            let size = [1e-1, 1e-2, 1e-3][round % 3];
            let noise = Array2::from_shape_fn((4, 4), |_| rng.random_range(-size..size));
            let mut near = &*gram + &noise + noise.t();
            let largest = near.diag().iter().copied().fold(0.0, f64::max);
            near /= largest;
            if linalg::cholesky(near.view()).is_err() {
                continue;
            }
            let error = value(objective, &errors(&rows, &near));
            assert!(error >= found.certificate.lower_bound, "{objective}: {error}");
        }
    }
}

#[test]
fn totals_agree_with_the_dense_solver() {
    for text in ["range:1", "range:2", "range:47", "range:300", "prefix:200", "decay(rate=0.8):50"]
    {
        let gram = Workload::parse(text).unwrap().gram().unwrap();
        let linear = of(text, Objective::Mean, 1e-8);
        let dense = Optimal::new(OptimalOptions { tolerance: 1e-8, max_iterations: 300 })
            .unwrap()
            .select(&gram)
            .unwrap();
        assert_relative_eq!(linear.certificate.upper_bound, dense.error, max_relative = 3e-8);
        let strategy = linear.strategy();
        assert_relative_eq!(
            strategy.error(&gram).unwrap(),
            linear.certificate.upper_bound,
            max_relative = 3e-8
        );
        // The matrix has been computed, so this is its diagonal.
        let diagonal = strategy.factors()[0].gram().unwrap().diag().to_owned();
        let largest = diagonal.fold(0.0, |m: f64, &x| m.max(x));
        assert_relative_eq!(strategy.sensitivity_squared(), largest, max_relative = 1e-12);
        assert_eq!(linear.query_errors.is_none(), text.starts_with("range"));
    }
    let ranges = of("range:32768", Objective::Mean, 1e-8);
    assert!(ranges.certificate.gap() <= 1e-8);
}

#[test]
fn momentum_and_other_problems_are_left_to_other_solvers() {
    for (text, objective, participation) in [
        ("range:8", Objective::Max, Participation::Single),
        ("range:8", Objective::Balanced(0.5), Participation::Single),
        ("prefix:8", Objective::Mean, Participation::Epochs(2)),
        ("momentum(rate=0.9):8", Objective::Mean, Participation::Single),
        ("prefix:4x4", Objective::Mean, Participation::Single),
        ("residual(prefix:8)", Objective::Mean, Participation::Single),
    ] {
        let workload = Workload::parse(text).unwrap();
        let problem = Problem { workload: &workload, objective, participation };
        assert!(solve(&problem, &OptimalOptions::default()).unwrap().is_none(), "{text}");
    }
}

/// Most weights of cells and of queries vanish.
#[test]
fn largest_errors_of_schedules_converge_where_weights_vanish() {
    for n in [64, 1024] {
        for (name, rate) in [
            ("cosine", |t: f64| 0.5 * (1.0 + (std::f64::consts::PI * t).cos())),
            ("linear", |t| 1.0 - t),
            ("warm-up", |t| (8.0 * t).min(1.0)),
        ] as [(&str, fn(f64) -> f64); 3]
        {
            let rates = (0..n).map(|t| rate((t as f64 + 0.5) / n as f64)).collect();
            let workload = Workload::training(Training::new(rates, 0.0, 1.0).unwrap());
            let problem = Problem { objective: Objective::Max, ..Problem::new(&workload) };
            let found = solve(&problem, &OptimalOptions::default()).unwrap().unwrap();
            let Certificate { lower_bound, upper_bound, status, .. } = found.certificate;
            assert_eq!(status, Status::Converged, "{name} {n}: {:?}", found.certificate);
            // The lower bound from singular values.
            let rows = rows(&workload);
            let scaled = Array2::from_shape_fn(rows.dim(), |(q, i)| {
                (found.query_weights[q] * found.cell_weights[i]).sqrt() * rows[[q, i]]
            });
            let singular_values = linalg::row_space(scaled.view()).unwrap().singular_values;
            let bound = singular_values.sum().powi(2);
            assert!(bound >= lower_bound * (1.0 - 1e-9), "{name} {n}: {bound} {lower_bound}");
            assert!(bound <= upper_bound, "{name} {n}: {bound} {upper_bound}");
            assert!(upper_bound / lower_bound - 1.0 <= 1e-7, "{name} {n}");
        }
    }
}

#[test]
fn limits_are_reported_and_large_matrices_refused() {
    let workload = Workload::parse("prefix:64").unwrap();
    let run = |tolerance, max_iterations| {
        let options = OptimalOptions { tolerance, max_iterations };
        solve(&Problem::new(&workload), &options).unwrap().unwrap().certificate
    };
    let limited = run(1e-12, 2);
    assert_eq!((limited.status, limited.iterations), (Status::IterationLimit, 2));
    assert!(limited.lower_bound < limited.upper_bound && limited.gap() < 0.1);
    let stalled = run(1e-17, 100_000);
    assert_eq!(stalled.status, Status::Stalled);
    assert!(stalled.gap() < 1e-11, "{stalled:?}");
    let large = of("prefix:20000", Objective::Mean, 1e-3);
    let message = large.strategy().factors()[0].queries().unwrap_err().to_string();
    assert!(message.contains("20000") && message.contains("cells"), "{message}");
    assert_relative_eq!(large.selection().error, large.certificate.upper_bound);
}

#[test]
fn two_runs_agree_to_the_last_bit() {
    let run = || of("prefix:3000", Objective::Balanced(0.5), 1e-6);
    let (a, b) = (run(), run());
    assert_eq!(a.certificate, b.certificate);
    assert_eq!(a.cell_weights, b.cell_weights);
}
