//! Tests of finding and checking data sets.

use std::fs;

use assert_cmd::cargo::cargo_bin_cmd;
use experiments::datasets::{Dataset, Folders, Found, Manifest, obtain};
use experiments::files::sha256_hex;
use tempfile::TempDir;

pub const CONTENT: &str = "age,sex\n39,m\n";

pub struct Setup {
    pub dir: TempDir,
    pub dataset: Dataset,
    pub folders: Folders,
}

/// Returns a data set with a `file://` address, in no folder yet.
pub fn setup() -> Setup {
    let dir = tempfile::tempdir().unwrap();
    let origin = dir.path().join("origin.csv");
    fs::write(&origin, CONTENT).unwrap();
    let dataset = Dataset {
        name: "adult".to_owned(),
        file: "census/adult.csv".to_owned(),
        url: Some(format!("file://{}", origin.display())),
        sha256: sha256_hex(CONTENT.as_bytes()),
        licence: "CC BY 4.0".to_owned(),
        source: "the archive".to_owned(),
        required: true,
    };
    let folders = Folders {
        user: Some(dir.path().join("own")),
        tables: dir.path().join("data/tables"),
        downloads: dir.path().join("data/downloads"),
    };
    Setup { dir, dataset, folders }
}

#[test]
fn user_folder_comes_before_downloads() {
    let Setup { dir: _dir, mut dataset, folders } = setup();
    dataset.url = Some("file:///no/such/file".to_owned());
    let downloaded = folders.downloads.join("census/adult.csv");
    fs::create_dir_all(downloaded.parent().unwrap()).unwrap();
    fs::write(&downloaded, CONTENT).unwrap();
    assert_eq!(obtain(&dataset, &folders).unwrap(), Found::Downloaded(downloaded.clone()));
    let user_file = folders.user.clone().unwrap().join("census/adult.csv");
    fs::create_dir_all(user_file.parent().unwrap()).unwrap();
    fs::write(&user_file, CONTENT).unwrap();
    assert_eq!(obtain(&dataset, &folders).unwrap(), Found::User(user_file.clone()));
    fs::write(&user_file, "something else").unwrap();
    let message = obtain(&dataset, &folders).unwrap_err().to_string();
    for part in [
        &user_file.display().to_string(),
        &dataset.sha256,
        &sha256_hex(b"something else"),
        "unset MATMECH_DATA",
    ] {
        assert!(message.contains(part), "{part} in {message}");
    }
}

/// A data set without an address is part of the project.
#[test]
fn files_of_the_project_come_before_downloads_and_are_restored_with_git() {
    let Setup { dir: _dir, mut dataset, folders } = setup();
    dataset.url = None;
    let committed = folders.tables.join("census/adult.csv");
    let remedy = |folders: &Folders| {
        let message = obtain(&dataset, folders).unwrap_err().to_string();
        assert!(message.contains("git checkout data/tables"), "{message}");
        assert!(message.contains(&committed.display().to_string()), "{message}");
    };
    remedy(&folders);
    for folder in [&folders.tables, &folders.downloads] {
        fs::create_dir_all(folder.join("census")).unwrap();
        fs::write(folder.join("census/adult.csv"), CONTENT).unwrap();
    }
    assert_eq!(obtain(&dataset, &folders).unwrap(), Found::Committed(committed.clone()));
    fs::write(&committed, "something else").unwrap();
    remedy(&folders);
}

pub fn manifest_text(dataset: &Dataset) -> String {
    format!(
        "[[dataset]]\nname = \"{}\"\nfile = \"{}\"\nurl = \"{}\"\nsha256 = \"{}\"\n\
         licence = \"{}\"\nsource = \"{}\"\n\
         required = {}\n",
        dataset.name,
        dataset.file,
        dataset.url.as_deref().unwrap(),
        dataset.sha256,
        dataset.licence,
        dataset.source,
        dataset.required
    )
}

#[test]
fn manifests_are_refused_with_key_and_remedy() {
    let dataset = setup().dataset;
    let text = manifest_text(&dataset);
    assert_eq!(Manifest::parse(&text).unwrap().dataset, std::slice::from_ref(&dataset));
    for (wrong, part) in [
        (text.replace("licence", "license"), "did you mean `licence`?"),
        (text.replace("census/adult.csv", "../adult.csv"), "without `..`"),
        (text.replace(&dataset.sha256, "abc"), "64 hexadecimal digits"),
        (text.repeat(2), "\"adult\" twice"),
    ] {
        let message = Manifest::parse(&wrong).unwrap_err().to_string();
        assert!(message.contains(part), "{part} in {message}");
    }
    let manifest = Manifest::parse(&text).unwrap();
    let message = manifest.select(&["adlut".to_owned()]).unwrap_err().to_string();
    assert!(message.contains("did you mean \"adult\"?"), "{message}");
}

#[test]
fn data_command_uses_the_environment_variable_and_the_exit_codes() {
    let Setup { dir, mut dataset, folders } = setup();
    let user_folder = folders.user.unwrap();
    fs::create_dir_all(user_folder.join("census")).unwrap();
    fs::write(user_folder.join("census/adult.csv"), CONTENT).unwrap();
    dataset.url = Some("file:///no/such/file".to_owned());
    fs::create_dir_all(dir.path().join("data")).unwrap();
    fs::write(dir.path().join("data/manifest.toml"), manifest_text(&dataset)).unwrap();
    let data = || {
        let mut command = cargo_bin_cmd!("reproduce");
        command.arg("--root").arg(dir.path()).arg("data").env_remove("MATMECH_DATA");
        command
    };
    data()
        .env("MATMECH_DATA", &user_folder)
        .assert()
        .success()
        .stdout(predicates::str::contains("adult: in your folder"));
    data().assert().code(5).stderr(predicates::str::contains("MATMECH_DATA"));
    data()
        .arg("adlut")
        .assert()
        .code(2)
        .stderr(predicates::str::contains("did you mean \"adult\"?"));
    // An optional data set has a stand-in, unless it is requested by name.
    dataset.required = false;
    fs::write(dir.path().join("data/manifest.toml"), manifest_text(&dataset)).unwrap();
    data().assert().success().stderr(predicates::str::contains("the stand-in is used"));
    data().arg("adult").assert().code(5);
}
