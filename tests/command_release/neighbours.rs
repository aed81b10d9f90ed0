//! Pairs of neighbouring files: what is printed and written must not tell them apart, except
//! through the noisy integers.

use std::path::Path;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::{folder, matmech, read, release, words};

/// A report without what is measured before the records are read, and without the name of its
/// folder.
fn report(bytes: &[u8]) -> serde_json::Value {
    let mut report: serde_json::Value = serde_json::from_slice(bytes).unwrap();
    for field in ["expected_seconds", "expected_mb", "out"] {
        assert!(!report[field].is_null(), "{field}");
        report[field] = serde_json::Value::Null;
    }
    report
}

/// The statement without the line of the ledger, which counts releases.
fn statement(here: &Path, name: &str) -> serde_json::Value {
    let mut statement: serde_json::Value = serde_json::from_str(&read(here, name)).unwrap();
    assert!(statement["ledger"]["line"].as_u64().is_some_and(|line| line > 2));
    statement["ledger"] = serde_json::Value::Null;
    statement
}

/// Many records and none; a record that is wide, one outside the schema, one too long.
#[test]
fn nothing_quotes_counts_times_or_sizes_the_records() {
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
        // Before anything is spent: what to expect, in one line.
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
    // In words too: no time, no memory.
    matmech(here, &["ledger", "create", "T.jsonl", "--rho", "1"]).success();
    let mut text = words("T", &[]);
    text[8] = "T.jsonl";
    matmech(here, &text).success().stdout(
        contains("time").not().and(contains("memory").not()).and(contains("written       T")),
    );
}

/// The audit's pair: 100 records `a` against 99 and one value outside the schema. With all weight
/// on the total, a total that costs nothing would tell the two apart in every release.
#[test]
fn a_value_outside_the_schema_cannot_be_seen_in_the_total() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let schema = "[[attribute]]\nname = \"job\"\nsize = 2\nkind = \"categorical\"\nvalues = [\"a\", \"b\"]\n";
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
        let own = ["release", "--schema", schema, "--data", data, "--out", out.as_str()];
        matmech(here, &[own.as_slice(), rest.as_slice()].concat()).success();
        let answers = read(here, &format!("{out}/answers.csv"));
        let row = answers.lines().find(|line| line.contains(",total,")).unwrap();
        row.split(',').nth(4).unwrap().parse().unwrap()
    };
    for data in ["with.csv", "without.csv"] {
        // σ is about 53: six releases within half a record of their table's number have a
        // probability below 1e-12.
        let near =
            (0..6).map(|k| total("S.toml", data, k)).filter(|x| (x - 100.0).abs() < 1.5).count();
        assert!(near < 6, "{data}: the total has no noise");
        // With a cell for other values no record is left out, and the number of records is public.
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

/// ε and δ are the same text wherever they are printed, and never rounded down: not even to zero.
#[test]
fn epsilon_is_printed_alike_and_never_too_small() {
    let folder = folder();
    let here = folder.path();
    for (rho, out) in [("1e-16", "A"), ("0.001", "B")] {
        let mut own = words(out, &["--epsilon"]);
        own.pop();
        own.extend(["--rho", rho, "--delta", "1e-9"]);
        // --delta belongs to --epsilon; with --rho the statement's own is used.
        own.truncate(own.len() - 2);
        let printed =
            String::from_utf8(matmech(here, &own).success().get_output().stdout.clone()).unwrap();
        let statement: serde_json::Value =
            serde_json::from_str(&read(here, &format!("{out}/statement.json"))).unwrap();
        let (epsilon, delta) = (statement["epsilon"].to_string(), statement["delta"].to_string());
        assert!(printed.contains(&format!("epsilon {epsilon} at delta {delta};")), "{printed}");
        let markdown = read(here, &format!("{out}/statement.md"));
        assert!(
            markdown.contains(&format!("({epsilon}, {delta})-differential privacy")),
            "{markdown}"
        );
        let rho = matmech::privacy::Rho::new(statement["rho"].as_f64().unwrap()).unwrap();
        let epsilon: f64 = epsilon.parse().unwrap();
        assert_eq!(epsilon, matmech::privacy::fine_noise::epsilon_rounded_up(rho, 1e-9).unwrap());
        assert!(epsilon > 0.0 && epsilon <= rho.epsilon_rounded_up(1e-9).unwrap());
    }
}

/// `--person`: a person with many records counts as often as the unit says.
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
    matmech(here, &["ledger", "create", "K.jsonl", "--rho", "1000", "--unit-rows", "2"]).success();
    let mut own = words("R", &["--person", "id", "--unit-rows", "2"]);
    own[8] = "K.jsonl";
    let budget = own.iter().position(|word| *word == "0.25").unwrap();
    own[budget] = "100";
    matmech(here, &own).success();
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
    own[10] = "Q";
    let column = own.iter().position(|word| *word == "id").unwrap();
    own[column] = "ssn";
    matmech(here, &own).failure().stderr(contains("no column `ssn`"));
}
