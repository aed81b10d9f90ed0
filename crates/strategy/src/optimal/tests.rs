//! Tests against the returned strategies, S3's certified optima, and difficult cases.

use super::*;
use crate::test_support::gram;
use crate::workload::{Family, Gram, Workload};
use crate::{Selection, Status, StrategySelector, svd_bound};
use approx::assert_relative_eq;
use ndarray::Array2;

fn solve(text: &str) -> (Gram, Selection) {
    let gram = gram(text);
    let selection = Optimal::default().select(&gram).unwrap();
    (gram, selection)
}

#[test]
fn the_upper_bound_is_the_error_of_the_returned_strategy() {
    for text in [
        "range:40",
        "prefix:33",
        "range:5x7",
        "residual(affine:9x9)",
        "residual(abs:8x8)",
        "affine:6x7",
        "abs:7x7",
        "residual(prefix:20)",
        "range-sample(queries=15,seed=4):5x5",
        "total:6",
        "residual(circular:12)",
        "permuted-range:20",
    ] {
        let (gram, selection) = solve(text);
        let certificate = selection.certificate.unwrap();
        assert_eq!(certificate.status, Status::Converged, "{text}");
        assert!(certificate.gap() <= 1e-7, "{text}: {}", certificate.gap());
        assert!(certificate.lower_bound >= svd_bound(&gram).unwrap() * (1.0 - 1e-9), "{text}");
        assert!(selection.strategy.sensitivity_squared() <= 1.0 + 1e-9, "{text}");
        // The pseudo-inverse treats directions outside the range of a rank-deficient workload as
        // zero.
        assert_relative_eq!(
            selection.strategy.error(&gram).unwrap(),
            certificate.upper_bound,
            max_relative = 1e-6
        );
    }
}

#[test]
fn large_workloads_close_their_gap() {
    let (_, range) = solve("range:1024");
    let certificate = range.certificate.unwrap();
    assert!(certificate.gap() <= 1e-6 && certificate.iterations <= 25, "{certificate:?}");
    for text in ["residual(affine:40x40)", "residual(abs:40x40)"] {
        let certificate = solve(text).1.certificate.unwrap();
        assert!(certificate.gap() <= 1e-6, "{text}: {certificate:?}");
    }
}

/// Computes S3's closed form for [n]^d with 1- and 2-way queries,
/// `RMSE = (√L_∅ + d √L_1 + d(d−1)/2 √L_2)/√#Q`.
fn rmse(n: usize, pair: Family, one_way: Family) -> f64 {
    let d = 40.0;
    let pairs = d * (d - 1.0) / 2.0;
    let optimum = |gram: &Gram| Optimal::default().select(gram).unwrap().error;
    let rows = |family: Family, sizes: &[usize]| -> Vec<Vec<f64>> {
        family.rows(sizes).unwrap().collect()
    };
    let sizes_pair: Vec<usize> = vec![n; 2];
    let (mut total, mut queries) = (0.0, 0.0);
    let ones = rows(one_way, &[n]);
    let twos: Vec<Vec<f64>> = if pair.arity() == 2 {
        rows(pair, &sizes_pair)
    } else {
        let single = rows(pair, &[n]);
        single
            .iter()
            .flat_map(|a| {
                single.iter().map(|b| a.iter().flat_map(|x| b.iter().map(move |y| x * y)).collect())
            })
            .collect()
    };
    queries += d * ones.len() as f64 + pairs * twos.len() as f64;
    let mean = |row: &Vec<f64>| row.iter().sum::<f64>() / row.len() as f64;
    total += (d * ones.iter().map(|r| mean(r).powi(2)).sum::<f64>()
        + pairs * twos.iter().map(|r| mean(r).powi(2)).sum::<f64>())
    .sqrt();
    // One attribute: its 1-way queries, and the pair queries averaged over the other attribute,
    // d − 1 times.
    let mut first = Array2::zeros((n, n));
    let averaged = twos.iter().map(|r| {
        (0..n).map(|i| r[i * n..(i + 1) * n].iter().sum::<f64>() / n as f64).collect::<Vec<_>>()
    });
    for (weight, row) in ones.iter().map(|r| (1.0, r.clone())).chain(averaged.map(|r| (d - 1.0, r)))
    {
        for i in 0..n {
            for j in 0..n {
                first[[i, j]] += weight * row[i] * row[j];
            }
        }
    }
    total += d * optimum(&Gram::dense(&[n], first).unwrap().residual()).sqrt();
    let second = if pair.arity() == 2 {
        Workload::family(pair, &sizes_pair)
    } else {
        Workload::product(&[(pair, &[n]), (pair, &[n])])
    };
    total += pairs * optimum(&second.unwrap().gram().unwrap().residual()).sqrt();
    total / queries.sqrt()
}

#[test]
fn certified_optima_match_the_s3_specification() {
    for (n, prefix, range, affine, abs) in [
        (10, "33.693", "41.076", "28.010", "30.103"),
        (20, "49.382", "63.307", "35.164", "37.170"),
        (30, "59.662", "78.784", "39.169", "41.110"),
    ] {
        for (pair, one_way, printed) in [
            (Family::PREFIX, Family::PREFIX, prefix),
            (Family::RANGE, Family::RANGE, range),
            (Family::AFFINE, Family::PREFIX, affine),
            (Family::ABS, Family::PREFIX, abs),
        ] {
            let value = rmse(n, pair, one_way);
            let expected: f64 = printed.parse().unwrap();
            assert!(
                (value - expected).abs() <= 0.000_501,
                "{} n={n}: {value} is not {printed}",
                pair.name()
            );
        }
    }
}

#[test]
fn kronecker_products_of_optima_are_optimal() {
    for text in ["prefix:4x4", "range:3x5"] {
        let (gram, by_factors) = solve(text);
        let dense = Gram::dense(&gram.shape(), gram.to_dense().unwrap()).unwrap();
        let whole = Optimal::default().select(&dense).unwrap();
        assert_relative_eq!(by_factors.error, whole.error, max_relative = 3e-7);
    }
}

#[test]
fn limits_and_bad_options_are_reported() {
    let gram = gram("prefix:64");
    let short = Optimal::new(OptimalOptions { tolerance: 1e-12, max_iterations: 3 }).unwrap();
    let certificate = short.select(&gram).unwrap().certificate.unwrap();
    assert_eq!((certificate.status, certificate.iterations), (Status::IterationLimit, 3));
    assert!(certificate.lower_bound <= certificate.upper_bound);
    assert!(Optimal::new(OptimalOptions { tolerance: 0.0, max_iterations: 3 }).is_err());
    assert!(Optimal::new(OptimalOptions { tolerance: f64::NAN, max_iterations: 3 }).is_err());
    assert!(Optimal::new(OptimalOptions { tolerance: 1e-6, max_iterations: 0 }).is_err());
    let zero = Gram::dense(&[3], Array2::zeros((3, 3))).unwrap();
    assert!(Optimal::default().select(&zero).unwrap_err().to_string().contains("zeros"));
}

#[test]
fn two_runs_agree_to_the_last_bit() {
    let (_, a) = solve("residual(affine:12x12)");
    let (_, b) = solve("residual(affine:12x12)");
    assert_eq!(a.error.to_bits(), b.error.to_bits());
    let gram = |selection: &Selection| selection.strategy.factors()[0].gram().unwrap();
    assert_eq!(gram(&a), gram(&b));
}

/// The bounds of an interrupted solver contain the optimum.
#[test]
fn interrupted_solvers_return_their_best_iterate() {
    use crate::{Request, Status};
    for (workload, options) in [
        ("residual(prefix:40)", ""),
        ("range:6x9", ""),
        ("prefix:200", "objective=max"),
        ("prefix:48", "objective=max,participation=epochs:4"),
        ("prefix:48", "participation=min-sep:8,3"),
    ] {
        let workload = Workload::parse(workload).unwrap();
        let request = Request::parse(&format!("optimal({options})")).unwrap();
        let optimum = request.select(&workload).unwrap().certificate.unwrap();
        let mut calls = 0;
        let goes_on = move |_: &crate::progress::Iteration| {
            calls += 1;
            calls < 3
        };
        let stopped = crate::progress::observed(goes_on, || request.select(&workload)).unwrap();
        let found = stopped.certificate.unwrap();
        assert_eq!(found.status, Status::Interrupted, "{}", workload.name());
        assert!(found.iterations < optimum.iterations, "{}", workload.name());
        assert!(found.lower_bound <= optimum.upper_bound * (1.0 + 1e-12), "{}", workload.name());
        assert!(found.upper_bound >= optimum.lower_bound * (1.0 - 1e-12), "{}", workload.name());
        // The strategy has at most the error that is stated; in linear time, early iterates are
        // evaluated with an error that the bounds include.
        let error = request.problem(&workload).error(&stopped.strategy).unwrap();
        let allowed = found.lower_bound * (1.0 - 1e-9)..=stopped.error * (1.0 + 1e-9);
        assert!(allowed.contains(&error), "{}: {error} {stopped:?}", workload.name());
    }
}

/// Oracle: the lower bound of the weights as those of a dense problem.
#[test]
fn weights_of_linear_time_problems_prove_their_bound() {
    use crate::{DualWeights, Objective, Problem};
    let workload = Workload::parse("prefix:64").unwrap();
    for objective in [Objective::Max, Objective::Balanced(0.5)] {
        let problem = Problem { objective, ..Problem::new(&workload) };
        let (selection, dual) = Optimal::default().solve(&problem).unwrap();
        let dual = dual.unwrap();
        assert!(matches!(dual, DualWeights::Diagonal { .. }), "{dual:?}");
        let bound = dual.lower_bound(&problem).unwrap();
        assert_relative_eq!(bound, selection.certificate.unwrap().lower_bound, max_relative = 1e-6);
    }
}
