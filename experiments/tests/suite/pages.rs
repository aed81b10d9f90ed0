//! The tables of pages are those of the committed results, and their commands are commands.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use experiments::cli::Arguments;
use experiments::{config, pages};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

#[test]
fn tables_of_pages_are_up_to_date() {
    let stale = pages::stale(&root()).unwrap();
    let names: Vec<_> = stale.iter().map(|(page, _)| page).collect();
    assert!(names.is_empty(), "{names:?} are stale, run `reproduce pages`");
    let pages = pages::pages(&root()).unwrap();
    for name in ["README.md", "results/beyond/README.md"] {
        assert!(pages.contains(&root().join(name)), "{name} has no table of results");
    }
    // Results that lack rows would otherwise shorten a table without an error.
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let tables = readme.split("\n-->\n").skip(1).filter_map(|rest| rest.split_once("<!-- end of"));
    let lines: Vec<usize> = tables.map(|(table, _)| table.lines().count()).collect();
    assert_eq!(lines, [6, 6, 6], "lines of the tables of README.md");
}

const TABLE: &str = "n,cell,method,metric,value,gap\n\
    1,1a,a,error,2,1e-13\n1,1b,b,error,8,1e-8\n2,2a,a,error,3,\n2,2b,b,error,3,2e-8\n\
    1,1a,a,error_se,0.0025,\n1,1a,a,ratio,0.25,\n1,1b,b,ratio,4,\n3,3c,c,ratio,1,\n";

/// Returns a page with one block and the given columns, rendered.
fn rendered(head: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("results/x")).unwrap();
    fs::write(folder.path().join("results/x/t.csv"), TABLE).unwrap();
    let page = folder.path().join("README.md");
    let text = format!(
        "# Page\n\n<!-- results\nfrom = ['results/x/t.csv']\n{head}\n-->\nold\n<!-- end of results -->\n\nend\n"
    );
    fs::write(&page, text).unwrap();
    let rendered = pages::rendered(folder.path(), &page).map_err(|error| error.to_string())?;
    assert_eq!(pages::stale(folder.path()).unwrap(), [(page.clone(), rendered.clone())]);
    assert_eq!(pages::write(folder.path()).unwrap(), std::slice::from_ref(&page));
    assert_eq!(fs::read_to_string(&page).unwrap(), rendered);
    assert!(pages::stale(folder.path()).unwrap().is_empty());
    let lines = rendered.lines().skip_while(|line| !line.starts_with('|'));
    Ok(lines.take_while(|line| line.starts_with('|')).map(|line| format!("{line}\n")).collect())
}

#[test]
fn a_block_shows_the_rows_that_it_selects() {
    let head = "where = { n = ['2', '1'], metric = ['error'] }\nrows = [['n', 'cells']]\n\
        columns = [\n\
        { title = 'a', where = { method = 'a' }, format = { digits = 1 } },\n\
        { title = 'gap of a', where = { method = 'a' }, column = 'gap', format = 'text' },\n\
        { title = 'best', take = 'smallest', label = 'method', format = 'text' },\n\
        { title = 'worst', take = 'largest', label = 'method', format = { digits = 0 } },\n\
        { title = 'trials', where = { method = 'a' }, format = { digits = 2 }, standard_error = true }]";
    let expected = "| cells | a | gap of a | best | worst | trials |\n\
        |---|---:|---:|---:|---:|---:|\n\
        | 2 | 3.0 | – | 3 (a) | 3 (b) | 3.00 |\n\
        | 1 | 2.0 | 1e-13 | 2 (a) | 8 (b) | 2.00 ± 0.003 |\n";
    assert_eq!(rendered(head).unwrap(), expected);
}

#[test]
fn a_name_is_a_column_shown_as_it_is() {
    let head =
        "where = { metric = ['error'], method = ['a'] }\nrows = [['n', 'n']]\ncolumns = ['value']";
    assert_eq!(rendered(head).unwrap(), "| n | value |\n|---|---:|\n| 1 | 2 |\n| 2 | 3 |\n");
}

#[test]
fn a_block_that_selects_nothing_or_too_much_is_refused() {
    for (head, part) in [
        ("rows = [['n', 'n']]\ncolumns = [{ title = 'x', where = { method = 'a' } }]", "3 rows"),
        (
            "rows = [['n', 'n']]\ncolumns = [{ title = 'x', where = { method = 'z' } }]",
            "a value in the column `x`",
        ),
        ("rows = [['m', 'm']]\ncolumns = []", "a row that the block selects"),
        ("rows = []\ncolums = []", "colums"),
    ] {
        let error = rendered(head).unwrap_err();
        assert!(error.contains(part) && error.contains("README.md, line 3"), "{part}: {error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("README.md");
    fs::write(&page, "<!-- results\nrows = []\n").unwrap();
    let error = pages::rendered(folder.path(), &page).unwrap_err().to_string();
    assert!(error.contains("<!-- end of results -->"), "{error}");
}

/// A number in the text of a page: its text there, the result table, the columns that select the
/// row, and the decimals.
type InText = (&'static str, &'static str, &'static [(&'static str, &'static str)], usize);

/// The numbers of docs/deviations.md that no entry of data/expected/deviations.toml has.
const IN_DEVIATIONS: [InText; 21] = [
    ("1.0078", "s2/alternative", &[("workload", "cdf:128"), ("method", "wavelet")], 4),
    ("1.0134", "s2/alternative", &[("workload", "cdf:128"), ("method", "hierarchical")], 4),
    ("1.0015", "s2/alternative", &[("workload", "cdf:256"), ("method", "wavelet")], 4),
    ("1.0071", "s2/alternative", &[("workload", "cdf:256"), ("method", "hierarchical")], 4),
    ("0.802", "s2/alternative", &[("workload", "cdf:256"), ("method", "svd-bound")], 3),
    ("0.987", "s2/alternative", &[("workload", "cdf:2048"), ("method", "wavelet")], 3),
    ("0.992", "s2/alternative", &[("workload", "cdf:2048"), ("method", "hierarchical")], 3),
    ("0.780", "s2/alternative", &[("workload", "cdf:2048"), ("method", "svd-bound")], 3),
    ("1.3879", "s2/alternative", &[("workload", PREDICATES), ("method", "fourier")], 4),
    ("1.94498", "s2/alternative", &[("workload", PREDICATES), ("method", "wavelet")], 5),
    ("4.65", "s2/alternative", &[("workload", PREDICATES), ("method", "hierarchical")], 2),
    ("12.961", "s2/alternative", &[("workload", PERMUTED), ("method", "hierarchical")], 3),
    ("1.2260", "s2/claims", &[("workload", RANGES), ("metric", "smallest_gain")], 4),
    ("1.6096", "s2/claims", &[("workload", RANGES), ("metric", "largest_gain")], 4),
    ("2.04", "s2/claims", &[("metric", "largest_over_bound")], 2),
    ("1.0212", "s2/claims", &[("metric", "smallest_over_bound")], 4),
    ("3.28", "s1/claims", &[("metric", "exponent_of_n")], 2),
    ("9.52238", "s4/table2", &[("dataset", "adult"), ("method", "lazy+crp"), EXPECTED], 5),
    ("0.0018", "s4/table2", &[("dataset", "adult"), ("method", "lazy+crp"), DEVIATION], 4),
    ("10.17251", "s4/table2", &[("dataset", "adult"), ("method", "lazy+iid"), EXPECTED], 5),
    ("0.813", "s2/alternative", &[("workload", "cdf:128"), ("method", "svd-bound")], 3),
];

const PREDICATES: &str = "predicate-sample(queries=100000,p=0.5,seed=1):8x16x16";
const PERMUTED: &str = "permuted-range:2048";
const RANGES: &str = "all and random ranges";
const EXPECTED: (&str, &str) = ("metric", "expected_error");
const DEVIATION: (&str, &str) = ("metric", "standard_error");

#[test]
fn numbers_in_the_text_of_deviations_are_those_of_the_results() {
    let text = fs::read_to_string(root().join("docs/deviations.md")).unwrap();
    for (written, table, columns, digits) in IN_DEVIATIONS {
        let path = root().join(format!("results/{table}.csv"));
        let mut reader = csv::Reader::from_path(path).unwrap();
        let headers = reader.headers().unwrap().clone();
        let field = |row: &csv::StringRecord, name: &str| {
            row[headers.iter().position(|header| header == name).unwrap()].to_owned()
        };
        let metric = [("metric", "over_eigen")];
        let named = columns.iter().any(|(name, _)| *name == "metric");
        let wanted: Vec<_> = columns.iter().chain(metric.iter().filter(|_| !named)).collect();
        let rows: Vec<String> = (reader.records().map(Result::unwrap))
            .filter(|row| wanted.iter().all(|(name, value)| field(row, name) == *value))
            .map(|row| field(&row, "value"))
            .collect();
        assert_eq!(rows.len(), 1, "{written}: {wanted:?}");
        let value: f64 = rows[0].parse().unwrap();
        assert_eq!(format!("{value:.digits$}"), written, "{wanted:?} in {table}");
        assert!(text.contains(written), "docs/deviations.md lacks {written} of {table}");
    }
}

#[test]
fn the_index_names_every_config_and_commands_are_commands() {
    let comparison = fs::read_to_string(root().join("results/COMPARISON.md")).unwrap();
    let configs = config::load_all(&root()).unwrap();
    for config in configs.iter().filter(|c| !c.compare.is_empty() || !c.figure.is_empty()) {
        let command = format!("| `reproduce run {}` |", config.experiment);
        assert_eq!(comparison.matches(&command).count(), 1, "{command}");
    }
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    for page in ["README.md", "docs/reviewing.md", "docs/reproducing.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let code: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
        for command in code.iter().filter(|code| code.starts_with("reproduce ")) {
            let words = command.replace('…', "s1/fig2");
            let parsed = Arguments::try_parse_from(words.split_whitespace());
            assert!(parsed.is_ok(), "{page}: `{command}`");
        }
        for target in code.iter().filter_map(|code| code.strip_prefix("make ")) {
            let target = target.split(' ').next().unwrap();
            assert!(makefile.contains(&format!("\n{target}:")), "{page}: make {target}");
        }
    }
}

#[test]
fn files_that_pages_link_to_exist() {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let pages = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let root_pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| root().join(name));
    for page in pages.chain(root_pages) {
        let text = fs::read_to_string(&page).unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for link in links.filter(|link| !link.starts_with("http") && !link.is_empty()) {
            assert!(page.parent().unwrap().join(link).exists(), "{}: {link}", page.display());
        }
    }
}
