//! `docs/past-s3.md`: S3's tables beside plans for reference measures and the bound on every
//! mechanism, written from results.
//!
//! ```text
//! data/published/s3_tableN.csv ─┐
//! results/beyond/tableN*.csv ───┴─▶ docs/past-s3.md
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::atomic::write_atomically;
use crate::columns::{METHOD, METRIC, VALUE};
use crate::error::{Error, FileRole, Result};
use crate::table::Table;

/// The page, below the root.
pub const PAGE: &str = "docs/past-s3.md";

const HEAD: &str = "# S3's tables, and past them\n\n\
Written by `reproduce guide` from [results/beyond](../results/beyond) and the published values; [the comparison](../results/COMPARISON.md) judges what is\n\
reproduced, this page only sets side by side. All values are root mean square errors at privacy cost 1, weighted in Table 8. *Published*: the lowest value\n\
that S3 prints for the same queries, and whose. *One Kronecker strategy* is HDMM's form that `anova` holds, *QuerySmasher* the certified optimum for uniform\n\
averages, *anova* that for [a reference measure](reference-measures.md); *of its class* is the lower bound on plans for that measure, *of any mechanism*\n\
what no matrix mechanism can go below, where it is known: product queries on one and two attributes. *Lower* is anova below QuerySmasher.\n";

/// A table of S3: its number, the experiments past it, and what its rows are named by.
const TABLES: [(u8, &[&str], &[&str]); 5] = [
    (2, &["table2", "table2-bound"], &["dataset", "workload"]),
    (3, &["table3"], &["dataset", "workload"]),
    (4, &["table4"], &["n", "d", "workload"]),
    (5, &["table5"], &["n", "d", "workload"]),
    (8, &["table8"], &["n", "d", "workload"]),
];

/// Errors of one row of a table.
#[derive(Debug, Default)]
struct Row {
    /// Method → error.
    errors: BTreeMap<String, f64>,
    /// The certificate of `anova`.
    of_class: Option<f64>,
    /// How many queries.
    queries: Option<String>,
    /// The lowest published error and its method.
    published: Option<(f64, String)>,
}

/// Whether a root has such a page.
#[must_use]
pub fn is_wanted(root: &Path) -> bool {
    root.join(PAGE).is_file()
}

/// Writes the page and returns its path.
///
/// # Errors
/// As [`render`], and a page that cannot be written.
pub fn write(root: &Path) -> Result<PathBuf> {
    let page = root.join(PAGE);
    write_atomically(&page, render(root)?.as_bytes())
        .map_err(|error| Error::unwritable(FileRole::Report, &page, &error))?;
    Ok(page)
}

/// The page as it should be: a function of the published values and the committed results.
///
/// # Errors
/// A table of results or of published values that is not there or lacks a column.
pub fn render(root: &Path) -> Result<String> {
    let mut page = HEAD.to_owned();
    for (number, experiments, names) in TABLES {
        let mut rows: Vec<(Vec<String>, Row)> = Vec::new();
        for experiment in experiments {
            let name = format!("results/beyond/{experiment}.csv");
            let table = Table::read(
                &root.join(&name),
                &name,
                &format!("run `reproduce run beyond/{experiment}`"),
            )?;
            for column in names.iter().chain(&[METHOD, METRIC, VALUE, "lower_bound"]) {
                table.require(column, &name)?;
            }
            read_results(&table, names, &mut rows);
        }
        let name = format!("data/published/s3_table{number}.csv");
        let table = Table::read(&root.join(&name), &name, "restore it")?;
        names.iter().chain(&[METHOD]).try_for_each(|column| table.require(column, &name))?;
        read_published(&table, names, &mut rows);
        page.push_str(&format!("\n## Table {number}\n\n{}", section(names, &rows)));
    }
    Ok(page)
}

fn section(names: &[&str], rows: &[(Vec<String>, Row)]) -> String {
    let mut text = format!(
        "| {} | published | one Kronecker strategy | QuerySmasher | anova | of its class | of any mechanism | lower |\n|{}---:|---:|---:|---:|---:|---:|---:|\n",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    let shown =
        |value: Option<&f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.5}"));
    for (key, row) in rows {
        let published = row
            .published
            .as_ref()
            .map_or_else(|| "–".to_owned(), |(value, method)| format!("{value} ({method})"));
        let error = |method: &str| row.errors.get(method);
        let lower = error("anova").zip(error("query-smasher"));
        text.push_str(&format!(
            "| {} | {published} | {} | {} | {} | {} | {} | {} |\n",
            key.join(" | "),
            shown(error("hdmm-kronecker")),
            shown(error("query-smasher")),
            shown(error("anova")),
            shown(row.of_class.as_ref()),
            shown(error("global-bound")),
            lower.map_or_else(
                || "–".to_owned(),
                |(own, other)| format!("{:.2} %", 100.0 * (1.0 - own / other).max(0.0))
            ),
        ));
    }
    text
}

/// Adds what a table of results says, one row for every key.
fn read_results(table: &Table, names: &[&str], rows: &mut Vec<(Vec<String>, Row)>) {
    for line in 0..table.len() {
        let row =
            row_of(rows, names.iter().map(|name| table.field(name, line).to_owned()).collect());
        let method = table.field(METHOD, line);
        match table.field(METRIC, line) {
            "rmse" | "wrmse" => {
                row.errors
                    .extend(table.number(VALUE, line).map(|error| (method.to_owned(), error)));
                if method == "anova" {
                    row.of_class = table.number("lower_bound", line);
                }
            }
            "queries" => row.queries = Some(table.field(VALUE, line).to_owned()),
            _ => {}
        }
    }
}

/// Adds the lowest printed value to rows of as many queries; where the paper prints no count, to
/// rows of the same key.
fn read_published(table: &Table, names: &[&str], rows: &mut [(Vec<String>, Row)]) {
    let columns = table.columns();
    let error = if columns.contains(&"rmse") { "rmse" } else { "wrmse" };
    let counted = columns.contains(&"queries");
    for line in 0..table.len() {
        let key: Vec<&str> = names.iter().map(|name| table.field(name, line)).collect();
        let row = rows.iter_mut().find(|(own, _)| *own == key);
        let (Some((_, row)), Some(error)) = (row, table.number(error, line)) else { continue };
        let same = !counted || row.queries.as_deref() == Some(table.field("queries", line));
        if same && row.published.as_ref().is_none_or(|(known, _)| error < *known) {
            row.published = Some((error, table.field(METHOD, line).to_owned()));
        }
    }
}

fn row_of(rows: &mut Vec<(Vec<String>, Row)>, key: Vec<String>) -> &mut Row {
    let place = rows.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
        rows.push((key, Row::default()));
        rows.len() - 1
    });
    &mut rows[place].1
}
