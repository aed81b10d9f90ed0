//! A folder with the files of the tests, and the command in it.

use super::*;

pub(super) const SCHEMA: &str = r#"
[[attribute]]
name = "age"
size = 4
kind = "numeric"
bins = { low = 0, high = 80, count = 4 }

[[attribute]]
name = "job"
size = 3
kind = "categorical"
values = ["clerk", "baker", "cook"]

[[attribute]]
name = "level"
size = 5
kind = "numeric"
"#;

/// 120 records with dependent attributes and a column that is not in the schema.
pub(super) fn data() -> String {
    let jobs = ["clerk", "baker", "cook"];
    let line = |k: usize| {
        format!("{},{},{},{k}\n", jobs[k * k % 3], k * 7 % 80, (k * 7 % 80 / 20 + k % 2) % 5)
    };
    format!("job,age,level,unused\n{}", (0..120).map(line).collect::<String>())
}

/// Creates a folder with the schema S.toml and the data X.csv.
pub(super) fn folder(schema: &str, data: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("S.toml"), schema).unwrap();
    std::fs::write(folder.path().join("X.csv"), data).unwrap();
    folder
}

/// Runs `matmech simulate` on S.toml and X.csv with more arguments.
pub(super) fn simulate(folder: &Path, words: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("matmech")
        .unwrap()
        .current_dir(folder)
        .args(["simulate", "--schema", "S.toml", "--data", "X.csv"])
        .args(words)
        .assert()
}

pub(super) fn json(folder: &Path, words: &[&str]) -> serde_json::Value {
    let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
    serde_json::from_slice(&simulate(folder, &words).success().get_output().stdout).unwrap()
}

pub(super) fn number(report: &serde_json::Value, field: &str) -> f64 {
    report[field].as_f64().unwrap()
}
