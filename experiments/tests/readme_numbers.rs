//! The numbers in the README are those of the committed results.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// (workload, method, metric) → (value, gap) of a result table.
fn results(file: &str) -> HashMap<(String, String, String), (f64, Option<f64>)> {
    let mut reader = csv::Reader::from_path(root().join(file)).unwrap();
    let header = reader.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|h| h == name).unwrap();
    let (workload, method, metric) = (column("workload"), column("method"), column("metric"));
    let (value, gap) = (column("value"), column("gap"));
    reader
        .records()
        .map(Result::unwrap)
        .filter(|row| !row[value].is_empty())
        .map(|row| {
            let key = (row[workload].to_owned(), row[method].to_owned(), row[metric].to_owned());
            (key, (row[value].parse().unwrap(), row[gap].parse().ok()))
        })
        .collect()
}

#[test]
fn the_table_of_example_3_1_is_that_of_the_results() {
    let found = results("results/s1/example-3.1.csv");
    let lsa = results("results/s1/fig3a.csv");
    let get = |workload: &str, method: &str, metric: &str| {
        let key = (workload.to_owned(), method.to_owned(), metric.to_owned());
        found.get(&key).or_else(|| lsa.get(&key)).copied().unwrap_or_else(|| panic!("no result for {key:?}"))
    };
    let mut expected = String::new();
    for (workload, domain) in [
        ("range:1024", "1024"),
        ("range:32x32", "32×32"),
        ("range:16x8x8", "16×8×8"),
        ("range:8x8x4x4", "8×8×4×4"),
        ("range:2^10", "2^10"),
    ] {
        expected += &format!("| {domain} | {:.2} |", get(workload, "svd-bound", "total_error").0);
        for (method, digits) in
            [("workload", 3), ("identity", 3), ("hierarchical", 4), ("wavelet", 4), ("lsa", 4), ("optimal", 6)]
        {
            expected += &format!(" {:.digits$} |", get(workload, method, "ratio_to_svdb").0);
        }
        let gap = get(workload, "optimal", "ratio_to_svdb").1.unwrap();
        expected += &if gap < 1e-12 { " 0 |\n".to_owned() } else { format!(" {gap:.0e} |\n") };
    }
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let block =
        readme.split("<!-- example-3.1: begin -->").nth(1).unwrap().split("<!-- example-3.1: end -->").next().unwrap();
    let body: String = block.trim().lines().skip(2).map(|line| format!("{line}\n")).collect();
    assert_eq!(body, expected, "the README's table should be:\n{expected}");
}

#[test]
fn the_table_of_s3_is_that_of_the_results() {
    let mut reader = csv::Reader::from_path(root().join("results/s3/table4.csv")).unwrap();
    let header = reader.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|h| h == name).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let published = std::fs::read_to_string(root().join("data/published/s3_table4.csv")).unwrap();
    let mut expected = String::new();
    for workload in ["marginal", "prefix", "range", "circular", "affine", "abs", "random"] {
        let is = |row: &&csv::StringRecord, name: &str, value: &str| &row[column(name)] == value;
        let ours = rows
            .iter()
            .find(|r| {
                is(r, "n", "50")
                    && is(r, "workload", workload)
                    && is(r, "method", "query-smasher")
                    && is(r, "metric", "rmse")
            })
            .unwrap_or_else(|| panic!("no result for {workload}"));
        let value: f64 = ours[column("value")].parse().unwrap();
        let printed = published
            .lines()
            .find(|l| l.starts_with("table4,50,40,") && l.contains(&format!(",{workload},")) && l.contains(",QS,"))
            .and_then(|l| l.rsplit(',').next())
            .unwrap();
        expected += &format!("| {workload} | {printed} | {value:.4} |\n");
    }
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let block = readme.split("<!-- table4: begin -->").nth(1).unwrap().split("<!-- table4: end -->").next().unwrap();
    let body: String = block.trim().lines().skip(2).map(|line| format!("{line}\n")).collect();
    assert_eq!(body, expected, "the README's table should be:\n{expected}");
}

#[test]
fn the_table_of_s4_is_that_of_the_results() {
    table_of_s4(&root());
}

fn table_of_s4(root: &Path) {
    let mut reader = csv::Reader::from_path(root.join("results/s4/fig4.csv")).unwrap();
    let header = reader.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|h| h == name).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let value = |epsilon: &str, method: &str, metric: &str| -> f64 {
        let row = rows.iter().find(|row| {
            &row[column("dataset")] == "adult"
                && &row[column("data")] == "real"
                && &row[column("epsilon")] == epsilon
                && &row[column("method")] == method
                && &row[column("metric")] == metric
        });
        row.unwrap_or_else(|| panic!("no result on the real Adult for {epsilon}, {method}, {metric}"))[column("value")]
            .parse()
            .unwrap()
    };
    let mut expected = String::new();
    for epsilon in ["0.1", "0.31", "1", "3.16", "10", "31.6", "100"] {
        let (planner, adaptive) = (
            value(epsilon, "residual-planner", "mean_l1"),
            ["mean_l1", "rounds", "residuals_per_round"].map(|metric| value(epsilon, "aim-grem", metric)),
        );
        let [error, rounds, residuals] = adaptive;
        expected += &format!("| {epsilon} | {planner:.4} | {error:.4} | {rounds:.0} | {residuals:.2} |\n");
    }
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let block = readme.split("<!-- fig4: begin -->").nth(1).unwrap().split("<!-- fig4: end -->").next().unwrap();
    let body: String = block.trim().lines().skip(2).map(|line| format!("{line}\n")).collect();
    assert_eq!(body, expected, "the README's table should be:\n{expected}");
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
    let mut config = config.split("[[compare]]").next().unwrap().to_owned();
    for (key, value) in [("datasets", "[\"adult\"]"), ("epsilons", "[0.1]"), ("trials", "1"), ("claims", "[]")] {
        let line = config.lines().find(|line| line.starts_with(&format!("{key} = "))).unwrap().to_owned();
        config = config.replacen(&line, &format!("{key} = {value}"), 1);
    }
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
