//! Tests of the binary: data sets that are downloaded.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use assert_cmd::cargo::cargo_bin_cmd;
use experiments::datasets::STAND_IN;
use experiments::files::sha256_hex;
use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use crate::engine::data::{CONTENT, Setup, manifest_text, setup};
use crate::engine::toy::Project;

/// Returns `reproduce … --root ROOT` without user data.
fn reproduce(root: &Path, words: &[&str]) -> assert_cmd::Command {
    let mut command = cargo_bin_cmd!("reproduce");
    command
        .args(words)
        .arg("--root")
        .arg(root)
        .env_remove("MATMECH_DATA")
        .env("PATH", path_with_curl(root));
    command
}

fn names_in(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    names.collect()
}

#[test]
fn file_is_downloaded_and_checked_and_no_temporary_file_is_left() {
    let Setup { dir, mut dataset, folders } = setup();
    let census = folders.downloads.join("census");
    fs::create_dir_all(dir.path().join("data")).unwrap();
    let manifest = dir.path().join("data/manifest.toml");
    fs::write(&manifest, manifest_text(&dataset)).unwrap();
    reproduce(dir.path(), &["data"])
        .assert()
        .success()
        .stdout(contains("adult: downloaded, checked:"));
    assert_eq!(names_in(&census), ["adult.csv"], "no temporary file is left");
    assert_eq!(fs::read_to_string(census.join("adult.csv")).unwrap(), CONTENT);

    // The downloaded file does not match the manifest.
    fs::remove_file(census.join("adult.csv")).unwrap();
    dataset.sha256 = "0".repeat(64);
    fs::write(&manifest, manifest_text(&dataset)).unwrap();
    let (there, here) = (dataset.sha256.clone(), sha256_hex(CONTENT.as_bytes()));
    let named = contains(dataset.url.as_deref().unwrap())
        .and(contains(there))
        .and(contains(here))
        .and(contains("MATMECH_DATA"));
    reproduce(dir.path(), &["data"]).assert().code(5).stderr(named.and(contains("the archive")));
    assert!(names_in(&census).is_empty(), "a wrong file is not kept");

    // The file does not exist.
    dataset.url = Some("file:///no/such/file".to_owned());
    fs::write(&manifest, manifest_text(&dataset)).unwrap();
    let named = contains("curl").and(contains("file:///no/such/file")).and(contains("remedy"));
    reproduce(dir.path(), &["data"]).assert().code(5).stderr(named.and(contains("MATMECH_DATA")));
    assert!(names_in(&census).is_empty());
}

const CONFIG: &str = "experiment = 's4/titanic'\nkind = 'measurement-ablation'\n\
                      title = 'Titanic'\nreproduces = 'S4, Table 0'\nseed = 7\n\
                      expected_seconds = 1\nexpected_mb = 20\n[grid]\nepsilon = 1.0\n\
                      delta = 1e-9\nworkload_seed = 1\n\
                      runs = [{ dataset = 'titanic', share = 0.02, trials = 1, methods = ['lazy+crp'] }]\n";

#[test]
fn missing_tables_are_downloaded_before_a_run_and_a_failure_does_not_stop_it() {
    let project = Project::new();
    fs::remove_file(project.root().join("configs/toy/one.toml")).unwrap();
    project.write("configs/s4/titanic.toml", CONFIG);
    let records: String = (0..40).map(|k| format!("{},{},{}\n", k % 2, k % 3, k % 5)).collect();
    let origin = project.write("origin.csv", &format!("class,age,fare\n{records}"));
    let manifest = |url: &str| {
        format!(
            "[[dataset]]\nname = \"titanic\"\nfile = \"titanic.csv\"\nurl = \"{url}\"\n\
             sha256 = \"{}\"\n\
             licence = \"none\"\nsource = \"the archive\"\nrequired = false\n",
            sha256_hex(&fs::read(&origin).unwrap())
        )
    };
    let labels = |file: &str| -> Vec<String> {
        let table = project.table(file);
        table.fields("data").map(str::to_owned).collect()
    };
    let run = || reproduce(project.root(), &["run", "s4/titanic"]).assert().success();
    project.write("data/manifest.toml", &manifest("file:///no/such/file"));
    run().stderr(contains("its stand-in is used"));
    let on_stand_in = labels("results/stand-in/s4/titanic.csv");
    assert!(!on_stand_in.is_empty() && on_stand_in.iter().all(|label| label == STAND_IN));

    project.write("data/manifest.toml", &manifest(&format!("file://{}", origin.display())));
    reproduce(project.root(), &["list"]).assert().success().stdout(contains("s4/titanic"));
    let downloaded = project.root().join("data/downloads/titanic.csv");
    assert!(!downloaded.exists(), "`list` downloads nothing");
    run().stderr(contains("stand-in").not());
    assert!(
        downloaded.is_file()
            && labels("results/s4/titanic.csv").iter().all(|label| label == "real")
    );
}

/// `--no-stand-ins` refuses experiments without their table and names file and remedy; the others
/// run, and existing results are kept.
#[test]
fn stand_ins_can_be_refused() {
    let project = Project::new();
    fs::remove_file(project.root().join("configs/toy/one.toml")).unwrap();
    project.write("configs/s4/titanic.toml", CONFIG);
    let without_table = "experiment = 's2/example'\nkind = 'worked-example'\ntitle = 'Example'\n\
                         reproduces = 'S2'\nseed = 7\n\
                         expected_seconds = 1\nexpected_mb = 20\n[grid]\nepsilon = 1.0\n\
                         delta = 1e-9\nmethods = ['identity']\n";
    project.write("configs/s2/example.toml", without_table);
    let refused =
        || contains("titanic.csv").and(contains("s4/titanic")).and(contains("MATMECH_DATA"));
    reproduce(project.root(), &["run", "s4/titanic", "--no-stand-ins"])
        .assert()
        .code(5)
        .stderr(refused());
    assert!(!project.root().join("results/s4").exists(), "nothing is written");
    reproduce(project.root(), &["run", "s4/titanic"]).assert().success();
    let on_stand_in = "results/stand-in/s4/titanic.csv";
    let before = project.read(on_stand_in);
    reproduce(project.root(), &["all", "--no-stand-ins", "--fresh"])
        .assert()
        .code(5)
        .stderr(refused());
    assert_eq!(project.read(on_stand_in), before);
    assert!(
        project.root().join("results/s2/example.csv").is_file(),
        "an experiment without a table has run"
    );

    let records: String = (0..40).map(|k| format!("{},{},{}\n", k % 2, k % 3, k % 5)).collect();
    project.write("data/downloads/loans.csv", &format!("rate,state,grade\n{records}"));
    project.write("configs/s4/titanic.toml", &CONFIG.replace("titanic", "loans"));
    fs::rename(
        project.root().join("configs/s4/titanic.toml"),
        project.root().join("configs/s4/loans.toml"),
    )
    .unwrap();
    reproduce(project.root(), &["run", "s4/loans", "--no-stand-ins"]).assert().success();
}

/// A user's file needs no download; a wrong checksum is an error of the data, not of the config.
#[test]
fn table_with_another_checksum_is_refused_with_code_5() {
    let project = Project::new();
    fs::remove_file(project.root().join("configs/toy/one.toml")).unwrap();
    project.write("configs/s4/titanic.toml", CONFIG);
    project.write(
        "data/manifest.toml",
        &format!(
            "[[dataset]]\nname = \"titanic\"\nfile = \"titanic.csv\"\nurl = \"file:///no\"\n\
             sha256 = \"{}\"\n\
             licence = \"none\"\nsource = \"the archive\"\nrequired = false\n",
            "0".repeat(64)
        ),
    );
    project.write("own/titanic.csv", "class,age,fare\n0,1,2\n");
    let mut command = reproduce(project.root(), &["run", "s4/titanic"]);
    command.env("MATMECH_DATA", project.root().join("own"));
    command
        .assert()
        .code(5)
        .stderr(contains("own/titanic.csv").and(contains("unset MATMECH_DATA")));
    assert!(!project.root().join("results").exists(), "nothing is written");
}

/// Replaces `curl` for `file://` addresses.
const CURL: &str = r#"#!/bin/sh
while [ $# -gt 0 ]; do
    case "$1" in
        --output) output=$2; shift ;;
        --url) url=$2; shift ;;
    esac
    shift
done
cat "${url#file://}" 2>/dev/null >"$output" && exit 0
echo "curl: (37) could not read $url" >&2
exit 37
"#;

/// Returns a value of `PATH` whose `curl` is that of the tests.
fn path_with_curl(dir: &Path) -> OsString {
    let folder = dir.join("programs");
    fs::create_dir_all(&folder).unwrap();
    let curl = folder.join("curl");
    fs::write(&curl, CURL).unwrap();
    fs::set_permissions(&curl, fs::Permissions::from_mode(0o755)).unwrap();
    std::env::join_paths([folder.as_path(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap()
}
