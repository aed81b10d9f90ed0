//! The examples of `docs/extending.md`: an external kind of experiment and an external kind of
//! figure, run by the commands of `reproduce`.

use std::fs;
use std::path::Path;

use clap::Parser;
use experiments::cli::{Arguments, execute};
use experiments::columns::VALUE;
use experiments::datasets::{Catalogue, Folders};
use experiments::engine::Display;
use experiments::error::Result;
use experiments::registry::Kinds;
use experiments::table::Table;

const CONFIG: &str = r#"
experiment = "s9/identity"
kind = "identity-errors"
title = "The identity on all ranges"
reproduces = "S9, Table 1"
seed = 1
expected_seconds = 1
expected_mb = 10
[grid]
sizes = [1, 4, 32]
[[compare]]
published = "s9.csv"
join = ["size", "method"]
metric = "total_error"
[[figure]]
file = "s9/identity"
title = "The identity on all ranges"
kind = "dots"
x = "size"
x_label = "cells"
y = "total_error"
y_label = "total error"
y_log = true
"#;

const PUBLISHED: &str =
    "id,where,size,method,value\none,Table 1,1,identity,1\nfour,Table 1,4,identity,20\n";

fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "configs/s9/identity.toml", CONFIG);
    write(folder.path(), "data/published/s9.csv", PUBLISHED);
    folder
}

/// Runs `reproduce <words>` with the kinds of the crate and the two of this test.
fn reproduce(root: &Path, words: &[&str]) -> Result<()> {
    let catalogue = Catalogue::new(
        root,
        Folders { user: None, tables: root.join("tables"), downloads: root.join("downloads") },
    );
    let mut kinds = Kinds::all(&catalogue);
    kinds.experiments.push(Box::new(super::identity_errors::IdentityErrors));
    kinds.figures.push(Box::new(super::dots::Dots));
    let words =
        ["reproduce", "--root", root.to_str().unwrap()].into_iter().chain(words.iter().copied());
    execute(&Arguments::try_parse_from(words).unwrap(), &kinds, &catalogue, &Display::plain())
}

#[test]
fn external_kinds_are_run_drawn_and_compared() {
    let folder = project();
    let root = folder.path();
    reproduce(root, &["all"]).unwrap();
    let table = Table::read(&root.join("results/s9/identity.csv"), "the table", "").unwrap();
    assert_eq!(table.fields("size").collect::<Vec<_>>(), ["1", "4", "32"]);
    for row in 0..table.len() {
        // Cell i is in (i + 1)(n − i) ranges; the sum over all cells is n(n + 1)(n + 2)/6.
        let n = table.number("size", row).unwrap();
        assert_eq!(table.number(VALUE, row), Some(n * (n + 1.0) * (n + 2.0) / 6.0));
    }
    assert!(root.join("results/s9/identity.provenance.json").is_file());
    // A marker is a disc with a halo: two circles.
    let svg = fs::read_to_string(root.join("figures/s9/identity.svg")).unwrap();
    assert_eq!((svg.matches("<circle").count(), svg.matches("<polygon").count()), (2 * 3, 0));
    let report = fs::read_to_string(root.join("results/COMPARISON.md")).unwrap();
    assert!(
        report.contains("| S9 published | 2 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 2 |"),
        "{report}"
    );
}

#[test]
fn configs_of_external_kinds_are_checked() {
    for (from, to, key, code) in [
        ("[1, 4, 32]", "[1, 0, 32]", "grid.sizes[1]", 2),
        ("sizes", "size", "grid.size", 2),
        ("kind = \"dots\"", "kind = \"dots\"\nvalue_labels = true", "figure[0].value_labels", 2),
        ("kind = \"dots\"", "kind = \"dot\"", "figure[0].kind", 2),
    ] {
        let folder = project();
        write(folder.path(), "configs/s9/identity.toml", &CONFIG.replacen(from, to, 1));
        let error = reproduce(folder.path(), &["run", "s9/identity"]).unwrap_err();
        assert_eq!((error.key(), error.exit_code()), (key, code), "{error}");
        assert!(!folder.path().join("results").exists(), "refused before anything runs");
    }
}

#[test]
fn deviations_from_published_values_are_errors() {
    let folder = project();
    write(folder.path(), "data/published/s9.csv", &PUBLISHED.replace(",20", ",21"));
    let error = reproduce(folder.path(), &["all"]).unwrap_err();
    assert_eq!(
        error.exit_code(),
        1,
        "a lower error without certificate is no improvement: {error}"
    );
}
