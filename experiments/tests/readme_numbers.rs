//! The numbers in the README are those of the committed results.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::path::{Path, PathBuf};

use experiments::columns::{DATA, GAP, METHOD, METRIC, VALUE};
use experiments::table::Table;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn results(root: &Path, file: &str) -> Table {
    Table::read(&root.join(file), file, "restore it, it is committed").unwrap()
}

/// The number in `column` of the one row with these fields, if there is one.
fn number(table: &Table, fields: &[(&str, &str)], column: &str) -> Option<f64> {
    let rows = fields.iter().fold(table.clone(), |rows, (column, field)| rows.with(column, field).unwrap());
    assert!(rows.len() <= 1, "{} rows with {fields:?} in {}", rows.len(), table.name());
    (!rows.is_empty()).then(|| rows.number(column, 0)).flatten()
}

/// Compares the body of the table between the marks of `name` in the README.
fn assert_in_readme(root: &Path, name: &str, expected: &str) {
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let begin = readme.split(&format!("<!-- {name}: begin -->")).nth(1).unwrap();
    let block = begin.split(&format!("<!-- {name}: end -->")).next().unwrap();
    let body: String = block.trim().lines().skip(2).map(|line| format!("{line}\n")).collect();
    assert_eq!(body, expected, "the README's table should be:\n{expected}");
}

#[test]
fn the_table_of_example_3_1_is_that_of_the_results() {
    let tables = ["results/s1/example-3.1.csv", "results/s1/fig3a.csv"].map(|file| results(&root(), file));
    let get = |workload: &str, method: &str, metric: &str, column: &str| {
        let row = [("workload", workload), (METHOD, method), (METRIC, metric)];
        let found = tables.iter().find_map(|table| number(table, &row, column));
        found.unwrap_or_else(|| panic!("no {column} for {row:?}"))
    };
    let mut expected = String::new();
    for (workload, domain) in [
        ("range:1024", "1024"),
        ("range:32x32", "32×32"),
        ("range:16x8x8", "16×8×8"),
        ("range:8x8x4x4", "8×8×4×4"),
        ("range:2^10", "2^10"),
    ] {
        expected += &format!("| {domain} | {:.2} |", get(workload, "svd-bound", "total_error", VALUE));
        for (method, digits) in
            [("workload", 3), ("identity", 3), ("hierarchical", 4), ("wavelet", 4), ("lsa", 4), ("optimal", 6)]
        {
            expected += &format!(" {:.digits$} |", get(workload, method, "ratio_to_svdb", VALUE));
        }
        let gap = get(workload, "optimal", "ratio_to_svdb", GAP);
        expected += &if gap < 1e-12 { " 0 |\n".to_owned() } else { format!(" {gap:.0e} |\n") };
    }
    assert_in_readme(&root(), "example-3.1", &expected);
}

#[test]
fn the_table_past_s3_is_that_of_the_results() {
    let ours = results(&root(), "results/beyond/table4.csv");
    let published = results(&root(), "data/published/s3_table4.csv");
    let mut expected = String::new();
    for workload in ["marginal", "prefix", "range", "circular", "affine", "abs", "random"] {
        let cell = [("n", "50"), ("d", "40"), ("workload", workload)];
        let value = |method| number(&ours, &[&cell[..], &[(METHOD, method), (METRIC, "rmse")]].concat(), VALUE);
        let text = |method| value(method).map_or_else(|| "–".to_owned(), |value| format!("{value:.4}"));
        // The random queries of this size take the planner minutes: profile `paper`.
        let planned = value("anova").is_some() || workload == "random";
        assert!(value("query-smasher").is_some() && planned, "no result for {workload}");
        let row = [&cell[..], &[(METHOD, "QS")]].concat();
        let printed = row.iter().fold(published.clone(), |rows, (column, field)| rows.with(column, field).unwrap());
        let [optimum, anova, bound] = ["query-smasher", "anova", "global-bound"].map(text);
        expected += &format!("| {workload} | {} | {optimum} | {anova} | {bound} |\n", printed.field("rmse", 0));
    }
    assert_in_readme(&root(), "table4", &expected);
}

#[test]
fn the_table_of_s4_is_that_of_the_results() {
    table_of_s4(&root());
}

fn table_of_s4(root: &Path) {
    let table = results(root, "results/s4/fig4.csv");
    let value = |epsilon: &str, method: &str| {
        let cell = [("dataset", "adult"), (DATA, "real"), ("epsilon", epsilon)];
        number(&table, &[&cell[..], &[(METHOD, method), (METRIC, "mean_l1")]].concat(), VALUE)
    };
    let mut expected = String::new();
    for epsilon in ["0.1", "0.31", "1", "3.16", "10", "31.6", "100"] {
        let fields = ["residual-planner", "aim-grem", "aim-pgm", "aim-hybrid", "planned"].map(|method| {
            let value = value(epsilon, method);
            assert!(
                value.is_some() || method == "aim-pgm",
                "no result on the real Adult for {method} at ε = {epsilon}"
            );
            value.map_or_else(|| "–".to_owned(), |value| format!("{value:.4}"))
        });
        expected += &format!("| {epsilon} | {} |\n", fields.join(" | "));
    }
    assert_in_readme(root, "fig4", &expected);
}

/// A newcomer without network and data runs the experiment, then the tests: her stand-ins replace nothing that the README quotes.
#[test]
fn the_table_of_s4_survives_a_run_without_data() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["README.md", "results/s4/fig4.csv", "results/s4/fig4.provenance.json"] {
        std::fs::create_dir_all(folder.path().join(file).parent().unwrap()).unwrap();
        std::fs::copy(root().join(file), folder.path().join(file)).unwrap();
    }
    // The committed experiment on one table and one budget, without figures and comparison.
    let config = std::fs::read_to_string(root().join("configs/s4/fig4.toml")).unwrap();
    let mut config: String = config.split("[grid]").next().unwrap().to_owned();
    config += "[grid]\ndelta = 1e-9\nways = 3\n\
               runs = [{ datasets = ['adult'], epsilons = [0.1], trials = 1, methods = ['residual-planner'] }]\n";
    std::fs::create_dir_all(folder.path().join("configs/s4")).unwrap();
    std::fs::write(folder.path().join("configs/s4/fig4.toml"), config).unwrap();
    table_of_s4(folder.path());
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_reproduce"))
        .args(["run", "s4/fig4", "--root"])
        .arg(folder.path())
        .env_remove("MATMECH_DATA")
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("results/s4/fig4.csv is kept"), "{said}");
    table_of_s4(folder.path());
    let own = std::fs::read_to_string(folder.path().join("results/stand-in/s4/fig4.csv")).unwrap();
    assert!(own.contains(",adult,stand-in,") && !own.contains(",real,"), "{own}");
}

#[test]
fn the_table_of_alternative_workloads_is_that_of_the_results() {
    let table = results(&root(), "results/s2/alternative.csv");
    let get = |workload: &str, method: &str| {
        number(&table, &[("workload", workload), (METHOD, method), (METRIC, "over_eigen")], VALUE)
    };
    let mut expected = String::new();
    for (workload, name) in [
        ("permuted-range:2048", "permuted ranges"),
        ("range-marginals(ways=1):8x16x16", "1-way range marginals"),
        ("range-marginals(ways=2):8x16x16", "2-way range marginals"),
        ("cdf:2048", "CDF"),
        ("predicate-sample(queries=4096,p=0.5,seed=1):8x16x16", "4,096 random predicates"),
    ] {
        let competitors = ["wavelet", "hierarchical", "fourier", "datacube"];
        let mut found: Vec<(f64, &str)> =
            competitors.into_iter().filter_map(|method| Some((get(workload, method)?, method))).collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (best, worst) = (found[0], found[found.len() - 1]);
        let (optimum, bound) = (get(workload, "optimal").unwrap(), get(workload, "svd-bound").unwrap());
        let pair = |(value, method): (f64, &str)| format!("{value:.3} ({method})");
        expected += &format!("| {name} | {} | {} | {optimum:.4} | {bound:.4} |\n", pair(best), pair(worst));
    }
    assert_in_readme(&root(), "alternative", &expected);
}

#[test]
fn the_times_of_the_optimum_are_those_of_the_bench() {
    let table = results(&root(), "results/bench.csv");
    let mut expected = String::new();
    for row in 0..table.len() {
        let seconds = table.number("seconds", row).unwrap();
        let time = if seconds < 0.1 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.2} s") };
        let [workload, cells, solves] =
            ["workload", "cells", "eigendecompositions"].map(|column| table.field(column, row).to_owned());
        assert!(table.number(GAP, row).unwrap() <= 1e-6, "{workload}");
        assert!(!table.field("cpu", row).is_empty(), "{workload}");
        expected += &format!("| `{workload}` | {cells} | {solves} | {time} |\n");
    }
    assert_eq!(expected.lines().count(), 7);
    assert_in_readme(&root(), "bench", &expected);
}

/// Time and memory of the paper's largest case, as the README has them in a sentence.
#[test]
fn the_largest_case_of_table_7_is_that_of_the_results() {
    let table = results(&root(), "results/s3/table7.csv");
    let case = [("n", "40"), ("d", "40"), (METRIC, "phases")];
    let (seconds, mb) = (number(&table, &case, "seconds").unwrap(), number(&table, &case, "peak_mb").unwrap());
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let expected = format!("takes {seconds:.0} s and {:.1} GB in all phases", mb / 1e3);
    let one_line = readme.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line.contains(&expected), "the README should say: {expected}");
}

/// What a newcomer reads before the links is short.
#[test]
fn the_readme_has_two_screens_before_its_links() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let before = readme.split("\n## More\n").next().unwrap();
    assert!(before.lines().count() <= 100, "{} lines before More", before.lines().count());
}

#[test]
fn the_totals_of_the_verdicts_are_those_of_the_comparison() {
    let comparison = std::fs::read_to_string(root().join("results/COMPARISON.md")).unwrap();
    let mut expected = String::new();
    for line in comparison.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let Some(paper) = cells[0].strip_suffix(" published") else { continue };
        let [reproduced, improved, lower, deviates, not_comparable, _not_run, failed, all] = cells[1..] else {
            continue;
        };
        expected += &format!(
            "| {paper} | {reproduced} | {improved} | {lower} | {deviates} | {not_comparable} | {failed} | {all} |\n"
        );
    }
    assert_eq!(expected.lines().count(), 4, "one line per paper in\n{expected}");
    assert_in_readme(&root(), "verdicts", &expected);
}
