//! What is printed of a panic, which is a bug.

use std::io::Write as _;

/// Installs a panic hook that does not print the text of a panic, which may hold a value of a record.
///
/// Of a private command, the source line is left out too: it may depend on records. Nothing is
/// printed of a panic of a decoder, which becomes an error.
pub(crate) fn hide_text(is_private: bool) {
    std::panic::set_hook(Box::new(move |panic| {
        if matmech::data::table::is_decoding() {
            return;
        }
        let place = match panic.location() {
            Some(place) if !is_private => format!(" at {place}"),
            _ => String::new(),
        };
        // A closed standard error is no reason to panic again.
        let _ = writeln!(
            std::io::stderr(),
            "error: panic{place}\n  remedy: this is a bug in matmech; please report it with the \
             command",
        );
    }));
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    const VARIABLE: &str = "MATMECH_TEST_OF_PANICS";

    /// Runs itself in another process, which panics in a thread and in the test.
    #[test]
    fn the_text_of_a_panic_is_not_printed() {
        if let Some(value) = std::env::var_os(VARIABLE) {
            super::hide_text(value == "private");
            let _ = std::thread::spawn(|| panic!("sorcerer")).join();
            panic!("sorcerer");
        }
        for (value, shows_line) in [("public", true), ("private", false)] {
            let name = "panics::tests::the_text_of_a_panic_is_not_printed";
            let done = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", name, "--nocapture"])
                .env(VARIABLE, value)
                .output()
                .unwrap();
            assert!(!done.status.success());
            let printed = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
            assert_eq!(printed.matches("error: panic").count(), 2, "{printed}");
            assert_eq!(printed.contains("panics.rs:"), shows_line, "{printed}");
            assert!(!printed.contains("sorcerer"), "{printed}");
        }
    }
}
