//! Data and marginals that `matmech simulate` refuses, drops or clamps.

use std::path::Path;

use super::{SCHEMA, data, folder, json, simulate};

#[test]
fn values_outside_the_schema_are_dropped_or_clamped() {
    let outside = "-5,clerk,0\n500,baker,7\n10,painter,0\n10,cook,2.5\n10,cook,2\n";
    let folder = folder(SCHEMA, &format!("age,job,level\n{outside}"));
    let words = ["--ways", "1", "--rho", "1"];
    let records = |rule: &str| {
        json(folder.path(), &[&words[..], &["--out-of-domain", rule]].concat())["records"].clone()
    };
    assert_eq!(records("drop"), serde_json::json!({ "kept": 1, "dropped": 4, "clamped": 0 }));
    assert_eq!(records("clamp"), serde_json::json!({ "kept": 3, "dropped": 2, "clamped": 3 }));
}

/// Asserts that `simulate` fails with a message that has the expected input, the input found and
/// all of `parts`.
fn assert_refused(folder: &Path, words: &[&str], parts: &[&str]) {
    let assert = simulate(folder, words).code(1).stdout("");
    let message = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
    for part in ["expected ", "found "].iter().chain(parts) {
        assert!(message.contains(part), "{part} in {message}");
    }
}

#[test]
fn marginals_that_do_not_fit_memory_are_refused() {
    let attribute = |k: usize| {
        format!("[[attribute]]\nname = \"A{k}\"\nsize = 4000000000\nkind = \"numeric\"\n")
    };
    let schema: String = (0..3).map(attribute).collect();
    let large = folder(&schema, "A0,A1,A2\n1,2,3\n");
    for mechanism in ["residual-planner", "aim-grem"] {
        let words = |ways| ["--mechanism", mechanism, "--rho", "1", "--ways", ways];
        for (ways, parts) in [
            ("1", &["marginal on A0", "4000000000 cells", "GiB", "remedy"]),
            ("2", &["marginal on A0, A1", "1.6000e19 cells", "fewer attributes", "remedy"]),
        ] {
            assert_refused(large.path(), &words(ways), parts);
        }
    }
    let attribute =
        |k: usize| format!("[[attribute]]\nname = \"A{k}\"\nsize = 2\nkind = \"numeric\"\n");
    let many = folder(&(0..100).map(attribute).collect::<String>(), "A0\n1\n");
    assert_refused(
        many.path(),
        &["--ways", "50", "--rho", "1"],
        &["workload of marginals", "residuals", "remedy"],
    );
}

/// `aim-hybrid` works without a model of the records.
#[test]
fn a_limit_of_no_memory_is_valid() {
    let folder = folder(SCHEMA, &data());
    json(
        folder.path(),
        &["--ways", "1", "--rho", "1", "--mechanism", "aim-hybrid", "--max-mb", "0"],
    );
}
