//! Counts of engines: the statements, and releases of their results.

use std::path::Path;

use super::*;

/// The counts of a table on age and job.
const COUNTS: [[u32; 3]; 4] = [[707, 0, 3], [0, 911, 0], [5, 0, 0], [0, 0, 613]];

/// Writes the marginals on both attributes, and on one, as an engine would.
fn write(here: &Path, pairs: &[[u32; 3]; 4], jobs: &[[u32; 3]; 4]) {
    let _ = std::fs::create_dir(here.join("counts"));
    let mut pair = "cell_1,count,cell_0\n".to_owned();
    let mut job = "count,cell_1\n".to_owned();
    for k in 0..3 {
        for (age, row) in pairs.iter().enumerate().filter(|(_, row)| row[k] > 0) {
            pair += &format!("{k},{},{age}\n", row[k]);
        }
        job += &format!("{},{k}\n", jobs.iter().map(|row| row[k]).sum::<u32>());
    }
    std::fs::write(here.join("counts/pair.csv"), pair).unwrap();
    std::fs::write(here.join("counts/job.csv"), job).unwrap();
    std::fs::write(here.join("counts/readme.txt"), "other files are ignored").unwrap();
}

fn of_counts(here: &Path, out: &str, more: &[&str]) -> assert_cmd::assert::Assert {
    let fixed = ["release", "--schema", "S.toml", "--workload", "W.toml", "--counts", "counts"];
    let rule = ["--out-of-domain", "drop"];
    let rest = ["--ledger", "L.jsonl", "--out", out, "--rho", "0.25"];
    matmech(here, &[&fixed[..], &rule, &rest, more].concat())
}

/// Tables that differ in one record are both released, with outputs of the same form.
#[test]
fn neighbouring_counts_are_released() {
    let folder = folder();
    let here = folder.path();
    let mut neighbour = COUNTS;
    neighbour[2][0] -= 1;
    let printed = [(COUNTS, "one"), (neighbour, "two")].map(|(counts, out)| {
        write(here, &counts, &counts);
        let done = of_counts(here, out, &["--json"]).success().get_output().stdout.clone();
        let mut report: serde_json::Value = serde_json::from_slice(&done).unwrap();
        for measured in ["expected_seconds", "expected_mb", "out"] {
            report.as_object_mut().unwrap().remove(measured);
        }
        assert!(read(here, &format!("{out}/statement.md")).contains("An engine counted"));
        let sums = read(here, &format!("{out}/SHA256SUMS"));
        let named: Vec<(&str, &str)> =
            sums.lines().map(|line| line.split_once("  ").unwrap()).collect();
        for (sum, name) in &named {
            let bytes = std::fs::read(here.join(out).join(name)).unwrap();
            assert_eq!(matmech::hash::sha256(&bytes), *sum, "{name}");
        }
        let names: Vec<&str> = named.into_iter().map(|(_, name)| name).collect();
        let written = ["answers.csv", "report.html", "statement.json", "statement.md"];
        assert_eq!(names, [&written[..], &["measurements/SHA256SUMS"]].concat());
        (report, read(here, &format!("{out}/answers.csv")).lines().count())
    });
    assert_eq!(printed[0], printed[1]);
}

#[test]
fn counts_of_two_tables_are_refused_before_the_reservation() {
    let folder = folder();
    let here = folder.path();
    let mut neighbour = COUNTS;
    neighbour[0][0] += 1;
    let mut messages = Vec::new();
    for (pairs, jobs) in [(COUNTS, neighbour), (neighbour, COUNTS)] {
        write(here, &pairs, &jobs);
        let refused = of_counts(here, "out", &[]).failure().get_output().stderr.clone();
        messages.push(String::from_utf8(refused).unwrap());
    }
    assert_eq!(messages[0], messages[1]);
    for text in ["cell_0,cell_1,count\n0,0,707\n0,0,3\n", "cell_0,cell_1,count\n0,7,913\n"] {
        std::fs::write(here.join("counts/pair.csv"), text).unwrap();
        let refused = of_counts(here, "out", &[]).failure().get_output().stderr.clone();
        messages.push(String::from_utf8(refused).unwrap());
    }
    for (text, part) in [
        ("cell_0,cell_1,count\n0,0,x913\n", "integers"),
        ("cell_0,cell_1,count\n0,0,913.0\n", "integers"),
        ("cell_0,cell_0,count\n0,0,913\n", "each once"),
        ("cell_0,cell_2,count\n0,0,913\n", "each once"),
        ("cell_0,cell_1\n0,913\n", "each once"),
    ] {
        std::fs::write(here.join("counts/pair.csv"), text).unwrap();
        let refused = of_counts(here, "out", &[]).failure().stderr(contains(part));
        messages.push(String::from_utf8(refused.get_output().stderr.clone()).unwrap());
    }
    for message in messages {
        for count in ["707", "708", "911", "613", "913", "710", "711"] {
            assert!(!message.contains(count), "{message}");
        }
    }
    assert_eq!(ledger(here)["spent_rho"], 0.0);
    std::fs::remove_file(here.join("counts/pair.csv")).unwrap();
    of_counts(here, "out", &[]).failure().stderr(contains("(age)").or(contains("(age, job)")));
    assert_eq!(ledger(here)["spent_rho"], 0.0);
}

#[test]
fn staged_releases_need_an_engine() {
    let folder = folder();
    write(folder.path(), &COUNTS, &COUNTS);
    of_counts(folder.path(), "out", &["--mechanism", "staged"])
        .failure()
        .stderr(contains("matmech.Table"));
    assert_eq!(ledger(folder.path())["spent_rho"], 0.0);
}

/// Names in a schema, and names of tables, cannot end a statement or a comment.
#[test]
fn names_stay_inside_the_statements() {
    let folder = folder();
    let hostile = "[[attribute]]\nname = \"a\\\"; DROP TABLE t; --\\nx\"\nvalues = [\"'; DROP\", \
                   \"y\"]\nkind = \"categorical\"\n";
    std::fs::write(folder.path().join("H.toml"), hostile).unwrap();
    for dialect in ["duckdb", "spark", "sqlite", "postgres"] {
        let fixed = ["sql", "--schema", "H.toml", "--ways", "1", "--table", "t"];
        let rule = ["--out-of-domain", "drop"];
        let words = [&fixed[..], &["--dialect", dialect]].concat();
        // As for a release, records are dropped only if asked for.
        matmech(folder.path(), &words).failure().stderr(contains("a cell for other values"));
        let output = matmech(folder.path(), &[&words[..], &rule].concat())
            .success()
            .get_output()
            .stdout
            .clone();
        let text = String::from_utf8(output).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("DROP")).collect();
        // The comments, and the quoted name over two lines.
        assert!(text.starts_with("-- cell_0: a?? DROP TABLE t? ???x\n"), "{text}");
        assert!(!text.contains("'; DROP"), "{text}");
        assert!(
            lines.iter().all(|line| line.starts_with("-- ") || line.contains("SELECT")),
            "{text}"
        );
        assert!(text.ends_with(" FROM \"matmech_cells\" GROUP BY cell_0;\n") || dialect == "spark");
    }
}

/// A statement per largest set of attributes.
#[test]
fn smaller_marginals_are_derived() {
    let folder = folder();
    let words = |more: &[&'static str]| {
        let fixed = ["sql", "--schema", "S.toml", "--workload", "W.toml", "--table", "t"];
        [&fixed[..], &["--out-of-domain", "drop"], more].concat()
    };
    let sqlite = ["--dialect", "sqlite", "--person", "id", "--unit-rows", "3"];
    let done = matmech(folder.path(), &words(&sqlite)).success();
    let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    assert_eq!(text.matches(" GROUP BY ").count(), 1);
    assert!(text.contains("PARTITION BY person") && text.contains("record_number <= 3"));
    let typed = |kind| {
        let kind = format!("job={kind}");
        let words = [&words(&["--dialect", "duckdb", "--type"])[..], &[kind.as_str()]].concat();
        matmech(folder.path(), &words.to_vec())
    };
    typed("varchar").success();
    typed("bigint").failure().stderr(contains("`job`"));
    typed("blob").failure().stderr(contains("`blob`"));
}
