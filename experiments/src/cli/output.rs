//! Lines on standard output and standard error.

use std::io::{self, Write};

use crate::error::Error;

/// Prints the error of a command on standard error.
pub fn report_error(error: &Error) {
    // If standard error is closed, the error cannot be reported.
    let _ = writeln!(io::stderr(), "error: {error}");
}

/// Prints a line of output. A closed pipe (`| head`) is not an error.
pub(super) fn say(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}
