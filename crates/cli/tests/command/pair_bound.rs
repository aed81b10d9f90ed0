//! Tests of the bound of `scripts/pair_bound.py` against certified optima on small domains.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Output;

use crate::python;

/// Returns the certified lower bound over all strategies for prefix sums on every attribute and
/// `family` on every pair of `[n]^d`, from the explicit Gram matrix.
fn certified(n: usize, d: usize, family: &str) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let mut schema = String::new();
    for i in 0..d {
        writeln!(schema, "[[attribute]]\nname = \"a{i}\"\nsize = {n}\nkind = \"numeric\"\n")
            .unwrap();
    }
    std::fs::write(folder.path().join("S.toml"), schema).unwrap();
    let queries = format!(
        "[[queries]]\nfamily = \"prefix\"\nways = [1]\n\n\
         [[queries]]\nfamily = \"{family}\"\nways = [2]\n"
    );
    std::fs::write(folder.path().join("W.toml"), queries).unwrap();
    let output = assert_cmd::Command::cargo_bin("matmech")
        .unwrap()
        .current_dir(folder.path())
        .args([
            "plan",
            "--schema",
            "S.toml",
            "--workload",
            "W.toml",
            "--privacy-cost",
            "1",
            "--global-bound",
            "--json",
        ])
        .assert()
        .success()
        .get_output()
        .stdout
        .clone();
    let report: serde_json::Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(report["global_lower_bound_note"], "explicit");
    report["global_lower_bound_rmse"].as_f64().unwrap()
}

/// Runs the script; `None` without a Python that has NumPy.
fn script(words: &[&str]) -> Option<Output> {
    let python = python::python()?;
    Some(python::run(&python, "scripts/pair_bound.py", words))
}

fn bound(n: &str, d: &str, family: &str) -> Option<f64> {
    let output = script(&[n, d, family])?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(printed.trim().parse().unwrap_or_else(|_| panic!("{n}^{d} {family}: {output:?}")))
}

#[test]
fn certified_optima_are_at_least_the_bound() {
    for (n, d) in [(5, 2), (2, 3), (4, 3), (3, 4), (5, 3), (2, 6)] {
        for family in ["affine", "abs"] {
            let Some(bound) = bound(&n.to_string(), &d.to_string(), family) else { return };
            let optimum = certified(n, d, family);
            assert!(
                bound <= optimum * (1.0 + 1e-6),
                "{n}^{d} {family}: {bound} is above {optimum}"
            );
            assert!(bound >= 0.98 * optimum, "{n}^{d} {family}: {bound} is far below {optimum}");
        }
    }
    for (words, said) in [
        (["4", "3", "range"], "affine|abs"),
        (["4", "1", "abs"], "2 or more"),
        (["x", "3", "abs"], "found x"),
    ] {
        let Some(refused) = script(&words) else { return };
        assert!(!refused.status.success());
        assert!(String::from_utf8_lossy(&refused.stderr).contains(said), "{refused:?}");
    }
}

/// The bounds in docs/reference-measures.md and the lower ends of the bands of `anova` in
/// data/expected/ are the output of the script, rounded down.
#[test]
fn published_bounds_match_the_script() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let page = std::fs::read_to_string(root.join("docs/reference-measures.md")).unwrap();
    let bands = std::fs::read_to_string(root.join("data/expected/beyond_reference.csv")).unwrap();
    let mut written: Vec<[String; 4]> = Vec::new();
    let table =
        page.lines().skip_while(|line| !line.contains("absolute differences: anova")).skip(2);
    for row in table.take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        written.extend(
            [("affine", 2), ("abs", 5)]
                .map(|(family, column)| [cells[0], "40", family, cells[column]].map(String::from)),
        );
    }
    for row in bands.lines() {
        let cells: Vec<&str> = row.split(',').collect();
        if cells[6] == "anova" && ["affine", "abs"].contains(&cells[4]) {
            written.push([2, 3, 4, 9].map(|column| cells[column].to_owned()));
        }
    }
    assert_eq!(written.len(), 16);
    for [n, d, family, low] in written {
        let Some(bound) = bound(&n, &d, &family) else { return };
        let decimals = low.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let difference = bound - low.parse::<f64>().unwrap();
        assert!(
            (0.0..0.1f64.powi(decimals as i32)).contains(&difference),
            "{n}^{d} {family}: {low} is written, {bound} printed"
        );
    }
}
