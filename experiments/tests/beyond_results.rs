//! The committed results past the papers: what is proved of plans for reference measures holds in every row.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::collections::BTreeMap;
use std::path::Path;

/// Errors of the plans of one table by the columns that say what was planned, then by method.
fn errors(table: &str) -> BTreeMap<Vec<String>, BTreeMap<String, f64>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut reader = csv::Reader::from_path(root.join(format!("results/{table}.csv"))).unwrap();
    let headers = reader.headers().unwrap().clone();
    let column = |name: &str| headers.iter().position(|header| header == name).unwrap();
    let (first, method, metric, value) = (column("cell") + 1, column("method"), column("metric"), column("value"));
    let mut found: BTreeMap<Vec<String>, BTreeMap<String, f64>> = BTreeMap::new();
    for row in reader.records().map(Result::unwrap) {
        if ["rmse", "wrmse"].contains(&&row[metric]) {
            let key = (first..method).map(|column| row[column].to_owned()).collect();
            found.entry(key).or_default().insert(row[method].to_owned(), row[value].parse().unwrap());
        }
    }
    found
}

/// Propositions 1 and 2, and the bound: never above QuerySmasher nor one Kronecker strategy, never below what any mechanism needs.
#[test]
fn plans_for_reference_measures_are_between_the_bound_and_the_planners_that_they_hold() {
    let (mut plans, mut kronecker, mut bounds) = (0, 0, 0);
    for table in ["table2", "table2-bound", "table3", "table4", "table5", "table8"] {
        for (key, methods) in errors(&format!("beyond/{table}")) {
            let Some(anova) = methods.get("anova") else { continue };
            plans += 1;
            let below = |other: f64| *anova <= other * (1.0 + 1e-7);
            assert!(below(methods["query-smasher"]), "{table} {key:?}: {methods:?}");
            if let Some(single) = methods.get("hdmm-kronecker") {
                kronecker += 1;
                assert!(below(*single), "{table} {key:?}: {methods:?}");
            }
            if let Some(bound) = methods.get("global-bound") {
                bounds += 1;
                assert!(*anova >= bound * (1.0 - 1e-7), "{table} {key:?}: {methods:?}");
            }
        }
    }
    assert!(plans >= 100 && kronecker >= 45 && bounds >= 40, "{plans} {kronecker} {bounds}");
}

/// The same against the one Kronecker strategy of S3's own Table 4.
#[test]
fn plans_for_reference_measures_are_not_above_the_kronecker_strategies_of_table_4() {
    let beyond = errors("beyond/table4");
    let mut compared = 0;
    for (key, methods) in errors("s3/table4") {
        if let (Some(single), Some(own)) = (methods.get("hdmm-kronecker"), beyond.get(&key)) {
            assert!(own["anova"] <= single * (1.0 + 1e-7), "{key:?}");
            compared += 1;
        }
    }
    assert_eq!(compared, 15);
}

/// The tables are planned in full: every row of S3's certified optimum has its plan for a reference measure, of the same queries.
#[test]
fn plans_for_reference_measures_cover_the_tables_of_s3() {
    for (table, rows) in [("table2", 12), ("table3", 6), ("table4", 35), ("table5", 15), ("table8", 28)] {
        let beyond = errors(&format!("beyond/{table}"));
        let mut compared = 0;
        for (key, methods) in errors(&format!("s3/{table}")) {
            let Some(optimum) = methods.get("query-smasher") else { continue };
            let own = beyond.get(&key).unwrap_or_else(|| panic!("{table}: no {key:?}"));
            assert!((own["query-smasher"] / optimum - 1.0).abs() <= 1e-6, "{table} {key:?}: {optimum} and {own:?}");
            assert!(own.contains_key("anova"), "{table} {key:?}");
            compared += 1;
        }
        assert_eq!(compared, rows, "{table}");
    }
}
