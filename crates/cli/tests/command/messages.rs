//! Help and messages of the command, which `tests/cmd/*.md` lists by topic, and completions.

use assert_cmd::Command;

/// Runs every command of the lists and compares its output. `TRYCMD=overwrite` writes the outputs
/// again.
#[test]
fn help_and_messages_are_those_listed() {
    trycmd::TestCases::new()
        .register_bin("matmech", std::path::Path::new(env!("CARGO_BIN_EXE_matmech")))
        .env("COLUMNS", "100")
        .case("tests/cmd/*.md");
}

fn completions(words: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("matmech").unwrap().arg("completions").args(words).assert()
}

/// The script of every shell contains commands and options, such as `--json` and `--strategy`.
#[test]
fn every_shell_has_a_script() {
    for (shell, mark) in [
        ("bash", "complete -F _matmech"),
        ("zsh", "#compdef matmech"),
        ("fish", "complete -c matmech"),
        ("elvish", "set edit:completion:arg-completer[matmech]"),
        ("powershell", "Register-ArgumentCompleter -Native -CommandName 'matmech'"),
    ] {
        let script = completions(&[shell]).success().get_output().stdout.clone();
        let script = String::from_utf8(script).unwrap();
        for word in [mark, "solve", "plan", "simulate", "completions", "strategy", "json"] {
            assert!(script.contains(word), "{shell}: {word} is missing");
        }
    }
}

/// Completions by bash with the script; skipped without bash.
#[test]
fn bash_completes_commands_options_and_shells() {
    let script =
        String::from_utf8(completions(&["bash"]).success().get_output().stdout.clone()).unwrap();
    let completed = |words: &[&str]| -> Option<Vec<String>> {
        let (current, before) = (words.last().unwrap(), words[words.len() - 2]);
        let ask = format!(
            "{script}\nCOMP_WORDS=({}); COMP_CWORD={}\n_matmech matmech '{current}' '{before}'\n\
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.join(" "),
            words.len() - 1
        );
        let output = match std::process::Command::new("bash").args(["--norc", "-c", &ask]).output()
        {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return None,
            output => output.unwrap(),
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
    };
    for (words, expected) in [
        (&["matmech", "si"][..], &["simulate"][..]),
        (&["matmech", "solve", "--st"], &["--strategy"]),
        (&["matmech", "completions", "z"], &["zsh"]),
    ] {
        if let Some(found) = completed(words) {
            assert_eq!(found, expected, "{words:?}");
        }
    }
}
