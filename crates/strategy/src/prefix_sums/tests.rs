//! Tests against dense algebra, brute force and published formulas.

use crate::Selection;
use approx::{assert_abs_diff_eq, assert_relative_eq};
use matmech_linalg as linalg;
use ndarray::Array2;

use crate::test_support::gram as gram_of;
use crate::workload::{Family, Workload};
use crate::{Certificate, Objective, Problem, Request};

/// The strategies that are for prefix sums only or for repeated participation, by name.
pub(crate) const NAMES: [&str; 10] = [
    "toeplitz",
    "bsr",
    "bisr",
    "bandmf",
    "blt",
    "circulant",
    "binary-tree",
    "recurrence",
    "chains",
    "truncated",
];

/// All strategies of this module.
const CALLS: [&str; 9] = [
    "toeplitz",
    "bsr",
    "bsr(bands=3)",
    "bisr",
    "bisr(bands=3)",
    "blt(buffers=2)",
    "circulant",
    "binary-tree",
    "binary-tree(estimator=honaker)",
];

fn prefix(n: usize) -> Workload {
    Workload::family(Family::PREFIX, &[n]).unwrap()
}

fn problem<'a>(workload: &'a Workload, objective: &str, participation: &str) -> Problem<'a> {
    let (objective, participation) = (objective.parse().unwrap(), participation.parse().unwrap());
    Problem { workload, objective, participation }
}

fn select(name: &str, problem: &Problem<'_>) -> Selection {
    Request::parse(name).unwrap().selector.select_for(problem).unwrap()
}

/// The lower triangular matrix C of a strategy.
fn matrix(name: &str, problem: &Problem<'_>) -> Array2<f64> {
    let selection = select(name, problem);
    selection.strategy.factors()[0].queries().unwrap().as_ref().clone()
}

/// Returns the largest `Σ X_st` over the patterns of epochs, for nonnegative X.
fn brute_force(x: &Array2<f64>, count: usize) -> f64 {
    let b = x.nrows() / count;
    (0..b)
        .map(|c| {
            let steps = || (0..count).map(|g| c + g * b);
            steps().map(|s| steps().map(|t| x[[s, t]]).sum::<f64>()).sum()
        })
        .fold(0.0, f64::max)
}

/// Oracle: the sensitivity by all patterns, and the errors by an explicit B with BC = W.
#[test]
fn errors_match_explicit_factorisations() {
    let n = 24;
    let workload = prefix(n);
    let rows = Array2::from_shape_fn((n, n), |(t, s)| f64::from(u8::from(s <= t)));
    for name in CALLS {
        for (count, objective) in [(1, "mean"), (2, "mean"), (4, "mean"), (1, "max"), (4, "max")] {
            let problem = problem(&workload, objective, &format!("epochs:{count}"));
            let c = matrix(name, &problem);
            let x = c.t().dot(&c);
            if x.iter().any(|&x| x < -1e-12) {
                assert_eq!(name, "circulant");
                continue;
            }
            // Least squares: equal for square C, at most the published error for the others.
            let inverse = linalg::Semidefinite::of(x.view()).unwrap().pseudo_inverse();
            let errors = rows.dot(&inverse).dot(&rows.t()).diag().to_owned();
            let largest = errors.iter().copied().fold(0.0, f64::max);
            let expected =
                brute_force(&x, count) * if objective == "max" { largest } else { errors.sum() };
            let found = select(name, &problem).error;
            if c.nrows() == n && name != "circulant" {
                assert_relative_eq!(found, expected, max_relative = 1e-8);
            } else {
                assert!(found > expected * (1.0 - 1e-9), "{name}: {found} {expected}");
                assert!(objective == "max" || found > expected * (1.0 + 1e-6), "{name}");
            }
            // The errors of the queries, combined.
            let selector = Request::parse(name).unwrap().selector;
            let errors = selector.query_errors(&problem).unwrap();
            let combined = if objective == "max" {
                errors.iter().copied().fold(0.0, f64::max)
            } else {
                errors.iter().sum()
            };
            assert_relative_eq!(combined, found, max_relative = 1e-12);
        }
    }
}

/// Closed forms: binomial coefficients, and the roots' products with themselves.
#[test]
fn coefficients_match_closed_forms() {
    let n = 12;
    let workload = prefix(n);
    let single = problem(&workload, "mean", "single");
    let binomial = |i: usize| (1..=i).map(|j| (2 * j - 1) as f64 / (2 * j) as f64).product::<f64>();
    let c = matrix("toeplitz", &single);
    let banded = matrix("bsr(bands=4)", &single);
    for (t, s) in (0..n).flat_map(|t| (0..=t).map(move |s| (t, s))) {
        assert_relative_eq!(c[[t, s]], binomial(t - s), max_relative = 1e-14);
        assert_eq!(banded[[t, s]], if t - s < 4 { c[[t, s]] } else { 0.0 });
    }
    // C·C = W, and C⁻¹ of BISR is banded with −binomial(i)/(2i − 1).
    let rows = Array2::from_shape_fn((n, n), |(t, s)| f64::from(u8::from(s <= t)));
    assert_abs_diff_eq!(c.dot(&c), rows, epsilon = 1e-13);
    let inverse = Array2::from_shape_fn((n, n), |(t, s)| match t.checked_sub(s) {
        Some(lag) if lag < 4 => -binomial(lag) / (2.0 * lag as f64 - 1.0),
        _ => 0.0,
    });
    let product = matrix("bisr(bands=4)", &single).dot(&inverse);
    assert_abs_diff_eq!(product, Array2::eye(n), epsilon = 1e-13);
}

/// The default of BISR has the smallest error of the powers of two.
#[test]
fn default_bands_are_the_best_power_of_two() {
    let workload = prefix(64);
    for participation in ["single", "epochs:4"] {
        let problem = problem(&workload, "max", participation);
        let error = |name: &str| select(name, &problem).error;
        let powers = (0..7).map(|k| error(&format!("bisr(bands={})", 1 << k)));
        assert_relative_eq!(
            error("bisr"),
            powers.fold(f64::INFINITY, f64::min),
            max_relative = 1e-14
        );
    }
}

/// The published errors: Henzinger and Upadhyay for every query; the spectrum by explicit roots.
#[test]
fn the_circulant_root_matches_the_published_error() {
    for n in [3, 8, 21] {
        let workload = prefix(n);
        let cosecant =
            |j: usize| ((2 * j - 1) as f64 * std::f64::consts::FRAC_PI_2 / n as f64).sin();
        let root = 0.5 + (1..=n).map(|j| cosecant(j).recip()).sum::<f64>() / (2 * n) as f64;
        let found = select("circulant", &problem(&workload, "max", "single"));
        assert_relative_eq!(found.error, root * root, max_relative = 1e-12);
        // X² extended to the group is the Gram matrix of the circulant matrix of the prefix sums.
        let x = found.strategy.factors()[0].gram().unwrap();
        let lag = |i: usize| match i % (2 * n) {
            // X has the same entries at the lags i and 2n − i, and Σ_i X_i = n.
            i if i < n => x[[0, i]],
            i if i > n => x[[0, 2 * n - i]],
            _ => n as f64 - x[[0, 0]] - 2.0 * (1..n).map(|i| x[[0, i]]).sum::<f64>(),
        };
        for shift in 0..2 * n {
            let square: f64 = (0..2 * n).map(|i| lag(i) * lag((2 * n + shift - i) % (2 * n))).sum();
            let overlap = n.abs_diff(shift) as f64;
            assert_abs_diff_eq!(square, overlap, epsilon = 1e-9);
        }
    }
}

/// Oracle: nodes counted one by one, and least squares on the counts of the past.
#[test]
fn tree_variances_match_counted_nodes_and_least_squares_on_the_past() {
    for n in [1, 7, 16, 21] {
        let workload = prefix(n);
        let single = problem(&workload, "mean", "single");
        let counts = matrix("binary-tree", &single);
        let errors = |name: &str| Request::parse(name).unwrap().selector.query_errors(&single);
        let plain = errors("binary-tree").unwrap();
        let honaker = errors("binary-tree(estimator=honaker)").unwrap();
        let squared = f64::from(n.ilog2() + 1);
        for t in 1..=n {
            // Greedy: the largest interval from the current step on that is measured.
            let (mut start, mut nodes) = (0, 0);
            while start < t {
                let length = |row: ndarray::ArrayView1<'_, f64>| {
                    let from = row.iter().position(|&x| x == 1.0);
                    let length = row.sum() as usize;
                    (from == Some(start) && start + length <= t).then_some(length)
                };
                start += counts.rows().into_iter().filter_map(length).max().unwrap();
                nodes += 1;
            }
            assert_relative_eq!(plain[t - 1], squared * f64::from(nodes), max_relative = 1e-14);
            let past: Vec<usize> = (0..counts.nrows())
                .filter(|&i| counts.row(i).iter().skip(t).all(|&x| x == 0.0))
                .collect();
            let past = counts.select(ndarray::Axis(0), &past);
            let past = past.select(ndarray::Axis(1), &(0..t).collect::<Vec<_>>());
            let inverse =
                linalg::Semidefinite::of(past.t().dot(&past).view()).unwrap().pseudo_inverse();
            assert_relative_eq!(honaker[t - 1], squared * inverse.sum(), max_relative = 1e-9);
        }
    }
}

/// The excesses of the reference table, to their digits, and the norms of BandMF.
#[test]
fn errors_match_the_reference_table() {
    let workload = prefix(256);
    for (name, percent) in [("bsr", 15.4), ("bisr", 25.1)] {
        let error = select(name, &problem(&workload, "mean", "epochs:4")).error / 256.0;
        assert_abs_diff_eq!(100.0 * (error / 27.164366 - 1.0), percent, epsilon = 0.05);
    }
    let error = select("circulant", &problem(&workload, "max", "single")).error;
    assert_abs_diff_eq!(100.0 * (error / 6.41465103 - 1.0), 17.6, epsilon = 0.05);
    let workload = prefix(48);
    for (name, expected) in [("bandmf", 19.5117), ("bandmf(norms=free)", 18.6316)] {
        for participation in ["epochs:4", "min-sep:12,4"] {
            let found = select(name, &problem(&workload, "mean", participation));
            assert_relative_eq!(found.error / 48.0, expected, max_relative = 5e-6);
        }
        // The largest error of the same strategy.
        let max = problem(&workload, "max", "epochs:4");
        let mean = Problem { objective: Objective::Mean, ..max };
        let errors = Request::parse(name).unwrap().selector.query_errors(&mean).unwrap();
        let largest = errors.into_iter().fold(0.0, f64::max);
        assert_relative_eq!(select(name, &max).error, largest, max_relative = 1e-9);
    }
}

#[test]
fn other_workloads_and_options_are_refused() {
    for name in CALLS {
        let selector = Request::parse(name).unwrap().selector;
        for text in ["range:8", "prefix:3x4"] {
            let workload = Workload::parse(text).unwrap();
            let message = selector.select_for(&Problem::new(&workload)).unwrap_err().to_string();
            assert!(message.contains("prefix:N"), "{message}");
            let message = selector.select(&gram_of(text)).unwrap_err().to_string();
            assert!(message.contains("prefix:N"), "{message}");
        }
        let by_gram = selector.select(&gram_of("prefix:8")).unwrap();
        let by_problem = selector.select_for(&Problem::new(&prefix(8))).unwrap();
        assert_eq!(by_gram.error, by_problem.error);
    }
    let message = Request::parse("bandmf").unwrap().select(&prefix(8)).unwrap_err().to_string();
    assert!(message.contains("epochs:4"), "{message}");
    for text in ["bsr(bands=0)", "blt(buffers=0)", "chains(buffers=0)", "binary-tree(estimator=x)"]
    {
        assert!(Request::parse(text).is_err(), "{text}");
    }
}

/// The selections of streaming noise are those of `stream`, with a Gram matrix that gives the error.
#[test]
fn streamed_selections_have_the_error_of_their_gram_matrix() {
    let workload = prefix(32);
    // Rates, inputs, outputs, diagonal, scale and taps; 7 values of the 8 bands, rather than 8 of
    // the copies.
    for (name, participation, cost) in [
        ("recurrence(buffers=2)", "epochs:2", [2.0, 2.0, 2.0 + 32.0 * 6.0 + 32.0]),
        ("chains(buffers=4)", "single", [4.0, 4.0, 32.0 * 10.0]),
        ("truncated(buffers=2)", "min-sep:8,4", [7.0, 1.0, 2.0 + 32.0 * 6.0]),
        ("truncated(buffers=1)", "min-sep:8,4", [4.0, 4.0, 1.0 + 32.0 * 4.0]),
        ("blt(buffers=2)", "min-sep:8,4", [2.0, 1.0, 4.0]),
        ("bsr", "min-sep:8,4", [7.0, 1.0, 8.0]),
        ("bandmf", "min-sep:8,4", [7.0, 1.0, 8.0 * 32.0]),
    ] {
        let objective = if name.starts_with("chains") { "max" } else { "mean" };
        let problem = problem(&workload, objective, participation);
        let selection = select(name, &problem);
        assert_eq!(selection.certificate.is_some(), name.starts_with("chains"));
        for gap in selection.certificate.iter().map(Certificate::gap) {
            assert!(gap > 0.0 && gap < 0.2, "{name}: {gap}");
        }
        let error = problem.error(&selection.strategy).unwrap();
        assert_relative_eq!(selection.error, error, max_relative = 1e-6);
        let names = ["buffers", "normals", "coefficients"];
        assert_eq!(selection.details, names.into_iter().zip(cost).collect::<Vec<_>>(), "{name}");
    }
}
