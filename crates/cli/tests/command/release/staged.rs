//! Tests of `matmech release --mechanism staged` and of answers from its measurements.

use std::path::Path;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::{folder, ledger, matmech, read, release, words};

/// Returns the rows of a table.
fn rows(here: &Path, name: &str) -> Vec<csv::StringRecord> {
    let mut table = csv::Reader::from_path(here.join(name)).unwrap();
    table.records().map(Result::unwrap).collect()
}

fn statement(here: &Path, name: &str) -> serde_json::Value {
    serde_json::from_str(&read(here, name)).unwrap()
}

const STAGED: [&str; 2] = ["--mechanism", "staged"];

#[test]
fn a_staged_release_writes_bounded_answers_and_charges_the_ledger() {
    let folder = folder();
    let here = folder.path();
    release(here, "R", &STAGED)
        .success()
        .stdout(contains("mean L1 error at most").and(contains("written       R")))
        .stderr(contains("reserving rho 0.25"));
    let answers = rows(here, "R/answers.csv");
    assert_eq!(answers.len(), 4 + 3 + 12);
    for row in &answers {
        let (estimate, bound) = (row[4].parse::<f64>().unwrap(), row[5].parse::<f64>().unwrap());
        assert!(estimate.is_finite() && bound > 0.0 && &row[6] == "no");
    }
    assert_eq!((&answers[1][2], &answers[1][3]), ("age from 0 to below 40", "0-1"));
    let statement = statement(here, "R/statement.json");
    let (rho, sum) = (&statement["rho"], &statement["rho_of_questions"]);
    assert_eq!(rho.as_f64(), Some(0.25));
    assert!(sum.as_f64().unwrap() <= 0.25 && sum.as_f64().unwrap() > 0.2499);
    let stages = statement["stages"].as_array().unwrap().len();
    assert!(stages >= 2 && here.join(format!("R/measurements/stage-{}", stages - 1)).exists());
    assert!(statement["certificate"]["mean_error_bound_95"].as_f64().unwrap() > 0.0);
    let words = read(here, "R/statement.md");
    assert!(words.contains("Not protected") && words.contains("no standard errors"));
    let balance = ledger(here);
    assert_eq!(
        (balance["spent_rho"].as_f64(), balance["unsettled"].as_u64()),
        (Some(0.25), Some(0))
    );
    assert!(!here.join("R.partial").exists());
    // Without a certificate there are no bounds.
    release(here, "Q", &["--mechanism", "staged(stages=2)", "--certificate", "0"])
        .success()
        .stdout(contains("no certificate"));
    assert!(rows(here, "Q/answers.csv").iter().all(|row| row[5].is_empty()));
    assert!(!here.join("Q/measurements/certificate").exists());
}

/// The measurements give all files again, byte for byte; more queries have bounds or are marked.
#[test]
fn staged_measurements_answer_the_same_and_more_queries() {
    let folder = folder();
    let here = folder.path();
    std::fs::write(here.join("W.toml"), "[[queries]]\nfamily = \"hybrid\"\nways = [1]\n").unwrap();
    for (out, share) in [("R", "0.1"), ("Q", "0")] {
        release(here, out, &["--mechanism", "staged", "--certificate", share]).success();
        std::fs::create_dir(here.join("again")).unwrap();
        let measurements = format!("{out}/measurements");
        let base = ["answer", "--measurements", &measurements, "--out"];
        let answer = |more: &[&str]| matmech(here, &[&base, more].concat());
        answer(&["again/answers.csv", "--statement", "--report"]).success();
        for name in ["answers.csv", "statement.json", "statement.md", "report.html"] {
            assert_eq!(read(here, &format!("{out}/{name}")), read(here, &format!("again/{name}")));
        }
        answer(&["again/B.csv", "--adjust"]).failure().stderr(contains("adjusted already"));
        let more = "[[queries]]\nfamily = \"range\"\nattributes = [\"age\"]\n\
                    [[queries]]\nfamily = \"identity\"\nattributes = [\"age\", \"job\"]\n";
        std::fs::write(here.join("M.toml"), more).unwrap();
        answer(&["again/more.csv", "--workload", "M.toml"]).success();
        let found = rows(here, "again/more.csv");
        assert_eq!(found.len(), 10 + 12);
        for (k, row) in found.iter().enumerate() {
            // Pairs were not in the workload.
            assert_eq!(&row[6], if k < 10 { "no" } else { "yes" });
            assert_eq!(row[5].is_empty(), k >= 10 || share == "0", "{row:?}");
        }
        std::fs::remove_dir_all(here.join("again")).unwrap();
    }
    assert_eq!(ledger(here)["reservations"], 2);
}

/// After an interruption, `answer` writes a release of the complete stages.
#[test]
fn an_interrupted_staged_release_has_fewer_stages() {
    let folder = folder();
    let here = folder.path();
    release(here, "R", &["--mechanism", "staged(switch=0)"]).success();
    let measurements = here.join("R/measurements");
    std::fs::remove_dir_all(measurements.join("certificate")).unwrap();
    std::fs::remove_file(measurements.join("stage-4/SHA256SUMS")).unwrap();
    std::fs::create_dir(here.join("again")).unwrap();
    let words = ["answer", "--measurements", "R/measurements", "--out", "again/A.csv"];
    matmech(here, &[&words[..], &["--statement"]].concat()).success();
    assert_eq!(rows(here, "again/A.csv").len(), 19);
    let found = statement(here, "again/statement.json");
    assert_eq!(found["stages"].as_array().unwrap().len(), 4);
    assert!(found["rho_of_questions"].as_f64().unwrap() < 0.2);
    for name in ["stage-1/noisy.csv", "stage-0/strategies.json", "statement.json"] {
        let path = measurements.join(name);
        let good = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, good.replacen(|c: char| c.is_ascii_digit(), "77", 1)).unwrap();
        let words = ["answer", "--measurements", "R/measurements", "--out", "B.csv"];
        let file = name.rsplit('/').next().unwrap();
        matmech(here, &words).failure().stderr(contains(file).and(contains("SHA-256")));
        std::fs::write(&path, good).unwrap();
    }
}

#[test]
fn invalid_staged_releases_are_refused_before_the_data_is_read() {
    let folder = folder();
    let here = folder.path();
    for (more, said) in [
        (vec!["--mechanism", "staged", "--planner", "anova"], "cannot be used with"),
        (vec!["--certificate", "0.1"], "--mechanism"),
    ] {
        matmech(here, &words("R", &more)).failure().code(2).stderr(contains(said));
    }
    for (more, said) in [
        (vec!["--mechanism", "aim-grem"], "--planner"),
        (vec!["--mechanism", "staged(stage=2)"], "stages"),
        (vec!["--mechanism", "staged", "--certificate", "0.9"], "from 0 to 0.5"),
        (vec!["--mechanism", "staged", "--adjust"], "omit --adjust"),
    ] {
        release(here, "R", &more).failure().code(1).stderr(contains(said).and(contains("remedy")));
    }
    release(here, "R", &["--mechanism", "staged", "--dry-run"])
        .success()
        .stdout(contains("dry run").and(contains("first stage")));
    assert_eq!(ledger(here)["reservations"], 0);
    assert!(!here.join("R").exists() && !here.join("R.partial").exists());
}

/// No record, and records with values that must not be printed: outputs have the same form, and all
/// privacy units are charged within the budget.
#[test]
fn staged_outputs_have_no_text_of_the_file() {
    let folder = folder();
    let here = folder.path();
    for (k, text) in ["age,job\n", "age,job\n79,secret\n7,clerk,secret\n"].iter().enumerate() {
        std::fs::write(here.join("X.csv"), text).unwrap();
        let out = format!("R{k}");
        let said = release(here, &out, &STAGED).success().get_output().clone();
        assert_eq!(String::from_utf8_lossy(&said.stderr).lines().count(), 1);
        for bytes in [&said.stdout, &said.stderr] {
            assert!(!String::from_utf8_lossy(bytes).contains("secret"));
        }
        for name in ["answers.csv", "statement.md", "measurements/statement.json"] {
            assert!(!read(here, &format!("{out}/{name}")).contains("secret"), "{name}");
        }
        assert_eq!(rows(here, &format!("{out}/answers.csv")).len(), 19);
    }
    let terms = |out: &str| {
        let mut terms = statement(here, &format!("{out}/measurements/statement.json"));
        terms["ledger"] = serde_json::Value::Null;
        terms
    };
    assert_eq!(terms("R0"), terms("R1"));
    let create = ["ledger", "create", "K.jsonl", "--rho", "1", "--unit-rows", "3"];
    matmech(here, &[&create[..], &["--neighbours", "replace"]].concat()).success();
    let unit = ["--mechanism", "staged", "--unit-rows", "3", "--neighbours", "replace"];
    let mut more = words("U", &unit);
    more[8] = "K.jsonl";
    matmech(here, &more).success().stdout(contains("replace, add or remove one record"));
    let sum = statement(here, "U/statement.json")["rho_of_questions"].as_f64().unwrap();
    assert!(sum <= 0.25 && sum > 0.24, "{sum}");
}

/// Records, statement and report are written again with the same bytes; other numbers of records
/// cost nothing.
#[test]
fn records_are_written_again_with_their_error_bounds() {
    let folder = folder();
    let here = folder.path();
    release(here, "R", &["--mechanism", "staged", "--records", "auto"])
        .success()
        .stdout(contains("synthetic     ").and(contains("mean L1 error at most")));
    let base = ["answer", "--measurements", "R/measurements"];
    let answer = |more: &[&str]| matmech(here, &[&base, more].concat());
    std::fs::create_dir(here.join("again")).unwrap();
    let all = ["--records", "auto", "--statement", "--report"];
    answer(&[&["--out", "again/answers.csv"][..], &all].concat())
        .success()
        .stdout(contains("again/records.csv").and(contains("again/report.html")));
    let names = ["answers.csv", "records.csv", "statement.json", "statement.md", "report.html"];
    for name in names {
        assert_eq!(
            read(here, &format!("R/{name}")),
            read(here, &format!("again/{name}")),
            "{name}"
        );
    }
    let stated = statement(here, "R/statement.json");
    let (errors, mean) = (&stated["synthetic"]["errors"], &stated["certificate"]);
    let number = |value: &serde_json::Value, name: &str| value[name].as_f64().unwrap();
    let bound = number(mean, "mean_error_bound_95") + number(errors, "mean_distance");
    assert!((number(errors, "mean_error_bound_95") - bound).abs() < 1e-5, "{errors}");
    assert_eq!(errors["marginals"], mean["marginals"]);
    assert!(read(here, "R/statement.md").contains("plus the exact distances"));
    std::fs::create_dir(here.join("ten")).unwrap();
    answer(&["--out", "ten/A.csv", "--records", "10", "--statement"]).success();
    assert_eq!(rows(here, "ten/records.csv").len(), 10);
    assert_eq!(statement(here, "ten/statement.json")["synthetic"]["count"], 10);
    // The files must be new, and unbiased measurements have no model.
    answer(&["--out", "ten/B.csv", "--records", "5"])
        .failure()
        .stderr(contains("records.csv").and(contains("existing file")));
    release(here, "U", &[]).success();
    std::fs::create_dir(here.join("plain")).unwrap();
    let words = ["answer", "--measurements", "U/measurements", "--out", "plain/answers.csv"];
    matmech(here, &[&words[..], &["--records", "auto"]].concat())
        .failure()
        .stderr(contains("--mechanism staged"));
    matmech(here, &[&words[..], &["--report"]].concat()).success();
    assert_eq!(read(here, "U/report.html"), read(here, "plain/report.html"));
    // Without a certificate there is no bound.
    let plain = ["--mechanism", "staged", "--certificate", "0", "--records", "20"];
    release(here, "Q", &plain).success().stdout(contains("20 records, no certificate"));
    assert!(statement(here, "Q/statement.json")["synthetic"].get("errors").is_none());
}

/// A dry run says what is measured and how much memory it takes.
#[test]
fn a_dry_run_of_a_staged_release_forecasts_questions_and_memory() {
    let folder = folder();
    let here = folder.path();
    let dry = ["--mechanism", "staged", "--dry-run"];
    release(here, "R", &dry).success().stdout(
        contains("all stages    at most")
            .and(contains("published     3 marginals with 19 cells"))
            .and(contains("MB and 2 bytes per record")),
    );
    let json = |more: &[&str]| -> serde_json::Value {
        let said = release(here, "R", &[&dry[..], more].concat()).success().get_output().clone();
        serde_json::from_slice(&said.stdout).unwrap()
    };
    let report = json(&["--json"]);
    // The total and two attributes; then the pair, and three stages measure each at most once again.
    assert_eq!(report["first_questions"], 3);
    assert_eq!(report["max_questions"].as_u64(), Some(16));
    assert_eq!(report["published_cells"].as_f64(), Some(19.0));
    assert!(report["expected_mb"].as_f64().unwrap() > 15.0);
    std::fs::write(here.join("X.csv"), "age,job\n").unwrap();
    assert_eq!(report, json(&["--json"]));
    release(here, "S", &["--mechanism", "staged"])
        .success()
        .stderr(contains("MB and 2 bytes per record"));
    let stages = statement(here, "S/statement.json")["stages"].as_array().unwrap().clone();
    let questions: usize =
        stages.iter().map(|stage| stage["questions"].as_array().unwrap().len()).sum();
    assert!(questions <= 16, "{questions}");
}

/// The forecast is near the errors of releases of the reference itself, and depends on no data.
#[test]
fn a_dry_run_of_a_staged_release_forecasts_the_error_on_a_public_reference() {
    let folder = folder();
    let here = folder.path();
    let dry = ["--mechanism", "staged", "--dry-run", "--records-guess", "400"];
    release(here, "R", &dry).success().stdout(
        contains(
            "for a made-up table of 400 records with independent attributes (uniform; seed 1)",
        )
        .and(contains("not for yours")),
    );
    let forecast = |more: &[&str]| -> serde_json::Value {
        let words = [&dry[..], &["--json"], more].concat();
        let said = release(here, "R", &words).success().get_output().clone();
        serde_json::from_slice::<serde_json::Value>(&said.stdout).unwrap()["forecast"].clone()
    };
    let uniform = forecast(&[]);
    assert_eq!(uniform, forecast(&[]));
    let error = |forecast: &serde_json::Value| forecast["mean_l1_error"].as_f64().unwrap();
    let per_record = uniform["mean_l1_error_per_record"].as_f64().unwrap();
    assert!((error(&uniform) - 400.0 * per_record).abs() < 1e-9 && error(&uniform) > 0.0);
    let person = forecast(&["--unit-rows", "10"]);
    assert!(error(&person) > 2.0 * error(&uniform), "{person} {uniform}");
    std::fs::write(here.join("M.toml"), "[[attribute]]\nname = \"age\"\nmeasure = [1]\n").unwrap();
    release(here, "R", &[&dry[..], &["--reference", "M.toml"]].concat())
        .failure()
        .stderr(contains("measure of `age`"));
    let words = ["--mechanism", "staged", "--records-guess", "400"];
    release(here, "G", &words).failure().code(2).stderr(contains("--dry-run"));
}
