//! Printing of reports.

use std::fmt::Display;
use std::io::Write;

use anyhow::Context;
use serde::Serialize;

use matmech::counted::counted;

/// Groups listed in a text report; `--json` lists all.
const GROUPS_SHOWN: usize = 20;

/// Prints the table of query groups, given by RMSE, number of queries and description.
pub(super) fn print_groups(
    out: &mut dyn Write,
    groups: impl ExactSizeIterator<Item = (f64, String, String)>,
) -> std::io::Result<()> {
    writeln!(out, "{:>14}  {:>14}  group", "RMSE", "queries")?;
    let hidden = groups.len().saturating_sub(GROUPS_SHOWN);
    for (rmse, queries, description) in groups.take(GROUPS_SHOWN) {
        writeln!(out, "{rmse:>14.6}  {queries:>14}  {description}")?;
    }
    if hidden > 0 {
        let groups = counted(hidden, ["more group", "more groups"]);
        writeln!(out, "… and {groups}; --json lists all")?;
    }
    Ok(())
}

/// The noun of queries.
pub(super) const QUERIES: [&str; 2] = ["query", "queries"];

/// Returns the number of queries, and that of their groups in words.
pub(super) fn queries_in(queries: impl Display, groups: usize) -> String {
    format!("{queries} in {}", counted(groups, ["group", "groups"]))
}

/// Prints a report to standard output, as one JSON object or as text by `print`. A closed pipe is
/// not an error.
pub(super) fn write<R: Serialize>(
    report: &R,
    json: bool,
    print: impl FnOnce(&mut dyn Write, &R) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    to_standard_output("the report", |out| {
        if json {
            serde_json::to_writer_pretty(&mut *out, report)
                .map_err(std::io::Error::from)
                .and_then(|()| writeln!(out))
        } else {
            print(out, report)
        }
    })
}

/// Writes to standard output. A closed pipe is not an error.
pub(super) fn to_standard_output(
    what: &str,
    print: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    match print(&mut out).and_then(|()| out.flush()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.with_context(|| format!("writing {what} to standard output")),
    }
}
