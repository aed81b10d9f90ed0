//! The files of releases, also over attributes with levels, their ledger, and answers from them.

use super::*;

#[test]
fn a_release_writes_answers_measurements_and_statement_and_charges_the_ledger() {
    let folder = folder();
    let here = folder.path();
    release(here, "R", &["--adjust"])
        .success()
        .stdout(contains("unbiased").and(contains("written       R")));
    let mut table = csv::Reader::from_path(here.join("R/answers.csv")).unwrap();
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 4 + 3 + 12);
    let number = |row: &csv::StringRecord, column: usize| row[column].parse::<f64>().unwrap();
    for row in &rows {
        let (estimate, error) = (number(row, 4), number(row, 5));
        assert!(error > 0.0 && number(row, 6) < estimate && estimate < number(row, 7));
        assert!(number(row, 8) < number(row, 6) && number(row, 9) > number(row, 7));
    }
    assert_eq!((&rows[1][2], &rows[1][3]), ("age from 0 to below 40", "0-1"));
    assert_eq!((&rows[18][0], &rows[18][2]), ("age, job", "any age and job = cook"));
    // 61 records are kept: the one with an additional value is in the schema. 6 standard errors.
    let (all, error) = (number(&rows[3], 4), number(&rows[3], 5));
    assert!((all - 61.0).abs() < 6.0 * error, "{all} ± {error}");
    let statement: serde_json::Value =
        serde_json::from_str(&read(here, "R/statement.json")).unwrap();
    assert!(
        statement["rho"].as_f64().unwrap() <= 0.25
            && statement["rho"].as_f64().unwrap() > 0.2499999
    );
    assert!(statement["rounding_excess"].as_f64().unwrap() < 1e-6);
    assert_eq!(statement["out_of_domain"], "drop");
    assert!(read(here, "R/statement.md").contains("Not protected"));
    let page = read(here, "R/report.html");
    assert!(page.contains("adjusted.csv") && page.contains("[0, 20)") && page.contains("cook"));
    assert!(!page.contains("<script") && !page.contains("http"));
    let adjusted = read(here, "R/adjusted.csv");
    assert!(
        adjusted.starts_with("attributes,family,query,cells,adjusted_standard_errors_do_not_apply")
    );
    assert_eq!(adjusted.lines().count(), 20);
    let balance = ledger(here);
    assert_eq!(
        (balance["spent_rho"].as_f64(), balance["unsettled"].as_u64()),
        (Some(0.25), Some(0))
    );
    assert!(!here.join("R.partial").exists());
    // Two releases have different noise.
    release(here, "Q", &[]).success();
    assert_ne!(read(here, "R/measurements/noisy.csv"), read(here, "Q/measurements/noisy.csv"));
}

#[test]
fn a_dry_run_reads_spends_and_writes_nothing() {
    let folder = folder();
    let here = folder.path();
    let dry = [
        "release",
        "--schema",
        "S.toml",
        "--workload",
        "W.toml",
        "--epsilon",
        "1",
        "--delta",
        "1e-9",
        "--dry-run",
    ];
    // Whether a schema is refused follows from the schema and the options: no table is given.
    matmech(here, &dry)
        .failure()
        .code(1)
        .stderr(contains("none in `age`, `job`").and(contains("--out-of-domain drop")));
    let dry = [&dry[..], &DROP].concat();
    matmech(here, &dry).success().stdout(
        contains("expected")
            .and(contains("epsilon 1 at delta 1e-9; rho "))
            .and(contains("age: missing and outside values: the record is dropped\n"))
            .and(contains("dry run")),
    );
    let staged = release(here, "R", &["--dry-run", "--mechanism", "staged"]).success();
    staged.stdout(contains("job: missing and outside values: the record is dropped\n"));
    release(here, "R", &["--dry-run"]).success();
    assert!(!here.join("R").exists() && !here.join("R.partial").exists());
    assert_eq!(ledger(here)["reservations"], 0);
}

#[test]
fn invalid_or_unpaid_releases_are_refused_before_the_data_is_read() {
    let folder = folder();
    let here = folder.path();
    for (out, more, said) in [
        ("R", vec!["--unit-rows", "2"], "--unit-rows"),
        ("R", vec!["--neighbours", "replace"], "--neighbours"),
        ("R", vec!["--planner", "hdmm-kronecker"], "query-smasher"),
        ("R", vec!["--planner", "nobody"], "anova"),
        ("W.toml", vec![], "does not exist"),
        ("nowhere/R", vec![], "creating the folder"),
    ] {
        release(here, out, &more).failure().code(1).stderr(contains(said).and(contains("remedy")));
    }
    let mut without_data = words("R", &[]);
    without_data[6] = "nowhere.csv";
    matmech(here, &without_data).failure().stderr(contains("nowhere.csv").and(contains("remedy")));
    matmech(here, &["release", "--schema", "S.toml", "--ways", "1", "--mu", "1", "--dry-run"])
        .failure()
        .stderr(contains("--mu"));
    assert_eq!(ledger(here)["reservations"], 0);
    for out in ["A", "B", "C", "D"] {
        release(here, out, &[]).success();
    }
    release(here, "E", &[]).failure().stderr(contains("budget"));
    assert!(!here.join("E").exists() && !here.join("E.partial").exists());
    assert_eq!(ledger(here)["left_rho"], 0.0);
}

#[test]
fn other_privacy_units_are_charged_correctly() {
    let folder = folder();
    let here = folder.path();
    matmech(
        here,
        &[
            "ledger",
            "create",
            "K.jsonl",
            "--rho",
            "1",
            "--unit-rows",
            "3",
            "--neighbours",
            "replace",
        ],
    )
    .success();
    let mut more = words(
        "R",
        &[
            "--unit-rows",
            "3",
            "--neighbours",
            "replace",
            "--out-of-domain",
            "clamp",
            "--planner",
            "anova",
        ],
    );
    more[8] = "K.jsonl";
    // The schema has no cells for other values, so replacing a value can drop a record.
    matmech(here, &more)
        .success()
        .stdout(contains("replace, add or remove one record, up to 3 times"));
    let statement: serde_json::Value =
        serde_json::from_str(&read(here, "R/statement.json")).unwrap();
    assert!(statement["rho"].as_f64().unwrap() <= 0.25);
    // The number of records has noise; its strategy is a power of two times the count.
    assert_ne!(statement["subspaces"][0]["squared_sensitivity"], "0");
    assert_eq!(statement["number_of_records_is_public"], false);
    matmech(here, &["ledger", "show", "K.jsonl"])
        .success()
        .stdout(contains("replace one record, up to 3 times"));
}

#[test]
fn more_queries_are_answered_from_the_measurements_or_refused() {
    let folder = folder();
    let here = folder.path();
    let one_way = "[[queries]]\nfamily = \"hybrid\"\nways = [1]\n";
    std::fs::write(here.join("W.toml"), one_way).unwrap();
    release(here, "R", &[]).success();
    std::fs::write(
        here.join("M.toml"),
        "[[queries]]\nfamily = \"range\"\nattributes = [\"age\"]\n",
    )
    .unwrap();
    let answer = |workload: &str, out: &str| {
        matmech(
            here,
            &["answer", "--measurements", "R/measurements", "--workload", workload, "--out", out],
        )
    };
    answer("M.toml", "more.csv").success().stdout(contains("10 in 1 group,"));
    assert_eq!(read(here, "more.csv").lines().count(), 11);
    answer("M.toml", "more.csv").failure().stderr(contains("the name of a new file"));
    // The same queries have the same answers.
    answer("W.toml", "same.csv").success();
    assert_eq!(read(here, "same.csv"), read(here, "R/answers.csv"));
    std::fs::write(here.join("M.toml"), WORKLOAD).unwrap();
    answer("M.toml", "pairs.csv")
        .failure()
        .stderr(contains("age, job").and(contains("not measured")));
    assert!(!here.join("pairs.csv").exists());
    assert_eq!(ledger(here)["reservations"], 1);
}

/// The release of Adult in docs/releasing.md, without the data.
#[test]
fn the_adult_example_matches_the_page() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let command = "release --schema docs/example/adult.toml \
                   --workload docs/example/adult-workload.toml --epsilon 1 --delta 1e-9 \
                   --out-of-domain drop --dry-run";
    let words: Vec<&str> = command.split(' ').collect();
    matmech(root, &words).success().stdout(
        contains("1816446 in 581 groups").and(contains("576 subspaces, 1762640 noisy integers")),
    );
    let page = read(root, "docs/releasing.md");
    assert!(page.contains("1,816,446 queries") && page.contains("1,762,640 noisy integers"));
    assert!(
        page.contains(
            "--schema docs/example/adult.toml --workload docs/example/adult-workload.toml"
        )
    );
}

/// The example at the top of the README runs and writes what it says.
#[cfg(unix)]
#[test]
fn the_readmes_example_runs() {
    let folder = run_block("README.md");
    let here = folder.path();
    for name in ["answers.csv", "statement.md", "statement.json", "measurements/noisy.csv"] {
        assert!(here.join("released").join(name).exists(), "{name}");
    }
    assert!(read(here, "more.csv").contains("age from 20 to below 40"));
    let readme = std::fs::read_to_string(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("README.md"),
    )
    .unwrap();
    let line = readme.lines().position(|line| line.contains("steward: begin")).unwrap();
    assert!(line < 40, "the example is on the first screen, not at line {line}");
}

/// The statement has the objective, also when it is written again.
#[test]
fn a_release_for_the_largest_group_error_states_it() {
    let folder = folder();
    let here = folder.path();
    release(here, "Q", &[]).success();
    release(here, "R", &["--objective", "max"]).success();
    let statement = |name: &str| -> serde_json::Value {
        serde_json::from_str(&read(here, &format!("{name}/statement.json"))).unwrap()
    };
    let (mean, max) = (statement("Q"), statement("R"));
    assert!(mean.get("objective").is_none() && mean.get("lower_bound").is_none());
    assert_eq!(max["objective"], "max");
    let gap = max["gap"].as_f64().unwrap();
    assert!((0.0..1e-5).contains(&gap), "{gap}");
    let value = max["largest_group_error"].as_f64().unwrap();
    assert!(value >= max["lower_bound"].as_f64().unwrap());
    assert!(max["rmse"].as_f64().unwrap() > mean["rmse"].as_f64().unwrap());
    assert!(read(here, "R/statement.md").contains("objective `max` (largest weighted"));
    assert!(read(here, "R/report.html").contains("Objective of the plan: max"));
    std::fs::create_dir(here.join("again")).unwrap();
    let words = ["answer", "--measurements", "R/measurements", "--out", "again/answers.csv"];
    matmech(here, &[&words[..], &["--statement"]].concat()).success();
    for name in ["answers.csv", "statement.json", "statement.md"] {
        assert_eq!(read(here, &format!("R/{name}")), read(here, &format!("again/{name}")));
    }
}

/// The hierarchy of a file is stored with the release: later answers do not depend on the file.
#[test]
fn nested_queries_are_released_and_answered_again() {
    let folder = folder();
    let here = folder.path();
    std::fs::create_dir(here.join("public")).unwrap();
    let areas = "job,trade,kind\nclerk,office,service\nbaker,food,craft\ncook,food,craft\n";
    std::fs::write(here.join("public/jobs.csv"), areas).unwrap();
    let values = "values = [\"clerk\", \"baker\", \"cook\"]";
    let levels = "levels = { file = \"public/jobs.csv\", order = [\"kind\", \"trade\"] }";
    let schema = SCHEMA.replace("size = 3\n", "").replace(values, levels);
    std::fs::write(here.join("S.toml"), schema).unwrap();
    let workload = "[[queries]]\nfamily = \"nested\"\nways = [1, 2]\n";
    std::fs::write(here.join("W.toml"), workload).unwrap();
    for (out, more) in [
        ("plain", &[][..]),
        ("staged", &["--mechanism", "staged"]),
        ("anova", &["--planner", "anova"]),
    ] {
        release(here, out, more).success();
        let answers = read(here, &format!("{out}/answers.csv"));
        for words in ["any job", "trade = food", "kind = craft", "job = baker", "age from 0 to"] {
            assert!(answers.contains(words), "{words}: {answers}");
        }
        // The ages, 8 nodes of the jobs, and both.
        assert_eq!(answers.lines().count(), 1 + 4 + 8 + 4 * 8, "{answers}");
    }
    std::fs::remove_dir_all(here.join("public")).unwrap();
    for out in ["plain", "staged", "anova"] {
        let (measurements, again) = (format!("{out}/measurements"), format!("{out}.csv"));
        matmech(here, &["answer", "--measurements", &measurements, "--out", &again]).success();
        assert_eq!(read(here, &again), read(here, &format!("{out}/answers.csv")));
    }
    std::fs::write(here.join("V.toml"), workload.replace("nested", "level(trade)")).unwrap();
    let words = [
        "answer",
        "--measurements",
        "anova/measurements",
        "--out",
        "V.csv",
        "--workload",
        "V.toml",
    ];
    matmech(here, &words).success();
    assert_eq!(read(here, "V.csv").lines().count(), 1 + 4 + 2 + 4 * 2);
}
