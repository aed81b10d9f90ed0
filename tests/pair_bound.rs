//! The bound of `scripts/pair_bound.py` against domains whose optimum is certified explicitly.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

mod python;

/// What no strategy is below on prefix sums of every attribute and `family` on every pair of `[n]^d`: all cells written out.
fn certified(n: usize, d: usize, family: &str) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let mut schema = String::new();
    for i in 0..d {
        writeln!(schema, "[[attribute]]\nname = \"a{i}\"\nsize = {n}\nkind = \"numeric\"\n").unwrap();
    }
    std::fs::write(folder.path().join("S.toml"), schema).unwrap();
    let queries =
        format!("[[queries]]\nfamily = \"prefix\"\nways = [1]\n\n[[queries]]\nfamily = \"{family}\"\nways = [2]\n");
    std::fs::write(folder.path().join("W.toml"), queries).unwrap();
    let output = assert_cmd::Command::cargo_bin("matmech")
        .unwrap()
        .current_dir(folder.path())
        .args(["plan", "--schema", "S.toml", "--workload", "W.toml", "--privacy-cost", "1", "--global-bound", "--json"])
        .assert()
        .success()
        .get_output()
        .stdout
        .clone();
    let report: serde_json::Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(report["global_lower_bound_note"], "explicit");
    report["global_lower_bound_rmse"].as_f64().unwrap()
}

#[test]
fn no_certified_optimum_is_below_it() {
    let Some(python) = python::python() else {
        eprintln!("skipped: no Python with NumPy; install it, or name one in MATMECH_PYTHON");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/pair_bound.py");
    for (n, d) in [(5, 2), (2, 3), (4, 3), (3, 4), (5, 3), (2, 6)] {
        for family in ["affine", "abs"] {
            let arguments = [n.to_string(), d.to_string(), family.to_owned()];
            let output = Command::new(&python).arg(&script).args(arguments).output().unwrap();
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            let bound: f64 = printed.trim().parse().unwrap_or_else(|_| panic!("{n}^{d} {family}: {output:?}"));
            let optimum = certified(n, d, family);
            assert!(bound <= optimum * (1.0 + 1e-6), "{n}^{d} {family}: {bound} is above {optimum}");
            assert!(bound >= 0.98 * optimum, "{n}^{d} {family}: {bound} is far below {optimum}");
        }
    }
    for (words, said) in
        [(["4", "3", "range"], "affine|abs"), (["4", "1", "abs"], "2 or more"), (["x", "3", "abs"], "found x")]
    {
        let refused = Command::new(&python).arg(&script).args(words).output().unwrap();
        assert!(!refused.status.success());
        assert!(String::from_utf8_lossy(&refused.stderr).contains(said), "{refused:?}");
    }
}
