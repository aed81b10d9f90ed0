//! Tests of the archive: it is determined by the commit, and its metadata is valid.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn json(file: &str) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(root().join(file)).unwrap()).unwrap()
}

#[test]
fn two_archives_of_a_commit_are_identical() {
    if !root().join(".git").exists() {
        // An unpacked archive has no commit.
        return;
    }
    let pack = || {
        let folder = tempfile::tempdir().unwrap();
        let output = Command::new("sh")
            .arg(root().join("scripts/archive.sh"))
            .arg(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let files: Vec<PathBuf> =
            std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        std::fs::read(&files[0]).unwrap()
    };
    let first = pack();
    assert!(first.len() > 1_000_000, "{} bytes", first.len());
    assert!(first == pack(), "two archives of one commit differ");
}

#[test]
fn the_metadata_names_existing_files_and_the_version() {
    let metadata = json("ro-crate-metadata.json");
    let graph = metadata["@graph"].as_array().unwrap();
    let entity = |id: &str| {
        graph.iter().find(|entity| entity["@id"] == id).unwrap_or_else(|| panic!("no entity {id}"))
    };
    assert_eq!(entity("ro-crate-metadata.json")["about"]["@id"], "./");
    let parts = entity("./")["hasPart"].as_array().unwrap();
    for part in parts.iter().map(|part| part["@id"].as_str().unwrap()) {
        assert!(root().join(part).exists(), "{part}");
        assert!(entity(part)["name"].is_string(), "{part}");
    }
    let zenodo = json(".zenodo.json");
    assert_eq!(zenodo["upload_type"], "software");
    let citation = std::fs::read_to_string(root().join("CITATION.cff")).unwrap();
    let version = citation.lines().find_map(|line| line.strip_prefix("version: ")).unwrap();
    assert_eq!(zenodo["version"], version);
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
}
