//! Tests of the comparison with derived rows, and with missing or unusable files.

use std::fs;

use experiments::config::Profile;
use experiments::derive;
use experiments::error::{Error, FileRole};
use experiments::layout::Results;

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

const DERIVE: &str = "[[derive]]\nmetric = \"saved\"\n\
    where = { metric = \"ratio_to_svdb\", method = \"wavelet\" }\nover = { method = \"query-smasher\" }\n\
    set = { id = \"a\" }\n";

const DERIVED: &str = "\
experiment,cell,workload,id,method,metric,value,from,column,formula,partner,seed
s9/x,s9/x/workload=range:8/method=wavelet,range:8,a,wavelet,saved,0.8403762,ratio_to_svdb,value,\
row/partner,s9/x/workload=range:8/method=query-smasher,7
";

#[test]
fn derived_rows_are_read_from_their_file() {
    let mut root = Root::new();
    root.tables = format!("{COMPARE}{DERIVE}");
    let error = root.input_error();
    assert!(error.contains("file results/s9/x.derived.csv"), "{error}");
    assert!(error.contains("run `reproduce compare --profile standard`"), "{error}");
    let folder = Results::new(root.path(), Profile::Standard);
    derive::write(folder, &root.config()).unwrap();
    let written = root.read("results/s9/x.derived.csv");
    let ratio = (1.529_123_45_f64 / 1.81957).to_string();
    assert_eq!(written.replace(&ratio, "0.8403762"), DERIVED);
    assert!(root.compare().findings.is_empty());
    root.write("data/published/saved.csv", "id,where,quantity,value\na,Sec. 9,saved,0.9\n");
    root.tables += "[[compare]]\npublished = \"saved.csv\"\njoin = [\"id\"]\n\
        metric_column = \"quantity\"\n";
    let report = root.compare();
    let found = &report.findings[0].found;
    assert!(found.contains("(results/s9/x.derived.csv, line 2, method wavelet)"), "{found}");
}
