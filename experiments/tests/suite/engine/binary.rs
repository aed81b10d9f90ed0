//! Tests of the binary `reproduce`: interruption, jobs, invalid input, exit codes.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use crate::engine::toy::Project;

const CELLS: usize = 24;

/// Returns a project with cells of about 50 ms each, some of them random.
fn project() -> Project {
    let project = Project::new();
    let workloads: Vec<String> =
        (0..CELLS / 2).map(|k| format!("\"prefix:{}\"", 220 + k)).collect();
    project.write(
        "configs/s1/errors.toml",
        &format!(
            "experiment = 's1/errors'\nkind = 'strategy-errors'\ntitle = 'errors'\n\
             reproduces = 'nothing'\nseed = 1\n\
             expected_seconds = 1\nexpected_mb = 10\n[grid]\nworkloads = [{}]\n\
             methods = ['optimal']\n",
            workloads.join(", ")
        ),
    );
    let sizes: Vec<String> = (0..CELLS / 2).map(|k| (100 + 10 * k).to_string()).collect();
    project.write(
        "configs/s1/samples.toml",
        &format!(
            "experiment = 's1/samples'\nkind = 'sampled-bound'\ntitle = 'samples'\n\
             reproduces = 'nothing'\nseed = 1\n\
             expected_seconds = 1\nexpected_mb = 10\n[grid]\nworkloads = ['range:16x16']\n\
             samplings = [{{ kind = 'biased', lambda = 10 }}]\nqueries = [{}]\nsamples = 8\n",
            sizes.join(", ")
        ),
    );
    project
}

fn reproduce(project: &Project, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reproduce"));
    command
        .args(words)
        .arg("--root")
        .arg(project.root())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run(project: &Project, jobs: &str) -> Output {
    reproduce(project, &["run", "s1/errors", "s1/samples", "--jobs", jobs]).output().unwrap()
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn finished(root: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let folders = ["errors", "samples"].map(|name| root.join("results/cells/s1").join(name));
    let mut files: Vec<_> = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).into_iter().flatten())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .map(|path| (path.clone(), fs::read(&path).unwrap_or_default()))
        .collect();
    files.sort();
    files
}

#[test]
fn interrupted_run_resumes_and_jobs_change_no_bit() {
    let (killed, alone) = (project(), project());
    let mut child =
        reproduce(&killed, &["run", "s1/errors", "s1/samples", "--jobs", "2"]).spawn().unwrap();
    let started = Instant::now();
    while finished(killed.root()).len() < 3 {
        assert!(started.elapsed() < Duration::from_secs(60), "the run makes no progress");
        assert!(child.try_wait().unwrap().is_none(), "the run ended before it could be killed");
        thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap(); // SIGKILL on Unix
    assert!(!child.wait().unwrap().success());
    let before = finished(killed.root());
    assert!((3..CELLS).contains(&before.len()), "{} cells were finished", before.len());
    assert!(!killed.root().join("results/s1/samples.csv").exists());

    let resumed = run(&killed, "2");
    assert!(resumed.status.success(), "{}", text(&resumed));
    for (path, bytes) in &before {
        assert_eq!(&fs::read(path).unwrap(), bytes, "{} was computed again", path.display());
    }
    assert_eq!(finished(killed.root()).len(), CELLS);
    assert!(run(&alone, "1").status.success());
    for table in ["results/s1/errors.csv", "results/s1/samples.csv"] {
        assert_eq!(killed.deterministic_table(table), alone.deterministic_table(table), "{table}");
    }
}

/// Files of a config are in its folder, wherever the program runs, and a change of their contents is a
/// change of the inputs.
#[test]
fn cells_are_recomputed_when_a_file_that_they_name_changes() {
    let project = Project::new();
    let workloads = ["matrix:W.csv", "schedule(file=rates.csv)", "prefix:3"];
    project.write(
        "configs/s1/errors.toml",
        &format!(
            "experiment = 's1/errors'\nkind = 'strategy-errors'\ntitle = 'errors'\n\
             reproduces = 'nothing'\nseed = 1\n\
             expected_seconds = 1\nexpected_mb = 10\n[grid]\nworkloads = {workloads:?}\n\
             methods = ['identity', 'matrix:A.csv']\n",
        ),
    );
    project.write("configs/s1/W.csv", "1,0,0\n1,1,0\n1,1,1\n");
    project.write("configs/s1/rates.csv", "1\n2\n3\n");
    project.write("configs/s1/A.csv", "1,0,0\n0,1,0\n0,0,1\n");
    let elsewhere = tempfile::tempdir().unwrap();
    let run = || {
        let run = reproduce(&project, &["run", "s1/errors"]).current_dir(&elsewhere).output();
        let output = run.unwrap();
        assert!(output.status.success(), "{}", text(&output));
        let record = project.read("results/s1/errors.provenance.json");
        let record: serde_json::Value = serde_json::from_str(&record).unwrap();
        for (name, hash) in record["files"].as_object().unwrap() {
            let contents = project.read(&format!("configs/s1/{name}"));
            assert_eq!(hash, &experiments::files::sha256_hex(contents.as_bytes()));
        }
        assert_eq!(record["files"].as_object().unwrap().len(), 3);
        (
            record["cells_computed"].as_u64().unwrap(),
            project.deterministic_table("results/s1/errors.csv"),
        )
    };
    let (computed, first) = run();
    assert_eq!(computed, 6);
    let mut previous = first.clone();
    for (file, contents, affected) in [
        ("W.csv", "1,0,0\n1,1,0\n2,2,2\n", 2),
        ("rates.csv", "1\n2\n4\n", 2),
        ("A.csv", "1,0,0\n0,2,0\n0,0,1\n", 3),
    ] {
        let original = project.read(&format!("configs/s1/{file}"));
        project.write(&format!("configs/s1/{file}"), contents);
        let (computed, table) = run();
        assert_eq!(computed, affected, "{file}");
        assert_ne!(table, previous, "{file}");
        previous = table;
        project.write(&format!("configs/s1/{file}"), &original);
    }
    run();
    assert_eq!(project.deterministic_table("results/s1/errors.csv"), first);
}

#[test]
fn invalid_input_ends_with_message_and_exit_code_and_loses_nothing() {
    let project = project();
    assert!(run(&project, "2").status.success());
    let stored = finished(project.root());
    let config = project.read("configs/s1/errors.toml");
    let refused = |change: &dyn Fn(&Project), words: &[&str], code: i32, parts: &[&str]| {
        change(&project);
        let output = reproduce(&project, words).output().unwrap();
        let message = text(&output);
        assert_eq!(output.status.code(), Some(code), "{message}");
        for part in parts {
            assert!(message.contains(part), "`{part}` is not in: {message}");
        }
        assert!(message.lines().count() <= 24, "more than one screen: {message}");
        project.write("configs/s1/errors.toml", &config);
    };
    let run_errors = ["run", "configs/s1/errors.toml"];
    let edit = |from: &'static str, to: &'static str| {
        let text = config.replacen(from, to, 1);
        assert_ne!(text, config);
        move |project: &Project| {
            project.write("configs/s1/errors.toml", &text);
        }
    };
    refused(
        &edit("seed = 1", "sed = 1"),
        &run_errors,
        2,
        &["errors.toml, line 5", "sed", "expected", "did you mean `seed`?"],
    );
    refused(
        &edit("prefix:220", "prefix:-220"),
        &run_errors,
        2,
        &["grid.workloads[0]", "`-220`", "positive"],
    );
    refused(
        &edit("'optimal'", "'optimum'"),
        &run_errors,
        2,
        &["grid.methods[0]", "optimum", "did you mean"],
    );
    let compare =
        "[[compare]]\npublished = 'nowhere.csv'\njoin = ['workload']\nmetric_column = 'quantity'\n";
    let with_compare = format!("{config}{compare}");
    let missing = move |project: &Project| {
        project.write("configs/s1/errors.toml", &with_compare);
    };
    refused(&missing, &["compare"], 6, &["nowhere.csv", "data/published"]);
    let damaged = &stored[0].0;
    let truncate = |_: &Project| fs::write(damaged, &stored[0].1[..stored[0].1.len() / 2]).unwrap();
    refused(&truncate, &run_errors, 4, &["expected", "found", "remedy", "--fresh"]);
    fs::write(damaged, &stored[0].1).unwrap();
    assert_eq!(finished(project.root()), stored);

    // A file instead of the results folder stops every user, including root.
    let blocked = self::project();
    fs::write(blocked.root().join("results"), "in the way").unwrap();
    let output = run(&blocked, "1");
    let message = text(&output);
    assert_eq!(output.status.code(), Some(4), "{message}");
    assert!(message.contains("results") && message.contains("remedy"), "{message}");
}
