//! The example of `docs/writing-an-experiment.md`, and what happens to configs with mistakes.

use std::fs;
use std::path::Path;

use clap::Parser;
use experiments::cli::{Arguments, execute};
use experiments::columns::VALUE;
use experiments::config;
use experiments::datasets::{Catalogue, Folders};
use experiments::engine::Display;
use experiments::error::Result;
use experiments::registry::Kinds;
use experiments::table::Table;

/// Returns the blocks of a language in the page.
fn blocks(language: &str) -> Vec<String> {
    let page = include_str!("../../../docs/writing-an-experiment.md");
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).map(|part| part.split("```").next().unwrap().to_owned()).collect()
}

fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Returns a folder with the example.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "configs/own/prefix.toml", &blocks("toml")[0]);
    write(folder.path(), "configs/own/visits.csv", &blocks("csv")[0]);
    folder
}

fn reproduce(root: &Path, words: &[&str]) -> Result<()> {
    let folders =
        Folders { user: None, tables: root.join("tables"), downloads: root.join("downloads") };
    let catalogue = Catalogue::new(root, folders);
    let words =
        ["reproduce", "--root", root.to_str().unwrap()].into_iter().chain(words.iter().copied());
    let arguments = Arguments::try_parse_from(words).unwrap();
    execute(&arguments, &Kinds::all(&catalogue), &catalogue, &Display::plain())
}

/// Runs the commands of the page.
fn run_page(root: &Path) -> Result<()> {
    for line in blocks("sh")[0].lines() {
        let command = line.split('#').next().unwrap().trim();
        let words: Vec<&str> = command.strip_prefix("reproduce ").unwrap().split(' ').collect();
        reproduce(root, &words)?;
    }
    Ok(())
}

#[test]
fn the_example_is_run_drawn_and_listed() {
    let folder = project();
    let root = folder.path();
    run_page(root).unwrap();
    let table = Table::read(&root.join("results/own/prefix.csv"), "the table", "").unwrap();
    let errors = table.with("metric", "total_error").unwrap();
    assert_eq!(errors.len(), 10 * 3);
    // The queries of the file, against the total squared error of the identity: 8 + 3 + 3 + 6.
    let visits = errors.with("workload", "matrix(shape=8):visits.csv").unwrap();
    let optimum = visits.with("method", "optimal").unwrap();
    assert!(optimum.number(VALUE, 0).unwrap() < 20.0);
    let svg = fs::read_to_string(root.join("figures/own/prefix.svg")).unwrap();
    // Three lines over nine sizes: a marker per point, and one per series in the legend.
    assert!(["hierarchical", "wavelet", "cells n", "512"].iter().all(|text| svg.contains(text)));
    let longest = svg.split("<polyline").skip(1).map(|line| {
        line.split("points=\"").nth(1).unwrap().split('"').next().unwrap().split(' ').count()
    });
    assert!(longest.max().unwrap() >= 9, "a line over all sizes");
    assert!(root.join("figures/own/visits.png").is_file());
    reproduce(root, &["list"]).unwrap();
    reproduce(root, &["compare"]).unwrap();
    let report = fs::read_to_string(root.join("results/COMPARISON.md")).unwrap();
    assert!(report.contains("Own experiments") && !report.contains("reproduces"), "{report}");
}

#[test]
fn missing_keys_are_reported_at_once() {
    let folder = project();
    let file = folder.path().join("configs/own/prefix.toml");
    let mut text = fs::read_to_string(&file).unwrap();
    for line in ["kind = \"strategy-errors\"\n", "seed = 1\n", "y_label = \"error / SVD bound\"\n"]
    {
        assert!(text.contains(line));
        text = text.replacen(line, "", 1);
    }
    for key in ["expected_mb", "y = \"ratio_to_svdb\""] {
        let line = text.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
        text = text.replacen(&format!("{line}\n"), "", 1);
    }
    let message = config::parse(&file, &text).unwrap_err().to_string();
    for part in ["the keys `kind`, `seed`, `expected_mb`", "figure[0]", "the keys `y`, `y_label`"] {
        assert!(message.contains(part), "{part} in {message}");
    }
    let text = fs::read_to_string(&file).unwrap();
    let (before, after) = text.split_once("[grid]").unwrap();
    let after = after.split_once("[[figure]]").unwrap().1;
    fs::write(&file, format!("{before}[grid]\n[[figure]]{after}")).unwrap();
    let error = reproduce(folder.path(), &["run", "own/prefix"]).unwrap_err();
    assert_eq!((error.key(), error.exit_code()), ("grid", 2));
    assert!(error.to_string().contains("the keys `workloads`, `methods`"), "{error}");
}

#[test]
fn a_bad_figure_does_not_stop_the_others() {
    for (from, to, key) in [
        ("kind = \"lines\"", "kind = \"line\"", "figure[0].kind"),
        ("x = \"n\"", "x = \"cells\"", ""),
        ("x_log = true", "x_logarithmic = true", "figure[0].x_logarithmic"),
    ] {
        let folder = project();
        let root = folder.path();
        reproduce(root, &["run", "own/prefix"]).unwrap();
        let text = fs::read_to_string(root.join("configs/own/prefix.toml")).unwrap();
        assert!(text.contains(from));
        write(root, "configs/own/prefix.toml", &text.replacen(from, to, 1));
        write(root, "configs/own/broken.toml", "kind = ");
        let error = reproduce(root, &["figures"]).unwrap_err();
        let message = error.to_string();
        assert!(message.contains("own/broken.toml") && message.contains("expected"), "{message}");
        assert!(root.join("figures/own/visits.svg").is_file(), "{to}");
        assert!(!root.join("figures/own/prefix.svg").exists(), "{to}");
        fs::remove_file(root.join("configs/own/broken.toml")).unwrap();
        assert_eq!(reproduce(root, &["figures"]).unwrap_err().key(), key);
    }
}
