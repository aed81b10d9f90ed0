//! Answers to queries in words: coverage of their intervals, and their values and variances.

use std::sync::Arc;

use super::*;
use crate::domain::AttributeSet;
use crate::release::queries::{QueryAnswers, of_plan};
use crate::workload::query::{ProductRows, Quantity, ResolvedQuery};
use crate::workload::{JointQueries, QueryGroup};

/// A small domain with integers, a level, a boolean and missing values.
pub(in crate::release) const SCHEMA: &str = r#"
    [[attribute]]
    name = "age"
    kind = "integer"
    bins = { low = 0, high = 99, count = 5 }
    missing = "unknown"
    [[attribute]]
    name = "employed"
    kind = "categorical"
    values = [false, true]
    [[attribute]]
    name = "town"
    kind = "categorical"
    values = ["a", "b", "c"]
    levels = { region = ["N", "N", "S"] }
"#;

/// Queries of every kind.
pub(in crate::release) const QUERIES: [&str; 12] = [
    "total",
    "count where employed and age >= 40",
    "count by region",
    "sum(age) where employed",
    "count where employed by region - count where employed = false by region",
    "mean(age)",
    "mean(age) by region",
    "share of employed where age < 60 by town",
    "median(age)",
    "quantile(age, 0.8) by employed",
    "mean(age) where employed - mean(age) where employed = false",
    "share of age >= 60 - share of age < 20 + total",
];

/// Returns `count` records of dependent attributes.
pub(in crate::release) fn people(count: usize) -> Vec<Vec<u32>> {
    let mut state = 1u64;
    let mut next = |n: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut person = || {
        let town = next(3);
        let age = if next(20) == 0 { 5 } else { (next(3) + town).min(4) };
        let employed = u64::from(next(5) < 1 + age);
        vec![age as u32, employed as u32, town as u32]
    };
    (0..count).map(|_| person()).collect()
}

/// Returns the true answers of a query, as intervals: quantiles are the ends of their cell.
pub(in crate::release) fn truth(query: &ResolvedQuery, records: &Records) -> Vec<(f64, f64)> {
    let of = |products: &ProductRows, answer: usize, row: Option<(usize, usize)>| {
        let cells = records.marginal(products.attributes()).unwrap();
        let index = products.index(|p| match row {
            Some((position, row)) if position == p => row,
            _ => query.value_of(answer, p).unwrap_or_default(),
        });
        products.answers(&cells)[index]
    };
    let of_term = |quantity: &Quantity, answer: usize| match quantity {
        Quantity::Linear(products) => {
            let answer = of(products, answer, None);
            (answer, answer)
        }
        Quantity::Ratio { numerator, denominator, .. } => {
            let ratio = of(numerator, answer, None) / of(denominator, answer, None);
            (ratio, ratio)
        }
        Quantity::Quantile(quantile) => {
            let excess = |k| of(&quantile.excess, answer, Some((quantile.position, k)));
            let cell = (0..quantile.cells.len()).find(|k| excess(*k) >= 0.0).unwrap();
            (quantile.cells[cell].low.unwrap(), quantile.cells[cell].high.unwrap())
        }
    };
    let of_answer = |answer: usize| {
        let terms = query.terms.iter().map(|(sign, quantity)| {
            let (low, high) = of_term(quantity, answer);
            if *sign < 0.0 { (-high, -low) } else { (low, high) }
        });
        terms.fold((0.0, 0.0), |(low, high), term| (low + term.0, high + term.1))
    };
    (0..query.count()).map(of_answer).collect()
}

/// Returns, per query and answer, the share of `releases` whose interval contains the true value.
/// Answers without interval do not count as containing it.
pub(in crate::release) fn coverage(
    queries: &[ResolvedQuery],
    records: &Records,
    releases: u64,
    answer: &(dyn Fn(u64, &ResolvedQuery) -> QueryAnswers + Sync),
) -> Vec<Vec<f64>> {
    let truths: Vec<Vec<(f64, f64)>> = queries.iter().map(|q| truth(q, records)).collect();
    let part = |seeds: std::ops::Range<u64>| {
        let mut covered: Vec<Vec<f64>> = truths.iter().map(|t| vec![0.0; t.len()]).collect();
        for seed in seeds {
            for ((query, truths), covered) in queries.iter().zip(&truths).zip(&mut covered) {
                let found = answer(seed, query).answers;
                for ((found, truth), covered) in found.iter().zip(truths).zip(covered) {
                    let (Some(low), Some(high)) = (found.low_95, found.high_95) else { continue };
                    let slack = 1e-9 * truth.0.abs();
                    let contains = low <= truth.0 + slack && high >= truth.1 - slack;
                    *covered += f64::from(u8::from(contains)) / releases as f64;
                }
            }
        }
        covered
    };
    let (mut all, more) = std::thread::scope(|scope| {
        let half = scope.spawn(|| part(0..releases / 2));
        (part(releases / 2..releases), half.join().unwrap())
    });
    for (sum, more) in all.iter_mut().flatten().zip(more.into_iter().flatten()) {
        *sum += more;
    }
    all
}

/// Returns the smallest share of `releases` that is within four standard errors of 95 %. An
/// interval that misses with probability 5 % falls below it in one of 30,000 runs.
pub(in crate::release) fn least_coverage(releases: f64) -> f64 {
    0.95 - 4.0 * (0.95 * 0.05 / releases).sqrt()
}

pub(in crate::release) fn resolved(schema: &Schema) -> Vec<ResolvedQuery> {
    QUERIES.iter().map(|text| ResolvedQuery::parse(text, schema).unwrap()).collect()
}

/// A workload file of the queries.
fn workload() -> String {
    QUERIES.iter().map(|text| format!("[[queries]]\nquery = '{text}'\n")).collect()
}

/// 2,000 releases of a plan for the queries themselves, 300 people: the interval of every answer
/// contains the true value in at least 95 % (− 1.9 %, four standard errors). Intervals of linear
/// queries and ratios are not longer than they must be: at most 97 % (+ 1.5 %) contain it.
#[test]
fn intervals_of_plans_contain_the_true_values() {
    const RELEASES: u64 = 2_000;
    let schema = Schema::from_toml(SCHEMA, "S.toml").unwrap();
    let (_, plan) = plan_over("query-smasher", &schema, &workload(), 0.5, PrivacyUnit::default());
    let records = records_of(&schema, &people(300));
    let queries = resolved(&schema);
    let estimates: Vec<std::sync::OnceLock<Estimates>> =
        (0..RELEASES).map(|_| std::sync::OnceLock::new()).collect();
    let found = coverage(&queries, &records, RELEASES, &|seed, query| {
        let of_release = || Estimates::of(&released(&plan, &records, seed)).unwrap();
        of_plan(estimates[seed as usize].get_or_init(of_release), query).unwrap()
    });
    let least = least_coverage(RELEASES as f64);
    for (text, covered) in QUERIES.iter().zip(&found) {
        assert!(covered.iter().all(|share| *share >= least), "{text}: {covered:?}");
    }
    for (text, covered) in QUERIES.iter().zip(&found).take(8) {
        assert!(covered.iter().all(|share| *share < 0.985), "{text}: {covered:?}");
    }
}

/// 1,000 releases of Adult (48,842 records, the smallest group has 406) at ε = 1 and δ = 10⁻⁹: the
/// interval of every mean and share by group contains the true value in at least 95 % (− 2.8 %,
/// four standard errors).
#[test]
fn intervals_of_means_by_group_hold_on_adult() {
    const RELEASES: u64 = 1_000;
    let text = "[[attribute]]\nname = \"age\"\nkind = \"numeric\"\nsize = 28\n\
                [[attribute]]\nname = \"race\"\nkind = \"categorical\"\nsize = 5\n\
                [[attribute]]\nname = \"income>50K\"\nkind = \"categorical\"\nsize = 2\n";
    let schema = Schema::from_toml(text, "S.toml").unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/tables/adult15.csv");
    let mut table = csv::Reader::from_path(path).unwrap();
    let header = table.headers().unwrap().clone();
    let columns = ["age", "race", "income>50K"]
        .map(|name| header.iter().position(|known| known == name).unwrap());
    let people: Vec<Vec<u32>> = table
        .records()
        .map(|row| row.unwrap())
        .map(|row| columns.iter().map(|column| row[*column].parse().unwrap()).collect())
        .collect();
    let records = records_of(&schema, &people);
    let texts = ["mean(age) by race", "share of \"income>50K\" = 1 by race"];
    let workload: String =
        texts.iter().map(|text| format!("[[queries]]\nquery = '{text}'\n")).collect();
    let guarantee = crate::privacy::Guarantee::ApproximateAnalytic { epsilon: 1.0, delta: 1e-9 };
    let cost = crate::privacy::PrivacyBudget::from(guarantee).privacy_cost().unwrap();
    let (_, plan) =
        plan_over("query-smasher", &schema, &workload, cost.rho().get(), PrivacyUnit::default());
    let queries: Vec<ResolvedQuery> =
        texts.iter().map(|text| ResolvedQuery::parse(text, &schema).unwrap()).collect();
    let found = coverage(&queries, &records, RELEASES, &|seed, query| {
        of_plan(&Estimates::of(&released(&plan, &records, seed)).unwrap(), query).unwrap()
    });
    let least = least_coverage(RELEASES as f64);
    assert!(found.iter().flatten().all(|share| *share >= least && *share < 0.99), "{found:?}");
}

/// Little data and much noise: intervals that exist contain the true value, and ratios without
/// interval say why.
#[test]
fn ratios_of_few_records_have_no_interval() {
    let schema = Schema::from_toml(SCHEMA, "S.toml").unwrap();
    let (_, plan) = plan_over("query-smasher", &schema, &workload(), 0.005, PrivacyUnit::default());
    let records = records_of(&schema, &people(60));
    let query = ResolvedQuery::parse("mean(age) by region", &schema).unwrap();
    let truths = truth(&query, &records);
    let (mut missed, mut none, trials) = (0.0, 0.0, 1_000);
    for seed in 0..trials {
        let estimates = Estimates::of(&released(&plan, &records, seed)).unwrap();
        for (answer, truth) in of_plan(&estimates, &query).unwrap().answers.iter().zip(&truths) {
            match (answer.low_95, answer.high_95) {
                (Some(low), Some(high)) => {
                    missed += f64::from(u8::from(truth.0 < low || truth.0 > high));
                }
                _ => {
                    assert_eq!(answer.interval, "none: the denominator is not separated from 0");
                    none += 1.0;
                }
            }
        }
    }
    let all = 2.0 * trials as f64;
    assert!(none > 0.2 * all, "{none}");
    // Unbounded sets contain the true value too; 1,000 pairs of answers are at least 1,000 trials.
    assert!(missed / all <= 1.0 - least_coverage(trials as f64), "{missed} of {all}");
}

/// Answers, variances and covariances of products against those of groups, for other measures and
/// with known answers of the schema.
#[test]
fn products_have_the_answers_and_variances_of_groups() {
    let conditions = "[[impossible]]\nwhere = { A1 = 0, A2 = 2 }\n[[public]]\nwhere = { A2 = 2 }\n";
    let text = format!("{}{conditions}", schema_text(&[4, 3]));
    let known = Schema::from_toml(&text, "S.toml").unwrap();
    let pairs = "[[queries]]\nfamily = \"prefix\"\nways = [1, 2]\n";
    let unit = PrivacyUnit {
        neighbours: crate::privacy::Neighbours::ReplaceOneRecord,
        ..PrivacyUnit::default()
    };
    for (planner, schema) in [("query-smasher", known), ("anova", schema(&[4, 3]))] {
        let (_, plan) = plan_over(planner, &schema, pairs, 0.5, unit);
        let possible: Vec<Vec<u32>> =
            rows(&[4, 3]).into_iter().filter(|row| row[0] != 0 || row[1] != 2).collect();
        let records = records_of(&schema, &possible);
        let estimates = Estimates::of(&released(&plan, &records, 3)).unwrap();
        let a = ProductRows::over(vec![
            (0, vec![vec![1.0, 2.0, 4.0, -1.0], vec![1.0, 1.0, 0.0, 0.0]]),
            (1, vec![vec![0.0, 1.0, 1.0]]),
        ]);
        let b = ProductRows::over(vec![(1, vec![vec![0.0, 1.0, 0.0], vec![1.0, 0.0, -2.0]])]);
        let both = AttributeSet::from_positions(&[0, 1]).unwrap();
        let over_both = |products: &ProductRows, k: usize| -> Vec<f64> {
            let weights = products.weights(k);
            match products.attributes() == both {
                true => weights,
                false => weights.iter().copied().cycle().take(12).collect(),
            }
        };
        let of_group = |weights: Vec<f64>| {
            let matrix = Arc::new(ndarray::Array2::from_shape_vec((1, 12), weights).unwrap());
            let joint = Arc::new(JointQueries::matrix(&[4, 3], matrix).unwrap());
            let group = QueryGroup::joint(&schema, both, joint, "matrix", 1.0).unwrap();
            let variance = estimates.variances(&group).unwrap()[0];
            (estimates.answers(&group).unwrap()[0], variance)
        };
        let all = [(0, 0), (1, 0), (0, 1), (1, 1)];
        let same = [(0, 0), (1, 1)];
        for products in [&a, &b] {
            let answers = estimates.product_answers(products).unwrap();
            let variances = estimates.product_covariances(products, products, &same).unwrap();
            for k in 0..2 {
                let (answer, variance) = of_group(over_both(products, k));
                approx::assert_relative_eq!(answers[k], answer, max_relative = 1e-9);
                approx::assert_relative_eq!(variances[k], variance, max_relative = 1e-9);
            }
        }
        if planner == "query-smasher" {
            // An impossible combination: the share is known without a rounding error.
            let share = ResolvedQuery::parse("share of A1 = 0 where A2 = 2", &schema).unwrap();
            let found = &of_plan(&estimates, &share).unwrap().answers[0];
            let ends = [found.estimate, found.low_95, found.high_95];
            assert_eq!(ends, [Some(0.0); 3], "{found:?}");
        }
        let covariances = estimates.product_covariances(&a, &b, &all).unwrap();
        for (covariance, (i, j)) in covariances.iter().zip(all) {
            let (x, y) = (over_both(&a, i), over_both(&b, j));
            let sum = x.iter().zip(&y).map(|(x, y)| x + y).collect();
            let [of_sum, of_x, of_y] = [sum, x, y].map(|weights| of_group(weights).1);
            let expected = 0.5 * (of_sum - of_x - of_y);
            approx::assert_relative_eq!(
                *covariance,
                expected,
                max_relative = 1e-6,
                epsilon = 1e-9 * of_sum
            );
        }
    }
}

#[test]
fn queries_outside_the_measurements_name_their_attributes() {
    let schema = Schema::from_toml(SCHEMA, "S.toml").unwrap();
    let text = "[[queries]]\nfamily = \"identity\"\nways = [1]\n\
                [[queries]]\nquery = \"count by town, employed\"\n";
    let (_, plan) = plan_over("query-smasher", &schema, text, 0.5, PrivacyUnit::default());
    let records = records_of(&schema, &people(50));
    let estimates = Estimates::of(&released(&plan, &records, 1)).unwrap();
    let answer = |text: &str| {
        let query = ResolvedQuery::parse(text, &schema).unwrap();
        of_plan(&estimates, &query).map_err(|e| e.to_string())
    };
    for text in ["mean(age)", "share of employed by region", "count where employed by town"] {
        assert!(answer(text).is_ok(), "{text}");
    }
    let message = answer("mean(age) by region").unwrap_err();
    assert!(message.contains("`age, town`, not measured together"), "{message}");
    let message = answer("count where employed and age < 20 and town = a").unwrap_err();
    assert!(message.contains("`age, employed, town`"), "{message}");
    // A query that is 0 for every table is known.
    let zero = answer("count where employed - count where employed").unwrap();
    assert_eq!((zero.answers[0].estimate, zero.answers[0].standard_error), (Some(0.0), Some(0.0)));
}

/// Quantiles of a large table are in the right cell, and interpolated inside.
#[test]
fn estimates_of_large_tables_are_near_the_truth() {
    let schema = Schema::from_toml(SCHEMA, "S.toml").unwrap();
    let (_, plan) = plan_over("query-smasher", &schema, &workload(), 5.0, PrivacyUnit::default());
    let records = records_of(&schema, &people(200_000));
    let estimates = Estimates::of(&released(&plan, &records, 1)).unwrap();
    for query in resolved(&schema) {
        let answers = of_plan(&estimates, &query).unwrap();
        for (answer, (low, high)) in answers.answers.iter().zip(truth(&query, &records)) {
            let estimate = answer.estimate.unwrap();
            let tolerance = 1e-3 * high.abs().max(1.0);
            let is_near = estimate > low - tolerance && estimate < high + tolerance;
            assert!(is_near, "{}: {estimate} {low} {high}", query.text);
            assert!(answer.low_95.unwrap() <= estimate && answer.high_95.unwrap() >= estimate);
        }
    }
}
