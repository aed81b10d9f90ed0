//! Tests of every verdict and every finding.

use experiments::compare::verdict::Verdict;
use experiments::config::Profile;

use crate::compare::root::{COMPARE, DEVIATIONS, EXPLANATIONS, RESULTS, Root, line, titles};

/// The line of [`COMPARE`] that only printed digits can have.
const IMPROVABLE: &str = "improvable = [\"query-smasher\"]\n";

/// A published time of a phase is compared with `seconds` of the row of that metric.
#[test]
fn times_of_phases_are_compared_with_published_times() {
    let mut root = Root::new();
    root.tables.push_str(
        "[[compare]]\npublished = \"claims.csv\"\nfilter = { id = [\"time\"] }\n\
         join = [\"workload\", \"method\"]\nmetric = \"ratio_to_svdb\"\n\
         our_column = \"seconds\"\nnot_comparable = { ratio_to_svdb = \"other hardware\" }\n",
    );
    let report = root.compare();
    assert_eq!(titles(&report), [""; 0]);
    let phase = report.sections[0].lines.last().unwrap();
    assert_eq!(
        (phase.metric.as_str(), phase.verdict),
        ("ratio_to_svdb (seconds)", Verdict::NotComparable)
    );
    assert_eq!(
        (phase.published.as_str(), phase.ours.as_str(), phase.certificate.as_str()),
        ("5079", "12.50", "")
    );
}

#[test]
fn every_verdict_of_a_sound_artifact() {
    let root = Root::new();
    let report = root.compare();
    assert_eq!(titles(&report), [""; 0]);
    assert_eq!(report.findings.len(), 0);
    let verdicts: Vec<(&str, Verdict)> =
        report.sections[0].lines.iter().map(|line| (line.id.as_str(), line.verdict)).collect();
    assert_eq!(
        verdicts,
        [
            ("svdb", Verdict::Deviates),
            ("ratio", Verdict::Reproduced),
            ("better", Verdict::Improved),
            ("time", Verdict::NotComparable),
            ("formula", Verdict::Reproduced),
            ("ref-digits", Verdict::Reproduced),
            ("ref-band", Verdict::Reproduced),
        ]
    );
    let ratio = line(&report, "ratio");
    assert_eq!((ratio.ours.as_str(), ratio.published.as_str()), ("1.5291", "1.53"));
    assert_eq!(ratio.cell, "workload=range:8/method=wavelet");
    // The seconds of a cell are a column, not a separate row.
    assert_eq!(line(&report, "time").ours, "12.50");
    let better = line(&report, "better");
    assert_eq!(better.certificate, "≥ 1.8196, gap 2.0e-7");
    assert_eq!(better.method, "query-smasher");
}

#[test]
fn unexplained_mismatch_fails_with_all_details() {
    let root = Root::new();
    root.write("results/s9/x.csv", &RESULTS.replace("1.52912345", "1.5355"));
    let report = root.compare();
    assert_eq!(line(&report, "ratio").verdict, Verdict::Failed);
    assert_eq!(line(&report, "ref-digits").verdict, Verdict::Failed);
    assert_eq!(report.findings.len(), 2);
    let finding = &report.findings[0];
    assert_eq!(finding.title, "undocumented mismatch: ratio (ratio_to_svdb in Example 9)");
    assert_eq!(finding.expected, "1.53 ± 0.0050");
    assert_eq!(finding.found, "1.5355 (results/s9/x.csv, line 3, method wavelet)");
    assert!(finding.remedy.contains("[[deviation]] id = \"ratio\""), "{}", finding.remedy);
    let text = root.read("results/COMPARISON.md");
    let (failures, summary) =
        (text.find("## Problems: 2").unwrap(), text.find("## Summary").unwrap());
    assert!(failures < summary, "failures come first");
    let mut summary = Vec::new();
    report.write_summary(&mut summary).unwrap();
    let summary = String::from_utf8(summary).unwrap();
    assert!(summary.contains("found:    1.5355") && summary.contains("2 problems"), "{summary}");
}

#[test]
fn lower_error_without_certificate_or_of_a_baseline_is_not_improved() {
    let mismatch = ["undocumented mismatch: better (ratio_to_svdb in Example 9)"];
    let root = Root::new();
    root.write("results/s9/x.csv", &RESULTS.replace("1.81957,1.819569,2e-7", "1.81957,,"));
    assert_eq!(titles(&root.compare()), mismatch);
    let mut root = Root::new();
    root.tables = COMPARE.replacen("[\"query-smasher\"]", "[\"wavelet\"]", 1);
    assert_eq!(titles(&root.compare()), mismatch);
    root.tables = COMPARE.replacen("improvable = [\"query-smasher\"]\n", "", 1);
    assert_eq!(titles(&root.compare()), mismatch, "no method is improvable by default");
    root.tables = COMPARE.to_owned();
    assert!(titles(&root.compare()).is_empty());
    // Lower, but not certified optimal.
    root.write("results/s9/x.csv", &RESULTS.replace("1.819569", "1.5"));
    assert_eq!(titles(&root.compare()), mismatch);
}

#[test]
fn missing_results_fail_except_outside_the_quick_slice() {
    let root = Root::new();
    let without: String = RESULTS
        .lines()
        .filter(|line| !line.contains("wavelet"))
        .map(|line| format!("{line}\n"))
        .collect();
    root.write("results/s9/x.csv", &without);
    let report = root.compare();
    assert_eq!(
        titles(&report),
        [
            "missing result: ratio (ratio_to_svdb in Example 9)",
            "missing result: time (seconds in Sec. 9)",
            "missing result: ref-digits (ratio_to_svdb in spec)",
        ]
    );
    assert!(
        report.findings[0].remedy.contains("reproduce run configs/s9/x.toml --profile standard")
    );

    root.write("results/quick/s9/x.csv", &without);
    let report = root.try_compare(Profile::Quick).unwrap();
    assert_eq!(titles(&report), [""; 0]);
    assert_eq!(report.counts().of(Verdict::NotRun), 3);
    let text = root.read("results/quick/COMPARISON.md");
    assert!(text.contains("Not run: 3 values"), "{text}");
    assert!(text.contains("(../../docs/deviations.md#svdb)"), "{text}");

    // A cell that was run but lacks the metric is a failure under every profile.
    root.write(
        "results/quick/s9/x.csv",
        &RESULTS.replace("wavelet,ratio_to_svdb", "wavelet,ratio"),
    );
    let report = root.try_compare(Profile::Quick).unwrap();
    assert_eq!(titles(&report)[0], "missing metric: ratio (ratio_to_svdb in Example 9)");
}

#[test]
fn reason_for_a_ratio_of_times_is_explained_and_names_a_value() {
    let mut root = Root::new();
    let with =
        |more: &str| COMPARE.replacen(IMPROVABLE, &format!("within_factor = 1.1\n{more}"), 1);
    root.tables =
        with("deviations = { better = \"It is faster here.\", svdb = \"It is slower here.\" }\n");
    let titles_of = |root: &Root| {
        titles(&root.compare()).iter().map(|title| (*title).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(titles_of(&root)[0], "deviation without explanation: better");
    root.write("docs/deviations.md", "<a id=\"svdb\"></a>\n<a id=\"better\"></a>\n");
    let report = root.compare();
    assert_eq!(line(&report, "better").verdict, Verdict::Deviates);
    assert_eq!(line(&report, "better").reason, "It is faster here.");
    root.tables = with("deviations = { nothing = \"It is slower here.\" }\n");
    assert!(titles_of(&root).contains(&"deviation of an unknown value: nothing".to_owned()));
    root.tables = with("");
    let unexplained = "outside the tolerance, and `deviations` of its [[compare]] gives no reason";
    assert!(
        titles_of(&root).iter().any(|title| title.starts_with(unexplained)),
        "{:?}",
        titles_of(&root)
    );
}

#[test]
fn two_rows_for_one_value_fail() {
    let root = Root::new();
    let row = RESULTS.lines().nth(2).unwrap();
    root.write("results/s9/x.csv", &format!("{RESULTS}{}\n", row.replace("1.52912345", "9")));
    let report = root.compare();
    assert_eq!(
        titles(&report)[0],
        "2 result rows for one value: ratio (ratio_to_svdb in Example 9)"
    );
    assert_eq!(report.findings[0].found, "lines 3, 6 of results/s9/x.csv");
}

#[test]
fn deviations_must_be_used_explained_and_exact() {
    let root = Root::new();
    let unused = format!(
        "{DEVIATIONS}\n[[deviation]]\nid = \"ratio\"\nexpected = \"1.6\"\nreason = \"r\"\n"
    );
    root.write("data/expected/deviations.toml", &unused);
    root.write("docs/deviations.md", "<a id=\"ratio\"></a>");
    assert_eq!(
        titles(&root.compare()),
        ["unused deviation: ratio", "deviation without explanation: svdb"]
    );

    // Under `quick` an entry may be unused, but not unexplained.
    root.write("results/quick/s9/x.csv", RESULTS);
    assert_eq!(
        titles(&root.try_compare(Profile::Quick).unwrap()),
        ["deviation without explanation: svdb"]
    );

    root.write("docs/deviations.md", EXPLANATIONS);
    root.write("data/expected/deviations.toml", &DEVIATIONS.replace("640.3", "641"));
    let report = root.compare();
    assert_eq!(
        titles(&report),
        ["differs from its documented deviation: svdb (total_error in Example 9)"]
    );
    assert!(
        report.findings[0].expected.starts_with("641 ± 0.50"),
        "{}",
        report.findings[0].expected
    );
}

#[test]
fn tables_without_ids_and_with_unimplemented_methods() {
    let mut root = Root::new();
    root.tables = "[[compare]]\npublished = \"table.csv\"\njoin = [\"workload\", \"method\"]\n\
         metric = \"total_error\"\nvalue_column = \"rmse\"\n"
        .to_owned();
    root.write(
        "data/published/table.csv",
        "table,workload,method,rmse\ntable2,range:8,svd-bound,600\ntable2,range:8,HDMM,NI\n",
    );
    root.write(
        "data/expected/deviations.toml",
        "[[deviation]]\nid = \"table/range:8/svd-bound/rmse\"\nexpected = \"640.25\"\nreason = \"r\"\n",
    );
    root.write("docs/deviations.md", "<a id=\"table/range:8/svd-bound/rmse\"></a>");
    let report = root.compare();
    assert_eq!(titles(&report), [""; 0]);
    assert_eq!(line(&report, "table/range:8/svd-bound/rmse").verdict, Verdict::Deviates);
    assert_eq!(report.sections[0].lines.len(), 1, "an empty cell of the paper has no verdict");
}
