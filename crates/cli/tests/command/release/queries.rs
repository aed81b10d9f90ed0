//! Tests of `matmech answer --query`, and of workloads of queries in words.

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::{folder, matmech, read, release, words};

/// A workload of queries in words.
const QUERIES: &str = "[[queries]]\nquery = \"mean(age) by job\"\n\
                       [[queries]]\nquery = \"share of job = cook where age < 40\"\n\
                       [[queries]]\nquery = \"median(age)\"\n";

#[test]
fn queries_of_the_workload_are_answered_with_intervals() {
    let folder = folder();
    let here = folder.path();
    std::fs::write(here.join("W.toml"), QUERIES).unwrap();
    release(here, "R", &[]).success();
    release(here, "S", &["--mechanism", "staged"]).success();
    for (out, interval) in [("R", "Fieller"), ("S", "certified bound")] {
        let measurements = format!("{out}/measurements");
        let base = ["answer", "--measurements", &measurements];
        let queries = ["--query", "mean(age) by job", "--query", "median(age)"];
        let answer = |more: &[&str]| matmech(here, &[&base[..], more].concat());
        answer(&queries).success().stdout(
            contains("query  mean(age) by job\n  job")
                .and(contains("query  median(age)\n  estimate"))
                .and(contains(interval))
                .and(contains("note   Every record counts with the midpoint of its bin of `age`")),
        );
        assert!(!here.join("answers.csv").exists());
        let json = answer(&[&queries[..], &["--json"]].concat()).success();
        let report: serde_json::Value = serde_json::from_slice(&json.get_output().stdout).unwrap();
        let rows = report["answers"][0]["answers"].as_array().unwrap();
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[2]["by"][0], "cook");
        assert_eq!(report["privacy_cost"], 0.0);
        let table = format!("{out}.csv");
        answer(&["--query", "count by job", "--out", &table])
            .success()
            .stdout(contains(format!("written  {table}")));
        let text = read(here, &table);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "query,by,estimate,standard_error,low_95,high_95,interval,extrapolated"
        );
        assert!(lines.len() == 4 && lines[3].starts_with("count by job,job = cook,"), "{text}");
        answer(&["--query", "total", "--out", &table]).failure().stderr(contains(&table));
        // With a workload, its table is written as well.
        let with = format!("{out}-with.csv");
        answer(&["--query", "total", "--workload", "W.toml", "--out", &with])
            .success()
            .stdout(contains("query  total").and(contains(format!("written  {with}"))));
        assert!(here.join(with).exists());
    }
}

#[test]
fn mistakes_in_queries_are_shown_and_write_nothing() {
    let folder = folder();
    let here = folder.path();
    release(here, "R", &[]).success();
    let answer = |more: &[&str]| {
        matmech(here, &[&["answer", "--measurements", "R/measurements"][..], more].concat())
    };
    answer(&["--query", "count where agee >= 40"]).failure().stderr(contains(
        "query, line 1, column 13: expected an attribute or a level: age, job, found `agee`\n    \
         count where agee >= 40\n                ^^^^\n  remedy: did you mean `age`?",
    ));
    answer(&["--query", "count where age >= 41"])
        .failure()
        .stderr(contains("`age >= 40` or `age >= 60`"));
    answer(&["--query", "total", "--workload", "W.toml", "--query", "sum(job)"])
        .failure()
        .stderr(contains("a numeric attribute for sum"));
    assert!(!here.join("answers.csv").exists());
    answer(&["--query", "total", "--adjust"]).failure().stderr(contains("--workload"));
    std::fs::write(here.join("W.toml"), "[[queries]]\nquery = \"count by jbo\"\n").unwrap();
    matmech(here, &words("Q", &[]))
        .failure()
        .stderr(contains("W.toml, [[queries]] number 1, query, line 1, column 10"));
}
