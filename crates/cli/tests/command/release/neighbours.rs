//! Pairs of neighbouring files: outputs must not distinguish them, except through the noisy
//! integers.

use std::path::Path;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::{DROP, folder, matmech, read, release, words};

/// Returns a report without the costs measured before the records are read, and without the folder
/// name.
fn report(bytes: &[u8]) -> serde_json::Value {
    let mut report: serde_json::Value = serde_json::from_slice(bytes).unwrap();
    for field in ["expected_seconds", "expected_mb", "out"] {
        assert!(!report[field].is_null(), "{field}");
        report[field] = serde_json::Value::Null;
    }
    report
}

/// Returns the statement without its ledger line, which counts releases.
fn statement(here: &Path, name: &str) -> serde_json::Value {
    let mut statement: serde_json::Value = serde_json::from_str(&read(here, name)).unwrap();
    assert!(statement["ledger"]["line"].as_u64().is_some_and(|line| line > 2));
    statement["ledger"] = serde_json::Value::Null;
    statement
}

/// No record and many records; a large value, one outside the schema, and a line that is too long.
#[test]
fn outputs_do_not_depend_on_the_records() {
    let folder = folder();
    let here = folder.path();
    let first = release(here, "R0", &["--json"]).success().get_output().clone();
    let many: String = "7,clerk\n".repeat(70_000);
    for (k, text) in [
        "job,age\n".to_owned(),
        format!("age,job\n{many}"),
        "age,job\n79,secret\n7,clerk,secret\n".into(),
    ]
    .iter()
    .enumerate()
    {
        std::fs::write(here.join("X.csv"), text).unwrap();
        let name = format!("R{}", k + 1);
        let other = release(here, &name, &["--json"]).success().get_output().clone();
        assert_eq!(report(&first.stdout), report(&other.stdout));
        let report: serde_json::Value = serde_json::from_slice(&other.stdout).unwrap();
        assert!(report.get("seconds").is_none() && report.get("peak_mb").is_none(), "{report}");
        // Before anything is spent, one line with the expected error.
        let said = String::from_utf8_lossy(&other.stderr).into_owned();
        assert!(said.starts_with("expected      RMSE ") && said.lines().count() == 1, "{said}");
        assert!(!said.contains("secret"));
        for file in ["statement.json", "measurements/statement.json"] {
            assert_eq!(
                statement(here, &format!("R0/{file}")),
                statement(here, &format!("{name}/{file}"))
            );
        }
        for file in ["measurements/strategies.json", "measurements/schema.toml"] {
            assert_eq!(
                read(here, &format!("R0/{file}")),
                read(here, &format!("{name}/{file}")),
                "{file}"
            );
        }
    }
    // The report in words has no time and no memory either.
    matmech(here, &["ledger", "create", "T.jsonl", "--rho", "1"]).success();
    let mut text = words("T", &[]);
    text[8] = "T.jsonl";
    matmech(here, &text).success().stdout(
        contains("time").not().and(contains("memory").not()).and(contains("written       T")),
    );
}

/// 100 records `a` against 99 and one value outside the schema. Almost all weight is on the total,
/// so a total without noise would distinguish the files in every release.
#[test]
fn a_value_outside_the_schema_is_hidden_in_the_total() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let schema = "[[attribute]]\nname = \"job\"\nsize = 2\nkind = \"categorical\"\n\
                  values = [\"a\", \"b\"]\n";
    let workload = "[[queries]]\nfamily = \"total\"\nattributes = [\"job\"]\nweight = 1e11\n\
                    [[queries]]\nfamily = \"identity\"\nattributes = [\"job\"]\n";
    for (name, text) in [
        ("S.toml", schema.to_owned()),
        ("O.toml", format!("{schema}other = \"b\"\n")),
        ("W.toml", workload.into()),
    ] {
        std::fs::write(here.join(name), text).unwrap();
    }
    std::fs::write(here.join("with.csv"), format!("job\n{}", "a\n".repeat(100))).unwrap();
    std::fs::write(here.join("without.csv"), format!("job\n{}?\n", "a\n".repeat(99))).unwrap();
    std::fs::write(here.join("blank.csv"), format!("job\n{}\n", "a\n".repeat(99))).unwrap();
    matmech(
        here,
        &[
            "ledger",
            "create",
            "L.jsonl",
            "--epsilon",
            "20",
            "--delta",
            "1e-9",
            "--neighbours",
            "replace",
        ],
    )
    .success();
    let total = |schema: &str, data: &str, k: usize| -> f64 {
        let out = format!("{schema}{data}{k}");
        let rest = [
            "--workload",
            "W.toml",
            "--ledger",
            "L.jsonl",
            "--neighbours",
            "replace",
            "--epsilon",
            "0.1",
            "--delta",
            "1e-9",
        ];
        let first = ["release", "--schema", schema, "--data", data, "--out", out.as_str()];
        let rule: &[&str] = if schema == "O.toml" { &[] } else { &DROP };
        matmech(here, &[first.as_slice(), rest.as_slice(), rule].concat()).success();
        let answers = read(here, &format!("{out}/answers.csv"));
        let row = answers.lines().find(|line| line.contains(",total,")).unwrap();
        row.split(',').nth(4).unwrap().parse().unwrap()
    };
    for data in ["with.csv", "without.csv"] {
        // σ is about 53: six releases within 1.5 records of 100 have a probability below 1e-9.
        let near =
            (0..6).map(|k| total("S.toml", data, k)).filter(|x| (x - 100.0).abs() < 1.5).count();
        assert!(near < 6, "{data}: the total has no noise");
        // With a cell for other values no record is dropped, and the number of records is public.
        assert_eq!(total("O.toml", data, 0), 100.0, "{data}");
    }
    assert_eq!(total("O.toml", "blank.csv", 0), 100.0);
    let statement: serde_json::Value =
        serde_json::from_str(&read(here, "O.tomlwith.csv0/statement.json")).unwrap();
    assert_eq!(statement["number_of_records_is_public"], true);
    assert_eq!(statement["unit"]["neighbours"], "replace-one-record");
    let statement: serde_json::Value =
        serde_json::from_str(&read(here, "S.tomlwith.csv0/statement.json")).unwrap();
    assert_eq!(statement["unit"]["neighbours"], "replace-add-or-remove-one-record");
}

/// ε and δ are printed identically everywhere, and never rounded down, not even to zero.
#[test]
fn epsilon_is_printed_consistently_and_never_too_small() {
    let folder = folder();
    let here = folder.path();
    for (rho, out) in [("1e-16", "A"), ("0.001", "B")] {
        let mut arguments = words(out, &["--epsilon"]);
        arguments.pop();
        // Without --delta, the statement's default δ is used.
        arguments.extend(["--rho", rho]);
        let printed =
            String::from_utf8(matmech(here, &arguments).success().get_output().stdout.clone())
                .unwrap();
        let statement: serde_json::Value =
            serde_json::from_str(&read(here, &format!("{out}/statement.json"))).unwrap();
        let (epsilon, delta) = (statement["epsilon"].to_string(), statement["delta"].to_string());
        assert!(printed.contains(&format!("epsilon {epsilon} at delta {delta};")), "{printed}");
        let markdown = read(here, &format!("{out}/statement.md"));
        assert!(
            markdown.contains(&format!("({epsilon}, {delta})-differential privacy")),
            "{markdown}"
        );
        let reserved = statement["rho_reserved"].as_f64().unwrap();
        let rho = matmech::privacy::Rho::new(reserved).unwrap();
        assert!(statement["rho"].as_f64().unwrap() <= reserved);
        let epsilon: f64 = epsilon.parse().unwrap();
        assert_eq!(epsilon, matmech::privacy::fine_noise::epsilon_rounded_up(rho, 1e-9).unwrap());
        assert!(epsilon > 0.0 && epsilon <= rho.epsilon_rounded_up(1e-9).unwrap());
    }
}

/// `--person`: a person with many records counts at most as often as the unit allows.
#[test]
fn records_of_one_person_are_limited() {
    let folder = folder();
    let here = folder.path();
    let others: String = (0..60).map(|k| format!("p{k},{},clerk\n", k % 80)).collect();
    std::fs::write(
        here.join("X.csv"),
        format!("id,age,job\n{others}{}", "x,7,cook\n".repeat(5_000)),
    )
    .unwrap();
    let create = ["ledger", "create", "K.jsonl", "--rho", "1000", "--unit-rows", "2"];
    matmech(here, &[&create[..], &["--person", "id"]].concat()).success();
    let mut arguments = words("R", &["--person", "id", "--unit-rows", "2"]);
    arguments[8] = "K.jsonl";
    let budget = arguments.iter().position(|word| *word == "0.25").unwrap();
    arguments[budget] = "100";
    matmech(here, &arguments).success();
    let statement: serde_json::Value =
        serde_json::from_str(&read(here, "R/statement.json")).unwrap();
    assert_eq!(
        (&statement["person_limit"]["column"], &statement["person_limit"]["rows"]),
        (&"id".into(), &2.into())
    );
    let answers = read(here, "R/answers.csv");
    let all = answers.lines().find(|line| line.contains(",any age,")).unwrap();
    let fields: Vec<f64> = all.split(',').filter_map(|field| field.parse().ok()).collect();
    assert!((fields[0] - 62.0).abs() < 7.0 * fields[1], "{all}");
    arguments[10] = "Q";
    let column = arguments.iter().position(|word| *word == "id").unwrap();
    arguments[column] = "ssn";
    matmech(here, &arguments).failure().stderr(contains("no column `ssn`"));
    arguments[column] = "job";
    matmech(here, &arguments).failure().stderr(contains("the same value of `id`"));
}
