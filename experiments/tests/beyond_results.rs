//! The committed results past the papers: what is proved of plans for reference measures holds in
//! every row.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::collections::BTreeMap;
use std::path::Path;

/// Errors of the plans of one table by the columns that say what was planned, then by method.
fn errors(table: &str) -> BTreeMap<Vec<String>, BTreeMap<String, f64>> {
    values(table, &["rmse", "wrmse"])
}

/// The same of any metric.
fn values(table: &str, metrics: &[&str]) -> BTreeMap<Vec<String>, BTreeMap<String, f64>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut reader = csv::Reader::from_path(root.join(format!("results/{table}.csv"))).unwrap();
    let headers = reader.headers().unwrap().clone();
    let column = |name: &str| headers.iter().position(|header| header == name).unwrap();
    let (first, method, metric, value) =
        (column("cell") + 1, column("method"), column("metric"), column("value"));
    let mut found: BTreeMap<Vec<String>, BTreeMap<String, f64>> = BTreeMap::new();
    for row in reader.records().map(Result::unwrap) {
        if metrics.contains(&&row[metric]) {
            let key = (first..method).map(|column| row[column].to_owned()).collect();
            found
                .entry(key)
                .or_default()
                .insert(row[method].to_owned(), row[value].parse().unwrap());
        }
    }
    found
}

/// Propositions 1 and 2, and the bound: never above QuerySmasher nor one Kronecker strategy, never
/// below what any mechanism needs.
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

/// The tables are planned in full: every row of S3's certified optimum has its plan for a reference
/// measure, of the same queries.
#[test]
fn plans_for_reference_measures_cover_the_tables_of_s3() {
    for (table, rows) in
        [("table2", 12), ("table3", 6), ("table4", 35), ("table5", 15), ("table8", 28)]
    {
        let beyond = errors(&format!("beyond/{table}"));
        let mut compared = 0;
        for (key, methods) in errors(&format!("s3/{table}")) {
            let Some(optimum) = methods.get("query-smasher") else { continue };
            let own = beyond.get(&key).unwrap_or_else(|| panic!("{table}: no {key:?}"));
            assert!(
                (own["query-smasher"] / optimum - 1.0).abs() <= 1e-6,
                "{table} {key:?}: {optimum} and {own:?}"
            );
            assert!(own.contains_key("anova"), "{table} {key:?}");
            compared += 1;
        }
        assert_eq!(compared, rows, "{table}");
    }
}

/// The table of docs/reference-measures.md on affine queries and absolute differences: errors as in
/// the results, and their ratios to the bounds beside them, which `tests/pair_bound.rs` computes
/// anew.
#[test]
fn the_page_on_reference_measures_has_the_errors_of_table_4() {
    let page = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference-measures.md"),
    )
    .unwrap();
    let results = errors("beyond/table4");
    let table =
        page.lines().skip_while(|line| !line.contains("absolute differences: anova")).skip(2);
    let mut rows = 0;
    for row in table.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        for (family, at) in [("affine", 1), ("abs", 4)] {
            let anova = results[&[cells[0], "40", family].map(String::from).to_vec()]["anova"];
            let bound: f64 = cells[at + 1].parse().unwrap();
            assert_eq!(
                [cells[at], cells[at + 2]],
                [format!("{anova:.4}"), format!("{:.3}", anova / bound)],
                "{row}"
            );
        }
        rows += 1;
    }
    assert_eq!(rows, 5);
}

/// The table of docs/simulating.md on what was not measured: means and standard errors as in the
/// results, bold what is lower by more than two standard errors of the difference.
#[test]
fn the_page_on_simulating_has_the_errors_of_both_reconstructions() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = std::fs::read_to_string(root.join("docs/simulating.md")).unwrap();
    let (means, deviations) = (
        values("beyond/independence", &["mean_l1"]),
        values("beyond/independence", &["mean_l1_se"]),
    );
    let table =
        page.lines().skip_while(|line| !line.contains("| additive | independence |")).skip(2);
    let (mut dataset, mut rows) = (String::new(), 0);
    for row in table.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        if !cells[0].is_empty() {
            dataset = cells[0].to_lowercase();
        }
        let key = [&dataset, "real", cells[1]].map(String::from).to_vec();
        let of = |method: &str| (means[&key][method], deviations[&key][method]);
        let both = [of("aim-grem"), of("aim-grem(reconstruction=independence)")];
        let distance = (both[0].0 - both[1].0) / both[0].1.hypot(both[1].1);
        for (cell, (mean, deviation), ahead) in
            [(cells[2], both[0], -distance), (cells[3], both[1], distance)]
        {
            let (printed, error) = cell.split_once(" ± ").unwrap();
            let plain = printed.trim_matches('*');
            let digits = |text: &str| text.split_once('.').unwrap().1.len();
            assert_eq!(plain, format!("{mean:.*}", digits(plain)), "{row}");
            assert_eq!(error, format!("{deviation:.*}", digits(error)), "{row}");
            assert_eq!(printed != plain, ahead > 2.0, "{row}: {distance} standard errors");
        }
        rows += 1;
    }
    assert_eq!(rows, 12);
}
