//! Answers to queries in words from staged releases.

use super::*;
use crate::release::queries::of_staged;
use crate::release::tests::queries::{
    QUERIES, SCHEMA, coverage, least_coverage, people, resolved, truth,
};
use crate::schema::Schema;
use crate::workload::query::ResolvedQuery;

fn schema() -> Schema {
    Schema::from_toml(SCHEMA, "S.toml").unwrap()
}

/// All pairs, the region of towns, and all three attributes.
const WORKLOAD: &str = "[[queries]]\nfamily = \"identity\"\nways = [1, 2, 3]\n\
     [[queries]]\nfamily = \"level(region)\"\nattributes = [\"town\", \"age\"]\n";

fn release(workload: &str, budget: f64) -> Planned {
    let unit = PrivacyUnit::default();
    planned_over(&schema(), SCHEMA.to_owned(), workload, "staged", budget, unit, 0.2)
}

/// 1,000 releases of 2,000 people: every certified interval contains the true value in at least
/// 95 % (− 2.8 %, four standard errors). Most contain it always, because they hold for the worst
/// error.
#[test]
fn certified_intervals_contain_the_true_values() {
    const RELEASES: u64 = 1_000;
    let planned = release(WORKLOAD, 0.5);
    let records = records_of(&schema(), &people(2_000));
    let queries = resolved(&schema());
    let marginals: Vec<std::sync::OnceLock<Vec<_>>> =
        (0..RELEASES).map(|_| std::sync::OnceLock::new()).collect();
    let found = coverage(&queries, &records, RELEASES, &|seed, query| {
        let of_release = || {
            let marginals = StagedMarginals::of(released(&planned, &records, seed)).unwrap();
            queries.iter().map(|query| of_staged(&marginals, query).unwrap()).collect()
        };
        let all = marginals[seed as usize].get_or_init(of_release);
        all.iter().find(|answers| answers.query == query.text).unwrap().clone()
    });
    let least = least_coverage(RELEASES as f64);
    for (text, covered) in QUERIES.iter().zip(&found) {
        assert!(covered.iter().all(|share| *share >= least), "{text}: {covered:?}");
    }
}

/// Without a certificate, and beyond the published marginals, there is no interval.
#[test]
fn extrapolated_answers_have_no_interval() {
    let pairs = "[[queries]]\nfamily = \"identity\"\nattributes = [\"age\", \"employed\"]\n\
                 [[queries]]\nfamily = \"level(region)\"\nattributes = [\"town\"]\n";
    let planned = release(pairs, 0.5);
    let records = records_of(&schema(), &people(2_000));
    let marginals = StagedMarginals::of(released(&planned, &records, 1)).unwrap();
    let answer = |text: &str| {
        let query = ResolvedQuery::parse(text, &schema()).unwrap();
        of_staged(&marginals, &query).map_err(|e| e.to_string())
    };
    for text in ["mean(age) by region", "count by region, employed", "median(age) by region"] {
        for row in answer(text).unwrap().answers {
            assert!(row.extrapolated && row.estimate.is_some(), "{text}: {row:?}");
            assert_eq!((row.low_95, row.high_95), (None, None));
            assert_eq!(row.interval, "none: extrapolated by the model");
        }
    }
    // The level of a town is published, and a term of each of two marginals.
    for text in ["count by region", "count where region = N - count where employed"] {
        for row in answer(text).unwrap().answers {
            assert!(!row.extrapolated && row.interval == "certified bound", "{text}: {row:?}");
        }
    }
    assert!(answer("count by town").unwrap_err().contains("town"));
}

/// The bounds of all cells and of their total give those of counts, sums and differences, in the
/// unit of the answer.
#[test]
fn bounds_are_in_the_unit_of_the_answer() {
    let planned = release(WORKLOAD, 0.5);
    let records = records_of(&schema(), &people(2_000));
    let marginals = StagedMarginals::of(released(&planned, &records, 1)).unwrap();
    let half = |text: &str| {
        let query = ResolvedQuery::parse(text, &schema()).unwrap();
        let row = of_staged(&marginals, &query).unwrap().answers.remove(0);
        0.5 * (row.high_95.unwrap() - row.low_95.unwrap())
    };
    let pair = crate::test_support::set(&[0, 1]);
    let errors = marginals.marginal(pair).unwrap().errors.unwrap();
    assert!(errors.total < 0.7 * errors.sum, "{errors:?}");
    let count = half("count where age >= 60 and employed");
    let expected = 0.5 * (errors.sum + errors.total);
    approx::assert_relative_eq!(count, expected, max_relative = 1e-9);
    // The weights of a difference are −1, 0 and 1: the total has no effect.
    let difference =
        half("count where age >= 60 and employed - count where age < 20 and employed = false");
    approx::assert_relative_eq!(difference, errors.sum_alone, max_relative = 1e-9);
    // The largest mean of integers of a bin is 89.5.
    let sum = half("sum(age) where age >= 60 and employed");
    approx::assert_relative_eq!(sum, 89.5 * count, max_relative = 1e-9);
    // The quantile 0.8 of two groups: the weights are −0.8, 0 and 0.2.
    let total = half("total");
    let all: Vec<_> = marginals.errors().unwrap().each.iter().map(|errors| errors.total).collect();
    assert!(all.iter().any(|bound| (bound - total).abs() < 1e-9), "{total} {all:?}");
    // A term that is not linear needs bounds that hold together.
    let mixed = half("count where employed - count where age < 20 + mean(age) where employed");
    let together = half("mean(age) where employed");
    let employed = marginals.marginal(pair).unwrap().errors.unwrap();
    approx::assert_relative_eq!(mixed, employed.sum + together, max_relative = 1e-9);
    let truths = truth(&ResolvedQuery::parse("total", &schema()).unwrap(), &records);
    assert_eq!(truths, [(2_000.0, 2_000.0)]);
}
