//! The comparison from files to reports: every verdict, every failure, and what the reports contain.

// Clippy's exception for tests does not reach functions that tests share.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use experiments::compare::report::{Line, Report};
use experiments::compare::verdict::Verdict;
use experiments::compare::{self, InputErrors};
use experiments::config::{Config, Profile, parse};

const CLAIMS: &str = "\
id,where,workload,method,quantity,value
svdb,Example 9,range:8,svd-bound,total_error,5.32e2
ratio,Example 9,range:8,wavelet,ratio_to_svdb,1.53
better,Example 9,range:8,QS,ratio_to_svdb,2.23
time,Sec. 9,range:8,wavelet,seconds,5079
formula,App. Z,range:8,bound,threshold,sqrt(log n)
other,Sec. 10,range:16,wavelet,ratio_to_svdb,3
other2,Sec. 10,range:16,identity,ratio_to_svdb,4
";

const REFERENCE: &str = "\
id,where,workload,method,quantity,value,low,high
ref-digits,spec,range:8,wavelet,ratio_to_svdb,1.5291,,
ref-band,spec,range:8,query-smasher,ratio_to_svdb,1.8,1.7,1.9
";

const RESULTS: &str = "\
experiment,cell,workload,method,metric,value,lower_bound,gap,text,seconds,peak_mb,seed
s9/x,s9/x/workload=range:8/method=svd-bound,range:8,svd-bound,total_error,640.25,,,,0.1,1,7
s9/x,s9/x/workload=range:8/method=wavelet,range:8,wavelet,ratio_to_svdb,1.52912345,1,,,12.5,1,7
s9/x,s9/x/workload=range:8/method=query-smasher,range:8,query-smasher,ratio_to_svdb,1.81957,1.5,2e-7,,0.1,1,7
s9/x,s9/x/workload=range:8/method=bound,range:8,bound,threshold,,,,sqrt(log n),0.1,1,7
";

const DEVIATIONS: &str = "\
[[deviation]]
id = \"svdb\"
expected = \"640.3\"
reason = \"the paper uses <half> of the queries | see there\"
";

const EXPLANATIONS: &str = "# Deviations\n\n<a id=\"svdb\"></a>\n## SVD bound\n";

const COMPARE: &str = "\
[[compare]]
published = \"claims.csv\"
filter = { where = [\"Example 9\", \"Sec. 9\", \"App. Z\"] }
join = [\"workload\", \"method\"]
metric_column = \"quantity\"
rename = { method = { \"QS\" = \"query-smasher\" } }
not_comparable = { seconds = \"timing on other hardware\" }
[[compare]]
reference = \"reference.csv\"
join = [\"workload\", \"method\"]
metric_column = \"quantity\"
";

/// A root with everything in order; tests then spoil one thing.
struct Root {
    folder: tempfile::TempDir,
    tables: String,
}

impl Root {
    fn new() -> Self {
        let root = Self { folder: tempfile::tempdir().unwrap(), tables: COMPARE.to_owned() };
        root.write("data/published/claims.csv", CLAIMS);
        root.write("data/expected/reference.csv", REFERENCE);
        root.write("data/expected/deviations.toml", DEVIATIONS);
        root.write("docs/deviations.md", EXPLANATIONS);
        root.write("results/s9/x.csv", RESULTS);
        root
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.path().join(file)).unwrap()
    }

    fn config(&self) -> Config {
        let text = format!(
            "experiment = \"s9/x\"\nkind = \"demo\"\ntitle = \"Example 9\"\nreproduces = \"S9, Example 9\"\nseed = 7\n\
             expected_seconds = 1\nexpected_mb = 1\n[grid]\n{}",
            self.tables
        );
        parse(&self.path().join("configs/s9/x.toml"), &text).unwrap()
    }

    fn try_compare(&self, profile: Profile) -> anyhow::Result<Report> {
        compare::run(self.path(), &[self.config()], profile)
    }

    fn compare(&self) -> Report {
        self.try_compare(Profile::Standard).unwrap()
    }

    fn input_error(&self) -> String {
        let error = self.try_compare(Profile::Standard).unwrap_err();
        error.to_string()
    }
}

fn line<'r>(report: &'r Report, id: &str) -> &'r Line {
    report.sections[0].lines.iter().find(|line| line.id == id).unwrap()
}

fn titles(report: &Report) -> Vec<&str> {
    report.failures.iter().map(|failure| failure.title.as_str()).collect()
}

/// A phase of a cell is a metric; its published time stands beside the `seconds` of that metric's row.
#[test]
fn times_of_phases_stand_beside_the_published_ones() {
    let mut root = Root::new();
    root.tables.push_str(
        "[[compare]]\npublished = \"claims.csv\"\nfilter = { id = [\"time\"] }\njoin = [\"workload\", \"method\"]\n\
         metric = \"ratio_to_svdb\"\nour_column = \"seconds\"\nnot_comparable = { ratio_to_svdb = \"other hardware\" }\n",
    );
    let report = root.compare();
    assert_eq!(titles(&report), [""; 0]);
    let phase = report.sections[0].lines.last().unwrap();
    assert_eq!((phase.metric.as_str(), phase.verdict), ("ratio_to_svdb (seconds)", Verdict::NotComparable));
    assert_eq!((phase.published.as_str(), phase.ours.as_str(), phase.certificate.as_str()), ("5079", "12.50", ""));
}

#[test]
fn every_verdict_of_a_sound_artifact() {
    let root = Root::new();
    let report = root.compare();
    assert_eq!(titles(&report), [""; 0]);
    assert_eq!(report.failures(), 0);
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
    // The seconds of a cell stand in a column, not in a row of their own.
    assert_eq!(line(&report, "time").ours, "12.50");
    let better = line(&report, "better");
    assert_eq!(better.certificate, "≥ 1.5000, gap 2.0e-7");
    assert_eq!(better.method, "query-smasher");
}

#[test]
fn markdown_shows_rows_links_and_what_remains() {
    let root = Root::new();
    root.compare();
    let text = root.read("results/COMPARISON.md");
    assert!(!text.contains("To put right"), "{text}");
    let deviating = "| Example 9 `svdb` | `workload=range:8/method=svd-bound` | svd-bound | total_error | 5.32e2 | 6.4025e2 |  | \
                     [deviates](../docs/deviations.md#svdb): the paper uses &lt;half> of the queries \\| see there |";
    assert!(text.contains(deviating), "{text}");
    assert!(text.contains("| S9 published | 2 | 1 | 1 | 1 | 0 | 0 | 5 |"), "{text}");
    assert!(text.contains("| S9 independent reference | 2 | 0 | 0 | 0 | 0 | 0 | 2 |"), "{text}");
    assert!(text.contains("| `data/published/claims.csv` | 7 | 2 | Sec. 10 (2) |"), "{text}");
    let first = text.clone();
    root.compare();
    assert_eq!(root.read("results/COMPARISON.md"), first, "the report must not change between runs");
}

#[test]
fn an_unexplained_mismatch_fails_with_all_detail() {
    let root = Root::new();
    root.write("results/s9/x.csv", &RESULTS.replace("1.52912345", "1.5355"));
    let report = root.compare();
    assert_eq!(line(&report, "ratio").verdict, Verdict::Failed);
    assert_eq!(line(&report, "ref-digits").verdict, Verdict::Failed);
    assert_eq!(report.failures(), 2);
    let failure = &report.failures[0];
    assert_eq!(failure.title, "unexplained mismatch: ratio (ratio_to_svdb in Example 9)");
    assert_eq!(failure.expected, "1.53 ± 0.0050");
    assert_eq!(failure.found, "1.5355 (results/s9/x.csv, line 3, method wavelet)");
    assert!(failure.remedy.contains("[[deviation]] id = \"ratio\""), "{}", failure.remedy);
    let text = root.read("results/COMPARISON.md");
    let (failures, summary) = (text.find("To put right: 2").unwrap(), text.find("## Summary").unwrap());
    assert!(failures < summary, "failures come first");
    let mut summary = Vec::new();
    report.write_summary(&mut summary).unwrap();
    let summary = String::from_utf8(summary).unwrap();
    assert!(summary.contains("found:    1.5355") && summary.contains("2 to put right"), "{summary}");
}

#[test]
fn an_error_without_certificate_or_of_a_baseline_is_not_an_improvement() {
    let mismatch = ["unexplained mismatch: better (ratio_to_svdb in Example 9)"];
    let root = Root::new();
    root.write("results/s9/x.csv", &RESULTS.replace("1.81957,1.5,2e-7", "1.81957,,"));
    assert_eq!(titles(&root.compare()), mismatch);
    let mut root = Root::new();
    root.tables = COMPARE.replacen("rename", "improvable = [\"wavelet\"]\nrename", 1);
    assert_eq!(titles(&root.compare()), mismatch);
    root.tables = COMPARE.replacen("rename", "improvable = [\"query-smasher\"]\nrename", 1);
    assert!(titles(&root.compare()).is_empty());
}

#[test]
fn missing_results_fail_except_outside_the_quick_slice() {
    let root = Root::new();
    let without: String =
        RESULTS.lines().filter(|line| !line.contains("wavelet")).map(|line| format!("{line}\n")).collect();
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
    assert!(report.failures[0].remedy.contains("reproduce run configs/s9/x.toml --profile standard"));

    root.write("results/quick/s9/x.csv", &without);
    let report = root.try_compare(Profile::Quick).unwrap();
    assert_eq!(titles(&report), [""; 0]);
    assert_eq!(report.counts().of(Verdict::NotRun), 3);
    let text = root.read("results/quick/COMPARISON.md");
    assert!(text.contains("Not run: 3 more values"), "{text}");
    assert!(text.contains("(../../docs/deviations.md#svdb)"), "{text}");

    // A cell that was run but lacks the metric is a failure under every profile.
    root.write("results/quick/s9/x.csv", &RESULTS.replace("wavelet,ratio_to_svdb", "wavelet,ratio"));
    let report = root.try_compare(Profile::Quick).unwrap();
    assert_eq!(titles(&report)[0], "missing metric: ratio (ratio_to_svdb in Example 9)");
}

#[test]
fn results_on_stand_ins_are_not_comparable() {
    let mut root = Root::new();
    let labelled = |label: &str| -> String {
        let (header, rows) = RESULTS.split_once('\n').unwrap();
        let rows = rows.lines().map(|row| format!("{row},{label}\n")).collect::<String>();
        format!("{header},data\n{}", rows.replace("1.52912345", "9"))
    };
    root.write("results/s9/x.csv", &labelled("stand-in"));
    let report = root.compare();
    // No mismatch fails, and neither does the documented deviation that no value can confirm.
    assert_eq!(titles(&report), [""; 0]);
    assert_eq!(report.counts().of(Verdict::NotComparable), 7);
    assert_eq!(line(&report, "ratio").reason, "stand-in data");
    assert_eq!(line(&report, "time").reason, "timing on other hardware");
    root.write("results/s9/x.csv", &labelled("real"));
    assert_eq!(titles(&root.compare()).len(), 2, "the wrong value of the real data fails twice");

    // Known values of the stand-in itself are joined by the column and compared.
    root.tables = COMPARE.replace(
        "[[compare]]\nreference = \"reference.csv\"\njoin = [\"workload\",",
        "[[compare]]\nreference = \"reference.csv\"\njoin = [\"data\", \"workload\",",
    );
    assert_ne!(root.tables, COMPARE);
    let reference: String = REFERENCE
        .lines()
        .enumerate()
        .map(|(k, row)| if k == 0 { format!("{row},data\n") } else { format!("{row},stand-in\n") })
        .collect();
    root.write("data/expected/reference.csv", &reference);
    root.write("results/s9/x.csv", &labelled("stand-in"));
    let report = root.compare();
    assert_eq!(titles(&report), ["differs from the reference value: ref-digits (ratio_to_svdb in spec)"]);
    assert_eq!(line(&report, "ref-band").verdict, Verdict::Reproduced);
}

#[test]
fn two_rows_for_one_value_fail() {
    let root = Root::new();
    let row = RESULTS.lines().nth(2).unwrap();
    root.write("results/s9/x.csv", &format!("{RESULTS}{}\n", row.replace("1.52912345", "9")));
    let report = root.compare();
    assert_eq!(titles(&report)[0], "2 result rows for one value: ratio (ratio_to_svdb in Example 9)");
    assert_eq!(report.failures[0].found, "lines 3, 6 of results/s9/x.csv");
}

#[test]
fn deviations_must_be_used_explained_and_exact() {
    let root = Root::new();
    let unused = format!("{DEVIATIONS}\n[[deviation]]\nid = \"ratio\"\nexpected = \"1.6\"\nreason = \"r\"\n");
    root.write("data/expected/deviations.toml", &unused);
    root.write("docs/deviations.md", "<a id=\"ratio\"></a>");
    assert_eq!(titles(&root.compare()), ["unused deviation: ratio", "deviation without explanation: svdb"]);

    // The quick slice may leave an entry unused, but not unexplained.
    root.write("results/quick/s9/x.csv", RESULTS);
    assert_eq!(titles(&root.try_compare(Profile::Quick).unwrap()), ["deviation without explanation: svdb"]);

    root.write("docs/deviations.md", EXPLANATIONS);
    root.write("data/expected/deviations.toml", &DEVIATIONS.replace("640.3", "641"));
    let report = root.compare();
    assert_eq!(titles(&report), ["differs from its documented deviation: svdb (total_error in Example 9)"]);
    assert!(report.failures[0].expected.starts_with("641 ± 0.50"), "{}", report.failures[0].expected);
}

#[test]
fn tables_without_ids_and_with_unimplemented_methods() {
    let mut root = Root::new();
    root.tables =
        "[[compare]]\npublished = \"table.csv\"\njoin = [\"workload\", \"method\"]\nmetric = \"total_error\"\n\
                   value_column = \"rmse\"\n"
            .to_owned();
    root.write(
        "data/published/table.csv",
        "table,workload,method,rmse\ntable2,range:8,svd-bound,600\ntable2,range:8,HDMM,NI\n",
    );
    root.write(
        "data/expected/deviations.toml",
        "[[deviation]]\nid = \"table.csv:2\"\nexpected = \"640.25\"\nreason = \"r\"\n",
    );
    root.write("docs/deviations.md", "<a id=\"table.csv:2\"></a>");
    let report = root.compare();
    assert_eq!(titles(&report), [""; 0]);
    assert_eq!(line(&report, "table.csv:2").verdict, Verdict::Deviates);
    let absent = line(&report, "table.csv:3");
    assert_eq!(absent.place, "table2");
    assert_eq!((absent.verdict, absent.reason.as_str()), (Verdict::NotComparable, "not implemented in the paper"));
}

#[test]
fn missing_files_are_named_together_with_the_command() {
    let root = Root::new();
    fs::remove_file(root.path().join("results/s9/x.csv")).unwrap();
    fs::remove_file(root.path().join("data/published/claims.csv")).unwrap();
    let error = root.try_compare(Profile::Standard).unwrap_err();
    assert_eq!(error.downcast_ref::<InputErrors>().unwrap().0.len(), 2);
    let text = error.to_string();
    assert!(text.contains("file data/published/claims.csv (named by configs/s9/x.toml)"), "{text}");
    assert!(text.contains("file results/s9/x.csv") && text.contains("found:    no such file"), "{text}");
    assert!(text.contains("run `reproduce run configs/s9/x.toml --profile standard`"), "{text}");
    assert!(!root.path().join("results/COMPARISON.md").exists(), "no report of half a comparison");
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
    assert!(text.contains("a number with 2 decimals on line 2") && text.contains("5.32e2"), "{text}");
    let root = Root::new();
    root.write("data/expected/deviations.toml", "[[deviation]]\nid = \"svdb\"\nexpect = \"1\"\n");
    let text = root.input_error();
    assert!(text.contains("file data/expected/deviations.toml") && text.contains("expect"), "{text}");
}

#[test]
fn an_undrawn_figure_fails_and_a_drawn_one_is_inlined() {
    let mut root = Root::new();
    root.tables.push_str(
        "[[figure]]\nfile = \"s9/x\"\ntitle = \"Ratios <of> S9\"\ncaption = \"All of them.\"\nkind = \"bars\"\n\
         x = \"workload\"\nx_label = \"workload\"\ny = \"ratio_to_svdb\"\ny_label = \"ratio\"\nseries = \"method\"\n",
    );
    let report = root.compare();
    assert_eq!(titles(&report), ["missing figure: Ratios <of> S9"]);
    assert!(report.failures[0].expected.contains("figures/s9/x.svg"));
    // The quick slice may have nothing to draw.
    root.write("results/quick/s9/x.csv", RESULTS);
    assert_eq!(titles(&root.try_compare(Profile::Quick).unwrap()), [""; 0]);
    assert!(root.read("results/quick/comparison.html").contains("not drawn under this profile"));
    experiments::figures::draw_all(root.path(), &[root.config()], Profile::Standard).unwrap();
    assert_eq!(titles(&root.compare()), [""; 0]);
    assert!(root.read("results/COMPARISON.md").contains("![Ratios &lt;of> S9](../figures/s9/x.svg)"));
    let page = root.read("results/comparison.html");
    assert!(page.contains("<figure>\n<svg ") && page.contains("All of them."), "the figure is not inlined");
}

#[test]
fn the_page_is_self_contained_and_escaped() {
    let mut root = Root::new();
    root.tables.push_str(
        "[[figure]]\nfile = \"s9/x\"\ntitle = \"T\"\nkind = \"bars\"\nx = \"workload\"\nx_label = \"w\"\ny = \"ratio_to_svdb\"\n\
         y_label = \"r\"\nseries = \"method\"\n",
    );
    experiments::figures::draw_all(root.path(), &[root.config()], Profile::Standard).unwrap();
    root.compare();
    let page = root.read("results/comparison.html");
    for forbidden in ["src=", "href=\"http", "href=\"//", "url(", "@import", "<script", "<link", "<iframe", "xlink"] {
        assert!(!page.contains(forbidden), "{forbidden} in the page");
    }
    let links: Vec<&str> = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(links.contains(&"../docs/deviations.md#svdb"), "{links:?}");
    for link in &links {
        if let Some(id) = link.strip_prefix('#') {
            assert!(page.contains(&format!("id=\"{id}\"")), "no target for {link}");
        }
    }
    assert!(page.contains("the paper uses &lt;half&gt; of the queries"));
    for tag in ["table", "thead", "tbody", "section", "figure", "main", "nav", "dl", "svg"] {
        let opened = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "<{tag}> is not balanced");
    }
}
