//! What `[[compare]]` and `[[figure]]` tables refuse.

// Clippy's exception for tests does not reach functions that tests share.
#![allow(clippy::unwrap_used)]

use experiments::compare::CompareSpec;
use experiments::figures::FigureSpec;

const FIGURE: &str =
    "file = \"s1/a\"\ntitle = \"t\"\nkind = \"lines\"\nx = \"n\"\nx_label = \"n\"\ny = \"m\"\ny_label = \"m\"\n";
const COMPARE: &str = "published = \"a.csv\"\njoin = [\"workload\"]\nmetric = \"rmse\"\n";

fn figure(more: &str) -> Result<(), String> {
    toml::from_str::<FigureSpec>(&format!("{FIGURE}{more}"))
        .map_err(|error| error.to_string())
        .and_then(|spec| spec.validate())
}

fn compare(text: &str) -> Result<(), String> {
    toml::from_str::<CompareSpec>(text).map_err(|error| error.to_string()).and_then(|spec| spec.validate())
}

#[test]
fn sound_tables_are_accepted() {
    assert_eq!(figure(""), Ok(()));
    assert_eq!(figure("y_min = 0.5\ny_max = 2\ny_log = true\nx_log = true\n"), Ok(()));
    assert_eq!(figure("published = { file = \"p.csv\", scale = 1000 }\n"), Ok(()));
    assert_eq!(compare(COMPARE), Ok(()));
    assert_eq!(compare(&format!("{COMPARE}our_column = \"seconds\"\nnot_comparable = {{ rmse = \"r\" }}\n")), Ok(()));
    assert_eq!(compare("reference = \"a.csv\"\njoin = [\"a\"]\nmetric_column = \"q\"\n"), Ok(()));
}

#[test]
fn figures_that_make_no_sense_are_refused_by_key() {
    for (more, expected) in [
        ("colour = \"red\"\n", "unknown field `colour`"),
        ("value_labels = true\n", "key `value_labels`"),
        ("y_log = true\ny_min = 0\n", "key `y_min`: expected a positive number"),
        ("y_min = 2\ny_max = 1\n", "expected y_min < y_max, found 2 and 1"),
        ("published = { file = \"p.csv\", scale = 0 }\n", "key `published.scale`: expected a positive number, found 0"),
        ("y_log = true\nreference_lines = [{ value = -1.0, label = \"l\" }]\n", "key `reference_lines` (\"l\")"),
    ] {
        let error = figure(more).unwrap_err();
        assert!(error.contains(expected), "{more}: {error}");
    }
    for file in ["../a", "/a", "a/", "a.svg", "a\\\\b", "a//b", ""] {
        let text = FIGURE.replace("s1/a", file);
        let spec: FigureSpec = toml::from_str(&text).unwrap();
        assert!(spec.validate().unwrap_err().contains("key `file`"), "{file}");
    }
    let bars = FIGURE.replace("lines", "bars");
    let spec: FigureSpec = toml::from_str(&format!("{bars}x_log = true\n")).unwrap();
    assert!(spec.validate().unwrap_err().contains("key `x_log`"));
}

#[test]
fn comparisons_that_make_no_sense_are_refused_by_key() {
    for (text, expected) in [
        ("join = [\"a\"]\nmetric = \"m\"\n", "found neither"),
        ("published = \"a.csv\"\nreference = \"b.csv\"\njoin = [\"a\"]\nmetric = \"m\"\n", "found both"),
        ("published = \"../a.csv\"\njoin = [\"a\"]\nmetric = \"m\"\n", "bare name"),
        ("published = \"a.csv\"\njoin = []\nmetric = \"m\"\n", "key `join`"),
        ("published = \"a.csv\"\njoin = [\"a\"]\n", "found neither"),
        ("published = \"a.csv\"\njoin = [\"a\"]\nmetric = \"m\"\nmetric_column = \"q\"\n", "found both"),
        (
            "reference = \"a.csv\"\njoin = [\"a\"]\nmetric = \"m\"\nnot_comparable = { m = \"r\" }\n",
            "key `not_comparable`",
        ),
        ("published = \"a.csv\"\njoin = [\"a\"]\nmetric = \"m\"\nour_column = \"seconds\"\n", "key `our_column`"),
        ("published = \"a.csv\"\njoin = [\"a\"]\nmetric = \"m\"\nour_column = \"gap\"\n", "unknown variant `gap`"),
        ("published = \"a.csv\"\njoin = [\"a\"]\nmetric = \"m\"\nrounded = [2]\n", "key `rounded`"),
        ("published = \"a.csv\"\njoin = [\"a\"]\nmetric = \"m\"\nrounded = [2, 3]\n", "found [2, 3]"),
        ("reference = \"a.csv\"\njoin = [\"a\"]\nmetric = \"m\"\nrounded = [3, 2]\n", "beside `reference`"),
        ("published = \"a.csv\"\njoin = [\"a\"]\nmetric = \"m\"\nimprovable = [\"x\"]\n", "key `improvable`"),
        ("reference = \"a.csv\"\njoin = [\"method\"]\nmetric = \"m\"\nimprovable = [\"x\"]\n", "key `improvable`"),
        ("published = \"a.csv\"\njoin = [\"a\"]\nmetric = \"m\"\nfliter = {}\n", "unknown field `fliter`"),
    ] {
        let error = compare(text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
}
