//! The report as Markdown, without the time of writing: the same results give the same file.

use std::fmt::Write;

use super::deviations;
use super::index::{self, Total};
use super::report::{Figure, Finding, KnownKind, Line, Remaining, Report, Section};
use super::verdict::Verdict;
use crate::config::Profile;
use crate::engine::Kept;

/// Returns the text of `COMPARISON.md`.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_all(&mut out, report);
    out
}

/// Returns the relative path from the report's folder to the root.
#[must_use]
pub fn up(profile: Profile) -> &'static str {
    match profile {
        Profile::Standard => "../",
        Profile::Quick | Profile::Paper => "../../",
    }
}

fn write_all(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(out, "# {TITLE}\n")?;
    writeln!(
        out,
        "Profile `{}`. Written by `reproduce compare`. [comparison.html](comparison.html) is the \
         same report as one file with the figures included.\n",
        report.profile
    )?;
    if !report.findings.is_empty() {
        writeln!(out, "## Problems: {}\n", report.findings.len())?;
        for finding in &report.findings {
            write_finding(out, finding)?;
        }
    }
    write_kept(out, report)?;
    write_summary(out, report)?;
    write_index(out, report)?;
    for section in &report.sections {
        write_section(out, report, section)?;
    }
    write_remaining(out, &report.remaining)
}

/// Lists the results that this machine cannot compute; omitted on a machine with all data.
fn write_kept(out: &mut String, report: &Report) -> std::fmt::Result {
    if report.kept.is_empty() {
        return Ok(());
    }
    writeln!(out, "## {KEPT_HEADING}\n")?;
    writeln!(out, "{KEPT}\n")?;
    writeln!(
        out,
        "| kept table | real data (SHA-256) | computed (end of the run, UTC) | stand-ins on this \
         machine | results of this machine |"
    )?;
    writeln!(out, "|---|---|---|---|---|")?;
    for kept in &report.kept {
        let data: Vec<String> =
            kept_data(kept).iter().map(|(name, hash)| format!("{name} `{hash}`")).collect();
        writeln!(
            out,
            "| `{}` | {} | {} | {} | `{}` |",
            kept.table,
            data.join("<br>"),
            kept_run(kept),
            kept.stand_ins.join(", "),
            kept.local_table
        )?;
    }
    writeln!(out)
}

/// The heading of the report.
pub(super) const TITLE: &str = "Comparison with the published values";

/// The heading of the table of kept results.
pub(super) const KEPT_HEADING: &str = "Kept results on real data that this machine does not have";

/// The explanation of the table of kept results.
pub(super) const KEPT: &str = "\
    This report compares these tables and shows figures drawn from them. They were computed on \
    real data of which this machine has only stand-ins. A run on this machine does not replace \
    them; it writes its results on stand-ins to separate files.";

/// The heading of the known values that no config selects.
pub(super) const NOT_COMPARED: &str = "Known values that are not compared";

/// The text under that heading if every known value is compared.
pub(super) const ALL_COMPARED: &str =
    "None: configs select every row of `data/published` and `data/expected`.";

/// Returns names and hashes of the real data of kept results.
pub(super) fn kept_data(kept: &Kept) -> Vec<(&str, &str)> {
    kept.data
        .iter()
        .map(|data| (data.name.as_str(), data.sha256.as_deref().unwrap_or("not recorded")))
        .collect()
}

/// Returns the end of the run that computed kept results.
pub(super) fn kept_run(kept: &Kept) -> String {
    let finished = kept.finished.as_deref().unwrap_or("not recorded: the table has no provenance");
    let config = if kept.other_config { ", with an earlier version of its config" } else { "" };
    format!("{finished}{config}")
}

fn write_finding(out: &mut String, finding: &Finding) -> std::fmt::Result {
    writeln!(out, "- **{}** — {}", cell(&finding.title), cell(&finding.location))?;
    writeln!(out, "  - expected: {}", cell(&finding.expected))?;
    writeln!(out, "  - found: {}", cell(&finding.found))?;
    writeln!(out, "  - remedy: {}\n", cell(&finding.remedy))
}

fn write_summary(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(out, "## Summary\n")?;
    write!(out, "| values |")?;
    for verdict in Verdict::ALL {
        write!(out, " {} |", verdict.name())?;
    }
    writeln!(out, " all |")?;
    writeln!(out, "|---|{}---:|", "---:|".repeat(Verdict::ALL.len()))?;
    for Total { name, is_sum, counts } in index::totals(report) {
        let name = if is_sum { format!("**{name}**") } else { name };
        write!(out, "| {name} |")?;
        for verdict in Verdict::ALL {
            write!(out, " {} |", counts.of(verdict))?;
        }
        writeln!(out, " {} |", counts.total())?;
    }
    writeln!(out)?;
    for verdict in Verdict::ALL {
        writeln!(out, "- *{}*: {}", verdict.name(), verdict.meaning())?;
    }
    for kind in KnownKind::ALL {
        writeln!(out, "- *{}*: {}", kind.name(), kind.meaning())?;
    }
    writeln!(out)
}

/// Returns the table of totals as CSV: one line per group of values, one column per verdict.
#[must_use]
pub fn totals(report: &Report) -> String {
    let names: Vec<&str> = Verdict::ALL.iter().map(|verdict| verdict.name()).collect();
    let mut out = format!("values,{},all\n", names.join(",").to_lowercase());
    for Total { name, counts, .. } in index::totals(report) {
        let numbers: Vec<String> =
            Verdict::ALL.iter().map(|&verdict| counts.of(verdict).to_string()).collect();
        out += &format!("{name},{},{}\n", numbers.join(","), counts.total());
    }
    out
}

/// Writes one table per paper: its items in order, with their verdicts.
fn write_index(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(out, "## Index\n")?;
    for paper in index::papers(report) {
        writeln!(out, "### {}\n", cell(paper.paper))?;
        for (kind, counts) in &paper.counts {
            writeln!(out, "- {} {}: {}", counts.total(), kind.name(), counts.in_words())?;
        }
        writeln!(
            out,
            "\n| item | command | expected | files | data | published | independent |\n\
             |---|---|---:|---|---|---|---|"
        )?;
        for section in &paper.sections {
            let of = |independent| section.counts(|kind| kind.is_independent() == independent);
            let (item, id) = (cell(&section.heading()), &section.experiment);
            let up = up(report.profile);
            write!(out, "| [{item}](#{id}) | `reproduce run {id}` | {} | ", section.cost)?;
            write!(out, "[config]({up}configs/{id}.toml), [table]({id}.csv)")?;
            for figure in &section.figures {
                write!(out, ", [{0}]({1}{0}.svg)", figure.file, figures(report.profile))?;
            }
            writeln!(
                out,
                " | {} | {} | {} |",
                section.data,
                of(false).in_words(),
                of(true).in_words()
            )?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_section(out: &mut String, report: &Report, section: &Section) -> std::fmt::Result {
    writeln!(out, "<a id=\"{}\"></a>\n\n## {}\n", section.experiment, cell(&section.heading()))?;
    writeln!(out, "`{}` · reproduces {}\n", section.experiment, cell(&section.reproduces))?;
    let shown = section.by_interest();
    let bounded = section.is_bounded();
    if !shown.is_empty() {
        let (heading, rule) = if bounded { (" any matrix mechanism |", "---|") } else { ("", "") };
        writeln!(
            out,
            "| source | cell | method | metric | published or reference | ours | lower bound, gap \
             |{heading} verdict |"
        )?;
        writeln!(out, "|---|---|---|---|---:|---:|---|{rule}---|")?;
    }
    for line in &shown {
        let bound = if bounded { format!(" {} |", cell(&line.lower_bound)) } else { String::new() };
        writeln!(
            out,
            "| {} `{}` | `{}` | {} | {} | {} | {} | {} |{bound} {} |",
            cell(&line.source),
            line.id,
            cell(&line.cell),
            cell(&line.method),
            cell(&line.metric),
            cell(&line.published),
            cell(&line.ours),
            cell(&line.certificate),
            verdict_text(report.profile, line)
        )?;
    }
    if !shown.is_empty() {
        writeln!(out)?;
    }
    let not_run = section.not_run();
    if not_run > 0 {
        writeln!(
            out,
            "Not run: {not_run} values that are not in the grid of the profile `{}`.\n",
            report.profile
        )?;
    }
    for figure in &section.figures {
        write_figure(out, report.profile, figure)?;
    }
    Ok(())
}

/// Returns the relative path from the report's folder to the figures.
fn figures(profile: Profile) -> &'static str {
    match profile {
        Profile::Standard => "../figures/",
        Profile::Quick | Profile::Paper => "figures/",
    }
}

fn write_figure(out: &mut String, profile: Profile, figure: &Figure) -> std::fmt::Result {
    if figure.svg.is_none() {
        return writeln!(
            out,
            "Figure \"{}\": not drawn under this profile.\n",
            cell(&figure.title)
        );
    }
    writeln!(out, "![{}]({}{}.svg)\n", cell(&figure.title), figures(profile), figure.file)?;
    if figure.caption.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}\n", cell(&figure.caption))
}

fn verdict_text(profile: Profile, line: &Line) -> String {
    let name = match line.verdict {
        Verdict::Deviates => {
            format!("[deviates]({}{}#{})", up(profile), deviations::EXPLANATIONS, line.id)
        }
        Verdict::Failed => "**FAILED**".to_owned(),
        verdict => verdict.name().to_owned(),
    };
    if line.reason.is_empty() { name } else { format!("{name}: {}", cell(&line.reason)) }
}

fn write_remaining(out: &mut String, remaining: &[Remaining]) -> std::fmt::Result {
    writeln!(out, "## {NOT_COMPARED}\n")?;
    if remaining.is_empty() {
        return writeln!(out, "{ALL_COMPARED}");
    }
    writeln!(out, "No config selects these rows.\n")?;
    writeln!(out, "| file | rows | not compared | parts |\n|---|---:|---:|---|")?;
    for file in remaining {
        let parts: Vec<String> =
            file.parts.iter().map(|(part, count)| format!("{} ({count})", cell(part))).collect();
        writeln!(
            out,
            "| `{}` | {} | {} | {} |",
            file.file,
            file.rows,
            file.rows - file.selected,
            parts.join(", ")
        )?;
    }
    Ok(())
}

/// Escapes text for a table cell.
fn cell(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;").replace(['\n', '\r'], " ")
}
