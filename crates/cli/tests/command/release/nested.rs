//! Releases over attributes with levels.

use super::*;

/// The hierarchy of a file is stored with the release: later answers do not depend on the file.
#[test]
fn nested_queries_are_released_and_answered_again() {
    let folder = folder();
    let here = folder.path();
    std::fs::create_dir(here.join("public")).unwrap();
    let areas = "job,trade,kind\nclerk,office,service\nbaker,food,craft\ncook,food,craft\n";
    std::fs::write(here.join("public/jobs.csv"), areas).unwrap();
    let values = "values = [\"clerk\", \"baker\", \"cook\"]";
    let levels = "levels = { file = \"public/jobs.csv\", order = [\"kind\", \"trade\"] }";
    let schema = SCHEMA.replace("size = 3\n", "").replace(values, levels);
    std::fs::write(here.join("S.toml"), schema).unwrap();
    let workload = "[[queries]]\nfamily = \"nested\"\nways = [1, 2]\n";
    std::fs::write(here.join("W.toml"), workload).unwrap();
    for (out, more) in [
        ("plain", &[][..]),
        ("staged", &["--mechanism", "staged"]),
        ("anova", &["--planner", "anova"]),
    ] {
        release(here, out, more).success();
        let answers = read(here, &format!("{out}/answers.csv"));
        for words in ["any job", "trade = food", "kind = craft", "job = baker", "age from 0 to"] {
            assert!(answers.contains(words), "{words}: {answers}");
        }
        // The ages, 8 nodes of the jobs, and both.
        assert_eq!(answers.lines().count(), 1 + 4 + 8 + 4 * 8, "{answers}");
    }
    std::fs::remove_dir_all(here.join("public")).unwrap();
    for out in ["plain", "staged", "anova"] {
        let (measurements, again) = (format!("{out}/measurements"), format!("{out}.csv"));
        matmech(here, &["answer", "--measurements", &measurements, "--out", &again]).success();
        assert_eq!(read(here, &again), read(here, &format!("{out}/answers.csv")));
    }
    std::fs::write(here.join("V.toml"), workload.replace("nested", "level(trade)")).unwrap();
    let words = [
        "answer",
        "--measurements",
        "anova/measurements",
        "--out",
        "V.csv",
        "--workload",
        "V.toml",
    ];
    matmech(here, &words).success();
    assert_eq!(read(here, "V.csv").lines().count(), 1 + 4 + 2 + 4 * 2);
}
