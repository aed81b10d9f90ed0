//! Tests of `matmech draft-schema --private --open`.

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use predicates::str::contains;

fn matmech(here: &Path, words: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("matmech").unwrap().current_dir(here).args(words).assert()
}

/// The columns of a table of many records, and one line more.
fn table(more: &str) -> String {
    let jobs = ["baker", "\"a, \"\"b\"\"\"", "Baker"];
    let lines = (0..3000).map(|k| format!("{},{},{}\n", k, jobs[k % 3], k % 50));
    format!("id,job,age\n{}{more}", lines.collect::<String>())
}

fn draft(here: &Path, name: &str, words: &[&str]) -> Output {
    let [data, ledger] = [format!("{name}.csv"), format!("{name}.jsonl")];
    let files = ["--data", &data, "--ledger", &ledger, "--out", name];
    let budget = ["--epsilon", "4", "--delta", "1e-6", "--new-delta", "1e-7"];
    let command = ["draft-schema", "--private"];
    matmech(here, &[&command[..], &files, &budget, words].concat()).get_output().clone()
}

#[test]
fn values_of_many_records_are_listed_and_delta_is_charged() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("X.csv"), table("")).unwrap();
    matmech(here, &["ledger", "create", "X.jsonl", "--epsilon", "4", "--delta", "1e-6"]).success();
    let columns = ["--column", "age", "--open", "job", "--json"];
    let output = draft(here, "X", &columns);
    assert!(output.status.success(), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["releases"], &report["columns"][1]["count"]), (&3.into(), &3.into()));
    assert_eq!((&report["epsilon"], &report["delta"]), (&4.0.into(), &1e-6.into()));
    let schema = std::fs::read_to_string(here.join("X/schema.toml")).unwrap();
    let listed = "values = [\"Baker\", \"a, \\\"b\\\"\", \"baker\"]\nmissing = \"unknown\"\n\
                  other = \"other\"\n";
    assert!(schema.contains(listed), "{schema}");
    let statement = std::fs::read_to_string(here.join("X/values-1/statement.json")).unwrap();
    assert!(statement.contains("\"new_delta\": 1e-7"), "{statement}");
    let statement = std::fs::read_to_string(here.join("X/values-1/statement.md")).unwrap();
    assert!(statement.contains(", 1e-6)-differential privacy"), "{statement}");
    let measured = std::fs::read_to_string(here.join("X/values-1/measurements/values.json"));
    assert!(measured.unwrap().contains("\"baker\""));
    assert!(here.join("X/values-1/measurements/SHA256SUMS").exists());
    // The whole budget is spent, and the ledger states it with both terms.
    matmech(here, &["ledger", "show", "X.jsonl"])
        .success()
        .stdout(contains("together epsilon 4 at delta 1e-6\n"))
        .stdout(contains("delta' 1e-7 of delta"));
    // Without any value above the threshold there is no attribute.
    std::fs::write(here.join("N.csv"), "job\nbaker\n").unwrap();
    matmech(here, &["ledger", "create", "N.jsonl", "--epsilon", "4", "--delta", "1e-6"]).success();
    assert!(draft(here, "N", &["--open", "job"]).status.success());
    let schema = std::fs::read_to_string(here.join("N/schema.toml")).unwrap();
    assert!(schema.contains("# \"job\": no value had enough records\n"), "{schema}");
}

#[test]
fn what_can_be_refused_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("X.csv"), table("")).unwrap();
    matmech(here, &["ledger", "create", "X.jsonl", "--rho", "9"]).success();
    let refused = |words: &[&str]| {
        let output = draft(here, "X", words);
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    // A budget of rho allows no δ′.
    assert!(refused(&["--open", "job"]).contains("--epsilon and --delta"));
    assert!(refused(&["--column", "age"]).contains("--open"));
    assert!(refused(&["--open", "job", "--open", "job"]).contains("job"));
    assert!(refused(&["--open", "town"]).contains("no column `town`"));
    matmech(here, &["ledger", "show", "X.jsonl"]).success().stdout(contains("in 0 reservations"));
    assert!(!here.join("X").exists());
    // δ′ is a part of δ, and needs a column of texts.
    let dry = ["draft-schema", "--private", "--dry-run", "--epsilon", "1", "--delta", "1e-6"];
    for (words, part) in [
        (&["--open", "job", "--new-delta", "1e-6"][..], "less than delta"),
        (&["--open", "job", "--new-delta", "0"], "above 0"),
        (&[], "--open for texts"),
    ] {
        matmech(here, &[&dry[..], words].concat()).failure().stderr(contains(part));
    }
    let words = ["--open", "job", "--new-delta", "1e-7"];
    matmech(here, &[&dry[..], &words].concat())
        .success()
        .stdout(contains("epsilon 1 at delta 1e-6"));
}

/// Tables that differ in the records of one person: nothing printed differs, and no value that only
/// this person has is listed.
#[test]
fn one_person_shows_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let said = |name: &str, more: &str| {
        std::fs::write(here.join(format!("{name}.csv")), table(more)).unwrap();
        let ledger = format!("{name}.jsonl");
        let unit = ["--person", "id", "--unit-rows", "3"];
        let budget = ["--epsilon", "4", "--delta", "1e-6"];
        let create = ["ledger", "create", &ledger];
        matmech(here, &[&create[..], &budget, &unit].concat()).success();
        let output = draft(here, name, &[&["--open", "job"][..], &unit].concat());
        assert!(output.status.success(), "{output:?}");
        let schema = std::fs::read_to_string(here.join(name).join("schema.toml")).unwrap();
        let printed = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (schema, printed.map(|text| text.replace(name, "NAME")))
    };
    let without = said("without", "");
    assert!(without.0.contains("values = [\"Baker\", \"a, \\\"b\\\"\", \"baker\"]"), "{without:?}");
    for (k, more) in [
        "p,secret,1\np,secret,2\np,secret,3\n",
        "p,s1,1\np,s2,2\np,s3,3\np,s4,4\n",
        "p,BAKER,1\np,ba ker,1\np,\"ba\nker\",1\n",
        "p,,1\np,other,1\np,unknown,1\n",
        "p, baker ,1\np,\"baker\r\",1\n,secret,1\n",
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(without, said(&format!("with{k}"), more), "{more}");
    }
}
