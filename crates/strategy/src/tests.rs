//! Tests against the independent values of the S1 specification and explicit matrices.

use super::*;
use crate::error::Error;
use crate::test_support::gram;
use approx::assert_relative_eq;
use matmech_linalg as linalg;
use ndarray::Array2;
use proptest::prelude::{ProptestConfig, prop_assert, prop_assume, proptest};

/// Asserts that `value` rounds to the digits of `printed`.
pub(super) fn assert_digits(value: f64, printed: &str, context: &str) {
    let decimals = printed.split_once('.').map_or(0, |(_, d)| d.len());
    let half = 0.5 * 10f64.powi(-(decimals as i32));
    let expected: f64 = printed.parse().unwrap();
    assert!((value - expected).abs() <= half * (1.0 + 1e-9), "{context}: {value} is not {printed}");
}

fn ratio(text: &str, selector: &str) -> f64 {
    let gram = gram(text);
    by_name(selector).unwrap().select(&gram).unwrap().error / svd_bound(&gram).unwrap()
}

#[test]
fn ratios_match_the_table_of_the_s1_specification() {
    let selectors = ["workload", "identity", "hierarchical", "wavelet", "optimal"];
    for (text, svdb, ratios) in [
        ("range:1024", "6400693.77", ["42.020", "28.041", "1.7760", "1.5291", "1.01307"]),
        ("range:32x32", "4391399.67", ["17.252", "8.154", "2.923", "1.819", "1.046306"]),
        ("range:16x8x8", "2535403.89", ["11.632", "4.635", "3.571", "1.7725", "1.055010"]),
        ("range:8x8x4x4", "1667916.52", ["8.841", "3.453", "3.591", "1.6982", "1.049258"]),
        ("range:2^10", "524174.00", ["2.0004", "2.0004", "2.0004", "2.0004", "1.000000"]),
    ] {
        assert_digits(svd_bound(&gram(text)).unwrap(), svdb, text);
        for (selector, printed) in selectors.iter().zip(ratios) {
            assert_digits(ratio(text, selector), printed, &format!("{selector} on {text}"));
        }
    }
}

#[test]
fn optimum_over_svd_bound_in_one_dimension() {
    let printed = [
        "1", "1.007886", "1.016318", "1.021403", "1.022891", "1.021992", "1.019930", "1.017513",
        "1.015165",
    ];
    for (k, printed) in printed.iter().enumerate() {
        let text = format!("range:{}", 2 << k);
        assert_digits(ratio(&text, "optimal"), printed, &text);
    }
}

#[test]
fn all_predicate_attains_the_closed_form() {
    for (n, printed) in [(2, "3.73205"), (4, "27.41641"), (8, "800"), (16, "374469.805")] {
        let gram = gram(&format!("predicate:{n}"));
        let closed =
            (n as f64 - 2.0).exp2() / n as f64 * (n as f64 - 1.0 + (n as f64 + 1.0).sqrt()).powi(2);
        assert_digits(closed, printed, "closed form");
        assert_relative_eq!(svd_bound(&gram).unwrap(), closed, max_relative = 1e-12);
        for selector in ["variable-agnostic", "optimal"] {
            assert_relative_eq!(
                by_name(selector).unwrap().select(&gram).unwrap().error,
                closed,
                max_relative = 1e-9
            );
        }
    }
    let odd = gram("predicate:7");
    let selection = VariableAgnostic.select(&odd).unwrap();
    assert_relative_eq!(selection.error, svd_bound(&odd).unwrap(), max_relative = 1e-12);
    assert!(VariableAgnostic.select(&gram("range:8")).unwrap_err().to_string().contains("optimal"));
}

#[test]
fn errors_equal_those_of_explicit_matrices() {
    for text in
        ["range:6", "prefix:5", "range:3x4", "affine:3x3", "predicate-sample(queries=20,seed=1):7"]
    {
        let gram = gram(text);
        let dense = gram.to_dense().unwrap();
        // The strategies for special workloads have separate tests.
        let special = ["variable-agnostic", "lsa-separated", "fourier", "datacube"];
        let others: Vec<_> = prefix_sums::tests::NAMES.into_iter().chain(special).collect();
        for selector in strategies().iter().filter(|s| !others.contains(&s.name())) {
            let selection = match selector.select(&gram) {
                Ok(selection) => selection,
                Err(error) => panic!("{text} {}: {error}", selector.name()),
            };
            let factors: Vec<_> =
                selection.strategy.factors().iter().map(|f| f.queries().unwrap()).collect();
            let a = linalg::kron_all(factors.iter().map(|f| f.view()));
            let v = a.t().dot(&a);
            let sensitivity = a.columns().into_iter().map(|c| c.dot(&c)).fold(0.0, f64::max);
            let trace = match linalg::trace_of_quotient(dense.view(), v.view()).unwrap() {
                linalg::Quotient::Trace(trace) => trace,
                linalg::Quotient::Outside { share } => {
                    panic!("{text} {}: {share}", selector.name())
                }
            };
            let explicit = sensitivity * trace;
            assert_relative_eq!(selection.error, explicit, max_relative = 1e-8);
            assert_relative_eq!(
                selection.strategy.sensitivity_squared(),
                sensitivity,
                max_relative = 1e-9
            );
        }
    }
}

#[test]
fn sensitivities_of_tree_and_wavelet_are_logarithmic() {
    let gram = gram("range:64x8");
    for selector in ["hierarchical", "wavelet"] {
        let strategy = by_name(selector).unwrap().select(&gram).unwrap().strategy;
        assert_relative_eq!(strategy.sensitivity_squared(), 7.0 * 4.0, max_relative = 1e-14);
    }
}

#[test]
fn an_unanswered_workload_is_refused() {
    let total = StrategyFactor::from_queries(&[4], Array2::ones((1, 4))).unwrap();
    let strategy = Strategy::kronecker("total", vec![total]).unwrap();
    assert!(matches!(strategy.error(&gram("range:4")), Err(Error::Unanswered { .. })));
    assert_relative_eq!(strategy.error(&gram("total:4")).unwrap(), 1.0, max_relative = 1e-12);
    assert!(strategy.error(&gram("range:5")).unwrap_err().to_string().contains("[5]"));
    assert!(by_name("optimum").err().unwrap().to_string().contains("optimal"));
    assert!(Strategy::kronecker("none", vec![]).is_err());
    assert!(StrategyFactor::from_queries(&[3], Array2::eye(2)).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// S1, Thm 3.3: no strategy has an error below the SVD bound or the certified lower bound.
    #[test]
    fn bounds_hold_for_random_strategies(
        entries in proptest::collection::vec(-1.0f64..1.0, 48),
        n in 2usize..7,
    ) {
        let gram = gram(&format!("range:{n}"));
        let bound = svd_bound(&gram).unwrap();
        let certificate = Optimal::default().select(&gram).unwrap().certificate.unwrap();
        let rows = Array2::from_shape_vec((48 / n, n), entries[..48 / n * n].to_vec()).unwrap();
        let random = Strategy::single("random", StrategyFactor::from_queries(&[n], rows).unwrap());
        prop_assert!(certificate.lower_bound >= bound * (1.0 - 1e-9));
        // At least 8 random queries over at most 6 cells have full rank. The test fails if too many
        // cases do not.
        let error = random.error(&gram);
        prop_assume!(error.is_ok());
        prop_assert!(error.unwrap() >= certificate.lower_bound * (1.0 - 1e-9));
    }
}
