//! Tests against the generalization table of the S1 specification, and of invariants.

use super::two_phases::*;
use crate::StrategySelector;
use crate::lsa::{GridBox, LsaOptions};
use crate::svd_bound;
use crate::test_support::gram;
use crate::tests::assert_digits;
use crate::workload::Gram;
use approx::assert_relative_eq;
use ndarray::Array2;

/// Against the specification: errors over the SVD bound.
#[test]
fn errors_match_the_generalization_table() {
    for (n, printed) in
        [(64, "1.2175"), (128, "1.2061"), (256, "1.2953"), (512, "1.2807"), (1024, "1.2778")]
    {
        let text = format!("range:{n}");
        let gram = gram(&text);
        let error = LsaGeneralized::default().select(&gram).unwrap().error;
        assert_digits(error / svd_bound(&gram).unwrap(), printed, &text);
    }
}

#[test]
fn groups_are_about_the_cube_root_and_cover_the_attribute() {
    let groups = [2, 3, 8, 64, 128, 256, 512, 1024].map(group_count);
    assert_eq!(groups, [1, 2, 2, 4, 4, 8, 8, 8]);
    for size in 1..200 {
        let bounds = group_bounds(size);
        assert_eq!((bounds[0], bounds[bounds.len() - 1]), (0, size));
        let lengths: Vec<usize> = bounds.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (min, max) = (lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
        assert!(*min > 0 && max - min <= 1, "{size}: {lengths:?}");
    }
}

#[test]
fn the_strategy_is_column_uniform_on_any_shape() {
    for text in
        ["range:50", "prefix:33", "range:7x9", "range:4x3x5", "range-sample(queries=60,seed=4):100"]
    {
        let gram = gram(text);
        let outcome = run(&gram, &LsaOptions::default()).unwrap();
        let strategy = outcome.strategy("generalized");
        let levels = outcome.levels() as f64;
        assert!(
            strategy.factors()[0].gram().unwrap().diag().iter().all(|&d| d == levels),
            "{text}: columns differ"
        );
        assert_relative_eq!(strategy.sensitivity_squared(), levels);
        let counted: usize =
            outcome.merged.levels.iter().chain(&outcome.refinements).map(|l| l.queries).sum();
        assert_eq!(outcome.queries.total(), counted, "{text}");
        for pair in outcome.refinements.windows(2) {
            assert!(pair[1].error <= pair[0].error * (1.0 + 1e-12), "{text}: {pair:?}");
        }
        assert!(strategy.error(&gram).unwrap() >= svd_bound(&gram).unwrap());
    }
}

#[test]
fn the_merged_workload_is_the_mean_over_groups() {
    let gram = ndarray::array![[4.0, 2.0, 1.0], [2.0, 6.0, 3.0], [1.0, 3.0, 8.0]];
    let boxes = [GridBox::between(vec![0], vec![1]), GridBox::between(vec![1], vec![3])];
    assert_eq!(merged(&gram, &[3], &boxes), ndarray::array![[4.0, 1.5], [1.5, 5.0]]);
}

#[test]
fn invalid_input_is_refused() {
    let message = run(&gram("range:9"), &LsaOptions { max_levels: 1, ..Default::default() })
        .unwrap_err()
        .to_string();
    assert!(message.contains("at least 2"), "{message}");
    let two = run(&gram("range:9"), &LsaOptions { max_levels: 2, ..Default::default() }).unwrap();
    assert_eq!(two.levels(), 2);
    assert!(
        run(&Gram::dense(&[3], Array2::zeros((3, 3))).unwrap(), &LsaOptions::default()).is_err()
    );
}
