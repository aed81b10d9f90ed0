//! The Python interpreter of tests that run `scripts/*.py`.

use std::path::PathBuf;

/// Returns a Python with NumPy: `MATMECH_PYTHON`, or that of the system.
pub fn python() -> Option<PathBuf> {
    let named = std::env::var_os("MATMECH_PYTHON").map(PathBuf::from);
    let has_numpy = |python: &PathBuf| {
        std::process::Command::new(python)
            .args(["-c", "import numpy"])
            .output()
            .is_ok_and(|out| out.status.success())
    };
    named.into_iter().chain(["python3", "python"].map(PathBuf::from)).find(has_numpy)
}
