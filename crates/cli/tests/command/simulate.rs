//! Tests of the command `matmech simulate`: its reports, and what it refuses, drops or clamps.

use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::{contains, starts_with};

const SCHEMA: &str = r#"
[[attribute]]
name = "age"
size = 4
kind = "numeric"
bins = { low = 0, high = 80, count = 4 }

[[attribute]]
name = "job"
size = 3
kind = "categorical"
values = ["clerk", "baker", "cook"]

[[attribute]]
name = "level"
size = 5
kind = "numeric"
"#;

/// 120 records with dependent attributes and a column that is not in the schema.
fn data() -> String {
    let jobs = ["clerk", "baker", "cook"];
    let line = |k: usize| {
        format!("{},{},{},{k}\n", jobs[k * k % 3], k * 7 % 80, (k * 7 % 80 / 20 + k % 2) % 5)
    };
    format!("job,age,level,unused\n{}", (0..120).map(line).collect::<String>())
}

/// Creates a folder with the schema S.toml and the data X.csv.
fn folder(schema: &str, data: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("S.toml"), schema).unwrap();
    std::fs::write(folder.path().join("X.csv"), data).unwrap();
    folder
}

/// Runs `matmech simulate` on S.toml and X.csv with more arguments.
fn simulate(folder: &Path, words: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("matmech")
        .unwrap()
        .current_dir(folder)
        .args(["simulate", "--schema", "S.toml", "--data", "X.csv"])
        .args(words)
        .assert()
}

fn json(folder: &Path, words: &[&str]) -> serde_json::Value {
    let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
    serde_json::from_slice(&simulate(folder, &words).success().get_output().stdout).unwrap()
}

fn number(report: &serde_json::Value, field: &str) -> f64 {
    report[field].as_f64().unwrap()
}

#[test]
fn json_has_every_documented_field() {
    let folder = folder(SCHEMA, &data());
    for mechanism in ["residual-planner", "aim-grem"] {
        let words = ["--ways", "1,2", "--mechanism", mechanism, "--rho", "0.5", "--trials", "3"];
        let report = json(folder.path(), &words);
        for field in ["seed", "max_l1", "mean_l2", "squared_error", "seconds", "peak_mb"] {
            assert!(report.get(field).is_some(), "{field} is missing: {report}");
        }
        assert_eq!(report["private"], false);
        assert_eq!(report["mechanism"], mechanism);
        assert_eq!(report["neighbours"], "add-or-remove-one-record");
        assert_eq!(
            report["records"],
            serde_json::json!({ "kept": 120, "dropped": 0, "clamped": 0 })
        );
        assert_eq!(
            (&report["marginals"], number(&report, "cells")),
            (&6.into(), f64::from(4 + 3 + 5 + 12 + 20 + 15))
        );
        assert_eq!((number(&report, "rho"), &report["trials"]), (0.5, &3.into()));
        assert!(number(&report, "spent") <= 0.5 && number(&report, "spent") > 0.5 * (1.0 - 1e-9));
        assert!(number(&report["standard_errors"], "mean_l1") > 0.0);
        // The total is the mean over the marginals, which are sorted by decreasing error.
        let by_marginal = report["by_marginal"].as_array().unwrap();
        let l1: Vec<f64> = by_marginal.iter().map(|marginal| number(marginal, "l1")).collect();
        assert!(l1.is_sorted_by(|a, b| a >= b) && l1.len() == 6);
        assert!((l1.iter().sum::<f64>() / 6.0 / number(&report, "mean_l1") - 1.0).abs() < 1e-12);
        let adaptive = mechanism == "aim-grem";
        for field in ["rounds", "residuals_per_round"] {
            assert_eq!(report[field].is_null(), !adaptive, "{field}");
        }
        for field in ["expected_squared_error", "expected_mean_l1"] {
            assert_eq!(report[field].is_null(), adaptive, "{field}");
        }
    }
    let single = json(folder.path(), &["--ways", "1", "--rho", "1"]);
    assert_eq!((&single["mechanism"], &single["trials"]), (&"staged".into(), &1.into()));
    assert!(single["standard_errors"].is_null());
}

/// Mean errors of 200 runs of ResidualPlanner against their exact expectations, within five
/// standard errors.
#[test]
fn mean_errors_match_the_expected_errors() {
    let folder = folder(SCHEMA, &data());
    let words =
        ["--ways", "2,3", "--mechanism", "residual-planner", "--rho", "0.1", "--trials", "200"];
    let report = json(folder.path(), &words);
    for field in ["mean_l1", "squared_error"] {
        let difference = number(&report, field) - number(&report, &format!("expected_{field}"));
        let error = number(&report["standard_errors"], field);
        assert!(difference.abs() < 5.0 * error, "{field}: {difference} ± {error}");
    }
}

#[test]
fn errors_decrease_with_the_budget() {
    let folder = folder(SCHEMA, &data());
    for mechanism in ["residual-planner", "aim-grem", "aim-hybrid", "aim-pgm", "planned"] {
        let error = |rho| {
            let words = ["--ways", "3", "--mechanism", mechanism, "--trials", "5", "--rho", rho];
            number(&json(folder.path(), &words), "mean_l1")
        };
        assert!(error("1e8") < 1e-3 && error("1e-3") > 0.1, "{mechanism}");
    }
}

#[test]
fn a_seed_determines_the_report_except_time_and_memory() {
    let folder = folder(SCHEMA, &data());
    for mechanism in ["residual-planner", "aim-grem", "aim-hybrid", "aim-pgm", "planned"] {
        let run = |words: &[&str]| {
            let all = [&["--ways", "2", "--mu", "0.4", "--mechanism", mechanism], words].concat();
            let mut report = json(folder.path(), &all);
            for timing in ["seconds", "peak_mb"] {
                report[timing] = serde_json::Value::Null;
            }
            report["standard_errors"] = serde_json::Value::Null;
            report
        };
        assert_eq!(run(&["--seed", "7", "--trials", "2"]), run(&["--seed", "7", "--trials", "2"]));
        assert_ne!(run(&["--seed", "7"])["mean_l1"], run(&["--seed", "8"])["mean_l1"]);
        // Runs differ, and the first does not depend on the number of runs.
        let (single, double) = (run(&["--trials", "1"]), run(&["--trials", "2"]));
        assert_ne!(single["mean_l1"], double["mean_l1"]);
        assert_eq!(single["mean_l1"], run(&[])["mean_l1"]);
        assert!(number(&double, "spent") >= number(&single, "spent"));
    }
}

#[test]
fn every_budget_notion_is_converted_to_rho() {
    let folder = folder(SCHEMA, &data());
    let rho =
        |words: &[&str]| number(&json(folder.path(), &[&["--ways", "1"], words].concat()), "rho");
    assert_eq!(rho(&["--rho", "0.32"]), 0.32);
    assert!((rho(&["--mu", "0.8"]) / 0.32 - 1.0).abs() < 1e-12);
    assert!((rho(&["--privacy-cost", "0.64"]) / 0.32 - 1.0).abs() < 1e-12);
    // The value of S4's specification.
    assert!((rho(&["--epsilon", "1", "--delta", "1e-9"]) / 0.014_973_057_67 - 1.0).abs() < 1e-9);
}

#[test]
fn workload_files_are_read() {
    let folder = folder(SCHEMA, &data());
    let workload = "[[queries]]\nfamily = \"identity\"\nattributes = [\"level\", \"age\"]\n\
                    [[queries]]\nfamily = \"identity\"\nways = [1]\n";
    std::fs::write(folder.path().join("W.toml"), workload).unwrap();
    let report = json(folder.path(), &["--workload", "W.toml", "--rho", "1"]);
    assert_eq!(report["marginals"], 4);
    let listed = report["by_marginal"].as_array().unwrap();
    assert!(
        listed.iter().any(|marginal| marginal["attributes"] == serde_json::json!(["age", "level"]))
    );
}

#[test]
fn text_starts_with_a_warning() {
    let folder = folder(SCHEMA, &data());
    let words = ["--ways", "1,2,3", "--rho", "1"];
    simulate(folder.path(), &words).success().stdout(
        starts_with("NOT PRIVATE")
            .and(contains("measurements"))
            .and(contains("2 with smaller errors"))
            .and(contains("±").not()),
    );
    simulate(
        folder.path(),
        &[&words[..], &["--mechanism", "residual-planner", "--trials", "2"]].concat(),
    )
    .success()
    .stdout(starts_with("NOT PRIVATE").and(contains("expected")).and(contains("±")));
}

/// The mean error of `query-smasher` on other families against its expectation, within five
/// standard errors.
#[test]
fn query_smasher_answers_every_family() {
    let folder = folder(SCHEMA, &data());
    let workload = "[[queries]]\nfamily = \"affine\"\nattributes = [\"age\", \"level\"]\n\
                    [[queries]]\nfamily = \"identity\"\nways = [1]\n";
    std::fs::write(folder.path().join("W.toml"), workload).unwrap();
    let words =
        ["--workload", "W.toml", "--rho", "1", "--mechanism", "query-smasher", "--trials", "50"];
    simulate(folder.path(), &words).success().stdout(
        contains("query groups  4, 20 answers together").and(contains("age, level (affine)")),
    );
    let report = json(folder.path(), &words);
    let difference = number(&report, "squared_error") - number(&report, "expected_squared_error");
    assert!(
        difference.abs() < 5.0 * number(&report["standard_errors"], "squared_error"),
        "{difference}"
    );
    assert!(report["expected_mean_l1"].is_null());
}

/// Synthetic records are read again with the same schema: listed values, bins and cell numbers.
#[test]
fn synthetic_records_fit_the_schema() {
    let folder = folder(SCHEMA, &data());
    for mechanism in ["aim-hybrid", "aim-pgm", "staged(switch=0)"] {
        let words =
            ["--ways", "2", "--rho", "100", "--mechanism", mechanism, "--synthetic", "X2.csv"];
        let report = json(folder.path(), &words);
        assert_eq!(
            (&report["nonnegative"], &report["mechanism"]),
            (&true.into(), &mechanism.trim_end_matches("(switch=0)").into())
        );
        let text = std::fs::read_to_string(folder.path().join("X2.csv")).unwrap();
        assert!(text.starts_with("age,job,level\n") && text.contains("clerk"), "{text}");
        let lines = text.lines().count() as f64 - 1.0;
        assert!((lines - 120.0).abs() < 10.0, "{lines}");
        let read = Command::cargo_bin("matmech")
            .unwrap()
            .current_dir(folder.path())
            .args([
                "simulate", "--schema", "S.toml", "--data", "X2.csv", "--ways", "1", "--rho", "1",
                "--json",
            ])
            .assert()
            .success();
        let read: serde_json::Value = serde_json::from_slice(&read.get_output().stdout).unwrap();
        assert_eq!(number(&read["records"], "kept"), lines);
    }
    simulate(folder.path(), &["--ways", "1", "--rho", "1"]).success().stdout(contains("negative"));
}

/// The output of the example in docs/simulating.md, except time and memory.
#[test]
fn the_documented_example_is_reproduced() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let text = std::fs::read_to_string(root.join("docs/simulating.md")).unwrap();
    let (_, rest) = text.split_once("$ matmech ").unwrap();
    let (block, _) = rest.split_once("\n```").unwrap();
    let (command, printed) = block.split_once('\n').unwrap();
    let assert = Command::cargo_bin("matmech")
        .unwrap()
        .current_dir(root)
        .args(command.split(' '))
        .assert()
        .success();
    let output = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
    let stable = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|l| !l.starts_with("time") && !l.starts_with("peak"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(stable(&output), stable(printed));
    assert!(output.lines().count() > 15);
}

#[test]
fn values_outside_the_schema_are_dropped_or_clamped() {
    let outside = "-5,clerk,0\n500,baker,7\n10,painter,0\n10,cook,2.5\n10,cook,2\n";
    let folder = folder(SCHEMA, &format!("age,job,level\n{outside}"));
    let words = ["--ways", "1", "--rho", "1"];
    let records = |rule: &str| {
        json(folder.path(), &[&words[..], &["--out-of-domain", rule]].concat())["records"].clone()
    };
    assert_eq!(records("drop"), serde_json::json!({ "kept": 1, "dropped": 4, "clamped": 0 }));
    assert_eq!(records("clamp"), serde_json::json!({ "kept": 3, "dropped": 2, "clamped": 3 }));
}

/// Asserts that `simulate` fails with a message that has the expected input, the input found and
/// all of `parts`.
fn assert_refused(folder: &Path, words: &[&str], parts: &[&str]) {
    let assert = simulate(folder, words).code(1).stdout("");
    let message = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    for part in ["expected ", "found "].iter().chain(parts) {
        assert!(message.contains(part), "{part} in {message}");
    }
}

#[test]
fn marginals_that_do_not_fit_memory_are_refused() {
    let attribute = |k: usize| {
        format!("[[attribute]]\nname = \"A{k}\"\nsize = 4000000000\nkind = \"numeric\"\n")
    };
    let schema: String = (0..3).map(attribute).collect();
    let large = folder(&schema, "A0,A1,A2\n1,2,3\n");
    for mechanism in ["residual-planner", "aim-grem"] {
        let words = |ways| ["--mechanism", mechanism, "--rho", "1", "--ways", ways];
        for (ways, parts) in [
            ("1", &["marginal on A0", "4000000000 cells", "GiB", "remedy"]),
            ("2", &["marginal on A0, A1", "1.6000e19 cells", "fewer attributes", "remedy"]),
        ] {
            assert_refused(large.path(), &words(ways), parts);
        }
    }
    let attribute =
        |k: usize| format!("[[attribute]]\nname = \"A{k}\"\nsize = 2\nkind = \"numeric\"\n");
    let many = folder(&(0..100).map(attribute).collect::<String>(), "A0\n1\n");
    assert_refused(
        many.path(),
        &["--ways", "50", "--rho", "1"],
        &["workload of marginals", "residuals", "remedy"],
    );
}

/// `aim-hybrid` works without a model of the records.
#[test]
fn a_limit_of_no_memory_is_valid() {
    let folder = folder(SCHEMA, &data());
    json(
        folder.path(),
        &["--ways", "1", "--rho", "1", "--mechanism", "aim-hybrid", "--max-mb", "0"],
    );
}
