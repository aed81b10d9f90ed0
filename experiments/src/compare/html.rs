//! The report as one HTML file: style and figures inlined, nothing loaded from anywhere.

use std::fmt::Write;

use super::deviations;
use super::markdown::{KEPT, kept_data, kept_run, source_name, up};
use super::report::{Counts, Figure, Line, Remaining, Report, Section};
use super::verdict::Verdict;

const STYLE: &str = include_str!("comparison.css");

/// Writes `comparison.html`.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_all(&mut out, report);
    out
}

fn write_all(out: &mut String, report: &Report) -> std::fmt::Result {
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Published values and ours</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>Published values and ours</h1>\n\
         <p class=\"soft\">Profile <code>{}</code>. Written by <code>reproduce compare</code>; \
         the same tables are in <a href=\"COMPARISON.md\">COMPARISON.md</a>.</p>\n</header>\n<main>\n",
        report.profile
    )?;
    write_failures(out, report)?;
    write_kept(out, report)?;
    write_summary(out, report)?;
    write_contents(out, report)?;
    for section in &report.sections {
        write_section(out, report, section)?;
    }
    write_remaining(out, &report.remaining)?;
    out.write_str(
        "</main>\n<footer>This page is self-contained and opens without network.</footer>\n</body>\n</html>\n",
    )
}

fn write_failures(out: &mut String, report: &Report) -> std::fmt::Result {
    if report.failures.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<section class=\"failures\" aria-labelledby=\"failures\">\n<h2 id=\"failures\">To put right: {}</h2>",
        report.failures.len()
    )?;
    for failure in &report.failures {
        writeln!(out, "<h3>{}</h3>\n<dl>", escape(&failure.title))?;
        for (term, text) in [
            ("place", &failure.place),
            ("expected", &failure.expected),
            ("found", &failure.found),
            ("remedy", &failure.remedy),
        ] {
            writeln!(out, "<dt>{term}</dt><dd>{}</dd>", escape(text))?;
        }
        writeln!(out, "</dl>")?;
    }
    writeln!(out, "</section>")
}

fn write_kept(out: &mut String, report: &Report) -> std::fmt::Result {
    if report.kept.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<h2 id=\"kept\">Kept: results on real data that this machine has not</h2>\n<table>\n<caption>{KEPT}</caption>\n\
         <thead><tr><th scope=\"col\">kept</th><th scope=\"col\">real data (SHA-256)</th>\
         <th scope=\"col\">computed by the run that ended</th><th scope=\"col\">only stand-ins here</th>\
         <th scope=\"col\">this machine's results</th></tr></thead>\n<tbody>"
    )?;
    for kept in &report.kept {
        let data: Vec<String> = kept_data(kept)
            .iter()
            .map(|(name, hash)| format!("{} <code>{}</code>", escape(name), escape(hash)))
            .collect();
        writeln!(
            out,
            "<tr><th scope=\"row\"><code>{}</code></th><td>{}</td><td>{}</td><td>{}</td><td><code>{}</code></td></tr>",
            escape(&kept.table),
            data.join("<br>"),
            escape(&kept_run(kept)),
            escape(&kept.missing.join(", ")),
            escape(&kept.own)
        )?;
    }
    writeln!(out, "</tbody>\n</table>")
}

fn write_summary(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(out, "<h2 id=\"summary\">Summary</h2>\n<table>\n<caption>Number of values per verdict</caption>")?;
    write!(out, "<thead><tr><th scope=\"col\">values</th>")?;
    for verdict in Verdict::ALL {
        write!(
            out,
            "<th scope=\"col\" class=\"number\" title=\"{}\"><span class=\"verdict {}\">{}</span></th>",
            escape(verdict.meaning()),
            class(verdict),
            verdict.name()
        )?;
    }
    writeln!(out, "<th scope=\"col\" class=\"number\">all</th></tr></thead>\n<tbody>")?;
    for ((paper, reference), counts) in report.counts_by_paper() {
        write_counts(out, &format!("{paper} {}", source_name(reference)), &counts)?;
    }
    write_counts(out, "all", &report.counts())?;
    writeln!(out, "</tbody>\n</table>\n<p class=\"soft\">")?;
    for verdict in Verdict::ALL {
        writeln!(
            out,
            "<span class=\"verdict {}\">{}</span>: {}.",
            class(verdict),
            verdict.name(),
            escape(verdict.meaning())
        )?;
    }
    writeln!(out, "</p>")
}

fn write_counts(out: &mut String, name: &str, counts: &Counts) -> std::fmt::Result {
    write!(out, "<tr><th scope=\"row\">{}</th>", escape(name))?;
    for verdict in Verdict::ALL {
        write!(out, "<td class=\"number\">{}</td>", counts.of(verdict))?;
    }
    writeln!(out, "<td class=\"number\">{}</td></tr>", counts.total())
}

fn write_contents(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(out, "<nav aria-label=\"Experiments\">\n<ul>")?;
    for section in &report.sections {
        writeln!(out, "<li><a href=\"#{}\">{}</a></li>", escape(&section.experiment), escape(&section.title))?;
    }
    writeln!(out, "<li><a href=\"#remaining\">Published values not yet reproduced</a></li>\n</ul>\n</nav>")
}

fn write_section(out: &mut String, report: &Report, section: &Section) -> std::fmt::Result {
    writeln!(
        out,
        "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{}</h2>\n\
         <p class=\"soft\"><code>{id}</code> · reproduces {}</p>",
        escape(&section.title),
        escape(&section.reproduces),
        id = escape(&section.experiment)
    )?;
    let shown: Vec<&Line> = section.lines.iter().filter(|line| line.verdict != Verdict::NotRun).collect();
    if !shown.is_empty() {
        writeln!(
            out,
            "<table>\n<thead><tr><th scope=\"col\">where</th><th scope=\"col\">cell</th><th scope=\"col\">method</th>\
             <th scope=\"col\">metric</th><th scope=\"col\" class=\"number\">published or reference</th>\
             <th scope=\"col\" class=\"number\">ours</th><th scope=\"col\">lower bound, gap</th>\
             <th scope=\"col\">verdict</th></tr></thead>\n<tbody>"
        )?;
        for line in &shown {
            write_line(out, report, line)?;
        }
        writeln!(out, "</tbody>\n</table>")?;
    }
    let not_run = section.lines.len() - shown.len();
    if not_run > 0 {
        writeln!(
            out,
            "<p class=\"soft\">Not run: {not_run} more values outside the slice of the profile {}.</p>",
            report.profile
        )?;
    }
    for figure in &section.figures {
        write_figure(out, figure)?;
    }
    writeln!(out, "</section>")
}

fn write_line(out: &mut String, report: &Report, line: &Line) -> std::fmt::Result {
    let verdict = format!("<span class=\"verdict {}\">{}</span>", class(line.verdict), line.verdict.name());
    let verdict = if line.verdict == Verdict::Deviates {
        let anchor = escape(&line.id);
        format!("<a href=\"{}{}#{anchor}\">{verdict}</a>", up(report.profile), deviations::EXPLANATIONS)
    } else {
        verdict
    };
    let separator = if line.reason.is_empty() { "" } else { "<br>" };
    writeln!(
        out,
        "<tr><th scope=\"row\">{}<br><code class=\"soft\">{}</code></th><td><code>{}</code></td><td>{}</td><td>{}</td>\
         <td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td><td>{verdict}{separator}{}</td></tr>",
        escape(&line.place),
        escape(&line.id),
        escape(&line.cell),
        escape(&line.method),
        escape(&line.metric),
        escape(&line.published),
        escape(&line.ours),
        escape(&line.certificate),
        escape(&line.reason)
    )
}

fn write_figure(out: &mut String, figure: &Figure) -> std::fmt::Result {
    let Some(svg) = &figure.svg else {
        return writeln!(
            out,
            "<p class=\"soft\">Figure “{}”: not drawn under this profile.</p>",
            escape(&figure.title)
        );
    };
    // Inside HTML the parser knows the element, and a declaration before it would be an error.
    let drawing = svg.find("<svg").map_or("", |start| &svg[start..]);
    let separator = if figure.caption.is_empty() { "" } else { " " };
    writeln!(
        out,
        "<figure>\n{}\n<figcaption><strong>{}</strong>{separator}{} <span class=\"soft\">({})</span></figcaption>\n</figure>",
        drawing.trim_end(),
        escape(&figure.title),
        escape(&figure.caption),
        escape(&figure.file)
    )
}

fn write_remaining(out: &mut String, remaining: &[Remaining]) -> std::fmt::Result {
    writeln!(out, "<h2 id=\"remaining\">Published values not yet reproduced</h2>")?;
    if remaining.is_empty() {
        return writeln!(out, "<p>None: every row of every file is selected by a config.</p>");
    }
    writeln!(
        out,
        "<table>\n<caption>Rows of the files of known values that no config selects</caption>\n\
         <thead><tr><th scope=\"col\">file</th><th scope=\"col\" class=\"number\">rows</th>\
         <th scope=\"col\" class=\"number\">not yet</th><th scope=\"col\">parts</th></tr></thead>\n<tbody>"
    )?;
    for file in remaining {
        let parts: Vec<String> = file.parts.iter().map(|(part, count)| format!("{} ({count})", escape(part))).collect();
        writeln!(
            out,
            "<tr><th scope=\"row\"><code>{}</code></th><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>",
            escape(&file.file),
            file.rows,
            file.rows - file.selected,
            parts.join(", ")
        )?;
    }
    writeln!(out, "</tbody>\n</table>")
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "reproduced",
        Verdict::Improved => "improved",
        Verdict::Deviates => "deviates",
        Verdict::NotComparable => "not-comparable",
        Verdict::NotRun => "not-run",
        Verdict::Failed => "failed",
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
