//! Tests of the text of both reports.

use experiments::compare::verdict::Verdict;
use experiments::config::Profile;

use crate::compare::root::{RESULTS, Root, line, titles};

#[test]
fn markdown_has_rows_links_and_values_that_are_not_compared() {
    let root = Root::new();
    root.compare();
    let text = root.read("results/COMPARISON.md");
    assert!(!text.contains("## Problems"), "{text}");
    let deviating = "| Example 9 `svdb` | `workload=range:8/method=svd-bound` | svd-bound | \
                     total_error | 5.32e2 | 6.4025e2 |  | \
                     [deviates](../docs/deviations.md#svdb): the paper uses &lt;half> of the \
                     queries \\| see there |";
    assert!(text.contains(deviating), "{text}");
    for total in [
        "| S9 published | 2 | 0 | 1 | 0 | 1 | 0 | 1 | 0 | 0 | 5 |",
        "| S9: evaluation values | 2 | 0 | 1 | 0 | 1 | 0 | 0 | 0 | 0 | 4 |",
        "| S9: times and memory | 0 | 0 | 0 | 0 | 0 | 0 | 1 | 0 | 0 | 1 |",
        "| **all published** | 2 | 0 | 1 | 0 | 1 | 0 | 1 | 0 | 0 | 5 |",
        "| all: evaluation values | 2 | 0 | 1 | 0 | 1 | 0 | 0 | 0 | 0 | 4 |",
        "| S9 independent reference | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 1 |",
        "| S9 independent interval | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 1 |",
        "| **all** | 4 | 0 | 1 | 0 | 1 | 0 | 1 | 0 | 0 | 7 |",
    ] {
        assert!(text.contains(total), "{total} in {text}");
    }
    assert!(!text.contains("S9: query counts"), "no query count is published");
    assert!(text.contains("| `data/published/claims.csv` | 7 | 2 | Sec. 10 (2) |"), "{text}");
    let first = text.clone();
    root.compare();
    assert_eq!(
        root.read("results/COMPARISON.md"),
        first,
        "the report must not change between runs"
    );
}

#[test]
fn differences_come_first_and_reproduced_values_are_folded() {
    let root = Root::new();
    root.compare();
    let text = root.read("results/COMPARISON.md");
    let positions = |text: &str, ids: &[&str]| -> Vec<usize> {
        ids.iter().map(|id| text.find(id).unwrap_or_else(|| panic!("no {id} in {text}"))).collect()
    };
    let order = ["`svdb`", "`better`", "`time`", "`ratio`", "`formula`", "`ref-digits`"];
    assert!(positions(&text, &order).is_sorted(), "{text}");
    let page = root.read("results/comparison.html");
    let order = [
        ">svdb<",
        ">better<",
        ">time<",
        "<details>",
        ">ratio<",
        ">formula<",
        ">ref-band<",
        "</details>",
    ];
    assert!(positions(&page, &order).is_sorted(), "{page}");
    assert!(
        page.contains("<summary><span class=\"verdict reproduced\">reproduced</span>: 4</summary>"),
        "{page}"
    );
}

/// The bound for any matrix mechanism has its own column, and a value below it fails.
#[test]
fn bound_for_any_matrix_mechanism_has_a_column() {
    let root = Root::new();
    root.compare();
    assert!(!root.read("results/COMPARISON.md").contains("any matrix mechanism"));
    let bound = |value: &str| {
        let row = format!(
            "s9/x,s9/x/workload=range:8/method=any,range:8,any,ratio_to_svdb,{value},,,,0.1,1,7\n"
        );
        root.write("results/s9/x.csv", &format!("{RESULTS}{row}"));
        root.compare()
    };
    let report = bound("1.5");
    assert_eq!(line(&report, "ref-digits").lower_bound, "≥ 1.500000, 1.9 % above");
    // Only errors have a bound.
    assert_eq!(line(&report, "svdb").lower_bound, "");
    let text = root.read("results/COMPARISON.md");
    assert!(
        text.contains("| lower bound, gap | any matrix mechanism | verdict |")
            && text.contains("| ≥ 1.500000, 1.9 % above |")
    );
    assert!(root.read("results/comparison.html").contains("≥ 1.500000, 1.9 % above"));
    let report = bound("1.6");
    let below = line(&report, "ref-digits");
    assert_eq!(
        (below.verdict, below.reason.as_str()),
        (Verdict::Failed, "below the lower bound for any matrix mechanism")
    );
}

#[test]
fn every_paper_has_an_index_of_its_items() {
    let root = Root::new();
    root.compare();
    let text = root.read("results/COMPARISON.md");
    assert!(
        text.contains(
            "### S9\n\n- 5 published: 1 deviates, 1 improved, 1 not comparable, 2 reproduced\n"
        ),
        "{text}"
    );
    let item = "| [S9, Example 9: Example 9](#s9/x) | `reproduce run s9/x` | ";
    let row = text.lines().find(|line| line.starts_with(item)).unwrap();
    assert!(row.contains("[config](../configs/s9/x.toml), [table](s9/x.csv)"), "{row}");
    let verdicts = "| 1 deviates, 1 improved, 1 not comparable, 2 reproduced | 2 reproduced |";
    assert!(row.ends_with(verdicts), "{row}");
    let totals = root.read("results/verdicts.csv");
    assert!(totals.contains("\nS9 published,2,0,1,0,1,0,1,0,0,5\n"), "{totals}");
    assert!(text.contains("<a id=\"s9/x\"></a>\n\n## S9, Example 9: Example 9\n"), "{text}");
    let page = root.read("results/comparison.html");
    assert!(page.contains("<a href=\"#s9/x\">S9, Example 9: Example 9</a>"), "{page}");
}

#[test]
fn missing_figure_fails_and_present_figure_is_inlined() {
    let mut root = Root::new();
    root.tables.push_str(
        "[[figure]]\nfile = \"s9/x\"\ntitle = \"Ratios <of> S9\"\ncaption = \"All of them.\"\n\
         kind = \"bars\"\nx = \"workload\"\nx_label = \"workload\"\ny = \"ratio_to_svdb\"\n\
         y_label = \"ratio\"\nseries = \"method\"\n",
    );
    let report = root.compare();
    assert_eq!(titles(&report), ["missing figure: Ratios <of> S9"]);
    assert!(report.findings[0].expected.contains("figures/s9/x.svg"));
    // The quick profile may have no figures.
    root.write("results/quick/s9/x.csv", RESULTS);
    assert_eq!(titles(&root.try_compare(Profile::Quick).unwrap()), [""; 0]);
    assert!(
        root.read("results/quick/comparison.html")
            .contains("not drawn, because there is no result for it")
    );
    root.draw();
    assert_eq!(titles(&root.compare()), [""; 0]);
    assert!(
        root.read("results/COMPARISON.md").contains("![Ratios &lt;of> S9](../figures/s9/x.svg)")
    );
    let page = root.read("results/comparison.html");
    assert!(page.contains("\n<svg ") && page.contains("All of them."), "the figure is not inlined");
}

#[test]
fn the_page_is_self_contained_and_escaped() {
    let mut root = Root::new();
    root.tables.push_str(
        "[[figure]]\nfile = \"s9/x\"\ntitle = \"T\"\nkind = \"bars\"\nx = \"workload\"\n\
         x_label = \"w\"\ny = \"ratio_to_svdb\"\ny_label = \"r\"\nseries = \"method\"\n",
    );
    root.draw();
    root.compare();
    let page = root.read("results/comparison.html");
    for forbidden in [
        "src=",
        "href=\"http",
        "href=\"//",
        "url(",
        "@import",
        "<script",
        "<link",
        "<iframe",
        "xlink",
    ] {
        assert!(!page.contains(forbidden), "{forbidden} in the page");
    }
    let links: Vec<&str> =
        page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(links.contains(&"#why-svdb"), "{links:?}");
    assert!(!links.iter().any(|link| link.contains(".md")), "no raw Markdown: {links:?}");
    for link in &links {
        if let Some(id) = link.strip_prefix('#') {
            assert!(page.contains(&format!("id=\"{id}\"")), "no target for {link}");
        }
    }
    assert!(page.contains("the paper uses &lt;half&gt; of the queries"));
    for tag in [
        "table", "thead", "tbody", "section", "figure", "main", "nav", "dl", "svg", "details",
        "summary",
    ] {
        let opened =
            page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "<{tag}> is not balanced");
    }
}

/// The page starts with the totals, certificates and links to the papers; every table is in a box
/// that scrolls.
#[test]
fn the_page_starts_with_totals_and_tables_scroll_in_boxes() {
    let root = Root::new();
    root.compare();
    let page = root.read("results/comparison.html");
    let position = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text} in {page}"));
    let order = [
        "id=\"summary\"",
        "S9 published",
        " compared values have a certificate",
        "<a href=\"#s9\">S9</a>",
        "id=\"index\"",
        "id=\"s9\"",
        "id=\"s9/x\"",
    ];
    assert!(order.map(position).is_sorted(), "{page}");
    assert!(!root.read("results/COMPARISON.md").contains("have a certificate"));
    let boxed = "tabindex=\"0\"><table";
    assert_eq!(page.matches("<table").count(), page.matches(boxed).count());
}
