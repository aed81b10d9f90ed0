//! Persons whose records have different values of an attribute.

use std::path::Path;

use super::*;

const PANEL: &str = "[[attribute]]\nname = \"year\"\nkind = \"categorical\"\nvalues = [2021, 2022, \
                     2023]\n[[attribute]]\nname = \"job\"\nkind = \"categorical\"\nvalues = \
                     [\"clerk\", \"baker\"]\n";

/// Ten persons of three years, of which the first has the same year twice.
fn panel() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let jobs = ["clerk", "baker"];
    let record = |person: usize, year: usize| format!("{person},{year},{}\n", jobs[person % 2]);
    let records: String =
        (0..10).flat_map(|person| (2021..2024).map(move |year| record(person, year))).collect();
    let text = format!("id,year,job\n0,2021,baker\n0,,clerk\n{records}");
    std::fs::write(here.join("X.csv"), text).unwrap();
    std::fs::write(here.join("S.toml"), PANEL).unwrap();
    folder
}

fn create(here: &Path, name: &str, more: &[&str]) {
    let fixed = ["ledger", "create", name, "--rho", "1e9", "--unit-rows", "3"];
    matmech(here, &[&fixed[..], more].concat()).success();
}

fn of_panel(here: &Path, (ledger, out): (&str, &str), more: &[&str]) -> assert_cmd::assert::Assert {
    let fixed = ["release", "--schema", "S.toml", "--ways", "2", "--out-of-domain", "drop"];
    let files = ["--ledger", ledger, "--out", out, "--unit-rows", "3", "--rho", "1e6"];
    matmech(here, &[&fixed[..], &files, more].concat())
}

fn statement(here: &Path, out: &str) -> serde_json::Value {
    serde_json::from_str(&read(here, &format!("{out}/statement.json"))).unwrap()
}

/// Returns the rounded estimates of a release.
fn counts(here: &Path, out: &str) -> Vec<i64> {
    let text = read(here, &format!("{out}/answers.csv"));
    let mut lines = text.lines();
    // Names and words can have commas; the columns after them are numbers.
    let column = lines.next().unwrap().rsplit(',').position(|name| name == "estimate").unwrap();
    lines
        .map(|line| line.rsplit(',').nth(column).unwrap().parse::<f64>().unwrap().round() as i64)
        .collect()
}

/// The rule keeps the first record of every year, and the table by year costs three records instead
/// of nine.
#[test]
fn different_values_are_enforced_and_cost_less() {
    let folder = panel();
    let here = folder.path();
    create(here, "L.jsonl", &["--person", "id"]);
    let data = ["--data", "X.csv", "--person", "id"];
    of_panel(here, ("L.jsonl", "any"), &data).success();
    let distinct = [&data[..], &["--distinct", "year"]].concat();
    of_panel(here, ("L.jsonl", "year"), &distinct).success().stdout(contains(
        "protects      add or remove one record, up to 3 times, with different values of `year`",
    ));
    let [any, year] = ["any", "year"].map(|out| statement(here, out));
    let ratio = any["rmse"].as_f64().unwrap() / year["rmse"].as_f64().unwrap();
    assert!((ratio - 3f64.sqrt()).abs() < 1e-3, "{ratio}");
    assert_eq!(year["distinct_values_of"], "year");
    assert_eq!(year["person_limit"]["distinct"], "year");
    assert!(any.get("distinct_values_of").is_none());
    // Person 0 is a baker in 2021 by the first line, and a clerk in 2022 and 2023.
    assert_eq!(counts(here, "year").iter().sum::<i64>(), 30);
    assert_eq!(counts(here, "year")[..2], [4, 6]);
    assert_eq!(counts(here, "any")[..2], [5, 6]);
    let words = read(here, "year/statement.md");
    assert!(words.contains("the first one of every value of `year` counts"), "{words}");
    matmech(
        here,
        &[
            "check-data",
            "--schema",
            "S.toml",
            "--data",
            "X.csv",
            "--person",
            "id",
            "--unit-rows",
            "3",
            "--distinct",
            "year",
            "--json",
        ],
    )
    .success()
    .stdout(contains("\"kept\": 30"));
    // Staged releases charge the same unit.
    let staged = [&distinct[..], &["--mechanism", "staged"]].concat();
    of_panel(here, ("L.jsonl", "staged"), &staged).success();
    assert_eq!(statement(here, "staged")["distinct_values_of"], "year");
}

/// Without a column of persons, different values are an assumption that ledger and statement have.
#[test]
fn an_assumption_is_stated() {
    let folder = panel();
    let here = folder.path();
    create(here, "any.jsonl", &[]);
    create(here, "year.jsonl", &["--distinct", "year"]);
    let data = ["--data", "X.csv", "--distinct", "year"];
    of_panel(here, ("any.jsonl", "R"), &data).failure().stderr(contains("--distinct"));
    of_panel(here, ("year.jsonl", "R"), &data).success();
    let text = read(here, "R/statement.md");
    assert!(text.contains("an assumption that the release did not enforce"), "{text}");
    assert!(text.contains("several records of the same value of"), "{text}");
    matmech(here, &["ledger", "show", "year.jsonl"])
        .success()
        .stdout(contains("with different values of `year`"));
    // A release that protects more is allowed.
    of_panel(here, ("year.jsonl", "more"), &["--data", "X.csv"]).success();
}

#[test]
fn mistakes_are_refused() {
    let folder = panel();
    let here = folder.path();
    create(here, "L.jsonl", &["--person", "id"]);
    let data = ["--data", "X.csv", "--person", "id", "--distinct"];
    let refused = |more: &[&str], part: &str| {
        of_panel(here, ("L.jsonl", "R"), &[&data[..], more].concat())
            .failure()
            .stderr(contains(part));
    };
    refused(&["yeer"], "an attribute of the schema: year, job");
    let one = [
        "release",
        "--schema",
        "S.toml",
        "--ways",
        "2",
        "--out-of-domain",
        "drop",
        "--rho",
        "1",
        "--dry-run",
        "--distinct",
        "year",
    ];
    matmech(here, &one).failure().stderr(contains("--unit-rows"));
    assert_eq!(ledger(here)["spent_rho"], 0.0);
}

/// The view numbers the records of every year, and the counts are released with the same unit.
#[test]
fn engines_keep_the_first_record_of_every_value() {
    let folder = panel();
    let here = folder.path();
    create(here, "L.jsonl", &["--person", "id"]);
    let sql = [
        "sql",
        "--schema",
        "S.toml",
        "--ways",
        "2",
        "--table",
        "t",
        "--dialect",
        "sqlite",
        "--out-of-domain",
        "drop",
        "--person",
        "id",
        "--unit-rows",
        "3",
        "--distinct",
        "year",
    ];
    let found = matmech(here, &sql).success().get_output().stdout.clone();
    let found = String::from_utf8(found).unwrap();
    assert!(found.contains("PARTITION BY person, cell_0 ORDER BY"), "{found}");
    assert!(found.contains("value_number = 1"), "{found}");
    std::fs::create_dir(here.join("counts")).unwrap();
    let marginal = "cell_0,cell_1,count\n0,0,4\n0,1,6\n1,0,5\n1,1,5\n2,0,5\n2,1,5\n";
    std::fs::write(here.join("counts/pair.csv"), marginal).unwrap();
    let counted = ["--counts", "counts", "--person", "id", "--distinct", "year"];
    of_panel(here, ("L.jsonl", "R"), &counted).success();
    assert_eq!(counts(here, "R"), [4, 6, 5, 5, 5, 5]);
    assert_eq!(statement(here, "R")["person_limit"]["distinct"], "year");
}
