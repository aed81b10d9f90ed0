//! Tests of the comparison with missing or unusable files.

use std::fs;

use experiments::config::Profile;
use experiments::error::{Error, FileRole};

use crate::compare::root::{COMPARE, REFERENCE, Root};

#[test]
fn missing_files_are_reported_together_with_the_command() {
    let root = Root::new();
    fs::remove_file(root.path().join("results/s9/x.csv")).unwrap();
    fs::remove_file(root.path().join("data/published/claims.csv")).unwrap();
    let error = root.try_compare(Profile::Standard).unwrap_err();
    let Error::Several(errors) = &error else { panic!("{error}") };
    assert!(
        errors.iter().all(|error| matches!(error, Error::File { role: FileRole::Input, .. })),
        "{error}"
    );
    assert_eq!((errors.len(), error.exit_code()), (2, 6));
    let text = error.to_string();
    assert!(
        text.contains("file data/published/claims.csv")
            && text.contains("table of configs/s9/x.toml"),
        "{text}"
    );
    assert!(
        text.contains("file results/s9/x.csv") && text.contains("found:    no such file"),
        "{text}"
    );
    assert!(text.contains("run `reproduce run configs/s9/x.toml --profile standard`"), "{text}");
    assert!(
        !root.path().join("results/COMPARISON.md").exists(),
        "no report of an incomplete comparison"
    );
}

#[test]
fn wrong_columns_filters_and_bands_are_refused() {
    let mut root = Root::new();
    root.tables = COMPARE.replace("join = [\"workload\"", "join = [\"worklaod\"");
    assert!(root.input_error().contains("a column \"worklaod\" (named by the config key `join`)"));
    root.tables = COMPARE.replace("Example 9", "Example 8").replace(", \"Sec. 9\", \"App. Z\"", "");
    assert!(root.input_error().contains("expected: at least one row that the filter"));
    let root = Root::new();
    root.write("data/expected/reference.csv", &REFERENCE.replace("1.7,1.9", "1.7,"));
    assert!(root.input_error().contains("two numbers low <= high on line 3"));
    let mut root = Root::new();
    root.tables = COMPARE.replacen("metric_column", "rounded = [3, 2]\nmetric_column", 1);
    let text = root.input_error();
    assert!(
        text.contains("a number with 2 decimals on line 2") && text.contains("5.32e2"),
        "{text}"
    );
    let root = Root::new();
    root.write("data/expected/deviations.toml", "[[deviation]]\nid = \"svdb\"\nexpect = \"1\"\n");
    let text = root.input_error();
    assert!(
        text.contains("deviations data/expected/deviations.toml, line 3")
            && text.contains("did you mean `expected`?"),
        "{text}"
    );
}
