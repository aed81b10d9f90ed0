//! The interpreters of tests that run scripts.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns a Python with NumPy: `MATMECH_PYTHON`, or that of the system. Without one the test that
/// asks is [skipped](skip).
pub fn python() -> Option<PathBuf> {
    let named = std::env::var_os("MATMECH_PYTHON").map(PathBuf::from);
    let has_numpy = |python: &PathBuf| {
        Command::new(python)
            .args(["-c", "import numpy"])
            .output()
            .is_ok_and(|out| out.status.success())
    };
    let found = named.into_iter().chain(["python3", "python"].map(PathBuf::from)).find(has_numpy);
    if found.is_none() {
        skip();
    }
    found
}

/// Appends the name of the current test to the file `MATMECH_SKIPPED`, which `make test` shows at its
/// end.
pub fn skip() {
    let Some(list) = std::env::var_os("MATMECH_SKIPPED") else { return };
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    let mut list = OpenOptions::new().create(true).append(true).open(list).unwrap();
    writeln!(list, "{}: {test}", env!("CARGO_CRATE_NAME")).unwrap();
}

/// Returns the folder of the project, for tests of the library and of the command.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_root = |folder: &&Path| folder.join("Cargo.lock").is_file();
    package.ancestors().find(is_root).unwrap_or(package)
}

/// Runs a script of the project.
pub fn run(python: &Path, script: &str, words: &[&str]) -> Output {
    let script = root().join(script);
    Command::new(python).arg(script).args(words).output().unwrap()
}
