//! Help and messages of the command, which `tests/cmd/*.md` lists by topic.

/// Runs every command of the lists and compares its output. `TRYCMD=overwrite` writes the outputs
/// again.
#[test]
fn help_and_messages_are_those_listed() {
    trycmd::TestCases::new()
        .register_bin("matmech", std::path::Path::new(env!("CARGO_BIN_EXE_matmech")))
        .env("COLUMNS", "100")
        .case("tests/cmd/*.md");
}
