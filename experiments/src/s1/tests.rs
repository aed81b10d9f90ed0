//! Tests of the kinds that run the Level Selection Algorithm and its competitors.
//!
//! The numbers are those of an independent program in double precision, or closed forms.

use approx::assert_relative_eq;
use matmech::strategy::svd_bound;
use matmech::workload::{Gram, RangeSample, Workload};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::sample_errors::gram_of;
use super::{CoveredRanges, LevelCap, SeparatedMarginals, SkewedRanges};
use crate::experiment::{Experiment, Row};

/// Returns the rows of every cell of a grid, with its method.
fn run(kind: &dyn Experiment, grid: &str) -> Vec<(String, Vec<Row>)> {
    let cells = kind.cells(&grid.parse().unwrap()).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(0);
    cells.iter().map(|cell| (cell.method.clone(), kind.run(cell, &mut rng).unwrap())).collect()
}

#[track_caller]
fn value(rows: &[Row], metric: &str) -> f64 {
    rows.iter().find(|row| row.metric == metric).unwrap().value.unwrap()
}

/// Returns the error of the identity, tr G, over the SVD bound.
fn identity_over_bound(gram: &Gram) -> f64 {
    gram.trace() / svd_bound(gram).unwrap()
}

#[test]
fn level_caps_go_from_the_identity_to_the_whole_strategy() {
    let grid = "workload = 'range:64'\nlevels = [1, 64]\nmethods = ['lsa', 'optimal']";
    let found = run(&LevelCap, grid);
    let gram = Workload::parse("range:64").unwrap().gram().unwrap();
    assert_relative_eq!(
        value(&found[0].1, "ratio_to_svdb"),
        identity_over_bound(&gram),
        max_relative = 1e-9
    );
    assert!((value(&found[1].1, "ratio_to_svdb") - 1.0796).abs() < 5e-5);
    assert_eq!(value(&found[1].1, "levels"), 16.0);
    // The optimum does not depend on the cap.
    let optima = [&found[2].1, &found[3].1].map(|rows| value(rows, "ratio_to_svdb"));
    assert!(optima[0] == optima[1] && 1.0 < optima[0] && optima[0] < 1.0796);
}

#[test]
fn errors_on_ranges_of_a_coverage_are_means_over_the_samples() {
    let grid = "domains = [{ workload = 'range:8x4', queries = 50 }]\ncoverages = [0.5]\n\
                methods = ['svd-bound', 'identity']\nsamples = 3\nsample_seed = 7";
    let found = run(&CoveredRanges, grid);
    assert_eq!(value(&found[0].1, "ratio_to_svdb"), 1.0);
    let ratios: Vec<f64> = (7..10)
        .map(|seed| {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            let sample = RangeSample::covering(&[8, 4], 50, 0.5, &mut rng).unwrap();
            identity_over_bound(&gram_of(&sample).unwrap())
        })
        .collect();
    let identity = &found[1].1;
    let mean = ratios.iter().sum::<f64>() / 3.0;
    assert_relative_eq!(value(identity, "ratio_to_svdb"), mean, max_relative = 1e-12);
    let largest = ratios.iter().copied().fold(0.0, f64::max);
    assert_relative_eq!(value(identity, "ratio_to_svdb_max"), largest, max_relative = 1e-12);
    assert!(value(identity, "ratio_to_svdb_min") < mean);
}

#[test]
fn separation_has_the_errors_of_an_independent_program() {
    let grid = "workloads = ['range-marginals:8x8']\nmethods = ['svd-bound', 'lsa-separated', \
                'lsa-separated-total', 'wavelet-per-marginal', 'wavelet']";
    let found = run(&SeparatedMarginals, grid);
    assert!((value(&found[0].1, "total_error") - 266.16).abs() < 5e-3);
    for ((method, rows), expected) in found[1..].iter().zip([1.0387, 1.0668, 1.1516, 2.810]) {
        let ratio = value(rows, "ratio_to_svdb");
        assert!((ratio - expected).abs() < if expected > 2.0 { 5e-4 } else { 5e-5 }, "{method}");
        assert!(rows[0].seconds.unwrap() > 0.0);
    }
}

#[test]
fn generalization_has_the_error_of_an_independent_program() {
    let grid = "families = ['range', 'skew-range']\ncells = [64]\n\
                methods = ['identity', 'lsa', 'lsa-generalized']\nlambda = 10.0\nshare = 0.02\n\
                least = 60\nsamples = 2\nsample_seed = 3";
    let found = run(&SkewedRanges, grid);
    let ratio = |index: usize| value(&found[index].1, "ratio_to_svdb");
    let gram = Workload::parse("range:64").unwrap().gram().unwrap();
    assert_relative_eq!(ratio(0), identity_over_bound(&gram), max_relative = 1e-9);
    assert!((ratio(1) - 1.0796).abs() < 5e-5);
    assert!((ratio(2) - 1.2175).abs() < 6e-4);
    let candidates = |index: usize| value(&found[index].1, "candidates");
    assert_eq!(value(&found[2].1, "candidate_ratio"), candidates(1) / candidates(2));
    // All methods use the same samples.
    let expected: f64 = (3..5)
        .map(|seed| {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            let sample = RangeSample::biased(&[64], 60, 10.0, &mut rng).unwrap();
            identity_over_bound(&gram_of(&sample).unwrap())
        })
        .sum();
    assert_relative_eq!(ratio(3), expected / 2.0, max_relative = 1e-12);
    assert!(1.0 < ratio(4) && ratio(4) < ratio(3));
}
