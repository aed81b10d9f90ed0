//! What the reports contain.

use experiments::compare::verdict::Verdict;
use experiments::config::Profile;

use crate::root::{RESULTS, Root, line, titles};

#[test]
fn markdown_shows_rows_links_and_what_remains() {
    let root = Root::new();
    root.compare();
    let text = root.read("results/COMPARISON.md");
    assert!(!text.contains("To put right"), "{text}");
    let deviating = "| Example 9 `svdb` | `workload=range:8/method=svd-bound` | svd-bound | total_error | 5.32e2 | 6.4025e2 |  | \
                     [deviates](../docs/deviations.md#svdb): the paper uses &lt;half> of the queries \\| see there |";
    assert!(text.contains(deviating), "{text}");
    for total in [
        "| S9 published | 2 | 1 | 0 | 1 | 1 | 0 | 0 | 5 |",
        "| S9: errors and other values | 2 | 1 | 0 | 1 | 0 | 0 | 0 | 4 |",
        "| S9: times and memory | 0 | 0 | 0 | 0 | 1 | 0 | 0 | 1 |",
        "| **all published** | 2 | 1 | 0 | 1 | 1 | 0 | 0 | 5 |",
        "| S9 independent reference | 2 | 0 | 0 | 0 | 0 | 0 | 0 | 2 |",
        "| **all** | 4 | 1 | 0 | 1 | 1 | 0 | 0 | 7 |",
    ] {
        assert!(text.contains(total), "{total} in {text}");
    }
    assert!(!text.contains("S9: query counts"), "nothing of that kind is published");
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
fn what_differs_stands_first_and_what_is_reproduced_folds_away() {
    let root = Root::new();
    root.compare();
    let text = root.read("results/COMPARISON.md");
    let places = |text: &str, ids: &[&str]| -> Vec<usize> {
        ids.iter().map(|id| text.find(id).unwrap_or_else(|| panic!("no {id} in {text}"))).collect()
    };
    let order = ["`svdb`", "`better`", "`time`", "`ratio`", "`formula`", "`ref-digits`"];
    assert!(places(&text, &order).is_sorted(), "{text}");
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
    assert!(places(&page, &order).is_sorted(), "{page}");
    assert!(
        page.contains("<summary><span class=\"verdict reproduced\">reproduced</span>: 4</summary>"),
        "{page}"
    );
}

/// The values of the method that bounds all others stand in a column of their own, and nothing may
/// be below them.
#[test]
fn bounds_on_every_mechanism_have_a_column() {
    let root = Root::new();
    root.compare();
    assert!(!root.read("results/COMPARISON.md").contains("any mechanism"));
    let bound = |value: &str| {
        let row = format!(
            "s9/x,s9/x/workload=range:8/method=any,range:8,any,ratio_to_svdb,{value},,,,0.1,1,7\n"
        );
        root.write("results/s9/x.csv", &format!("{RESULTS}{row}"));
        root.compare()
    };
    let report = bound("1.5");
    assert_eq!(line(&report, "ref-digits").bound_on_all, "≥ 1.500000, 1.9 % above");
    // What is no error has no bound.
    assert_eq!(line(&report, "svdb").bound_on_all, "");
    let text = root.read("results/COMPARISON.md");
    assert!(
        text.contains("| lower bound, gap | any mechanism | verdict |")
            && text.contains("| ≥ 1.500000, 1.9 % above |")
    );
    assert!(root.read("results/comparison.html").contains("≥ 1.500000, 1.9 % above"));
    let report = bound("1.6");
    let below = line(&report, "ref-digits");
    assert_eq!(
        (below.verdict, below.reason.as_str()),
        (Verdict::Failed, "below a bound on every mechanism")
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
    let item = "| [S9, Example 9: Example 9](#s9/x) | `s9/x` | 1 deviates, 1 improved, 1 not comparable, 2 reproduced | \
                2 reproduced |";
    assert!(text.contains(item), "{text}");
    assert!(text.contains("<a id=\"s9/x\"></a>\n\n## S9, Example 9: Example 9\n"), "{text}");
    let page = root.read("results/comparison.html");
    assert!(page.contains("<a href=\"#s9/x\">S9, Example 9: Example 9</a>"), "{page}");
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
    assert!(report.findings[0].expected.contains("figures/s9/x.svg"));
    // The quick slice may have nothing to draw.
    root.write("results/quick/s9/x.csv", RESULTS);
    assert_eq!(titles(&root.try_compare(Profile::Quick).unwrap()), [""; 0]);
    assert!(root.read("results/quick/comparison.html").contains("not drawn under this profile"));
    root.draw();
    assert_eq!(titles(&root.compare()), [""; 0]);
    assert!(
        root.read("results/COMPARISON.md").contains("![Ratios &lt;of> S9](../figures/s9/x.svg)")
    );
    let page = root.read("results/comparison.html");
    assert!(
        page.contains("<figure>\n<svg ") && page.contains("All of them."),
        "the figure is not inlined"
    );
}

#[test]
fn the_page_is_self_contained_and_escaped() {
    let mut root = Root::new();
    root.tables.push_str(
        "[[figure]]\nfile = \"s9/x\"\ntitle = \"T\"\nkind = \"bars\"\nx = \"workload\"\nx_label = \"w\"\ny = \"ratio_to_svdb\"\n\
         y_label = \"r\"\nseries = \"method\"\n",
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
    assert!(links.contains(&"../docs/deviations.md#svdb"), "{links:?}");
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
