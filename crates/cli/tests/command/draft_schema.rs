//! Tests of `matmech draft-schema`.

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

#[test]
fn a_draft_is_a_schema_of_its_table_and_never_overwrites() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let table = "id,age,job\n".to_owned()
        + &(0..60).map(|k| format!("p{k},{},{}\n", 20 + k, ["a", "b"][k % 2])).collect::<String>();
    std::fs::write(here.join("X.csv"), table).unwrap();
    let matmech = |words: &[&str]| {
        Command::cargo_bin("matmech").unwrap().current_dir(here).args(words).assert()
    };
    let draft = ["draft-schema", "--data", "X.csv", "--output", "S.toml"];
    matmech(&draft).success().stdout(contains("NOT PRIVATE"));
    let written = std::fs::read_to_string(here.join("S.toml")).unwrap();
    matmech(&draft[..3]).success().stdout(written.clone());
    matmech(&["check-data", "--schema", "S.toml", "--data", "X.csv"])
        .success()
        .stdout(contains("60 read, 60 kept"));
    matmech(&draft).failure().code(1).stderr(contains("does not exist").and(contains("remedy")));
    matmech(&["draft-schema", "--data", "nowhere.csv", "--output", "T.toml"]).failure().code(1);
    assert_eq!(std::fs::read_to_string(here.join("S.toml")).unwrap(), written);
    assert!(!here.join("T.toml").exists());
}

/// The drafted edges cover the numbers, and the ledger is charged for all releases together.
#[test]
fn a_private_draft_covers_the_numbers_and_is_charged() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let line = |k: i32| match k % 10 {
        0 => format!(",{}\n", ["", "n/a", "inf", "1e300"][k as usize / 10 % 4]),
        _ => format!("{},{}\n", 18 + k % 80, f64::from(k % 300) * 7.5 - 500.0),
    };
    let table = "age,income\n".to_owned() + &(0..6000).map(line).collect::<String>();
    std::fs::write(here.join("X.csv"), table).unwrap();
    let matmech = |words: &[&str]| {
        Command::cargo_bin("matmech").unwrap().current_dir(here).args(words).assert()
    };
    matmech(&["ledger", "create", "L.jsonl", "--rho", "0.3"]).success();
    let draft = ["draft-schema", "--private", "--column", "age", "--column", "income"];
    let budget = ["--rho", "0.2"];
    matmech(&[&draft[..], &budget, &["--dry-run"]].concat())
        .success()
        .stdout(contains("4 of rho 0.05 each").and(contains("nothing spent")));
    let files = |data| ["--data", data, "--ledger", "L.jsonl", "--out", "D"];
    // Faults that are knowable cost nothing: a column that is missing, too small a ledger.
    std::fs::write(here.join("Y.csv"), "age\n1\n").unwrap();
    matmech(&[&draft[..], &budget, &files("Y.csv")].concat())
        .failure()
        .stderr(contains("no column `income`"));
    matmech(&[&draft[..], &["--rho", "0.31"], &files("X.csv")].concat()).failure().code(1);
    matmech(&["ledger", "show", "L.jsonl"]).success().stdout(contains("left      rho 0.3\n"));
    assert!(!here.join("D").exists());
    matmech(&[&draft[..], &budget, &files("X.csv")].concat()).success();
    matmech(&["ledger", "show", "L.jsonl"]).success().stdout(contains("left      rho 0.1\n"));
    // 18 to 97 is within [16, 128), -500 to 1742.5 within [-512, 2048): no count is near the noise.
    let schema = std::fs::read_to_string(here.join("D/schema.toml")).unwrap();
    let checked = matmech(&["check-data", "--schema", "D/schema.toml", "--data", "X.csv"]);
    checked.success().stdout(contains("6000 read, 6000 kept"));
    assert!(schema.contains("edges = [16, ") && schema.contains(", 128]"), "{schema}");
    // 1e300 is above all edges.
    assert!(schema.contains("edges = [-512, "), "{schema}");
    for key in
        ["below = true\n", "above = true\n", "missing = \"unknown\"\n", "other = \"other\"\n"]
    {
        assert_eq!(schema.matches(key).count(), 2, "{schema}");
    }
    for name in ["range-1", "quantiles-1", "range-2", "quantiles-2"] {
        let release = here.join("D").join(name);
        assert!(release.join("measurements/noisy.csv").exists(), "{name}");
        let statement = std::fs::read_to_string(release.join("statement.json")).unwrap();
        assert!(
            statement.contains("missing and outside values: counted as `other`"),
            "{statement}"
        );
        assert!(statement.contains("\"out_of_domain\": \"other\""), "{statement}");
    }
    // The schema is one under which no record can be dropped, so it needs no other rule.
    let release = ["release", "--schema", "D/schema.toml", "--ways", "1", "--rho", "0.01"];
    matmech(&[&release[..], &["--dry-run"]].concat()).success();
}

/// Tables that differ in one record, which has the only extreme number, the only missing number, or
/// the only text: nothing printed differs, and the record is far below the threshold, so it decides no end
/// of the range.
#[test]
fn one_record_does_not_extend_the_range() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let lines: String = (0..3000).map(|k| format!("{},\n", 18 + k % 80)).collect();
    let table = "age,x\n".to_owned() + &lines;
    std::fs::write(here.join("without.csv"), &table).unwrap();
    let values = ["123456789", "-1e300", "", "inf", "many", "\"a\nb\""];
    for (k, value) in values.iter().enumerate() {
        std::fs::write(here.join(format!("with{k}.csv")), format!("{table}{value},\n")).unwrap();
    }
    let said = |name: &str| {
        let matmech = |words: &[&str]| {
            Command::cargo_bin("matmech").unwrap().current_dir(here).args(words).assert()
        };
        let (ledger, data) = (format!("{name}.jsonl"), format!("{name}.csv"));
        matmech(&["ledger", "create", &ledger, "--rho", "0.1"]).success();
        let words = ["draft-schema", "--private", "--column", "age", "--rho", "0.1", "--data"];
        let files = [data.as_str(), "--ledger", &ledger, "--out", name];
        let output = matmech(&[&words[..], &files].concat()).success().get_output().clone();
        let schema = std::fs::read_to_string(here.join(name).join("schema.toml")).unwrap();
        assert!(schema.contains("edges = [16, ") && schema.contains(", 128]"), "{schema}");
        let printed = String::from_utf8(output.stdout).unwrap();
        printed.replace(name, "NAME")
    };
    let without = said("without");
    for (k, value) in values.iter().enumerate() {
        assert_eq!(without, said(&format!("with{k}")), "{value}");
    }
}

/// A column of integers of a Parquet file gets edges at integers. The file has 3000 records, `age`
/// null in every tenth, otherwise from 18 to 97, and `job` baker and clerk in turn.
#[test]
fn a_private_draft_of_parquet_has_integers() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("X.parquet"), include_bytes!("ages.parquet")).unwrap();
    let matmech = |words: &[&str]| {
        Command::cargo_bin("matmech").unwrap().current_dir(here).args(words).assert()
    };
    matmech(&["ledger", "create", "L.jsonl", "--epsilon", "4", "--delta", "1e-6"]).success();
    let budget = ["--epsilon", "3", "--delta", "1e-6", "--new-delta", "1e-7"];
    let draft = ["draft-schema", "--private", "--data", "X.parquet", "--ledger", "L.jsonl"];
    let draft = [&draft[..], &budget].concat();
    // A column of integers has no texts, whatever its values.
    matmech(&[&draft[..], &["--open", "age", "--out", "E"]].concat())
        .failure()
        .stderr(contains("column `age`").and(contains("a column of integers")));
    matmech(&["ledger", "show", "L.jsonl"]).success().stdout(contains("in 0 reservations"));
    let columns = ["--column", "age", "--open", "job", "--out", "D"];
    matmech(&[&draft[..], &columns].concat()).success();
    let schema = std::fs::read_to_string(here.join("D/schema.toml")).unwrap();
    assert!(schema.contains("kind = \"integer\"\nedges = [16, "), "{schema}");
    assert!(schema.contains(", 128]\nbelow = true\n"), "{schema}");
    assert!(schema.contains("values = [\"baker\", \"clerk\"]\n"), "{schema}");
    matmech(&["check-data", "--schema", "D/schema.toml", "--data", "X.parquet"])
        .success()
        .stdout(contains("3000 read, 3000 kept"));
}
