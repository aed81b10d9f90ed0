//! The Python interpreter of tests that run `scripts/*.py`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns a Python with NumPy: `MATMECH_PYTHON`, or that of the system.
pub fn python() -> Option<PathBuf> {
    let named = std::env::var_os("MATMECH_PYTHON").map(PathBuf::from);
    let has_numpy = |python: &PathBuf| {
        Command::new(python)
            .args(["-c", "import numpy"])
            .output()
            .is_ok_and(|out| out.status.success())
    };
    named.into_iter().chain(["python3", "python"].map(PathBuf::from)).find(has_numpy)
}

/// Runs a script of the project.
pub fn run(python: &Path, script: &str, words: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(script);
    Command::new(python).arg(script).args(words).output().unwrap()
}
