//! Data, arguments and workloads that `matmech simulate` refuses.

use std::path::Path;

use predicates::prelude::PredicateBooleanExt;
use predicates::str::contains;

use super::{SCHEMA, data, folder, json, simulate};

#[test]
fn values_outside_the_schema_are_refused_dropped_or_clamped() {
    let outside = "-5,clerk,0\n500,baker,7\n10,painter,0\n10,cook,2.5\n10,cook,2\n";
    let folder = folder(SCHEMA, &format!("age,job,level\n{outside}"));
    let words = ["--ways", "1", "--rho", "1"];
    simulate(folder.path(), &words).code(1).stderr(
        contains(
            "X.csv, line 2, column 1: expected a number from 0 to 80, found `-5` in column \
             `age` of record 1",
        )
        .and(contains("remedy").and(contains("--out-of-domain"))),
    );
    let records = |rule: &str| {
        json(folder.path(), &[&words[..], &["--out-of-domain", rule]].concat())["records"].clone()
    };
    assert_eq!(records("drop"), serde_json::json!({ "kept": 1, "dropped": 4, "clamped": 0 }));
    assert_eq!(records("clamp"), serde_json::json!({ "kept": 3, "dropped": 2, "clamped": 3 }));
    simulate(folder.path(), &[&words[..], &["--out-of-domain", "keep"]].concat())
        .code(2)
        .stderr(contains("refuse").and(contains("drop")).and(contains("clamp")));
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
fn errors_name_the_invalid_data() {
    let words = ["--ways", "1", "--rho", "1"];
    for (text, parts) in [
        ("age,job,level\n", &["X.csv", "at least one record", "a header only", "remedy"][..]),
        ("", &["X.csv, header", "remedy"]),
        (
            "age,job,level\n1,clerk,2.5\n",
            &["line 2, column 3", "column `level`", "cell number from 0 to 4", "`2.5`", "remedy"],
        ),
        ("age,job,level\n1,clerk,two\n", &["column `level`", "`two`", "remedy"]),
        (
            "age,job,level\n1,clerk,2\n1,painter,2\n",
            &[
                "X.csv, line 3, column 2",
                "clerk, baker, cook",
                "column `job` of record 2",
                "remedy",
            ],
        ),
        ("age,job\n1,clerk\n", &["no column `level`", "among age, job", "remedy"]),
    ] {
        assert_refused(folder(SCHEMA, text).path(), &words, parts);
    }
    let missing = folder(SCHEMA, "");
    std::fs::remove_file(missing.path().join("X.csv")).unwrap();
    simulate(missing.path(), &words).code(1).stderr(contains("X.csv").and(contains("remedy")));
}

#[test]
fn errors_name_the_invalid_argument() {
    let folder = folder(SCHEMA, &data());
    for (words, parts) in [
        (&["--ways", "1", "--rho", "0"][..], &["rho", "greater than 0", "found 0"][..]),
        (&["--ways", "1", "--rho", "-1"], &["rho", "found -1"]),
        (&["--ways", "1", "--privacy-cost", "-2"], &["privacy cost", "found -2"]),
        (&["--ways", "1", "--mu", "0"], &["mu", "found 0"]),
        (&["--ways", "1", "--epsilon", "-1", "--delta", "1e-9"], &["epsilon", "found -1"]),
        (&["--ways", "1", "--epsilon", "1", "--delta", "0"], &["delta", "found 0"]),
        (
            &["--ways", "1", "--rho", "1", "--mechanism", "aim"],
            &[
                "`aim`",
                "residual-planner, query-smasher, planned, aim-grem, aim-pgm, aim-hybrid",
                "remedy",
            ],
        ),
        (&["--ways", "1", "--rho", "1", "--trials", "0"], &["--trials", "remedy"]),
        (&["--ways", "0", "--rho", "1"], &["--ways", "between 1 and 3", "remedy"]),
        (&["--ways", "1,1", "--rho", "1"], &["--ways", "distinct", "remedy"]),
        (&["--ways", "4", "--rho", "1"], &["--ways", "remedy: write e.g. --ways 1,2"]),
        (&["--ways", "1,1000000000000", "--rho", "1"], &["--ways", "1000000000000", "remedy"]),
    ] {
        assert_refused(folder.path(), words, parts);
    }
    simulate(folder.path(), &["--rho", "1"])
        .code(2)
        .stderr(contains("--ways").and(contains("--workload")));
    simulate(folder.path(), &["--ways", "1"]).code(2).stderr(contains("--rho"));
    simulate(folder.path(), &["--ways", "1", "--epsilon", "1"]).code(2).stderr(contains("--delta"));
    simulate(folder.path(), &["--ways", "1", "--workload", "W.toml", "--rho", "1"]).code(2);
}

#[test]
fn workloads_other_than_marginals_are_refused() {
    let folder = folder(SCHEMA, &data());
    let marginal = "[[queries]]\nfamily = \"identity\"\nways = [1]\n";
    for (more, parts) in [
        (
            "[[queries]]\nfamily = \"affine\"\nattributes = [\"age\", \"level\"]\n",
            &["W.toml: ", "group 4 (affine on age, level)", "identity", "marginals only", "remedy"]
                [..],
        ),
        (
            "[[queries]]\nfamily = \"prefix\"\nattributes = [\"age\"]\n",
            &["group 4 (prefix on age)", "query-smasher"],
        ),
        (
            "[[queries]]\nfamily = \"identity\"\nways = [2]\nweight = 2.0\n",
            &["group 4", "weight 2", "remedy"],
        ),
        (
            "[[queries]]\nfamily = \"identity\"\nattributes = [\"job\"]\n",
            &["group 4", "a second time", "remedy"],
        ),
        (
            "[[queries]]\nfamily = \"identity\"\nattributes = [\"jobs\"]\n",
            &["W.toml", "jobs", "remedy"],
        ),
    ] {
        std::fs::write(folder.path().join("W.toml"), format!("{marginal}{more}")).unwrap();
        let words = ["--mechanism", "aim-hybrid", "--workload", "W.toml", "--rho", "1"];
        assert_refused(folder.path(), &words, parts);
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

#[test]
fn options_that_a_mechanism_lacks_are_refused() {
    let folder = folder(SCHEMA, &data());
    let words = ["--ways", "1", "--rho", "1"];
    for (more, parts) in [
        (
            &["--synthetic", "Y.csv", "--mechanism", "planned"][..],
            &["--synthetic", "aim-hybrid or aim-pgm", "`planned`"][..],
        ),
        (
            &["--synthetic", "Y.csv", "--mechanism", "aim-hybrid(switch=0.02)"],
            &["--synthetic", "`switch=0`", "`aim-hybrid(switch=0.02)`", "drop the option `switch`"],
        ),
        (&["--max-mb", "1", "--mechanism", "aim-grem"], &["`max-mb`", "aim-grem", "remedy"]),
        (&["--max-mb", "-1"], &["`max-mb`", "found `-1`", "remedy"]),
        (&["--reconstruction", "independence"], &["reconstruction", "staged", "aim-grem"]),
        (&["--max-mb", "0.00001", "--mechanism", "aim-pgm"], &["1-way marginals", "--max-mb"]),
    ] {
        assert_refused(folder.path(), &[&words[..], more].concat(), parts);
    }
    let local = ["--mechanism", "aim-hybrid", "--max-mb", "0"];
    json(folder.path(), &[&words[..], &local].concat());
    let unwritable = ["--synthetic", "missing/Y.csv"];
    simulate(folder.path(), &[&words[..], &unwritable].concat())
        .code(1)
        .stderr(contains("writing").and(contains("remedy")));
    let partial = ["--ways", "1", "--rho", "1", "--synthetic", "Y.csv"];
    std::fs::write(
        folder.path().join("W.toml"),
        "[[queries]]\nfamily = \"identity\"\nattributes = [\"age\"]\n",
    )
    .unwrap();
    let words = [&["--workload", "W.toml"], &partial[2..]].concat();
    assert_refused(folder.path(), &words, &["every attribute", "job"]);
}
