//! The numbers in the README are those of the committed results.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on must stop"
)]

use std::path::{Path, PathBuf};

use experiments::verify::readme::{PARTS, Part, should_say};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn part(name: &str) -> &'static Part {
    PARTS.iter().find(|part| part.name == name).unwrap()
}

fn table_of_s4(root: &Path) {
    assert_eq!(should_say(root, part("fig4")).unwrap(), None);
}

#[test]
fn every_part_is_that_of_the_results() {
    let wrong: Vec<String> = PARTS
        .iter()
        .filter_map(|part| match should_say(&root(), part) {
            Ok(expected) => {
                expected.map(|expected| format!("{} should be:\n{expected}", part.name))
            }
            Err(error) => Some(format!("{}: {error}", part.name)),
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The comparison has four papers, the bench seven workloads.
#[test]
fn tables_have_all_their_lines() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    for (name, lines) in [
        ("verdicts", 4),
        ("bench", 7),
        ("fig4", 7),
        ("example-3.1", 5),
        ("table4", 7),
        ("alternative", 5),
    ] {
        let (begin, end) = (format!("<!-- {name}: begin -->"), format!("<!-- {name}: end -->"));
        let block = readme.split(&begin).nth(1).unwrap().split(&end).next().unwrap();
        assert_eq!(block.trim().lines().count(), lines + 2, "{name}");
    }
}

#[test]
fn a_changed_number_and_missing_marks_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("results")).unwrap();
    std::fs::copy(root().join("results/bench.csv"), folder.path().join("results/bench.csv"))
        .unwrap();
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let check = |text: &str| {
        std::fs::write(folder.path().join("README.md"), text).unwrap();
        should_say(folder.path(), part("bench"))
    };
    assert_eq!(check(&readme).unwrap(), None);
    let block = readme
        .split("<!-- bench: begin -->")
        .nth(1)
        .unwrap()
        .split("<!-- bench: end -->")
        .next()
        .unwrap();
    assert!(check(&readme.replace(block, &block.replace(" s |", "0 s |"))).unwrap().is_some());
    let error = check(&readme.replace("<!-- bench: end -->", "")).unwrap_err().to_string();
    assert!(error.contains("<!-- bench: begin -->"), "{error}");
}

/// A newcomer without network and data runs the experiment, then the tests: her stand-ins replace
/// nothing that the README quotes.
#[test]
fn the_table_of_s4_survives_a_run_without_data() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["README.md", "results/s4/fig4.csv", "results/s4/fig4.provenance.json"] {
        std::fs::create_dir_all(folder.path().join(file).parent().unwrap()).unwrap();
        std::fs::copy(root().join(file), folder.path().join(file)).unwrap();
    }
    // The committed experiment on one table and one budget, without figures and comparison.
    let config = std::fs::read_to_string(root().join("configs/s4/fig4.toml")).unwrap();
    let mut config: String = config.split("[grid]").next().unwrap().to_owned();
    config += "[grid]\ndelta = 1e-9\nways = 3\n\
               runs = [{ datasets = ['adult'], epsilons = [0.1], trials = 1, methods = ['residual-planner'] }]\n";
    std::fs::create_dir_all(folder.path().join("configs/s4")).unwrap();
    std::fs::write(folder.path().join("configs/s4/fig4.toml"), config).unwrap();
    table_of_s4(folder.path());
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_reproduce"))
        .args(["run", "s4/fig4", "--root"])
        .arg(folder.path())
        .env_remove("MATMECH_DATA")
        .output()
        .unwrap();
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success() && said.contains("results/s4/fig4.csv is kept"), "{said}");
    table_of_s4(folder.path());
    let own = std::fs::read_to_string(folder.path().join("results/stand-in/s4/fig4.csv")).unwrap();
    assert!(own.contains(",adult,stand-in,") && !own.contains(",real,"), "{own}");
}

/// What a newcomer reads before the links is short.
#[test]
fn the_readme_has_two_screens_before_its_links() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let before = readme.split("\n## More\n").next().unwrap();
    assert!(before.lines().count() <= 100, "{} lines before More", before.lines().count());
}
