//! Tests of tables in pages, of commands and links of the committed pages, and of the archive.
//!
//! The archive is determined by the commit, and its metadata is valid.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser;
use experiments::cli::Arguments;
use experiments::pages;
use experiments::verify::{self, Check};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

#[test]
fn statements_on_committed_results_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("results")).unwrap();
    fs::write(folder.path().join("README.md"), "No table.\n").unwrap();
    let found = || verify::pages(folder.path(), &[]).findings;
    assert!(found().is_empty(), "without the results there is nothing to check");
    fs::write(folder.path().join("results/verdicts.csv"), "values\n").unwrap();
    assert_eq!(found().iter().map(|finding| finding.check).collect::<Vec<_>>(), [Check::Statement]);
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
fn a_column_shows_ratios() {
    let head = "where = { n = ['1', '2'] }\nrows = [['n', 'n']]\ncolumns = [\n\
        { title = 'over', where = { metric = 'error', method = 'b' }, over = { method = 'a' } },\n\
        { title = 'worst', where = { metric = 'error' }, over = { method = '*' }, \
        take = 'largest', label = 'method', format = 'text' }]";
    let expected = "| n | over | worst |\n|---|---:|---:|\n\
        | 1 | 4.0000 | 4 (b) |\n| 2 | 1.0000 | 1 (b) |\n";
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
        (
            "rows = [['n', 'n']]\ncolumns = [{ titel = 'x' }]",
            "unknown field `titel`, expected one of `metric`, `title`",
        ),
        (
            "rows = [['n', 'n']]\ncolumns = [{ title = 'x', set = { n = '1' } }]",
            "`set` only in [[derive]]",
        ),
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

#[test]
fn commands_of_pages_are_commands() {
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

fn json(file: &str) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(root().join(file)).unwrap()).unwrap()
}

#[test]
fn two_archives_of_a_commit_are_identical() {
    let commit = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root()).output();
    if !commit.is_ok_and(|output| output.status.success()) {
        // Without git, and in an unpacked archive, there is no commit to pack.
        return;
    }
    let pack = || {
        let folder = tempfile::tempdir().unwrap();
        let output = Command::new("sh")
            .arg(root().join("scripts/archive.sh"))
            .arg(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let files: Vec<PathBuf> =
            std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        std::fs::read(&files[0]).unwrap()
    };
    let first = pack();
    assert!(first.len() > 1_000_000, "{} bytes", first.len());
    assert!(first == pack(), "two archives of one commit differ");
}

#[test]
fn the_metadata_names_existing_files_and_the_version() {
    let metadata = json("ro-crate-metadata.json");
    let graph = metadata["@graph"].as_array().unwrap();
    let entity = |id: &str| {
        graph.iter().find(|entity| entity["@id"] == id).unwrap_or_else(|| panic!("no entity {id}"))
    };
    assert_eq!(entity("ro-crate-metadata.json")["about"]["@id"], "./");
    let parts = entity("./")["hasPart"].as_array().unwrap();
    for part in parts.iter().map(|part| part["@id"].as_str().unwrap()) {
        assert!(root().join(part).exists(), "{part}");
        assert!(entity(part)["name"].is_string(), "{part}");
    }
    let zenodo = json(".zenodo.json");
    assert_eq!(zenodo["upload_type"], "software");
    let citation = std::fs::read_to_string(root().join("CITATION.cff")).unwrap();
    let version = citation.lines().find_map(|line| line.strip_prefix("version: ")).unwrap();
    assert_eq!(zenodo["version"], version);
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
}
