//! Outputs that are written again from the measurements, and invalid inputs that are refused.

use matmech::privacy::fine_noise;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::{folder, ledger, matmech, read, release, words};

/// The measurements of an interrupted run give all other outputs again, byte for byte.
#[test]
fn all_outputs_can_be_written_again_from_the_measurements() {
    let folder = folder();
    let here = folder.path();
    release(here, "R", &["--adjust"]).success();
    std::fs::create_dir(here.join("again")).unwrap();
    let answer = [
        "answer",
        "--measurements",
        "R/measurements",
        "--out",
        "again/answers.csv",
        "--statement",
        "--adjust",
    ];
    matmech(here, &answer)
        .success()
        .stdout(contains("again/statement.md").and(contains("19 in 3 groups")));
    for name in ["answers.csv", "adjusted.csv", "statement.json", "statement.md"] {
        assert_eq!(
            read(here, &format!("R/{name}")),
            read(here, &format!("again/{name}")),
            "{name}"
        );
    }
    assert_eq!(ledger(here)["reservations"], 1);
    // Every output name must be free before anything is written.
    std::fs::remove_file(here.join("again/answers.csv")).unwrap();
    matmech(here, &answer).failure().stderr(contains("adjusted.csv").and(contains("remedy")));
    let left: Vec<_> = std::fs::read_dir(here.join("again"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn edited_measurements_are_refused_with_the_file() {
    let folder = folder();
    let here = folder.path();
    release(here, "R", &[]).success();
    let answer =
        |out: &str| matmech(here, &["answer", "--measurements", "R/measurements", "--out", out]);
    answer("A.csv").success();
    for name in ["noisy.csv", "strategies.json", "schema.toml", "statement.json"] {
        let path = here.join("R/measurements").join(name);
        let good = std::fs::read_to_string(&path).unwrap();
        for bad in [
            good.replacen(|c: char| c.is_ascii_digit(), "77", 1),
            format!("{good} "),
            good[..good.len() - 1].to_owned(),
        ] {
            assert_ne!(good, bad);
            std::fs::write(&path, &bad).unwrap();
            answer("B.csv")
                .failure()
                .stderr(contains(name).and(contains("SHA-256")).and(contains("remedy")));
            assert!(!here.join("B.csv").exists() && !here.join("B.csv.partial").exists());
        }
        std::fs::write(&path, &good).unwrap();
    }
    answer("B.csv").success();
    std::fs::remove_file(here.join("R/measurements/SHA256SUMS")).unwrap();
    answer("C.csv").failure().stderr(contains("SHA256SUMS"));
}

/// The statement names the ledger line of its reservation; the ledger shows the total cost.
#[test]
fn the_statement_and_the_ledger_agree() {
    let folder = folder();
    let here = folder.path();
    release(here, "R", &[]).success();
    release(here, "Q", &[]).success();
    let text = read(here, "L.jsonl");
    for (name, number) in [("R", 1), ("Q", 2)] {
        let statement: serde_json::Value =
            serde_json::from_str(&read(here, &format!("{name}/statement.json"))).unwrap();
        assert_eq!(statement["ledger"]["file"], "L.jsonl");
        assert_eq!(statement["version"], env!("CARGO_PKG_VERSION"));
        let line =
            text.lines().nth(statement["ledger"]["line"].as_u64().unwrap() as usize - 1).unwrap();
        assert!(line.starts_with(&format!("{{\"reserve\":{number},")), "{line}");
    }
    let spent = matmech::privacy::Rho::new(0.5).unwrap();
    let shown = ledger(here);
    assert_eq!(
        shown["spent_epsilon"].as_f64(),
        Some(fine_noise::epsilon_rounded_up(spent, 1e-9).unwrap())
    );
    assert_eq!(shown["delta"], 1e-9);
    let other = matmech(here, &["ledger", "show", "L.jsonl", "--delta", "1e-6"]).success();
    let epsilon = fine_noise::epsilon_rounded_up(spent, 1e-6).unwrap().to_string();
    other.stdout(contains(format!("together epsilon {epsilon} at delta 1e-6")));
}

/// Changed, moved and removed lines, and an older ledger.
#[test]
fn an_edited_ledger_is_refused() {
    let folder = folder();
    let here = folder.path();
    release(here, "R", &[]).success();
    let good = read(here, "L.jsonl");
    let lines: Vec<&str> = good.lines().collect();
    let text = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let mut swapped = lines.clone();
    swapped.swap(2, 3);
    for bad in [
        good.replace("0.25", "0.01"),
        text(&lines[..3]),
        text(&lines[..2]),
        text(&swapped),
        good.replace("1.0", "9.0"),
    ] {
        assert_ne!(bad, good);
        std::fs::write(here.join("L.jsonl"), &bad).unwrap();
        release(here, "Q", &[])
            .failure()
            .code(1)
            .stderr(contains("L.jsonl").and(contains("remedy")));
        matmech(here, &["ledger", "show", "L.jsonl"]).failure();
        assert_eq!(read(here, "L.jsonl"), bad);
        assert!(!here.join("Q.partial").exists());
    }
    std::fs::write(here.join("L.jsonl"), &good).unwrap();
    release(here, "Q", &[]).success();
}

/// Waiting for a lock that another process holds is announced and ends.
#[test]
fn waiting_for_a_locked_ledger_has_a_limit() {
    let folder = folder();
    let here = folder.path();
    let held = std::fs::File::open(here.join("L.jsonl")).unwrap();
    held.lock().unwrap();
    let mut arguments = words("R", &["--wait", "1"]);
    let said = matmech(here, &arguments).failure().code(1);
    said.stderr(
        contains("waiting       for the lock on L.jsonl")
            .and(contains("within 1 s"))
            .and(contains("--wait")),
    );
    matmech(here, &["ledger", "show", "L.jsonl", "--wait", "0"])
        .failure()
        .stderr(contains("another process"));
    held.unlock().unwrap();
    arguments.truncate(arguments.len() - 2);
    matmech(here, &arguments).success();
}
