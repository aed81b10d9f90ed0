//! Mistakes found before anything is spent are not charged, and no message quotes the data.

use std::path::Path;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::{SCHEMA, data, folder, ledger, matmech, read, release};

/// Files whose first line does not match the schema.
#[test]
fn a_file_with_an_invalid_header_costs_nothing_and_is_not_quoted() {
    let folder = folder();
    let here = folder.path();
    let utf16 = |text: &str| -> Vec<u8> {
        [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
    };
    let header = |line: &str| format!("{line}\n7,clerk\n").into_bytes();
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("empty", Vec::new()),
        ("no header", b"7,secret\n7,clerk\n".to_vec()),
        ("semicolons", header("age;job")),
        ("tabs", header("age\tjob")),
        ("bars", header("age|job")),
        ("a column missing", header("age,secret")),
        ("a column twice", header("age,job,age")),
        ("another case", header("Age,Job")),
        ("UTF-16", utf16("age,job\n7,secret\n")),
        ("no text", b"PK\x03\x04\x14secret".to_vec()),
        ("another line separator", "age\u{2028}job\u{2028}secret".as_bytes().to_vec()),
        ("vertical tabs", b"age\x0bjob\x0bsecret".to_vec()),
        ("an open quotation mark in the header", b"\"age,job\n7,secret\n".to_vec()),
        ("a comment first", b"# secret\nage,job\n7,clerk\n".to_vec()),
        ("blank lines only", b"\n\n\n".to_vec()),
        ("zeros", vec![0; 100]),
    ];
    for (what, bytes) in files {
        std::fs::write(here.join("X.csv"), bytes).unwrap();
        let said = release(here, "R", &[])
            .failure()
            .code(1)
            .stderr(contains("X.csv").and(contains("remedy")));
        let said = String::from_utf8_lossy(&said.get_output().stderr).into_owned();
        assert!(!said.contains("secret") && !said.contains("Age"), "{what}: {said}");
        assert_eq!(ledger(here)["reservations"], 0, "{what}");
        assert!(!here.join("R").exists() && !here.join("R.partial").exists(), "{what}");
    }
    // Unusual files that match the schema.
    for (k, text) in
        ["\u{feff}age,job\n7,clerk\n", " age , job \r\n7,clerk\r\n", "job,x,\"age\"\nclerk,1,7\n"]
            .iter()
            .enumerate()
    {
        std::fs::write(here.join("X.csv"), text).unwrap();
        release(here, &format!("T{k}"), &[]).success();
    }
}

/// Output names that cannot be created.
#[cfg(unix)]
#[test]
fn an_invalid_output_name_costs_nothing() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    let here = folder.path();
    std::fs::create_dir(here.join("taken")).unwrap();
    std::fs::create_dir(here.join("half.partial")).unwrap();
    std::fs::write(here.join("file"), "").unwrap();
    symlink("nowhere", here.join("dangling")).unwrap();
    symlink("taken", here.join("link")).unwrap();
    symlink("nowhere", here.join("D.csv")).unwrap();
    for out in ["taken", "half", "file", "dangling", "link", "nowhere/R", "file/R", "..", "/"] {
        release(here, out, &[]).failure().code(1).stderr(contains("remedy"));
        assert_eq!(ledger(here)["reservations"], 0, "{out}");
    }
    for data in ["D.csv", "taken", "nowhere.csv"] {
        let mut arguments = super::words("R", &[]);
        arguments[6] = data;
        matmech(here, &arguments).failure().code(1).stderr(contains(data).and(contains("remedy")));
        assert!(!here.join("R.partial").exists());
    }
    assert_eq!(ledger(here)["reservations"], 0);
    // Other spellings of a name that does not exist are that name.
    for (out, name) in [("S/", "S"), ("T/.", "T"), ("./U//", "U")] {
        release(here, out, &[]).success();
        assert!(here.join(name).join("statement.json").exists(), "{out}");
        assert!(!here.join(format!("{name}.partial")).exists(), "{out}");
    }
    let show = ledger(here);
    assert_eq!((&show["reservations"], &show["unsettled"]), (&3.into(), &0.into()));
}

/// A file that this user may not read. A superuser may read every file, so the test then runs as
/// another user.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_read_costs_nothing() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let folder = folder();
    let here = folder.path();
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap()
    };
    super::copy_program(here);
    for (name, bits) in [("", 0o777), ("matmech", 0o755), ("L.jsonl", 0o666), ("X.csv", 0o200)] {
        mode(&here.join(name), bits);
    }
    let mut process = std::process::Command::new(here.join("matmech"));
    process.current_dir(here).args(super::words("R", &[]));
    if std::fs::File::open(here.join("X.csv")).is_ok() {
        process.uid(65_534).gid(65_534);
    }
    let output = process.output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("X.csv"), "{output:?}");
    assert_eq!(ledger(here)["reservations"], 0);
}

/// The attack: one record whose unquoted value has carriage returns, which older programs write, in
/// a column that the schema uses or in another. It never becomes several records.
#[test]
fn a_lone_carriage_return_is_refused() {
    let folder = folder();
    let here = folder.path();
    for lines in ["7,clerk,x\n7,clerk\rclerk\rclerk,x\n", "7,clerk,x\n7,clerk,x\r7,clerk,x\n"] {
        std::fs::write(here.join("X.csv"), format!("age,job,other\n{lines}8,clerk,x\n")).unwrap();
        let before = ledger(here)["reservations"].as_u64().unwrap();
        let check = ["check-data", "--schema", "S.toml", "--data", "X.csv"];
        matmech(here, &check)
            .success()
            .stdout(contains("line 3: ").and(contains("carriage return")));
        let said = release(here, "R", &[])
            .failure()
            .stderr(contains("carriage return").and(contains("check-data")));
        assert!(!String::from_utf8_lossy(&said.get_output().stderr).contains("line 3"));
        assert_eq!(ledger(here)["reservations"], before + 1);
        assert!(!here.join("R").exists() && !here.join("R.partial").exists());
        let simulated = ["simulate", "--schema", "S.toml", "--data", "X.csv", "--ways", "1"];
        matmech(here, &[&simulated[..], &["--rho", "1"]].concat())
            .failure()
            .stderr(contains("X.csv, line 3: ").and(contains("carriage return")));
    }
    // In the header it is found before anything is reserved.
    for header in ["age,job,other\r", "age,job\rsecret,other\n", "age,job,other\r\r\n"] {
        std::fs::write(here.join("X.csv"), format!("{header}7,clerk,x\n")).unwrap();
        let before = ledger(here)["reservations"].clone();
        let said = release(here, "R", &[]).failure().stderr(contains("carriage return"));
        assert!(!String::from_utf8_lossy(&said.get_output().stderr).contains("secret"));
        assert_eq!(ledger(here)["reservations"], before);
    }
}

/// A header without an end is refused before anything is reserved.
#[cfg(unix)]
#[test]
fn a_header_without_an_end_is_refused() {
    let folder = folder();
    let here = folder.path();
    let mut words = super::words("R", &[]);
    let data = words.iter().position(|word| *word == "X.csv").unwrap();
    words[data] = "/dev/zero";
    matmech(here, &words).failure().stderr(contains("a header of at most 1 MiB"));
    assert_eq!(ledger(here)["reservations"], 0);
}

/// An open quotation mark is an error at the end of the file. It is charged, because the records
/// were read; `check-data` finds its line in advance.
#[test]
fn an_open_quotation_mark_is_an_error_that_check_data_finds() {
    let folder = folder();
    let here = folder.path();
    std::fs::write(here.join("X.csv"), "age,job\n7,clerk\n7,\"secret\n8,clerk\n").unwrap();
    let check = ["check-data", "--schema", "S.toml", "--data", "X.csv"];
    matmech(here, &check)
        .success()
        .stdout(contains("line 3: expected a quotation mark that is closed"));
    let said = release(here, "R", &[])
        .failure()
        .stderr(contains("never closed").and(contains("check-data")));
    assert!(!String::from_utf8_lossy(&said.get_output().stderr).contains("secret"));
    assert_eq!(ledger(here)["reservations"], 1);
    assert!(!here.join("R").exists() && !here.join("R.partial").exists());
}

#[test]
fn check_data_shows_how_a_release_would_handle_a_file() {
    let folder = folder();
    let here = folder.path();
    let check = ["check-data", "--schema", "S.toml", "--data", "X.csv", "--json"];
    let output = matmech(here, &check).success().get_output().stdout.clone();
    let report: serde_json::Value = serde_json::from_slice(&output).unwrap();
    let count = |key: &str| report[key].as_u64().unwrap();
    assert_eq!((count("records"), count("kept"), count("dropped")), (65, 61, 4));
    assert_eq!(report["is_private"], false);
    assert_eq!(
        (&report["attributes"][0]["outside"], &report["attributes"][1]["outside"]),
        (&2.into(), &2.into())
    );
    assert_eq!(report["offences"][1]["found"], "`sorcerer`");
    assert_eq!(ledger(here)["reservations"], 0);
    assert!(data().contains("sorcerer"));
}

/// Attributes that no query uses cost no memory, and their size has no upper limit.
#[test]
fn attributes_that_no_query_uses_cost_nothing() {
    let folder = folder();
    let here = folder.path();
    for (k, size) in ["9223372036854775807", "20000000"].into_iter().enumerate() {
        let more = format!(
            "{SCHEMA}\n[[attribute]]\nname = \"zip\"\nsize = {size}\nkind = \"categorical\"\n"
        );
        std::fs::write(here.join("S.toml"), more).unwrap();
        std::fs::write(
            here.join("W.toml"),
            "[[queries]]\nfamily = \"identity\"\nattributes = [\"age\"]\n",
        )
        .unwrap();
        std::fs::write(
            here.join("X.csv"),
            format!("age,job,zip\n{}", "7,clerk,1000000\n".repeat(100)),
        )
        .unwrap();
        let name = format!("R{k}");
        let output = release(here, &name, &["--json"]).success().get_output().stdout.clone();
        let report: serde_json::Value = serde_json::from_slice(&output).unwrap();
        assert!(report["expected_mb"].as_f64().unwrap() < 40.0, "{report}");
        assert_eq!(report["expected_bytes_per_record"], 1);
        assert!(read(here, &format!("{name}/measurements/strategies.json")).len() < 2_000);
        // A record with a value outside any attribute of the schema is dropped, even if the
        // attribute is unused.
        std::fs::write(
            here.join("M.toml"),
            "[[queries]]\nfamily = \"total\"\nattributes = [\"age\"]\n",
        )
        .unwrap();
        let measurements = format!("{name}/measurements");
        let out = format!("{name}.csv");
        matmech(
            here,
            &["answer", "--measurements", &measurements, "--workload", "M.toml", "--out", &out],
        )
        .success();
    }
    let plan = ["plan", "--schema", "S.toml", "--workload", "W.toml", "--rho", "1"];
    matmech(here, &plan).success();
}

/// Numbers in a schema are compared as numbers.
#[test]
fn numbers_of_a_schema_match_numbers_of_a_file() {
    let folder = folder();
    let here = folder.path();
    let schema =
        "[[attribute]]\nname = \"rate\"\nsize = 2\nkind = \"numeric\"\nvalues = [1.0, 2.50]\n";
    std::fs::write(here.join("S.toml"), schema).unwrap();
    std::fs::write(here.join("X.csv"), "rate\n1.0\n1\n2.5\n2.500\n3\n").unwrap();
    let check = ["check-data", "--schema", "S.toml", "--data", "X.csv"];
    matmech(here, &check).success().stdout(contains("5 read, 4 kept, 1 outside the schema"));
    std::fs::write(here.join("S.toml"), schema.replace("2.50", "\"1\"")).unwrap();
    matmech(here, &check).failure().stderr(contains("2 distinct values"));
}

/// Synthetic records of a plan without a model.
#[test]
fn records_need_a_model() {
    let folder = folder();
    let here = folder.path();
    for (count, expected) in [("auto", "--mechanism staged"), ("0", "4294967295")] {
        release(here, "R", &["--records", count])
            .failure()
            .stderr(contains("--records").and(contains(expected)));
    }
    assert_eq!(ledger(here)["reservations"], 0);
}
