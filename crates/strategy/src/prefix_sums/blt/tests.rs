//! Tests against finite differences, random search and dense algebra.

use crate::{Problem, Request, StrategySelector};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;

use super::fit::{LogError, exponentials};
use super::*;
use crate::prefix_sums::toeplitz::{error, series_inverse};
use crate::workload::Workload;
use matmech_linalg::SmoothFunction;

fn problem<'a>(workload: &'a Workload, objective: &str, participation: &str) -> Problem<'a> {
    let (objective, participation) = (objective.parse().unwrap(), participation.parse().unwrap());
    Problem { workload, objective, participation }
}

/// Oracle: central differences, and the error by the inverse of the series.
#[test]
fn value_and_derivative_match_the_series_and_central_differences() {
    let workload = Workload::parse("prefix:24").unwrap();
    for (objective, participation) in
        [("mean", "single"), ("max", "epochs:4"), ("balanced:0.3", "min-sep:5,3")]
    {
        let problem = problem(&workload, objective, participation);
        let function = LogError::new(&problem);
        let x = function.start(3, 1.5, 1.5);
        let (value, gradient) = function.evaluate(&x).unwrap();
        let c = exponentials(&x, 24);
        let expected = error(&problem, &c, &series_inverse(&c)).ln();
        assert!((value - expected).abs() < 1e-12, "{value} {expected}");
        for i in 0..x.len() {
            let at = |change: f64| {
                let mut moved = x.clone();
                moved[i] += change;
                function.evaluate(&moved).unwrap().0
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((difference - gradient[i]).abs() < 1e-8, "{i}: {difference} {gradient:?}");
        }
    }
}

/// Oracle: 20,000 random parameters.
#[test]
fn fits_are_not_worse_than_a_random_search() {
    let mut rng = ChaCha20Rng::seed_from_u64(11);
    let workload = Workload::parse("prefix:32").unwrap();
    for (objective, participation) in [("mean", "single"), ("max", "epochs:4")] {
        let problem = problem(&workload, objective, participation);
        let function = LogError::new(&problem);
        let fitted = BufferedToeplitz { buffers: 2 }.select_for(&problem).unwrap().error.ln();
        let best = (0..20_000)
            .map(|_| {
                let x: Vec<f64> = (0..4).map(|_| rng.random_range(-6.0f64..1.5)).collect();
                function.evaluate(&x).unwrap().0
            })
            .fold(f64::INFINITY, f64::min);
        assert!(fitted <= best && best < fitted + 0.1, "{fitted} {best}");
    }
}

/// More buffers are not worse, and no Toeplitz strategy is below the certified optimum.
#[test]
fn errors_decrease_with_the_buffers_above_the_optimum() {
    let workload = Workload::parse("prefix:64").unwrap();
    for participation in ["single", "epochs:4"] {
        let problem = problem(&workload, "mean", participation);
        let optimum = Request::parse("optimal").unwrap().selector.select_for(&problem).unwrap();
        let mut previous = f64::INFINITY;
        for buffers in 1..5 {
            let error = BufferedToeplitz { buffers }.select_for(&problem).unwrap().error;
            assert!(error <= previous * (1.0 + 1e-9), "{buffers}: {error} {previous}");
            previous = error;
        }
        assert!(previous > optimum.certificate.unwrap().lower_bound, "{previous}");
    }
}
