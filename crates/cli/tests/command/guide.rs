//! The commands of `docs/guide-for-data-stewards.md`.

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
