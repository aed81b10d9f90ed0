//! Files that a release names, names of outputs, options and budgets.

use std::path::Path;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::{DROP, folder, ledger, matmech, read, release};

fn answers(here: &Path, name: &str) -> Vec<csv::StringRecord> {
    let mut table = csv::Reader::from_path(here.join(name)).unwrap();
    table.records().map(Result::unwrap).collect()
}

/// The matrix of a workload and the measure of a planner are stored with the measurements: later
/// answers do not depend on the folder in which they are computed, nor on files that were changed.
#[test]
fn files_that_a_release_names_are_stored_with_it() {
    let folder = folder();
    let here = folder.path();
    std::fs::create_dir(here.join("work")).unwrap();
    std::fs::write(here.join("work/m.csv"), "10,30,50,70\n1,-1,0,0\n").unwrap();
    let workload = "[[queries]]\nfamily = \"matrix\"\nfile = \"m.csv\"\nattributes = [\"age\"]\n\
                    [[queries]]\nfamily = \"identity\"\nways = [1, 2]\n";
    std::fs::write(here.join("work/W.toml"), workload).unwrap();
    std::fs::write(
        here.join("measure.toml"),
        "[[attribute]]\nname = \"age\"\nmeasure = [0.4, 0.3, 0.2, 0.1]\n\
         [[attribute]]\nname = \"job\"\nmeasure = [0.5, 0.25, 0.25]\n",
    )
    .unwrap();
    let words = |out: &'static str, more: &[&'static str]| {
        let fixed =
            ["release", "--schema", "S.toml", "--workload", "work/W.toml", "--data", "X.csv"];
        let rest = ["--ledger", "L.jsonl", "--rho", "0.2", "--out", out];
        [&fixed[..], &rest, &DROP, more].concat()
    };
    // The current folder has another matrix of the same name.
    std::fs::write(here.join("m.csv"), "1,1,1,1\n1,1,1,1\n").unwrap();
    for (out, more, kept) in [
        ("plain", &[][..], 1),
        ("staged", &["--mechanism", "staged"][..], 1),
        ("measure", &["--planner", "anova(measure=measure.toml)"][..], 2),
    ] {
        matmech(here, &words(out, more)).success();
        let measurements = format!("{out}/measurements");
        let inputs: serde_json::Value =
            serde_json::from_str(&read(here, &format!("{measurements}/inputs.json"))).unwrap();
        let files = inputs["files"].as_array().unwrap();
        assert_eq!(files.len(), kept);
        assert_eq!((&files[0]["name"], &files[0]["kind"]), (&"m.csv".into(), &"matrix".into()));
        let sums = read(here, &format!("{measurements}/SHA256SUMS"));
        for file in files {
            let name = file["file"].as_str().unwrap();
            assert!(sums.contains(&format!("  {name}\n")), "{sums}");
        }
        let again = format!("{out}.csv");
        matmech(here, &["answer", "--measurements", &measurements, "--out", &again]).success();
        assert_eq!(read(here, &again), read(here, &format!("{out}/answers.csv")));
        // A changed copy is refused.
        let stored = here.join(&measurements).join("input-1.npy");
        let mut bytes = std::fs::read(&stored).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&stored, bytes).unwrap();
        matmech(here, &["answer", "--measurements", &measurements, "--out", "changed.csv"])
            .failure()
            .stderr(contains("input-1.npy").and(contains("edited or damaged")));
    }
}

/// A bound of a weighted query is in the unit of the answer: half the range of its weights times the
/// bound of all errors, and their middle times that of the total.
#[test]
fn bounds_of_weighted_queries_name_their_weight() {
    let folder = folder();
    let here = folder.path();
    std::fs::write(here.join("m.csv"), "10000,30000,50000,70000\n1,0,0,0\n").unwrap();
    let workload = "[[queries]]\nfamily = \"matrix\"\nfile = \"m.csv\"\nattributes = [\"age\"]\n\
                    [[queries]]\nfamily = \"identity\"\nattributes = [\"age\"]\n\
                    [[queries]]\nfamily = \"total\"\nattributes = [\"age\"]\n";
    std::fs::write(here.join("W.toml"), workload).unwrap();
    release(here, "R", &["--mechanism", "staged"]).success();
    let rows = answers(here, "R/answers.csv");
    let bound = |row: usize| rows[row][5].parse::<f64>().unwrap();
    let of_total = bound(rows.len() - 1);
    let of_all = 2.0 * bound(2) - of_total;
    let expected = 30_000.0 * of_all + 40_000.0 * of_total;
    // Printed bounds are rounded up to six decimals.
    assert!((bound(0) - expected).abs() < 0.3, "{} {expected}", bound(0));
    assert!((bound(1) - bound(2)).abs() < 2e-6 && bound(1) >= bound(2));
    let (cells, total) =
        ("the sum of the absolute errors of all cells", "the absolute error of the total");
    assert_eq!(rows[0][7], format!("30000 times {cells} and 40000 times {total} of age"));
    assert_eq!(rows[2][7], format!("half {cells} and half {total} of age"));
    assert_eq!(rows[rows.len() - 1][7], format!("{total} of age"));
}

#[test]
fn options_that_leave_nothing_for_a_stage_are_refused_before_the_reservation() {
    let folder = folder();
    let here = folder.path();
    for options in [
        "staged(total=0.9,singles=0.9)",
        "staged(total=0.5,pairs=0.5)",
        "staged(ratio=1e308)",
        "staged(ratio=1e-308)",
        "staged(stages=100,ratio=3)",
        "staged(pseudo-observations=1e300)",
        "staged(max-mb=1e300)",
        "staged(switch=1e300)",
        "staged(threshold=-1e300)",
    ] {
        release(here, "R", &["--mechanism", options]).failure().stderr(contains("remedy"));
        assert_eq!(ledger(here)["reservations"], 0, "{options}");
        assert!(!here.join("R.partial").exists());
    }
    release(here, "R", &["--mechanism", "staged(stages=100,ratio=1.1)"]).success();
    let mut tiny = super::words("Q", &["--mechanism", "staged"]);
    let rho = tiny.iter().position(|word| *word == "0.25").unwrap();
    tiny[rho] = "1e-22";
    matmech(here, &tiny).failure().stderr(contains("the smallest stage"));
    assert_eq!(ledger(here)["reservations"], 1);
}

/// More memory than any machine has is refused when the release is planned, and so are more records
/// than the maximum.
#[test]
fn too_much_memory_is_refused_before_the_reservation() {
    let folder = folder();
    let here = folder.path();
    #[cfg(target_os = "linux")]
    for options in ["staged(max-mb=1e9)", "staged(max-mb=1e8)"] {
        release(here, "R", &["--mechanism", options])
            .failure()
            .stderr(contains("MB of memory").and(contains("nothing was read or spent")));
    }
    let staged = ["--mechanism", "staged", "--records"];
    for more in [&["200000000"][..], &["11", "--max-records", "10"], &["4000000000"]] {
        release(here, "R", &[&staged, more].concat())
            .failure()
            .stderr(contains("--max-records").and(contains("remedy")));
    }
    assert_eq!(ledger(here)["reservations"], 0);
    release(here, "R", &[&staged[..], &["auto", "--max-records", "10"]].concat()).success();
    assert_eq!(read(here, "R/records.csv").lines().count(), 11);
    assert!(read(here, "R/statement.md").contains("10 records, the maximum that was asked for,"));
}

/// Names of outputs that are taken, also by a link, are refused, and nothing is left.
#[test]
fn answers_never_write_to_other_files() {
    let folder = folder();
    let here = folder.path();
    release(here, "R", &["--mechanism", "staged"]).success();
    let answer = |out: &str, more: &[&str]| {
        let words = ["answer", "--measurements", "R/measurements", "--out", out];
        matmech(here, &[&words[..], more].concat())
    };
    for (out, more) in [
        ("records.csv", &["--records", "auto"][..]),
        ("statement.md", &["--statement"]),
        ("report.html", &["--report"]),
    ] {
        answer(out, more).failure().stderr(contains("another name"));
        assert!(!here.join(out).exists() && !here.join(format!("{out}.partial")).exists());
    }
    #[cfg(unix)]
    for (link, target) in [("a.csv.partial", "victim"), ("a.csv", "victim"), ("a.csv", "nowhere")] {
        std::fs::write(here.join("victim"), "kept").unwrap();
        std::os::unix::fs::symlink(target, here.join(link)).unwrap();
        answer("a.csv", &[]).failure();
        assert_eq!(read(here, "victim"), "kept");
        assert!(!here.join("nowhere").exists());
        std::fs::remove_file(here.join(link)).unwrap();
        assert!(!here.join("a.csv.partial").exists());
    }
    answer("a.csv", &["--records", "5", "--statement", "--report"]).success();
    for name in ["a.csv", "records.csv", "statement.json", "statement.md", "report.html"] {
        assert!(here.join(name).is_file(), "{name}");
    }
    assert!(!here.join("a.csv.partial").exists());
}

/// Typed numbers are decimals: three releases of 0.1 spend a ledger of 0.3, and the numbers that are
/// printed are those that are reserved.
#[test]
fn three_tenths_are_three_releases() {
    let folder = folder();
    let here = folder.path();
    matmech(here, &["ledger", "create", "T.jsonl", "--rho", "0.3"]).success();
    let of = |out: &'static str, rho: &'static str, mechanism: &[&'static str]| {
        let words = ["release", "--schema", "S.toml", "--workload", "W.toml", "--data", "X.csv"];
        let rest = ["--ledger", "T.jsonl", "--rho", rho, "--out", out];
        matmech(here, &[&words[..], &rest, &DROP, mechanism].concat())
    };
    for (out, mechanism) in [("A", &[][..]), ("B", &["--mechanism", "staged"])] {
        of(out, "0.1", mechanism)
            .success()
            .stdout(contains("; rho 0.1"))
            .stderr(contains("reserving rho 0.1,"));
        let statement = read(here, &format!("{out}/statement.md"));
        assert!(statement.contains("ρ = 0.1 of"), "{statement}");
    }
    let shown = |part: &'static str| {
        matmech(here, &["ledger", "show", "T.jsonl"]).success().stdout(contains(part));
    };
    shown("left      rho 0.1\n");
    of("C", "0.11", &[]).failure().stderr(contains("at most rho = 0.1, the rest of 0.3"));
    of("C", "rest", &[]).success().stdout(contains("; rho 0.1"));
    shown("left      rho 0\n");
    of("D", "rest", &[]).failure().stderr(contains("a remaining budget"));
    let dry =
        ["release", "--schema", "S.toml", "--workload", "W.toml", "--rho", "rest", "--dry-run"];
    matmech(here, &[&dry[..], &DROP].concat()).failure().stderr(contains("ledger show"));
    matmech(here, &["ledger", "create", "U.jsonl", "--rho", "rest"]).failure();
}

/// A schema cannot forge the statement, in Markdown or in HTML.
#[test]
fn a_schema_cannot_forge_the_statement() {
    let folder = folder();
    let here = folder.path();
    let forged = "\n# ```\n# \n# # Statement of a private release\n#\n# **Guarantee.** (0, 0)-\n";
    let schema = read(here, "S.toml").replace("\"age\"", "\"a|e`**x**`\"") + forged;
    std::fs::write(here.join("S.toml"), format!("{schema}\n```\n# Forged\n```\n")).unwrap();
    release(here, "R", &[]).failure();
    std::fs::write(here.join("S.toml"), &schema).unwrap();
    let data = read(here, "X.csv").replace("age,job", "a|e`**x**`,job");
    std::fs::write(here.join("X.csv"), data).unwrap();
    for (out, more) in [("R", &[][..]), ("Q", &["--mechanism", "staged"])] {
        release(here, out, more).success();
        let statement = read(here, &format!("{out}/statement.md"));
        // Everything of the schema is inside the fences of its code block.
        let mut fence = None;
        let mut headings = Vec::new();
        for line in statement.lines() {
            match fence {
                None if line.starts_with("```") => {
                    fence = Some(line.trim_end_matches(|c: char| c != '`').to_owned());
                }
                None if line.starts_with('#') => headings.push(line),
                Some(ref open) if line == open => fence = None,
                _ => {}
            }
        }
        let expected = ["# Statement of a private release", "## Schema", "## Workload"];
        assert_eq!(headings, expected, "{statement}");
        for line in statement.lines().filter(|line| line.starts_with('|')) {
            let cells = line.replace("\\|", "").matches('|').count() - 1;
            assert_eq!(cells, if out == "R" { 5 } else { 6 }, "{line}");
        }
        let page = read(here, &format!("{out}/report.html"));
        assert_eq!(page.matches("<strong>Guarantee.</strong>").count(), 1);
        assert!(!page.contains("<strong>x</strong>"));
    }
}

/// The statement lists what applies to the release.
#[test]
fn statements_say_what_they_do_not_protect() {
    let folder = folder();
    let here = folder.path();
    release(here, "R", &[]).success();
    let statement = read(here, "R/statement.md");
    assert!(statement.contains("more records than the privacy unit allows"));
    assert!(statement.contains("people who are in other releases"));
    matmech(here, &["ledger", "create", "P.jsonl", "--rho", "1", "--person", "job"]).success();
    let mut words = super::words("P", &["--person", "job"]);
    let ledger = words.iter().position(|word| *word == "L.jsonl").unwrap();
    words[ledger] = "P.jsonl";
    matmech(here, &words).success();
    let statement = read(here, "P/statement.md");
    assert!(!statement.contains("more records than the privacy unit allows"));
    assert!(statement.contains("all records that have the same value of `job`"));
    let shown = matmech(here, &["ledger", "show", "P.jsonl"]).success();
    shown.stdout(contains("of a person by `job`"));
}

/// Tables that differ in one record, the only one outside the schema, are refused alike by default,
/// with equal words and nothing charged; with a complete schema both are accepted.
#[test]
fn no_record_decides_whether_a_schema_is_accepted() {
    let folder = folder();
    let here = folder.path();
    std::fs::write(here.join("inside.csv"), "age,job\n10,clerk\n30,cook\n").unwrap();
    std::fs::write(here.join("outside.csv"), "age,job\n10,clerk\n,pilot\n").unwrap();
    let complete = read(here, "S.toml")
        .replace("count = 4 }", "count = 4 }\nother = 0")
        .replace("\"cook\"]", "\"cook\"]\nother = \"cook\"");
    std::fs::write(here.join("complete.toml"), complete).unwrap();
    matmech(here, &["ledger", "create", "N.jsonl", "--rho", "1"]).success();
    let of = |schema, data, out: &str, more: &[&str]| {
        let fixed = ["release", "--schema", schema, "--ways", "1", "--data", data, "--rho", "0.1"];
        matmech(here, &[&fixed[..], &["--ledger", "N.jsonl", "--out", out], more].concat())
    };
    for more in [&[][..], &["--mechanism", "staged"], &["--out-of-domain", "other"]] {
        let said = |data| of("S.toml", data, "R", more).failure().code(1).get_output().clone();
        let (inside, outside) = (said("inside.csv"), said("outside.csv"));
        assert_eq!((inside.stdout, inside.stderr), (outside.stdout, outside.stderr));
        assert!(!here.join("R").exists() && !here.join("R.partial").exists());
    }
    let shown = matmech(here, &["ledger", "show", "N.jsonl"]).success();
    shown.stdout(contains("left      rho 1\n"));
    for (out, data) in [("A", "inside.csv"), ("B", "outside.csv")] {
        of("complete.toml", data, out, &[]).success();
        let statement = read(here, &format!("{out}/statement.md"));
        assert!(statement.contains("missing and outside values: counted as"), "{statement}");
    }
}
