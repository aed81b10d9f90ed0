//! Tests of the command `matmech solve`.

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

fn matmech(words: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("matmech").unwrap().args(words).assert()
}

fn json(words: &[&str]) -> serde_json::Value {
    let output = matmech(words).success().get_output().stdout.clone();
    serde_json::from_slice(&output).unwrap()
}

#[test]
fn json_has_every_documented_field() {
    let report = json(&["solve", "--workload", "range:256", "--strategy", "optimal", "--json"]);
    for field in [
        "workload",
        "cells",
        "queries",
        "strategy",
        "error",
        "svd_bound",
        "ratio",
        "lower_bound",
        "upper_bound",
        "gap",
        "iterations",
        "seconds",
        "details",
    ] {
        assert!(report.get(field).is_some(), "{field} is missing: {report}");
    }
    assert_eq!((report["cells"].as_u64(), report["queries"].as_u64()), (Some(256), Some(32_896)));
    assert!(report["gap"].as_f64().unwrap() <= 1e-6);
    assert!((report["ratio"].as_f64().unwrap() - 1.017513).abs() < 5e-7);
    assert_eq!(report["status"], "converged");
    let closed_form =
        json(&["solve", "--workload", "range:32x32", "--strategy", "wavelet", "--json"]);
    assert!((closed_form["ratio"].as_f64().unwrap() - 1.819).abs() < 5e-4);
    assert_eq!(closed_form["iterations"], 0);
    assert_eq!(closed_form["lower_bound"], closed_form["svd_bound"]);
    let large = json(&["solve", "--workload", "predicate:1024", "--json"]);
    assert_eq!(large["queries"], "2^1024");
    assert!(large["details"]["query_weight"].as_f64().unwrap() < 1e-100);
}

#[test]
fn a_saved_strategy_has_the_same_error() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("best");
    let saved =
        json(&["solve", "--workload", "prefix:24", "--json", "--save", prefix.to_str().unwrap()]);
    let file = format!("matrix:{}-1.npy", prefix.display());
    let again = json(&["solve", "--workload", "prefix:24", "--strategy", &file, "--json"]);
    let (a, b) = (saved["error"].as_f64().unwrap(), again["error"].as_f64().unwrap());
    assert!((a / b - 1.0).abs() < 1e-9, "{a} and {b}");
    matmech(&["solve", "--workload", "prefix:25", "--strategy", &file])
        .code(1)
        .stderr(contains("25 columns").and(contains("24 columns")));
}

#[test]
fn strategies_take_options_and_operands() {
    let solve = |workload: &str, strategy: &str| {
        json(&["solve", "--workload", workload, "--strategy", strategy, "--json"])
    };
    let eigen = solve("range:8x8x8x4", "eigen-design");
    let share = (eigen["svd_bound"].as_f64().unwrap() / eigen["error"].as_f64().unwrap()).sqrt();
    assert!((share - 0.919).abs() < 5e-4, "{share}");
    assert!(eigen["details"]["weighting_gap"].as_f64().unwrap() < 1e-8);
    let separated = solve("range:64", "eigen-separation(group=8)");
    assert_eq!(
        (separated["strategy"].as_str(), separated["details"]["group"].as_f64()),
        (Some("eigen-separation(group=8)"), Some(8.0))
    );
    let wavelet = solve("range:64", "eigen-design:wavelet")["error"].as_f64().unwrap();
    assert!(wavelet < solve("range:64", "wavelet")["error"].as_f64().unwrap());
    let marginals =
        solve("union(identity-marginals(ways=1):4x8; identity-marginals(ways=2):4x8)", "datacube");
    assert!(marginals["details"]["marginals_measured"].as_f64().unwrap() >= 1.0);
    let options = |words: &[&str]| {
        let words = [&["solve", "--workload", "prefix:64", "--json"], words].concat();
        let report = json(&words);
        (report["error"].clone(), report["iterations"].clone())
    };
    let by_flags = options(&["--tolerance", "1e-3", "--max-iterations", "9"]);
    let by_options = options(&["--strategy", "optimal(tolerance=1e-3, max-iterations=9)"]);
    assert_eq!(by_flags, by_options);
    assert_ne!(by_flags, options(&[]));
}

/// Closed forms: a prefix of length i has error i under the identity, and k participations cost k.
#[test]
fn objectives_and_participations_are_options_of_every_strategy() {
    let solve = |words: &[&str]| json(&[&["solve", "--json", "--workload"], words].concat());
    let plain = solve(&["prefix:12", "--strategy", "identity"]);
    assert_eq!((&plain["objective"], &plain["participation"]), (&"mean".into(), &"single".into()));
    assert!(plain.get("sensitivity").is_none());
    let flags = ["--objective", "max", "--participation", "epochs:3"];
    let by_flags = solve(&[&["prefix:12", "--strategy", "identity"], &flags[..]].concat());
    assert!((by_flags["error"].as_f64().unwrap() - 36.0).abs() < 1e-9);
    assert_eq!(by_flags["sensitivity"]["kind"], "exact");
    let text = "identity(objective=max, participation=epochs:3)";
    assert_eq!(solve(&["prefix:12", "--strategy", text])["error"], by_flags["error"]);
    let optimal = solve(&[&["prefix:12"], &flags[..]].concat());
    let number = |field: &str| optimal[field].as_f64().unwrap();
    assert!(number("lower_bound") <= number("upper_bound") && number("gap") <= 1e-6, "{optimal}");
    assert!(number("svd_bound") <= number("lower_bound"), "{optimal}");
    assert_eq!((&optimal["status"], number("error")), (&"converged".into(), number("upper_bound")));
    let banded = solve(&["prefix:12", "--participation", "min-sep:4,3", "--bands", "3"]);
    let (lower, class, error) = (
        banded["lower_bound"].as_f64().unwrap(),
        banded["details"]["banded_lower_bound"].as_f64().unwrap(),
        banded["error"].as_f64().unwrap(),
    );
    assert!(lower <= class && class <= error && error <= class * (1.0 + 1e-6), "{banded}");
    let bound = solve(&["prefix:12", "--strategy", "workload(participation=min-sep:4,3)"]);
    assert_eq!(bound["sensitivity"]["kind"], "row-sum bound");
}
