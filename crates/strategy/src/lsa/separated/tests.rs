//! Tests against the separation table of the S1 specification, and against explicit matrices over
//! the whole domain.

use super::*;
use crate::domain::AttributeSet;
use crate::lsa::tests::BruteForce;
use crate::lsa::{self, Reading};
use crate::lsa::{BoxQueries, LsaOptions};
use crate::test_support::{gram, set};
use crate::tests::assert_digits;
use crate::workload::{Gram, MarginalGram, Workload, projected};
use crate::{QuerySource, StrategySelector, svd_bound};
use crate::{Strategy, StrategyFactor};
use approx::{assert_abs_diff_eq, assert_relative_eq};
use matmech_linalg as linalg;
use matmech_linalg::nonzero_eigenvalues;
use ndarray::{Array2, Axis, concatenate};
use std::sync::Arc;

fn separated(gram: &Gram, separation: Separation) -> SeparatedOutcome {
    run(
        &gram.shape(),
        gram.marginals().unwrap(),
        &SeparatedOptions { separation, ..Default::default() },
    )
    .unwrap()
}

/// Ranges on marginals that are nested, overlap, and repeat.
fn nested() -> Gram {
    let term = |attributes: &[usize], text: &str| MarginalGram {
        attributes: set(attributes),
        gram: gram(text),
    };
    let terms = [
        term(&[0, 1], "range:3x2"),
        term(&[1], "range:2"),
        term(&[1, 2], "range:2x4"),
        term(&[1], "identity:2"),
    ];
    Gram::over_marginals(&[3, 2, 4], terms.to_vec()).unwrap()
}

/// Workloads over marginals of several attributes, small enough for dense matrices.
fn several_way() -> Vec<(&'static str, Gram)> {
    let texts = [
        "range-marginals(ways=2):4x4x4",
        "range-marginals(ways=1+2):2x3x4",
        "prefix-marginals(ways=2):3x4x2",
        "identity-marginals(ways=1+2):3x2x3",
        "range-marginals(ways=3):3x2x2x3",
    ];
    texts.into_iter().map(|text| (text, gram(text))).chain([("nested", nested())]).collect()
}

/// Returns one row per cell of the domain, with a 1 at its cell of the marginal.
fn cells_of(shape: &[usize], attributes: AttributeSet) -> Array2<f64> {
    let cells: usize = attributes.select(shape).iter().product();
    let mut out = Array2::zeros((shape.iter().product(), cells));
    for cell in 0..out.nrows() {
        out[[cell, projected(shape, attributes.axes(), cell)]] = 1.0;
    }
    out
}

/// Returns the pseudo-inverse of a symmetric positive semidefinite matrix, and the projector on its
/// range.
fn pseudo_inverse(v: &Array2<f64>) -> (Array2<f64>, Array2<f64>) {
    let eigen = linalg::eigh(v.view()).unwrap();
    let kept = nonzero_eigenvalues(&eigen.values);
    let u = eigen.vectors.select(Axis(1), &kept);
    let inverse = &u / &eigen.values.select(Axis(0), &kept);
    (inverse.dot(&u.t()), u.dot(&u.t()))
}

fn with_total(total_weight: f64) -> SeparatedOptions {
    SeparatedOptions { total_weight, ..Default::default() }
}

/// Against the specification: SVD bounds, and errors over them for w₀ = 0 and 1.
#[test]
fn one_way_errors_match_the_separation_table() {
    for (text, svdb, plain, with_one) in [
        ("range-marginals:8x8", "266.16", "1.0387", "1.0668"),
        ("range-marginals:16x16", "1429.11", "1.0380", "1.0527"),
        ("range-marginals:32x32", "7627.35", "1.0492", "1.0616"),
    ] {
        let gram = gram(text);
        let bound = svd_bound(&gram).unwrap();
        assert_digits(bound, svdb, text);
        for (weight, printed) in [(0.0, plain), (1.0, with_one)] {
            let outcome =
                run(&gram.shape(), gram.marginals().unwrap(), &with_total(weight)).unwrap();
            assert_digits(outcome.error / bound, printed, &format!("{text}, w0 = {weight}"));
        }
    }
}

#[test]
fn errors_and_strategies_equal_those_of_explicit_matrices() {
    let one_way = ["range-marginals:6x5", "prefix-marginals:2x3x4"].map(|text| (text, gram(text)));
    for (text, gram) in one_way.into_iter().chain(several_way()) {
        for (separation, weight) in [
            (Separation::Merged, 0.0),
            (Separation::Merged, 0.7),
            (Separation::Recursive, 0.0),
            (Separation::Recursive, 0.7),
            (Separation::Best, 0.0),
        ] {
            let options =
                SeparatedOptions { separation, total_weight: weight, ..Default::default() };
            let selection = LsaSeparated { options }.select(&gram).unwrap();
            let v = selection.strategy.factors()[0].gram().unwrap();
            let uniform = selection.strategy.sensitivity_squared();
            assert!(v.diag().iter().all(|d| (d - uniform).abs() < 1e-12), "{text}: columns differ");
            assert_relative_eq!(selection.details[0].1 + weight, uniform, max_relative = 1e-12);
            let rows = selection.strategy.factors()[0].queries().unwrap();
            assert_abs_diff_eq!(rows.t().dot(rows.as_ref()), v.as_ref(), epsilon = 1e-12);
            let (inverse, range) = pseudo_inverse(&v);
            let dense = gram.to_dense().unwrap();
            assert_abs_diff_eq!(range.dot(&dense), dense, epsilon = 1e-9);
            let error = uniform * dense.dot(&inverse).diag().sum();
            assert_relative_eq!(selection.error, error, max_relative = 1e-9);
        }
    }
}

#[test]
fn the_error_is_the_variance_of_the_estimated_queries() {
    for text in ["range-marginals(ways=2):4x4x4", "range-marginals(ways=1+2):2x3x4"] {
        let selection = LsaSeparated::default().select(&gram(text)).unwrap();
        let a = selection.strategy.factors()[0].queries().unwrap();
        let (inverse, _) = pseudo_inverse(&a.t().dot(a.as_ref()));
        // The coefficients of every query's estimate are the rows of W A⁺, and W A⁺A = W.
        let mut variance = 0.0;
        for row in Workload::parse(text).unwrap().rows().unwrap() {
            let query = ndarray::Array1::from_vec(row);
            let coefficients = query.dot(&inverse).dot(&a.t());
            assert_abs_diff_eq!(coefficients.dot(a.as_ref()), query, epsilon = 1e-9);
            variance += coefficients.dot(&coefficients);
        }
        let sensitivity = a.columns().into_iter().map(|c| c.dot(&c)).fold(0.0, f64::max);
        assert_relative_eq!(selection.error, sensitivity * variance, max_relative = 1e-9);
    }
}

/// Given the answers of the separating queries, no estimate depends on another marginal.
#[test]
fn given_the_separating_queries_estimates_use_one_marginal() {
    let one_way = ["range-marginals:4x5", "prefix-marginals:2x3x2"].map(|text| (text, gram(text)));
    for (text, gram) in one_way.into_iter().chain(several_way()) {
        let shape = gram.shape();
        let cells = gram.cells();
        let parts = separated(&gram, Separation::Merged).parts;
        let lifted: Vec<Array2<f64>> = parts
            .iter()
            .map(|(gamma, part)| part.queries.rows().dot(&cells_of(&shape, *gamma).t()))
            .collect();
        // The separating marginals: all pairwise intersections.
        let mut fixed = Array2::<f64>::ones((cells, cells));
        for (k, (left, _)) in parts.iter().enumerate() {
            for (right, _) in &parts[..k] {
                let e = cells_of(&shape, left.intersection(*right));
                fixed += &e.dot(&e.t());
            }
        }
        let rest = Array2::eye(cells) - pseudo_inverse(&fixed).1;
        let involvement = |known: &Array2<f64>| {
            let projected_rows: Vec<Array2<f64>> =
                lifted.iter().map(|rows| rows.dot(known)).collect();
            let views: Vec<_> = projected_rows.iter().map(|rows| rows.view()).collect();
            let a: Array2<f64> = concatenate(Axis(0), &views).unwrap();
            let to_estimate = pseudo_inverse(&a.t().dot(&a)).0.dot(&a.t());
            let (mut first, mut max) = (0, 0.0_f64);
            for (queries, (gamma, _)) in projected_rows.iter().zip(&parts) {
                let workload_rows = cells_of(&shape, *gamma).t().dot(known);
                for (k, column) in workload_rows.dot(&to_estimate).columns().into_iter().enumerate()
                {
                    if k < first || k >= first + queries.nrows() {
                        max = column.iter().fold(max, |max, x| max.max(x.abs()));
                    }
                }
                first += queries.nrows();
            }
            max
        };
        assert!(involvement(&rest) < 1e-9, "{text}: {}", involvement(&rest));
        assert!(involvement(&Array2::eye(cells)) > 1e-3, "{text}: independent");
    }
}

/// Oracle: brute-force search on the restricted workload, given the parts below.
#[test]
fn every_part_of_the_recursion_matches_brute_force() {
    let closures: [(&str, &[&[usize]]); 6] = [
        ("range-marginals(ways=2):4x4x4", &[&[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2]]),
        ("range-marginals(ways=1+2):2x3x4", &[&[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2]]),
        ("prefix-marginals(ways=2):3x4x2", &[&[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2]]),
        ("identity-marginals(ways=1+2):3x2x3", &[&[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2]]),
        (
            "range-marginals(ways=3):3x2x2x3",
            &[
                &[0],
                &[1],
                &[2],
                &[3],
                &[0, 1],
                &[0, 2],
                &[0, 3],
                &[1, 2],
                &[1, 3],
                &[2, 3],
                &[0, 1, 2],
                &[0, 1, 3],
                &[0, 2, 3],
                &[1, 2, 3],
            ],
        ),
        ("nested", &[&[1], &[0, 1], &[1, 2]]),
    ];
    for ((text, gram), (same, closure)) in several_way().into_iter().zip(closures) {
        assert_eq!(text, same);
        let shape = gram.shape();
        let parts = separated(&gram, Separation::Recursive).parts;
        let mut measured: Vec<Vec<usize>> =
            parts.iter().map(|(tau, _)| tau.positions().collect()).collect();
        measured.sort_by_key(|tau| (tau.len(), tau.to_vec()));
        assert_eq!(measured, closure, "{text}");
        let full = |attributes: AttributeSet, matrix: &Array2<f64>| {
            let e = cells_of(&shape, attributes);
            e.dot(matrix).dot(&e.t())
        };
        for (tau, part) in &parts {
            let e = cells_of(&shape, *tau);
            let repeated = e.nrows() as f64 / e.ncols() as f64;
            let restricted =
                |matrix: &Array2<f64>| e.t().dot(matrix).dot(&e) / (repeated * repeated);
            let mut workload = Array2::zeros((e.ncols(), e.ncols()));
            for term in
                gram.marginals().unwrap().iter().filter(|term| tau.is_subset(term.attributes))
            {
                workload += &restricted(&full(term.attributes, &term.gram.to_dense().unwrap()));
            }
            let mut v = Array2::eye(e.ncols());
            let mut given_levels = 0;
            for (sigma, below) in
                parts.iter().filter(|(sigma, _)| sigma != tau && sigma.is_subset(*tau))
            {
                v += &restricted(&full(*sigma, &below.v));
                given_levels += below.levels.len();
            }
            let shape_of_part = tau.select(&shape);
            let brute =
                BruteForce { gram: workload, v, given_levels, shape: shape_of_part.clone() };
            let brute = brute.run(Reading::JointSweep, recursion::MAX_LEVELS);
            assert_eq!(part.levels.len(), brute.len(), "{text}, {tau:?}");
            let mut queries = BoxQueries::identity(&shape_of_part);
            for (level, (error, boxes)) in part.levels.iter().zip(&brute) {
                assert_relative_eq!(level.error, *error, max_relative = 1e-9);
                boxes.iter().for_each(|b| queries.add(b.clone(), 1.0));
            }
            assert_eq!(part.v, queries.gram(), "{text}, {tau:?}");
        }
    }
}

/// Against an independent implementation of both separations: errors over the SVD bound.
#[test]
fn separations_of_several_attributes_match_the_reference() {
    for (text, svdb, merged, recursive) in [
        ("range-marginals(ways=2):4x4x4", "1475.4733", "1.0842", "1.0277"),
        ("prefix-marginals(ways=2):4x4x4", "214.3181", "1.1631", "1.1302"),
        ("range-marginals(ways=1+2):2x3x4", "438.9750", "1.0989", "1.0928"),
        ("range-marginals(ways=1+2):4x4x4", "1651.2122", "1.1211", "1.0158"),
        ("identity-marginals(ways=1+2):4x4x4", "175.0223", "1.0113", "1.0108"),
        ("range-marginals(ways=2):8x8x8", "40468.6413", "1.0678", "1.0385"),
        ("range-marginals(ways=1+2):8x8x8", "41863.8201", "1.0656", "1.0325"),
        ("range-marginals(ways=2):4^5", "10830.2246", "1.2102", "1.0892"),
        ("identity-marginals(ways=2):4^5", "948.0592", "1.1181", "1.1188"),
    ] {
        let gram = gram(text);
        let bound = svd_bound(&gram).unwrap();
        assert_digits(bound, svdb, text);
        let outcomes = [Separation::Merged, Separation::Recursive, Separation::Best]
            .map(|s| separated(&gram, s));
        assert_digits(outcomes[0].error / bound, merged, &format!("{text}, merged"));
        assert_digits(outcomes[1].error / bound, recursive, &format!("{text}, recursive"));
        let smaller = usize::from(outcomes[1].error < outcomes[0].error);
        assert_eq!(outcomes[2].separation, outcomes[smaller].separation, "{text}");
        assert_eq!(outcomes[2].error, outcomes[smaller].error, "{text}");
    }
}

#[test]
fn merging_contained_marginals_beats_measuring_them_separately() {
    let texts = [
        "range-marginals(ways=1+2):2x3x4",
        "range-marginals(ways=1+2):4x4x4",
        "identity-marginals(ways=1+2):4x4x4",
    ];
    for gram in texts.map(gram) {
        let mut v = Array2::zeros((gram.cells(), gram.cells()));
        for term in gram.marginals().unwrap() {
            let alone = lsa::run(&term.gram, Reading::JointSweep, &LsaOptions::default()).unwrap();
            let e = cells_of(&gram.shape(), term.attributes);
            v += &e.dot(&alone.v).dot(&e.t());
        }
        let factor = StrategyFactor::from_gram(&gram.shape(), Arc::new(v));
        let separate = Strategy::single("alone", factor).error(&gram).unwrap();
        assert!(separated(&gram, Separation::Merged).error < 0.94 * separate);
    }
}

#[test]
fn disjoint_marginals_are_solved_separately() {
    let pairs = [(&[0, 1], "range:3x4"), (&[2, 3], "prefix:4x2")]
        .map(|(attributes, text)| MarginalGram { attributes: set(attributes), gram: gram(text) });
    let pairs = Gram::over_marginals(&[3, 4, 4, 2], pairs.to_vec()).unwrap();
    for gram in [gram("range-marginals:8x8"), gram("prefix-marginals:5x7x4"), pairs] {
        let terms = gram.marginals().unwrap();
        let outcomes = [Separation::Best, Separation::Merged, Separation::Recursive]
            .map(|s| separated(&gram, s));
        for outcome in &outcomes {
            assert_eq!(
                (outcome.error, outcome.separation),
                (outcomes[0].error, Separation::Merged)
            );
            assert_eq!(outcome.parts.len(), terms.len());
            for ((attributes, part), term) in outcome.parts.iter().zip(terms) {
                let alone =
                    lsa::run(&term.gram, Reading::JointSweep, &LsaOptions::default()).unwrap();
                assert_eq!(
                    (attributes, &part.levels, &part.v),
                    (&term.attributes, &alone.levels, &alone.v)
                );
            }
        }
    }
}

#[test]
fn marginals_without_queries_are_not_measured() {
    // Residual queries of the pairs do not depend on single attributes.
    let residual = |attributes: [usize; 2]| MarginalGram {
        attributes: set(&attributes),
        gram: gram("residual(range:3x3)"),
    };
    let gram = Gram::over_marginals(&[3, 3, 3], vec![residual([0, 1]), residual([1, 2])]).unwrap();
    let outcome = separated(&gram, Separation::Recursive);
    assert_eq!(
        outcome.parts.iter().map(|&(tau, _)| tau).collect::<Vec<_>>(),
        [set(&[0, 1]), set(&[1, 2])]
    );
}

#[test]
fn the_rank_is_that_of_the_marginals_on_domains_of_any_size() {
    let one_way =
        run(&[9, 7], gram("range-marginals:9x7").marginals().unwrap(), &with_total(0.0)).unwrap();
    assert_eq!(one_way.rank, 15);
    // 10^12 cells, which are never enumerated.
    let term = |a: usize| MarginalGram { attributes: set(&[a]), gram: gram("range:10") };
    let huge = run(&[10; 12], &(0..12).map(term).collect::<Vec<_>>(), &with_total(0.0)).unwrap();
    assert_eq!((huge.rank, huge.parts.len()), (109, 12));
    assert!(huge.error.is_finite() && huge.error > 0.0);
}

#[test]
fn on_one_attribute_separation_equals_lsa() {
    let gram = gram("range:40");
    let separated = LsaSeparated::default().select(&gram).unwrap();
    let plain = crate::lsa::Lsa::default().select(&gram).unwrap();
    assert_relative_eq!(separated.error, plain.error, max_relative = 1e-9);
    assert_eq!(separated.details[..4], plain.details[..]);
}

#[test]
fn invalid_input_is_refused() {
    let message = LsaSeparated::default().select(&gram("range:4x4")).unwrap_err().to_string();
    assert!(message.contains("range-marginals:32x32"), "{message}");
    let marginals = gram("range-marginals:4x4");
    for weight in [-1.0, f64::NAN, f64::INFINITY] {
        let message = LsaSeparated { options: with_total(weight) }
            .select(&marginals)
            .unwrap_err()
            .to_string();
        assert!(message.contains("total_weight"), "{message}");
    }
    let capped = SeparatedOptions {
        lsa: LsaOptions { max_levels: 0, ..Default::default() },
        ..Default::default()
    };
    assert!(LsaSeparated { options: capped }.select(&marginals).is_err());
    assert!(run(&[4, 4], &[], &SeparatedOptions::default()).is_err());
    assert!(run(&[4, 5], marginals.marginals().unwrap(), &SeparatedOptions::default()).is_err());
}
