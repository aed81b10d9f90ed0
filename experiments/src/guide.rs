//! `docs/reviewing.md`: every item of the papers with its config, command, cost, files and
//! verdicts, in a page whose other parts are written by hand.
//!
//! ```text
//! docs/templates/reviewing.md ─┐
//! configs/*.toml ──────────────┼─▶ docs/reviewing.md
//! results/COMPARISON.md ───────┤
//! Makefile (costs) ────────────┤
//! results/*.provenance.json ───┘
//! ```
//!
//! And the page of [`past_s3`], and the blocks of [`aims`] in a page that is otherwise written by
//! hand.

pub mod aims;
mod choices;
pub mod past_s3;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::atomic::write_atomically;
use crate::compare::report::Counts;
use crate::compare::verdict::Verdict;
use crate::config::{Config, Profile};
use crate::datasets::SYNTHETIC;
use crate::engine::Recorded;
use crate::error::{Error, FileRole, Result};
use crate::layout::Results;
use crate::printed::{duration, memory};

/// The page, below the root.
pub const PAGE: &str = "docs/reviewing.md";

/// The parts written by hand, with marks such as `{{items}}` where the others go.
pub const TEMPLATE: &str = "docs/templates/reviewing.md";

/// Whether a root has such a page.
#[must_use]
pub fn is_wanted(root: &Path) -> bool {
    root.join(TEMPLATE).is_file()
}

/// Writes the page, and those of [`aims`] and [`past_s3`] where a root has them, and returns their
/// paths.
///
/// # Errors
/// As [`render`], [`aims::render`] and [`past_s3::render`], and a page that cannot be written.
pub fn write(root: &Path, configs: &[Config]) -> Result<Vec<PathBuf>> {
    let page = root.join(PAGE);
    let text = render(root, configs)?;
    write_atomically(&page, text.as_bytes())
        .map_err(|error| Error::unwritable(FileRole::Report, &page, &error))?;
    let mut pages = vec![page];
    if aims::is_wanted(root) {
        pages.push(aims::write(root, configs)?);
    }
    if past_s3::is_wanted(root) {
        pages.push(past_s3::write(root)?);
    }
    Ok(pages)
}

/// The page as it should be: a function of the template, the configs, and the committed comparison
/// and provenance.
///
/// # Errors
/// No template or no comparison; a mark in the template that nothing fills.
pub fn render(root: &Path, configs: &[Config]) -> Result<String> {
    let template =
        read(root, TEMPLATE, "restore it; it is the part of the page that is written by hand")?;
    let comparison = read(root, "results/COMPARISON.md", "run `reproduce compare`")?;
    let mut ordered: Vec<&Config> = configs.iter().collect();
    ordered.sort_by(|a, b| a.in_order_of_papers(b));
    let costs = if template.contains("{{costs}}") { costs(root)? } else { String::new() };
    let mut page = template;
    for (mark, text) in [
        ("{{items}}", items(&ordered, &verdicts(&comparison))),
        ("{{costs}}", costs),
        ("{{data}}", data(root, &ordered)),
    ] {
        page = page.replace(mark, text.trim_end());
    }
    match page.lines().find(|line| line.contains("{{")) {
        None => Ok(page),
        Some(line) => Err(Error::file(
            FileRole::Input,
            TEMPLATE,
            "the marks {{items}}, {{costs}} and {{data}}, and no others",
            line.trim(),
            "correct the mark",
        )),
    }
}

fn read(root: &Path, file: &str, remedy: &str) -> Result<String> {
    fs::read_to_string(root.join(file)).map_err(|error| {
        Error::file(FileRole::Input, file, "a text that can be read", error, remedy)
    })
}

/// Experiment → number of values per verdict, as `COMPARISON.md` has them: below its line `` `id` ·
/// reproduces … `` each row of a section ends with its verdict.
fn verdicts(comparison: &str) -> BTreeMap<&str, Counts> {
    let mut given: BTreeMap<&str, Vec<Verdict>> = BTreeMap::new();
    let mut experiment = None;
    for line in comparison.lines() {
        if line.starts_with("## ") {
            experiment = None;
        } else if let Some((id, _)) =
            line.strip_prefix('`').and_then(|rest| rest.split_once("` · reproduces "))
        {
            experiment = Some(id);
        } else if let (Some(id), Some(verdict)) = (experiment, verdict_of(line)) {
            given.entry(id).or_default().push(verdict);
        }
    }
    given.into_iter().map(|(id, verdicts)| (id, verdicts.into_iter().collect())).collect()
}

/// The verdict in the last cell of a row, which may be a link or bold.
fn verdict_of(row: &str) -> Option<Verdict> {
    let cells = row.strip_prefix("| ")?.trim_end().strip_suffix('|')?.replace("\\|", "/");
    let last = cells.rsplit('|').next()?.trim().trim_start_matches(['[', '*']).to_owned();
    Verdict::ALL.into_iter().find(|verdict| last.starts_with(verdict.name()))
}

/// One table per paper.
fn items(configs: &[&Config], verdicts: &BTreeMap<&str, Counts>) -> String {
    let mut text = String::new();
    for paper in configs.chunk_by(|a, b| a.paper() == b.paper()) {
        let name = paper.first().map_or("", |config| config.paper());
        text.push_str(&format!(
            "### {name}\n\n| item | config | command | `standard` | `quick` | files | verdicts |\n|---|---|---|---:|---:|---|---|\n"
        ));
        for config in paper {
            text.push_str(&row(config, verdicts.get(config.experiment.as_str())));
        }
        text.push('\n');
    }
    text
}

fn row(config: &Config, verdicts: Option<&Counts>) -> String {
    let id = config.experiment.as_str();
    let item = config
        .reproduces
        .strip_prefix(config.paper())
        .unwrap_or_default()
        .trim_start_matches([',', ':'])
        .trim();
    let item = if item.is_empty() { config.title.as_str() } else { item };
    let cost = |profile| {
        let (seconds, mb) = config.expected(profile);
        format!("{}, {}", duration(seconds), memory(mb))
    };
    // A slice takes seconds unless its config says otherwise.
    let quick =
        config.quick.expected_seconds.map_or_else(|| "–".to_owned(), |_| cost(Profile::Quick));
    let figures: String = config
        .figure
        .iter()
        .map(|figure| format!(", [{0}](../figures/{0}.svg)", figure.file))
        .collect();
    let verdicts = match verdicts {
        Some(counts) => format!("[{}](../results/COMPARISON.md#{id})", counts.in_words()),
        None if config.compare.is_empty() => "no printed values".to_owned(),
        None => "not compared yet".to_owned(),
    };
    format!(
        "| {} | [`{id}`](../configs/{id}.toml) | `reproduce run {id}` | {} | {} | [table](../results/{id}.csv){figures} | {verdicts} |\n",
        item.replace('|', "\\|"),
        cost(Profile::Standard),
        quick,
    )
}

/// What the commands take, as the Makefile says: the one place that states it.
fn costs(root: &Path) -> Result<String> {
    let makefile = read(root, "Makefile", "restore it")?;
    let cost = |name: &str| {
        let line = makefile
            .lines()
            .find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(":="));
        line.map_or("not measured", str::trim).to_owned()
    };
    let mut text = "| command | time and memory on 2 cores |\n|---|---|\n".to_owned();
    for (command, name) in [
        ("make build", "BUILD_COST"),
        ("make quick", "QUICK_COST"),
        ("make reproduce", "REPRODUCE_COST"),
        ("make verify", "VERIFY_COST"),
        ("make test", "TEST_COST"),
    ] {
        text.push_str(&format!("| `{command}` | {} |\n", cost(name)));
    }
    Ok(text)
}

/// The data sets of the committed results: on which of them they are real, and on which not.
fn data(root: &Path, configs: &[&Config]) -> String {
    let mut used: BTreeMap<String, [BTreeSet<&str>; 2]> = BTreeMap::new();
    for config in configs {
        let file = Results::new(root, Profile::Standard).provenance(&config.experiment);
        for data in Recorded::read(&file).ok().flatten().into_iter().flat_map(|record| record.data)
        {
            if data.label() == SYNTHETIC {
                continue;
            }
            used.entry(data.name).or_default()[usize::from(!data.real)].insert(&config.experiment);
        }
    }
    let mut text =
        "| data set | results on the real table | results on the stand-in |\n|---|---|---|\n"
            .to_owned();
    let list = |ids: &BTreeSet<&str>| {
        ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
    };
    for (name, [real, stand_in]) in &used {
        text.push_str(&format!("| {name} | {} | {} |\n", list(real), list(stand_in)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_read_where_sections_have_them() {
        let text = "\
# Published values and ours
## Index
| item | experiment | published |
| [S9: x](#s9/x) | `s9/x` | 1 deviates |
## S9: x
`s9/x` · reproduces S9, Example 9
| where | cell | method | metric | published or reference | ours | lower bound, gap | verdict |
|---|---|---|---|---:|---:|---|---|
| a `i` | `c` | m | e | 1 | 2 |  | [deviates](../docs/deviations.md#i): for \\| this reason |
| a `j` | `c` | m | e | 1 | 1 |  | reproduced |
| a `k` | `c` | m | e | 1 | 3 |  | **FAILED**: unexplained mismatch |
| a `l` | `c` | m | e | 1 | 3 |  | not comparable: reproduced elsewhere |
## Published values not yet reproduced
| `data/published/x.csv` | 3 | 1 | reproduced |
";
        let verdicts = verdicts(text);
        assert_eq!(verdicts.len(), 1);
        assert_eq!(
            verdicts["s9/x"].in_words(),
            "1 FAILED, 1 deviates, 1 not comparable, 1 reproduced"
        );
    }
}
