//! Tests of the command `reproduce`: usage, exit codes and the steps of `all`.

use assert_cmd::cargo::cargo_bin_cmd;
use clap::Parser;
use experiments::cli::{Arguments, execute};
use experiments::compare::show;
use experiments::compare::verdict::Verdict;
use experiments::config::{Profile, load_all};
use experiments::datasets::Catalogue;
use experiments::engine::Display;
use experiments::error::Result;
use predicates::str::contains;

use crate::engine::toy::{Project, Toy};

/// Runs a command line in the project, with the toy kind.
fn run(project: &Project, toy: &Toy, words: &[&str]) -> Result<()> {
    let root = project.root().to_str().unwrap();
    let words = ["reproduce", "--root", root].into_iter().chain(words.iter().copied());
    let catalogue = Catalogue::new(project.root(), project.folders());
    execute(&Arguments::try_parse_from(words).unwrap(), &toy.kinds(), &catalogue, &Display::plain())
}

#[test]
fn help_states_the_exit_codes() {
    for words in [vec!["--help"], vec!["run", "--help"], vec!["all", "--help"]] {
        cargo_bin_cmd!("reproduce")
            .args(words)
            .assert()
            .success()
            .stdout(contains("Exit codes:"))
            .stdout(contains("3  a cell could not be computed; the others are stored"));
    }
}

#[test]
fn wrong_usage_ends_with_code_2() {
    for (words, part) in [
        (vec!["run"], "<CONFIG>"),
        (vec!["run", "x", "--shard", "5/4"], "1 <= i <= N"),
        (vec!["run", "x", "--jobs", "0"], "--jobs"),
        (vec!["all", "--profile", "huge"], "quick, standard, paper"),
        (vec!["runn"], "unrecognized subcommand"),
    ] {
        cargo_bin_cmd!("reproduce").args(words).assert().code(2).stderr(contains(part));
    }
}

#[test]
fn refused_config_ends_with_code_2_and_a_short_message() {
    let project = Project::new();
    let command = || {
        let mut command = cargo_bin_cmd!("reproduce");
        command.arg("--root").arg(project.root());
        command
    };
    command()
        .args(["run", "toy/one"])
        .assert()
        .code(2)
        .stderr(contains("configs/toy/one.toml"))
        .stderr(contains("key:      kind"))
        .stderr(contains("\"toy\""));
    command()
        .args(["run", "toy/onne"])
        .assert()
        .code(2)
        .stderr(contains("did you mean configs/toy/one.toml?"));
    command().args(["list"]).assert().code(2);
    assert!(!project.root().join("results").exists(), "nothing is written");
}

#[test]
fn run_continues_after_a_failed_cell_and_ends_with_code_3() {
    let project = Project::new();
    project.write(
        "configs/toy/two.toml",
        &project
            .read("configs/toy/one.toml")
            .replace("toy/one", "toy/two")
            .replace("\"bob\", ", ""),
    );
    let mut toy = Toy::new();
    toy.failing = vec!["bob"];
    let failure = run(&project, &toy, &["run", "toy/one", "toy/two"]).unwrap_err();
    assert_eq!(failure.exit_code(), 3);
    let message = failure.to_string();
    assert!(
        message.contains("2 cells failed") && message.contains("toy/one/name=bob/method=product"),
        "{message}"
    );
    assert!(
        project.root().join("results/toy/two.csv").is_file(),
        "the other experiment has its table"
    );
    assert!(!project.root().join("results/toy/one.csv").exists());
}

#[test]
fn only_selects_across_experiments() {
    let project = Project::new();
    project.write(
        "configs/toy/two.toml",
        &project.read("configs/toy/one.toml").replace("toy/one", "toy/two"),
    );
    let toy = Toy::new();
    run(&project, &toy, &["run", "toy/one", "toy/two", "--only", "toy/two/name=ann"]).unwrap();
    assert_eq!(toy.take_computed(), ["ann/product", "ann/sum"]);
    assert!(
        !project.root().join("results/cells/toy/one").exists(),
        "an experiment without a selected cell is not touched"
    );
}

#[test]
fn list_checks_and_prints() {
    let project = Project::new();
    run(&project, &Toy::new(), &["list", "--profile", "quick"]).unwrap();
    cargo_bin_cmd!("reproduce")
        .arg("--root")
        .arg(project.root().join("nowhere"))
        .arg("list")
        .assert()
        .code(2)
        .stderr(contains("--root"));
}

/// Adds a comparison of `toy/one` with a published value.
fn with_comparison(project: &Project, published: &str) {
    let compare =
        "[[compare]]\npublished = \"toy.csv\"\njoin = [\"name\", \"method\"]\nmetric = \"value\"\n";
    let config = project.read("configs/toy/one.toml") + compare;
    project.write("configs/toy/one.toml", &config);
    project.write(
        "data/published/toy.csv",
        &format!("id,where,name,method,value\nann,Table 0,ann,sum,{published}\n"),
    );
    project.write("data/expected/deviations.toml", "");
    project.write("docs/deviations.md", "# Deviations\n");
}

#[test]
fn all_runs_draws_and_compares() {
    let project = Project::new();
    let toy = Toy::new();
    run(&project, &toy, &["run", "toy/one"]).unwrap();
    let value: f64 = project.deterministic_table("results/toy/one.csv")[1][5].parse().unwrap();
    with_comparison(&project, &format!("{value:.3}"));
    run(&project, &toy, &["all", "--jobs", "2"]).unwrap();
    assert!(project.read("results/COMPARISON.md").contains("reproduced"));
    run(&project, &toy, &["all", "--profile", "quick"]).unwrap();
    assert!(project.root().join("results/quick/COMPARISON.md").is_file());
}

#[test]
fn all_continues_to_the_comparison_and_ends_with_the_code_of_the_first_failure() {
    let project = Project::new();
    with_comparison(&project, "123456.5");
    let mut toy = Toy::new();
    let failure = run(&project, &toy, &["all"]).unwrap_err();
    assert_eq!(failure.exit_code(), 1, "{failure}");
    assert_eq!(run(&project, &toy, &["compare"]).unwrap_err().exit_code(), 1);
    std::fs::remove_file(project.root().join("results/COMPARISON.md")).unwrap();
    toy.revision = 2;
    toy.failing = vec!["bob"];
    let failure = run(&project, &toy, &["all"]).unwrap_err();
    assert_eq!(failure.exit_code(), 3, "the cell failed before the comparison");
    assert!(
        project.root().join("results/COMPARISON.md").is_file(),
        "the comparison is written nevertheless"
    );
}

#[test]
fn single_values_are_shown_and_unknown_ids_refused() {
    let project = Project::new();
    let toy = Toy::new();
    run(&project, &toy, &["run", "toy/one"]).unwrap();
    let value: f64 = project.deterministic_table("results/toy/one.csv")[1][5].parse().unwrap();
    with_comparison(&project, &format!("{value:.3}"));
    run(&project, &toy, &["show", "ann"]).unwrap();
    run(&project, &toy, &["run", "toy/one", "--only", "name=ann"]).unwrap();
    let unknown = run(&project, &toy, &["show", "anna"]).unwrap_err().to_string();
    assert!(unknown.contains("\"anna\"") && unknown.contains("ann"), "{unknown}");
    let unknown = run(&project, &toy, &["figures", "toy/two"]).unwrap_err().to_string();
    assert!(unknown.contains("\"toy/two\"") && unknown.contains("toy/one"), "{unknown}");

    let configs = load_all(project.root()).unwrap();
    let kinds = toy.kinds();
    let shown =
        show(project.root(), &configs, &kinds.experiments, Profile::Standard, "ann").unwrap();
    assert_eq!((shown.len(), shown[0].experiment.as_str()), (1, "toy/one"));
    assert_eq!(shown[0].line.verdict, Verdict::Reproduced);
}
