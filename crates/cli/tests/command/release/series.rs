//! Series of releases about the same people, and the folders that a ledger binds.

use super::*;

/// Three releases of the same people: statements and ledger have the sum of their costs.
#[test]
fn a_series_states_its_total() {
    let folder = folder();
    let here = folder.path();
    release(here, "R1", &[]).success();
    release(here, "R2", &["--after", "R1"]).success().stdout(contains("series        2 releases"));
    let done = release(here, "R3", &["--after", "R2", "--json"]).success();
    let report: serde_json::Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    let statement: serde_json::Value =
        serde_json::from_str(&read(here, "R3/statement.json")).unwrap();
    let series = &statement["series"];
    assert_eq!(report["series"], *series);
    assert_eq!(series["rho"], 0.75);
    for (index, name) in ["R1", "R2"].into_iter().enumerate() {
        let earlier = &series["earlier"][index];
        let hash =
            |file: &str| matmech::hash::sha256(&std::fs::read(here.join(name).join(file)).unwrap());
        assert_eq!(earlier["folder"], name);
        assert_eq!(earlier["statement_sha256"], hash("statement.json"));
        assert_eq!(earlier["sha256sums_sha256"], hash("SHA256SUMS"));
    }
    assert!(read(here, "R3/statement.md").contains("This is release 3 of a series."));
    assert!(read(here, "R3/report.html").contains("3 releases: rho 0.75"));
    matmech(here, &["ledger", "show", "L.jsonl", "--release", "R3"])
        .success()
        .stdout(contains("series    3 releases: rho 0.75, epsilon"));
    // A staged release continues the same series; a dry run reads no ledger.
    let staged = ["--mechanism", "staged", "--after", "R3"];
    release(here, "R4", &staged).success().stdout(contains("series        4 releases: rho 1, "));
    matmech(here, &["ledger", "show", "L.jsonl", "--release", "R4", "--json"])
        .success()
        .stdout(contains("\"rho\": 1.0"));
    let mut dry = words("R5", &["--after", "R4", "--dry-run"]);
    dry.retain(|word| !["--ledger", "L.jsonl"].contains(word));
    matmech(here, &dry).success().stdout(contains("series        5 releases: rho 1.25"));
}

/// Whatever does not fit is refused before anything is charged.
#[test]
fn another_series_is_refused() {
    let folder = folder();
    let here = folder.path();
    release(here, "R1", &[]).success();
    let refused = |more: &[&str], part: &str| {
        release(here, "R2", more).failure().stderr(contains(part));
        assert!(!here.join("R2").exists() && !here.join("R2.partial").exists());
    };
    refused(&["--after", "none"], "the folder of a complete release");
    refused(&["--after", "R1/measurements"], "the folder of a complete release");
    refused(&["--after", "R1", "--unit-rows", "2"], "--unit-rows");
    refused(&["--after", "R1", "--neighbours", "replace"], "--neighbours");
    refused(&["--after", "R1", "--person", "age"], "of a person by `age`");
    let other = ["ledger", "create", "M.jsonl", "--rho", "1"];
    matmech(here, &other).success();
    let mut with_other = words("R2", &["--after", "R1"]);
    with_other.iter_mut().for_each(|word| {
        if *word == "L.jsonl" {
            *word = "M.jsonl";
        }
    });
    matmech(here, &with_other).failure().stderr(contains("another ledger"));
    let show = ["ledger", "show", "M.jsonl", "--release", "R1"];
    matmech(here, &show).failure().stderr(contains("another ledger"));
    assert_eq!(ledger(here)["spent_rho"], 0.25);
}

/// A changed file is found by the checksums; changed checksums are found by the ledger.
#[test]
fn changed_folders_are_refused() {
    let folder = folder();
    let here = folder.path();
    let text = |name: &str| read(here, name);
    release(here, "R1", &[]).success();
    let settled = text("L.jsonl");
    let sums = matmech::hash::sha256(text("R1/SHA256SUMS").as_bytes());
    assert!(settled.lines().last().unwrap().contains(&format!("\"folder\":\"{sums}\"")));
    let refused = |part: &str| {
        release(here, "R2", &["--after", "R1"]).failure().stderr(contains(part));
        let show = ["ledger", "show", "L.jsonl", "--release", "R1"];
        matmech(here, &show).failure().stderr(contains(part));
    };
    let change = |name: &str, changed: &dyn Fn(&str) -> String| {
        let path = here.join("R1").join(name);
        std::fs::write(&path, changed(&text(&format!("R1/{name}")))).unwrap();
    };
    let sum_of = |name: &str| matmech::hash::sha256(text(&format!("R1/{name}")).as_bytes());
    for name in ["answers.csv", "statement.json", "measurements/schema.toml"] {
        let original = text(&format!("R1/{name}"));
        change(name, &|text| text.replacen('a', "b", 1));
        refused(name.rsplit('/').next().unwrap());
        std::fs::write(here.join("R1").join(name), original).unwrap();
    }
    let before = sum_of("answers.csv");
    change("answers.csv", &|text| text.replacen('1', "2", 1));
    let after = sum_of("answers.csv");
    change("SHA256SUMS", &|text| text.replace(&before, &after));
    refused("files were changed after the release");
    std::fs::write(here.join("R1/SHA256SUMS"), format!("{after}  ../X.csv\n")).unwrap();
    refused("a name outside the folder");
    std::fs::remove_file(here.join("R1/SHA256SUMS")).unwrap();
    refused("the folder of a complete release");
    assert_eq!(ledger(here)["spent_rho"], 0.25);
}
