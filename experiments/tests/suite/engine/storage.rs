//! Tests of damaged cells, failed cells and folders that cannot be written: no result is lost.

use std::fs;

use experiments::engine::{RunOptions, TableOutcome};
use experiments::error::{Error, FileRole};

use crate::engine::toy::{Project, Toy, finish, jobs, only};

#[test]
fn damaged_cell_stops_the_run_before_it_starts_and_can_be_replaced() {
    let text_of = |project: &Project| fs::read_to_string(&project.cell_files()[3]).unwrap();
    type Damage = fn(String) -> String;
    let damages: [(&str, Damage); 4] = [
        ("EOF while parsing", |text| text[..text.len() / 2].to_owned()),
        ("0 bytes", |_| String::new()),
        ("changed after it was written", |text| text.replace("\"seconds\": 0.", "\"seconds\": 1.")),
        ("unknown field", |text| text.replace("\"address\"", "\"adress\"")),
    ];
    for (found, damage) in damages {
        let project = Project::new();
        let toy = Toy::new();
        project.run(&toy, &only("method=sum")).unwrap();
        toy.take_computed();
        let before = project.cell_files();
        let file = before[3].clone();
        fs::write(&file, damage(text_of(&project))).unwrap();
        let failure = project.run(&toy, &jobs(2)).unwrap_err();
        assert_eq!(failure.exit_code(), 4);
        let message = failure.to_string();
        let address = "toy/one/name=dan/method=sum";
        for part in [
            "stored cell",
            &file.display().to_string(),
            "expected:",
            "found:",
            found,
            "delete this file",
            &format!("--fresh --only {address}"),
        ] {
            assert!(message.contains(part), "{part} in {message}");
        }
        assert!(toy.take_computed().is_empty(), "no cell is computed");
        assert_eq!(before, project.cell_files(), "nothing is removed");
        // The remedy of the message.
        project.run(&toy, &RunOptions { fresh: true, ..only(address) }).unwrap();
        assert_eq!(toy.take_computed(), ["dan/sum"]);
        let summary = project.run(&toy, &jobs(2)).unwrap();
        assert_eq!((summary.computed, summary.reused), (7, 7));
    }
}

#[test]
fn all_damaged_cells_are_reported_at_once() {
    let project = Project::new();
    project.run(&Toy::new(), &jobs(2)).unwrap();
    for file in &project.cell_files()[..7] {
        fs::write(file, "{").unwrap();
    }
    let error = project.run(&Toy::new(), &jobs(2)).unwrap_err();
    assert!(matches!(&error, Error::Several(errors) if errors.len() == 7), "{error}");
    let message = error.to_string();
    assert_eq!(message.matches("stored cell").count(), 5);
    assert!(message.ends_with("… and 2 more"), "{message}");
}

#[test]
fn other_cells_are_stored_when_a_cell_fails() {
    let project = Project::new();
    let mut toy = Toy::new();
    toy.failing = vec!["bob"];
    toy.panicking = vec!["eve"];
    toy.undefined = vec!["gus"];
    let summary = project.run(&toy, &jobs(2)).unwrap();
    assert_eq!(summary.computed, 8);
    assert_eq!(summary.table, TableOutcome::Incomplete { missing: 6 });
    assert!(!project.root().join("results/toy/one.csv").exists());
    assert_eq!(project.cell_files().len(), 8);
    let reasons: Vec<String> = summary.failed.iter().map(ToString::to_string).collect();
    assert!(summary.failed.iter().all(|failure| !failure.reason.is_storage_error()));
    assert_eq!(reasons.len(), 6);
    let bob =
        "toy/one/name=bob/method=sum: a toy: expected a name that is to be computed, found bob";
    assert!(reasons[0].starts_with(bob), "{}", reasons[0]);
    assert!(
        reasons[2].contains("name=eve/method=sum")
            && reasons[2].contains("a panic: the name eve panics"),
        "{}",
        reasons[2]
    );
    for part in ["name=gus/method=sum", "metric value", "finite value", "NaN"] {
        assert!(reasons[4].contains(part), "{part} in {}", reasons[4]);
    }
    toy.take_computed();
    toy.failing.clear();
    toy.panicking.clear();
    toy.undefined.clear();
    let summary = project.run(&toy, &jobs(2)).unwrap();
    assert_eq!((summary.computed, summary.reused, summary.failed.len()), (6, 8, 0));
    assert!(matches!(summary.table, TableOutcome::Written { .. }));
}

#[test]
fn older_table_is_kept_while_the_new_table_is_incomplete() {
    let project = Project::new();
    let mut toy = Toy::new();
    project.run(&toy, &jobs(2)).unwrap();
    let table = project.read("results/toy/one.csv");
    toy.revision = 2;
    let summary = project.run(&toy, &only("name=ann")).unwrap();
    assert_eq!(summary.table, TableOutcome::Incomplete { missing: 12 });
    assert_eq!(table, project.read("results/toy/one.csv"));
}

#[test]
fn unwritable_folders_are_refused_before_anything_is_computed() {
    // A file instead of a folder stops every user, including root.
    for (blocked, what) in
        [("results", "folder of stored cells"), ("results/toy", "folder of results")]
    {
        let project = Project::new();
        project.write(blocked, "in the way");
        let toy = Toy::new();
        let failure = project.run(&toy, &jobs(2)).unwrap_err();
        assert_eq!(failure.exit_code(), 4);
        let message = failure.to_string();
        for part in [what, "expected: write access", "found:", "--root"] {
            assert!(message.contains(part), "{part} in {message}");
        }
        assert!(toy.take_computed().is_empty());
    }
}

#[test]
fn results_that_cannot_be_stored_are_errors_of_the_stored_cell() {
    let project = Project::new();
    let toy = Toy::new();
    let config = project.config();
    let kinds = toy.boxed();
    let plan = experiments::engine::ExperimentPlan::new(
        &config,
        &kinds,
        experiments::config::Profile::Standard,
    )
    .unwrap();
    let options = jobs(2);
    let prepared = experiments::engine::prepare(project.root(), vec![plan], &options).unwrap();
    // The folder is removed between the check and the first result.
    fs::remove_dir_all(project.root().join("results/cells")).unwrap();
    project.write("results/cells", "in the way");
    let summary = finish(prepared, &options).unwrap();
    assert_eq!(summary.failed.len(), 14);
    for failure in &summary.failed {
        let Error::File { role: FileRole::StoredCell, path, .. } = &failure.reason else {
            panic!("{failure}")
        };
        assert!(path.starts_with(project.root()), "{failure}");
    }
}

#[test]
fn finished_files_have_default_permissions_and_no_temporary_file_is_left() {
    let project = Project::new();
    project.run(&Toy::new(), &jobs(2)).unwrap();
    for file in project.cell_files() {
        assert!(
            file.extension().is_some_and(|extension| extension == "json"),
            "{}",
            file.display()
        );
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let plain = project.write("plain", "");
        let mode = |file: &std::path::Path| fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode(&project.root().join("results/toy/one.csv")), mode(&plain));
    }
}

/// A cell from other sources is reused with a warning; `same_code` refuses it before anything runs.
#[test]
fn cells_of_other_sources_are_refused_on_request() {
    let project = Project::new();
    let toy = Toy::new();
    project.run(&toy, &jobs(2)).unwrap();
    toy.take_computed();
    let same_code = RunOptions { same_code: true, ..jobs(2) };
    assert_eq!(project.run(&toy, &same_code).unwrap().reused, 14);
    let file = project.cell_files()[3].clone();
    let mut document: serde_json::Value =
        serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let address = document["record"]["address"].as_str().unwrap().to_string();
    document["record"]["code"]["source"] = "f".repeat(64).into();
    // Sorted keys, as the store hashes them.
    document["checksum"] =
        experiments::files::sha256_hex(document["record"].to_string().as_bytes()).into();
    fs::write(&file, document.to_string()).unwrap();
    assert_eq!(project.run(&toy, &jobs(2)).unwrap().reused, 14);
    let failure = project.run(&toy, &same_code).unwrap_err();
    let message = failure.to_string();
    for part in ["1 of 14", &address, "ffffffffffff", "--fresh"] {
        assert!(message.contains(part), "{part} in {message}");
    }
    assert!(toy.take_computed().is_empty(), "nothing runs");
}
