//! Checks of `[[compare]]` and `[[figure]]` tables.

// Clippy's exception for tests does not cover functions that tests share.
use std::path::Path;

use experiments::config::{Config, parse};
use experiments::error::Result;
use experiments::figures::Figure;
use experiments::registry;

const FIGURE: &str = "file = \"s1/a\"\ntitle = \"t\"\nkind = \"lines\"\nx = \"n\"\n\
    x_label = \"n\"\ny = \"m\"\ny_label = \"m\"\n";
const COMPARE: &str = "published = \"a.csv\"\njoin = [\"workload\"]\nmetric = \"rmse\"\n";

/// The outcome of a check; an error has key and message.
type Outcome = std::result::Result<(), (String, String)>;

/// Parses a config with a table that starts at line 11.
fn config(table: &str, text: &str) -> Result<Config> {
    let head = "experiment = \"s9/x\"\nkind = \"demo\"\ntitle = \"t\"\nreproduces = \"S9\"\n\
                seed = 7\nexpected_seconds = 1\nexpected_mb = 1\n[grid]\n";
    parse(Path::new("/configs/s9/x.toml"), &format!("{head}\n[[{table}]]\n{text}"))
}

/// Checks a `[[figure]]` table, in the config and by its kind.
fn figure(text: &str) -> Outcome {
    let kinds = registry::figures();
    let refused =
        config("figure", text).and_then(|config| Figure::all_of(&config, &kinds).map(|_| ()));
    refused.map_err(|error| (error.key().to_owned(), error.to_string()))
}

/// Checks a `[[compare]]` table.
fn compare(text: &str) -> Outcome {
    config("compare", text).map(|_| ()).map_err(|error| (error.key().to_owned(), error.to_string()))
}

/// Asserts the key, which errors of the parser lack, and a part of the message of an error, which
/// must name a line.
fn refused(table: &str, outcome: Outcome, key: &str, part: &str) -> String {
    let (found, message) = outcome.unwrap_err();
    let separator = if key.is_empty() { "" } else { "." };
    if !found.is_empty() {
        assert_eq!(found, format!("{table}[0]{separator}{key}"), "{message}");
    }
    assert!(message.contains(part), "{part} in {message}");
    assert!(message.contains("/configs/s9/x.toml, line "), "{message}");
    message
}

#[test]
fn valid_tables_are_accepted() {
    for more in [
        "",
        "y_min = 0.5\ny_max = 2\ny_log = true\nx_log = true\n",
        "published = { file = \"p.csv\", scale = 1000 }\n",
    ] {
        assert_eq!(figure(&format!("{FIGURE}{more}")), Ok(()));
    }
    assert_eq!(
        figure(&format!("{}value_labels = true\n", FIGURE.replace("lines", "bars"))),
        Ok(())
    );
    assert_eq!(compare(COMPARE), Ok(()));
    assert_eq!(
        compare(&format!(
            "{COMPARE}our_column = \"seconds\"\nnot_comparable = {{ rmse = \"r\" }}\n"
        )),
        Ok(())
    );
    assert_eq!(compare("reference = \"a.csv\"\njoin = [\"a\"]\nmetric_column = \"q\"\n"), Ok(()));
}

#[test]
fn invalid_figures_are_refused_by_key() {
    for (more, key, part) in [
        ("colour = \"red\"\n", "colour", "unknown field `colour`"),
        ("like = \"s1/b\"\n", "like", "the `file` of an earlier figure"),
        ("panel_columns = 0\n", "panel_columns", "a positive whole number"),
        ("value_labels = true\n", "value_labels", "only with kind = \"bars\""),
        ("aggregate = \"mean\"\ny_error = \"se\"\n", "y_error", "found:    both"),
        ("unmarked = [\"a\"]\n", "unmarked", "`series` in the same table"),
        ("y_log = true\ny_min = 0\n", "y_min", "expected: a positive number"),
        (
            "second = { y = \"t\", y_label = \"t\", colour = 1 }\n",
            "second.colour",
            "unknown field `colour`",
        ),
        ("y_min = 2\ny_max = 1\n", "y_max", "found:    2 and 1"),
        ("published = { file = \"p.csv\", scale = 0 }\n", "published.scale", "found:    0"),
        (
            "y_log = true\nreference_lines = [{ value = -1.0, label = \"l\" }]\n",
            "reference_lines[0].value",
            "found:    -1",
        ),
    ] {
        let message = refused("figure", figure(&format!("{FIGURE}{more}")), key, part);
        let line = 17 + more.lines().count();
        assert!(message.contains(&format!("line {line}\n")), "{line} in {message}");
    }
    for file in ["../a", "/a", "a/", "a.svg", "a\\\\b", "a//b", ""] {
        refused("figure", figure(&FIGURE.replace("s1/a", file)), "file", "line 11\n");
    }
    let bars = FIGURE.replace("lines", "bars");
    refused(
        "figure",
        figure(&format!("{bars}x_log = true\n")),
        "x_log",
        "only with kind = \"lines\"",
    );
    refused("figure", figure(&FIGURE.replace("lines", "line")), "kind", "did you mean \"lines\"?");
}

#[test]
fn kinds_of_figures_refuse_keys_of_missing_axes() {
    let second = "second = { y = \"t\", y_label = \"t\" }\n";
    assert_eq!(figure(&format!("{FIGURE}{second}")), Ok(()));
    for (kind, more, key) in [
        ("bars", second, "second"),
        ("matrices", second, "second"),
        ("bars", "series = \"s\"\nunmarked = [\"a\"]\n", "unmarked"),
        ("matrices", "series = \"s\"\nunmarked = [\"a\"]\n", "unmarked"),
        ("matrices", "y_log = true\n", "y_log"),
        ("matrices", "y_max = 2\n", "y_max"),
        ("matrices", "reference_lines = [{ value = 1.0, label = \"l\" }]\n", "reference_lines"),
    ] {
        refused(
            "figure",
            figure(&format!("{}{more}", FIGURE.replace("lines", kind))),
            key,
            "only with",
        );
    }
}

#[test]
fn invalid_comparisons_are_refused_by_key() {
    let join = "join = [\"a\"]\nmetric = \"m\"\n";
    let published = format!("published = \"a.csv\"\n{join}");
    let reference = format!("reference = \"a.csv\"\n{join}");
    for (text, key, part) in [
        (join.to_owned(), "", "missing field `published`"),
        (format!("{published}reference = \"b.csv\"\n"), "", "unknown field `published`"),
        (published.replace("a.csv", "../a.csv"), "published", "bare name"),
        (published.replace("\"a\"]", "]"), "join", "an empty list"),
        (published.replace("metric = \"m\"\n", ""), "", "one of the keys `metric_column`"),
        (format!("{published}metric_column = \"q\"\n"), "", "one of the keys `metric_column`"),
        (format!("{reference}not_comparable = {{ m = \"r\" }}\n"), "", "expected `reference`"),
        (format!("{published}our_column = \"seconds\"\n"), "", "missing field `not_comparable`"),
        (
            format!("{published}our_column = \"gap\"\nupper_bound = true\n"),
            "",
            "expected `seconds` or `peak_mb`",
        ),
        (format!("{published}rounded = [2]\n"), "rounded", "found:    [2]"),
        (format!("{published}rounded = [2, 3]\n"), "rounded", "found:    [2, 3]"),
        (format!("{reference}rounded = [3, 2]\n"), "", "unknown field `rounded`"),
        (format!("{published}improvable = [\"x\"]\n"), "improvable", "the column method in `join`"),
        (
            format!("{}improvable = [\"x\"]\n", reference.replace("\"a\"", "\"method\"")),
            "",
            "unknown field `improvable`",
        ),
        (format!("{published}within_factor = 1\n"), "within_factor", "a number above 1"),
        (format!("{published}within = 0\n"), "within", "a number above 0"),
        (format!("{reference}within = 0.1\n"), "", "unknown field `within`"),
        (format!("{published}within = 0.1\nwithin_factor = 2\n"), "", "unknown field `within`"),
        (format!("{published}deviations = {{ a = \"So.\" }}\n"), "", "unknown field `deviations`"),
        (
            format!("{published}within = 0.1\ndeviations = {{ a = \"so\" }}\n"),
            "deviations.a",
            "full stop",
        ),
        (format!("{published}fliter = {{}}\n"), "", "did you mean `filter`?"),
    ] {
        refused("compare", compare(&text), key, part);
    }
}
