//! Tests of the binary: results on stand-ins are separate from those on the real data.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use experiments::columns::VALUE;

use crate::engine::toy::Project;

const CONFIG: &str = r#"
experiment = "s4/loans"
kind = "measurement-ablation"
title = "Loans"
reproduces = "S4, Table 0"
seed = 7
expected_seconds = 1
expected_mb = 20
[grid]
epsilon = 1.0
delta = 1e-9
workload_seed = 1
runs = [{ dataset = "loans", share = 0.001, trials = 2, methods = ["lazy+crp", "lazy+iid"] }]
[[compare]]
published = "loans.csv"
join = ["dataset", "method"]
metric = "workload_error"
[[figure]]
file = "s4/loans"
title = "Errors on Loans"
kind = "bars"
x = "method"
x_label = "method"
y = "workload_error"
y_label = "error"
"#;

const TABLE: &str = "results/s4/loans.csv";
const LOCAL_TABLE: &str = "results/stand-in/s4/loans.csv";

/// Returns a project with a user's file of Loans with four attributes; the manifest does not list
/// it.
fn project() -> Project {
    let project = Project::new();
    fs::remove_file(project.root().join("configs/toy/one.toml")).unwrap();
    project.write("configs/s4/loans.toml", CONFIG);
    let records: String =
        (0..60).map(|k| format!("{},{},{},{}\n", k % 2, k % 3, k % 5, k / 7 % 4)).collect();
    project.write("own/loans.csv", &format!("rate,state,grade,term\n{records}"));
    project.write(
        "data/published/loans.csv",
        "id,where,dataset,method,value\nl,Table 0,loans,lazy+crp,0\n",
    );
    project.write("data/expected/deviations.toml", "");
    project.write("docs/deviations.md", "# Deviations\n");
    project
}

/// Returns the output of a successful `reproduce <words>`, with or without the user's data.
fn reproduce(project: &Project, with_data: bool, words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reproduce"));
    command.args(words).arg("--root").arg(project.root()).env_remove("MATMECH_DATA");
    if with_data {
        command.env("MATMECH_DATA", project.root().join("own"));
    }
    let output = command.output().unwrap();
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{text}");
    text
}

/// Returns a project whose results are on real data and equal the published value by construction.
fn computed_on_real_data() -> Project {
    let project = project();
    reproduce(&project, true, &["run", "s4/loans"]);
    let value = project.table(TABLE).number(VALUE, 0).unwrap();
    project.write(
        "data/published/loans.csv",
        &format!("id,where,dataset,method,value\nl,Table 0,loans,lazy+crp,{value}\n"),
    );
    reproduce(&project, true, &["all"]);
    project
}

/// Path and content of the table, provenance and figures at the usual paths.
fn committed(project: &Project) -> Vec<(PathBuf, Vec<u8>)> {
    let files = [
        "results/s4/loans.csv",
        "results/s4/loans.provenance.json",
        "figures/s4/loans.svg",
        "figures/s4/loans.png",
    ];
    files.map(|file| (file.into(), fs::read(project.root().join(file)).unwrap())).to_vec()
}

fn exists(project: &Project, file: &str) -> bool {
    project.root().join(file).exists()
}

#[test]
fn results_on_stand_ins_have_separate_files() {
    let project = computed_on_real_data();
    let before = committed(&project);
    let report = project.read("results/COMPARISON.md");
    let said = reproduce(&project, false, &["all"]);
    assert!(said.contains("stand-ins, not the real data: loans"), "{said}");
    assert_eq!((project.read("results/COMPARISON.md"), committed(&project)), (report, before));
    assert!(project.read(LOCAL_TABLE).contains(",loans,stand-in,"));
    assert!(!project.read(LOCAL_TABLE).contains(",loans,real,"));
    let figure = project.read("results/stand-in/figures/s4/loans.svg");
    assert!(figure.contains("Errors on Loans (stand-in data)"));
    assert!(exists(&project, "results/stand-in/figures/s4/loans.png"));

    // Repeated single steps change nothing.
    assert!(
        reproduce(&project, false, &["run", "s4/loans"])
            .contains(&format!("{LOCAL_TABLE} is up to date"))
    );
    assert_eq!(reproduce(&project, false, &["figures"]).lines().count(), 4);
    assert_eq!(project.read("results/stand-in/figures/s4/loans.svg"), figure);
    // Other real data replace the results.
    let records = project.read("own/loans.csv");
    project.write("own/loans.csv", &format!("{records}1,1,1,1\n"));
    let before = committed(&project);
    reproduce(&project, true, &["run", "s4/loans"]);
    assert_ne!(committed(&project)[0], before[0]);
}

#[test]
fn machine_without_the_data_needs_no_results_on_them() {
    let project = project();
    reproduce(&project, false, &["figures"]);
    reproduce(&project, false, &["compare"]);
    assert!(project.read("results/COMPARISON.md").contains("not comparable: The real data"));
    reproduce(&project, false, &["all"]);
    assert!(!exists(&project, TABLE) && project.read(LOCAL_TABLE).contains(",loans,stand-in,"));
    assert!(project.read("results/COMPARISON.md").contains("not comparable: The real data"));
    assert!(!exists(&project, "figures/s4/loans.svg"));
    // With the data, a missing table is an error.
    let mut command = Command::new(env!("CARGO_BIN_EXE_reproduce"));
    command.args(["compare", "--root"]).arg(project.root());
    let output = command.env("MATMECH_DATA", project.root().join("own")).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("no such file"));
}

#[test]
fn profiles_and_shards_separate_results_on_stand_ins() {
    let project = computed_on_real_data();
    reproduce(&project, false, &["run", "s4/loans", "--profile", "quick"]);
    assert!(!exists(&project, "results/quick/s4/loans.csv"));
    assert!(project.read("results/quick/stand-in/s4/loans.csv").contains("stand-in"));
    reproduce(&project, true, &["run", "s4/loans", "--profile", "quick"]);
    assert!(project.read("results/quick/s4/loans.csv").contains(",loans,real,"));

    let before = committed(&project);
    fs::remove_dir_all(project.root().join("results/cells")).unwrap();
    reproduce(&project, false, &["run", "s4/loans", "--shard", "1/2"]);
    assert!(!exists(&project, LOCAL_TABLE), "the table is incomplete");
    reproduce(&project, false, &["run", "s4/loans", "--shard", "2/2"]);
    assert!(exists(&project, LOCAL_TABLE));
    assert_eq!(committed(&project), before);
}

#[test]
fn experiment_cannot_use_the_folder_of_results_on_stand_ins() {
    let project = Project::new();
    let reserved = project.write("configs/stand-in/x.toml", CONFIG);
    let message = experiments::config::load(&reserved).unwrap_err().to_string();
    assert!(message.contains("stand-in") && message.contains("move the file"), "{message}");
}

#[test]
fn kept_results_verify_without_their_data() {
    let project = computed_on_real_data();
    assert!(reproduce(&project, true, &["verify"]).contains("all match their provenance"));
    let said = reproduce(&project, false, &["verify"]);
    assert!(
        said.contains(
            "note: s4/loans: the real table loans is neither on this machine nor in \
             data/manifest.toml"
        ),
        "{said}"
    );
    // With another file of the same name they are stale.
    project.write("own/loans.csv", "rate,state\n0,1\n1,0\n");
    let output = Command::new(env!("CARGO_BIN_EXE_reproduce"))
        .args(["verify", "--root"])
        .arg(project.root())
        .env("MATMECH_DATA", project.root().join("own"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("computed on other data: 1") && said.contains("loans with SHA-256"),
        "{said}"
    );
}

/// The record and the column `data` identify the file, so a machine without it can verify.
#[test]
fn results_can_be_checked_with_the_data_and_without() {
    for kind in [None, Some("kind = \"table-schemas\"")] {
        let project = project();
        let config = match kind {
            None => CONFIG.split("[[compare]]").next().unwrap().to_owned(),
            Some(kind) => {
                let before = CONFIG
                    .split("[grid]")
                    .next()
                    .unwrap()
                    .replace("kind = \"measurement-ablation\"", kind);
                format!("{before}[grid]\ndatasets = [\"loans\"]\n")
            }
        };
        project.write("configs/s4/loans.toml", &config);
        reproduce(&project, true, &["run", "s4/loans"]);
        assert!(project.read(TABLE).contains("data=real/"));
        for with_data in [true, false] {
            reproduce(&project, with_data, &["verify"]);
        }
    }
}
