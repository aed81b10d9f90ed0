//! `docs/reviewing.md` is what its template, the configs and the committed results give, and its
//! commands are commands.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on must stop")]

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use experiments::cli::Arguments;
use experiments::config;
use experiments::guide::{self, PAGE, TEMPLATE, aims, past_s3};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn page() -> String {
    fs::read_to_string(root().join(PAGE)).unwrap()
}

#[test]
fn the_page_is_up_to_date() {
    let expected = guide::render(&root(), &config::load_all(&root()).unwrap()).unwrap();
    let page = page();
    let stale = expected.lines().zip(page.lines()).find(|(expected, found)| expected != found);
    assert!(
        expected == page,
        "{PAGE} is stale, run `reproduce guide`; the first line that differs: {stale:?}"
    );
}

/// The table of the hybrid over the best mechanism, and the aims: of the committed results.
#[test]
fn the_aims_are_up_to_date() {
    let configs = config::load_all(&root()).unwrap();
    let expected = aims::render(&root(), &configs).unwrap();
    let page = fs::read_to_string(root().join(aims::PAGE)).unwrap();
    let stale = expected.lines().zip(page.lines()).find(|(expected, found)| expected != found);
    assert!(
        expected == page,
        "{} is stale, run `reproduce guide`; the first line that differs: {stale:?}",
        aims::PAGE
    );
    let lines: Vec<&str> = expected.lines().collect();
    for name in ["Adult", "NLTCS", "Salary", "Titanic"] {
        let of_table = lines
            .iter()
            .filter(|line| line.starts_with(&format!("| {name} | ")) && line.contains("**1**"));
        assert_eq!(of_table.count(), 3, "one best mechanism of {name} for each budget");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("docs")).unwrap();
    fs::write(folder.path().join(aims::PAGE), "no marks\n").unwrap();
    assert!(!aims::is_wanted(folder.path()));
    let error = aims::render(folder.path(), &configs).unwrap_err().to_string();
    assert!(error.contains("over-best") && error.contains(aims::PAGE), "{error}");
}

#[test]
fn the_tables_past_s3_are_up_to_date() {
    let found = fs::read_to_string(root().join(past_s3::PAGE)).unwrap();
    assert!(
        past_s3::render(&root()).unwrap() == found,
        "{} is stale, run `reproduce guide`",
        past_s3::PAGE
    );
    // The paper's rows stand beside ours, with the certificate and the bound.
    let row = found.lines().find(|line| line.starts_with("| 50 | 40 | prefix |")).unwrap();
    assert!(row.contains("75.26 (QS)") && row.contains("72.637"), "{row}");
}

#[test]
fn every_config_has_its_line_and_every_command_is_one() {
    let page = page();
    for config in config::load_all(&root()).unwrap() {
        let command = format!("`reproduce run {}`", config.experiment);
        assert_eq!(page.matches(&command).count(), 1, "{command}");
    }
    for command in page.split('`').skip(1).step_by(2).filter(|code| code.starts_with("reproduce "))
    {
        let words = command.replace("…", "s1/fig2");
        let parsed = Arguments::try_parse_from(words.split_whitespace());
        assert!(parsed.is_ok(), "`{command}`: {}", parsed.unwrap_err());
    }
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    for target in page.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("make ")) {
        assert!(makefile.contains(&format!("\n{target}:")), "make {target}");
    }
}

#[test]
fn every_file_that_the_page_names_by_hand_is_there() {
    let template = fs::read_to_string(root().join(TEMPLATE)).unwrap();
    let links = template.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    for link in links.filter(|link| !link.starts_with("http")) {
        assert!(root().join("docs").join(link).exists(), "{link}");
    }
}

#[test]
fn a_mark_that_nothing_fills_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in [(TEMPLATE, "a {{thing}}\n"), ("results/COMPARISON.md", "")] {
        fs::create_dir_all(folder.path().join(file).parent().unwrap()).unwrap();
        fs::write(folder.path().join(file), text).unwrap();
    }
    let error = guide::render(folder.path(), &[]).unwrap_err().to_string();
    assert!(error.contains("{{thing}}") && error.contains(TEMPLATE), "{error}");
    fs::remove_file(folder.path().join("results/COMPARISON.md")).unwrap();
    let error = guide::render(folder.path(), &[]).unwrap_err().to_string();
    assert!(
        error.contains("results/COMPARISON.md") && error.contains("reproduce compare"),
        "{error}"
    );
}
