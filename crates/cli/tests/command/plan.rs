//! Tests of the command `matmech plan`.

use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

const SCHEMA: &str = r#"
[[attribute]]
name = "age"
size = 10
kind = "numeric"
bins = { low = 0, high = 100, count = 10 }

[[attribute]]
name = "income"
size = 8
kind = "numeric"

[[attribute]]
name = "sex"
size = 2
kind = "categorical"
values = ["f", "m"]
"#;

const WORKLOAD: &str = r#"
[[queries]]
family = "hybrid"
ways = [1, 2]

[[queries]]
family = "affine"
attributes = ["income", "age"]
weight = 2.0
"#;

/// Runs `matmech plan` on a schema and a workload with more arguments.
fn plan(folder: &Path, schema: &str, workload: &str, words: &[&str]) -> assert_cmd::assert::Assert {
    std::fs::write(folder.join("S.toml"), schema).unwrap();
    std::fs::write(folder.join("W.toml"), workload).unwrap();
    Command::cargo_bin("matmech")
        .unwrap()
        .current_dir(folder)
        .args(["plan", "--schema", "S.toml", "--workload", "W.toml"])
        .args(words)
        .assert()
}

fn json(words: &[&str]) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
    let output =
        plan(folder.path(), SCHEMA, WORKLOAD, &words).success().get_output().stdout.clone();
    serde_json::from_slice(&output).unwrap()
}

#[test]
fn json_has_every_documented_field() {
    let report = json(&["--planner", "query-smasher", "--privacy-cost", "1"]);
    for field in [
        "planner",
        "queries",
        "rmse",
        "lower_bound_rmse",
        "groups",
        "privacy_cost",
        "residuals",
        "seconds",
        "peak_mb",
    ] {
        assert!(report.get(field).is_some(), "{field} is missing: {report}");
    }
    assert_eq!(report["planner"], "query-smasher");
    assert_eq!(report["neighbours"], "add-or-remove-one-record");
    assert_eq!(report["queries"], 20 + 80 + 20 + 16 + 17);
    assert_eq!(report["residuals"], 7);
    let groups = report["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 7);
    assert_eq!(groups[6]["attributes"], serde_json::json!(["age", "income"]));
    assert_eq!(
        (groups[6]["family"].as_str(), groups[6]["queries"].as_u64()),
        (Some("affine"), Some(17))
    );
    // The total mean square is the weighted mean of those of the groups.
    let total: f64 = groups
        .iter()
        .map(|g| {
            g["weight"].as_f64().unwrap()
                * g["rmse"].as_f64().unwrap().powi(2)
                * g["queries"].as_f64().unwrap()
        })
        .sum();
    let rmse = report["rmse"].as_f64().unwrap();
    assert!((rmse * rmse * 153.0 / total - 1.0).abs() < 1e-12);
    let bound = report["lower_bound_rmse"].as_f64().unwrap();
    assert!(bound <= rmse * (1.0 + 1e-12) && bound > rmse * (1.0 - 1e-6));
    assert!(
        json(&["--planner", "weighted-fourier", "--privacy-cost", "1"])["lower_bound_rmse"]
            .is_null()
    );
}

#[test]
fn every_budget_notion_is_converted_to_a_privacy_cost() {
    let rmse = |words: &[&str]| json(words)["rmse"].as_f64().unwrap();
    let unit = rmse(&["--privacy-cost", "1"]);
    assert!((rmse(&["--rho", "0.5"]) / unit - 1.0).abs() < 1e-12);
    assert!((rmse(&["--mu", "1"]) / unit - 1.0).abs() < 1e-12);
    assert!((rmse(&["--mu", "2"]) / unit - 0.5).abs() < 1e-12);
    let approximate = json(&["--epsilon", "1", "--delta", "1e-9"]);
    let cost = approximate["privacy_cost"].as_f64().unwrap();
    assert!((approximate["rmse"].as_f64().unwrap() * cost.sqrt() / unit - 1.0).abs() < 1e-9);
    assert!(cost > 0.0 && cost < 0.1);
}

#[test]
fn the_largest_group_error_is_an_objective() {
    let cost = ["--privacy-cost", "2"];
    let words = |more: &[&'static str]| [&cost[..], more].concat();
    let number = |report: &serde_json::Value, field: &str| report[field].as_f64().unwrap();
    let mean = json(&cost);
    assert_eq!(mean, without_time(json(&words(&["--objective", "mean"])), &mean));
    assert!(mean.get("objective").is_none() && mean.get("gap").is_none());
    let report = json(&words(&["--objective", "max"]));
    let largest = |report: &serde_json::Value| {
        let error = |g: &serde_json::Value| number(g, "weight") * number(g, "rmse").powi(2);
        report["groups"].as_array().unwrap().iter().map(error).fold(0.0, f64::max)
    };
    assert_eq!(report["objective"], "max");
    assert!((number(&report, "largest_group_error") / largest(&report) - 1.0).abs() < 1e-12);
    assert_eq!(report["objective_value"], report["largest_group_error"]);
    let gap = number(&report, "objective_value") / number(&report, "lower_bound") - 1.0;
    assert!((0.0..1e-6).contains(&gap) && (number(&report, "gap") - gap).abs() < 1e-12, "{gap}");
    assert!(largest(&report) < largest(&mean) && report["lower_bound_rmse"].is_null());
    assert!(number(&report, "rmse") > number(&mean, "rmse"));
    let option = json(&words(&["--planner", "query-smasher(objective=max)"]));
    assert_eq!(report, without_time(option, &report));
    let folder = tempfile::tempdir().unwrap();
    let text = plan(folder.path(), SCHEMA, WORKLOAD, &words(&["--objective", "balanced:0.5"]));
    text.success().stdout(contains("objective     balanced:0.5: largest").and(contains("gap")));
}

/// Returns a report with the time and the memory of another one.
fn without_time(mut report: serde_json::Value, other: &serde_json::Value) -> serde_json::Value {
    for field in ["seconds", "peak_mb"] {
        report[field] = other[field].clone();
    }
    report
}

#[test]
fn the_reference_measure_is_reported() {
    let cost = ["--privacy-cost", "1"];
    let words = |more: &[&'static str]| [&cost[..], more].concat();
    let smasher = json(&cost);
    let best = json(&words(&["--planner", "anova"]));
    assert!(best["rmse"].as_f64().unwrap() < smasher["rmse"].as_f64().unwrap());
    assert_eq!(best["measure_search"]["uniform_rmse"], smasher["rmse"]);
    let measure: Vec<f64> = serde_json::from_value(best["measure"][0]["measure"].clone()).unwrap();
    assert!(
        (measure.len(), best["measure"][0]["attribute"].as_str()) == (10, Some("age")),
        "{best}"
    );
    let uniform = json(&words(&["--planner", "anova", "--measure", "uniform"]));
    assert_eq!(uniform["rmse"], smasher["rmse"]);
    let by_option = json(&words(&["--planner", "anova(measure=uniform)"]));
    assert_eq!(by_option["rmse"], uniform["rmse"]);
    assert!(uniform["measure_search"].is_null() && smasher["global_lower_bound_rmse"].is_null());
}

/// Any path is a value: `=`, `,` and `)` in it are no syntax.
#[test]
fn measure_files_have_any_name() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("n=4,d=3")).unwrap();
    let measure = "[[attribute]]\nname = \"sex\"\nmeasure = [0.4, 0.6]\n";
    for path in ["M.toml", "n=4,d=3/M.toml", "M).toml"] {
        std::fs::write(folder.path().join(path), measure).unwrap();
        let words = ["--privacy-cost", "1", "--planner", "anova", "--measure", path];
        plan(folder.path(), SCHEMA, WORKLOAD, &words).success().stdout(contains("RMSE"));
    }
}

#[test]
fn the_report_has_the_global_bound_or_the_reason_for_none() {
    let bounded = json(&["--privacy-cost", "1", "--planner", "anova", "--global-bound"]);
    let (rmse, bound) =
        (bounded["rmse"].as_f64().unwrap(), bounded["global_lower_bound_rmse"].as_f64().unwrap());
    assert!(bound <= rmse && bound > 0.9 * rmse, "{bounded}");
    assert_eq!(
        (&bounded["global_lower_bound_note"], &bounded["global_lower_bound_error"]),
        (&"explicit".into(), &0.0.into())
    );
    let folder = tempfile::tempdir().unwrap();
    let large = SCHEMA.replace("size = 10", "size = 500").replace("count = 10", "count = 500");
    let output = plan(
        folder.path(),
        &large,
        "[[queries]]\nfamily = \"hybrid\"\nways = [3]\n",
        &["--privacy-cost", "1", "--global-bound", "--json"],
    )
    .success()
    .get_output()
    .stdout
    .clone();
    let report: serde_json::Value = serde_json::from_slice(&output).unwrap();
    assert!(report["global_lower_bound_rmse"].is_null());
    assert!(
        report["global_lower_bound_note"].as_str().unwrap().contains("queries on 3 attributes"),
        "{report}"
    );
}

/// The budget that is found meets the target, in plans and in releases, and hardly less does not.
#[test]
fn the_budget_of_a_target_meets_it() {
    let number = |report: &serde_json::Value, field: &str| report[field].as_f64().unwrap();
    let largest = |report: &serde_json::Value| {
        let groups = report["groups"].as_array().unwrap().iter();
        groups.map(|group| group["rmse"].as_f64().unwrap()).fold(0.0, f64::max)
    };
    for objective in ["mean", "max"] {
        let objective = ["--objective", objective];
        for (option, most) in [("--target-rmse", 3.7), ("--target-interval", 25.0)] {
            let error = |report: &serde_json::Value| match option {
                "--target-rmse" => number(report, "rmse"),
                _ => 1.959_963_984_540_054 * largest(report),
            };
            let text = most.to_string();
            let found = json(&[&[option, &text, "--at-delta", "1e-6"], &objective[..]].concat());
            assert!(error(&found) <= most && error(&found) > most * (1.0 - 1e-5), "{found}");
            let budget = &found["found_budget"];
            let [rho, epsilon] = ["rho", "epsilon"].map(|field| budget[field].to_string());
            for more in [&["--rho", &rho][..], &["--epsilon", &epsilon, "--delta", "1e-6"]] {
                let again = json(&[more, &objective[..]].concat());
                assert!(error(&again) <= most && error(&again) > most * (1.0 - 1e-3), "{again}");
                let folder = tempfile::tempdir().unwrap();
                std::fs::write(folder.path().join("S.toml"), SCHEMA).unwrap();
                std::fs::write(folder.path().join("W.toml"), WORKLOAD).unwrap();
                let mut release = Command::cargo_bin("matmech").unwrap();
                release.current_dir(folder.path()).args(["release", "--dry-run", "--json"]);
                release.args(["--schema", "S.toml", "--workload", "W.toml"]);
                release.args(["--out-of-domain", "drop"]).args(more).args(objective);
                let output = release.assert().success().get_output().stdout.clone();
                let dry: serde_json::Value = serde_json::from_slice(&output).unwrap();
                assert!(error(&dry) <= most * (1.0 + 1e-9), "{dry}");
            }
            let three = json(&[&[option, &text, "--unit-rows", "3"], &objective[..]].concat());
            let ratio = number(&three["found_budget"], "rho") / number(budget, "rho");
            assert!((ratio - 9.0).abs() < 1e-3, "{ratio}");
            assert!(error(&three) <= most);
        }
    }
}

#[test]
fn combinations_are_those_of_single_plans() {
    let words = ["--compare", "epsilon=0.5,2", "unit-rows=1,3", "planner=anova,residual-planner"];
    let compared = json(&words);
    let rows = compared["combinations"].as_array().unwrap();
    assert_eq!(rows.len(), 8);
    let last = &rows[7];
    assert_eq!((&last["planner"], &last["unit_rows"]), (&"residual-planner".into(), &3.into()));
    assert_eq!(last["budget"], serde_json::json!({"epsilon": 2.0, "delta": 1e-9}));
    let single = ["--epsilon", "2", "--delta", "1e-9", "--planner", "residual-planner"];
    let single = json(&single)["rmse"].as_f64().unwrap();
    assert!((last["rmse"].as_f64().unwrap() / single / 3.0 - 1.0).abs() < 1e-9);
    let given = json(&["--compare", "unit-rows=1,2", "--rho", "0.5"]);
    let rmse = |row: usize| given["combinations"][row]["rmse"].as_f64().unwrap();
    assert!((rmse(1) / rmse(0) - 2.0).abs() < 1e-12);
}

#[test]
fn all_marginals_are_given_by_their_numbers_of_attributes() {
    let folder = tempfile::tempdir().unwrap();
    let by_file = "[[queries]]\nfamily = \"identity\"\nways = [1, 2]\n";
    let words = ["--rho", "0.5", "--json"];
    let file = plan(folder.path(), SCHEMA, by_file, &words).success().get_output().stdout.clone();
    let mut ways = Command::cargo_bin("matmech").unwrap();
    ways.current_dir(folder.path()).args(["plan", "--schema", "S.toml", "--ways", "1,2"]);
    let ways = ways.args(words).assert().success().get_output().stdout.clone();
    let [file, ways]: [serde_json::Value; 2] =
        [file, ways].map(|text| serde_json::from_slice(&text).unwrap());
    assert_eq!(file, without_time(ways, &file));
}
