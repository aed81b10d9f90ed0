//! A folder with the files of the tests, and the commands in it.

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
"#;

pub(super) const WORKLOAD: &str = "[[queries]]\nfamily = \"hybrid\"\nways = [1, 2]\n";

/// 60 records of the schema, and five more with values that must not be printed.
pub(super) fn data() -> String {
    let jobs = ["clerk", "baker", "cook"];
    let inside: String = (0..60).map(|k| format!("{},{}\n", k * 7 % 80, jobs[k * k % 3])).collect();
    format!("age,job\n{inside}99,clerk\n7,sorcerer\nxyzzy,clerk\n12\n12,cook,plugh\n")
}

/// Returns a folder with S.toml, W.toml, X.csv and a ledger of ρ = 1.
pub(super) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("S.toml", SCHEMA), ("W.toml", WORKLOAD), ("X.csv", &data())] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    matmech(folder.path(), &["ledger", "create", "L.jsonl", "--rho", "1"]).success();
    folder
}

/// The rule of schemas without cells for other values.
pub(super) const DROP: [&str; 2] = ["--out-of-domain", "drop"];

pub(super) fn matmech(folder: &Path, words: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("matmech").unwrap().current_dir(folder).args(words).assert()
}

/// Copies the program to where any user can run it.
///
/// Another process writes the copy: programs that other tests start inherit the open files of this
/// process, and a program that is open for writing cannot be run.
#[cfg(target_os = "linux")]
pub(super) fn copy_program(folder: &Path) {
    let copied = Process::new("cp")
        .args([env!("CARGO_BIN_EXE_matmech"), "matmech"])
        .current_dir(folder)
        .status()
        .unwrap();
    assert!(copied.success());
}

/// Returns the arguments of a release of ρ = 0.25 into a folder.
pub(super) fn words<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = [
        "release",
        "--schema",
        "S.toml",
        "--workload",
        "W.toml",
        "--data",
        "X.csv",
        "--ledger",
        "L.jsonl",
        "--out",
        out,
    ];
    let budget: &[&str] = if more.contains(&"--epsilon") { &[] } else { &["--rho", "0.25"] };
    let has_rule = more.contains(&"--out-of-domain");
    let rule: &[&str] = if has_rule { &[] } else { &DROP };
    fixed.iter().chain(budget).chain(rule).chain(more).copied().collect()
}

pub(super) fn release(folder: &Path, out: &str, more: &[&str]) -> assert_cmd::assert::Assert {
    matmech(folder, &words(out, more))
}

pub(super) fn ledger(folder: &Path) -> serde_json::Value {
    let output = matmech(folder, &["ledger", "show", "L.jsonl", "--json"])
        .success()
        .get_output()
        .stdout
        .clone();
    serde_json::from_slice(&output).unwrap()
}

pub(super) fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// Runs the commands of a page's first block marked `steward`, unchanged, in a folder with the
/// page's files.
pub(super) fn run_block(page: &str) -> tempfile::TempDir {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let text = std::fs::read_to_string(root.join(page)).unwrap();
    let block = text
        .split("<!-- steward: begin -->")
        .nth(1)
        .unwrap()
        .split("<!-- steward: end -->")
        .next()
        .unwrap();
    let script = block.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("docs/example")).unwrap();
    for name in ["survey.csv", "survey.toml"] {
        std::fs::copy(
            root.join("docs/example").join(name),
            folder.path().join("docs/example").join(name),
        )
        .unwrap();
    }
    let program = Path::new(env!("CARGO_BIN_EXE_matmech"));
    let path =
        format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = Process::new("sh")
        .current_dir(folder.path())
        .env("PATH", path)
        .args(["-ec", script])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}\n{script}");
    folder
}
