//! The commands of `docs/guide-for-data-stewards.md`, and the example for R.

use std::path::Path;
use std::process::Command;

use crate::python;

/// Every command of the guide prints what the page shows, and the privacy statements of its releases
/// are what it promises.
#[cfg(unix)]
#[test]
fn the_guides_commands_print_what_it_shows() {
    let Some(python) = python::python() else { return };
    let program = env!("CARGO_BIN_EXE_matmech");
    let output = python::run(&python, "scripts/check_guide.py", &[program]);
    assert!(output.status.success(), "{output:?}");
}

/// The example for R runs where R and jsonlite are installed, and its ledger is charged for the
/// ε and δ of its release.
#[cfg(unix)]
#[test]
fn the_example_for_r_runs() {
    let installed = Command::new("Rscript").args(["-e", "library(jsonlite)"]).output();
    if !installed.is_ok_and(|out| out.status.success()) {
        return python::skip();
    }
    let program = Path::new(env!("CARGO_BIN_EXE_matmech"));
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let folders = program.parent().map(Path::to_path_buf).into_iter();
    let path = std::env::join_paths(folders.chain(std::env::split_paths(&paths))).unwrap();
    let output = Command::new("Rscript")
        .arg("examples/private_answers.R")
        .current_dir(python::root())
        .env("PATH", path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.starts_with("rho left: 0.0452326"), "{output:?}");
}
