//! The report as one HTML file: style and figures inlined, nothing loaded from anywhere.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::deviations;
use super::markdown::{KEPT, kept_data, kept_run, source_name, up};
use super::report::{Counts, Figure, Line, Remaining, Report, Section};
use super::verdict::Verdict;

const STYLE: &str = include_str!("comparison.css");

/// The page `comparison.html`, with a line per row of its tables, so that two versions can be told apart.
#[must_use]
pub fn render(report: &Report) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head())
            body {
                (header(report))
                main {
                    (findings(report))
                    (kept(report))
                    (summary(report))
                    (contents(report))
                    @for section in &report.sections { (self::section(report, section)) }
                    (remaining(&report.remaining))
                }
                footer { "This page is self-contained and opens without network." }
            }
        }
    };
    page.into_string()
}

fn head() -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            title { "Published values and ours" }
            style { (PreEscaped(STYLE)) }
        }
    }
}

fn header(report: &Report) -> Markup {
    html! {
        header {
            h1 { "Published values and ours" }
            p.soft {
                "Profile " code { (report.profile) } ". Written by " code { "reproduce compare" }
                "; the same tables are in " a href="COMPARISON.md" { "COMPARISON.md" } "."
            }
        }
    }
}

fn findings(report: &Report) -> Markup {
    html! {
        @if !report.findings.is_empty() {
            section.failures aria-labelledby="failures" {
                h2 id="failures" { "To put right: " (report.findings.len()) }
                @for finding in &report.findings {
                    h3 { (finding.title) }
                    dl {
                        dt { "place" } dd { (finding.place) }
                        dt { "expected" } dd { (finding.expected) }
                        dt { "found" } dd { (finding.found) }
                        dt { "remedy" } dd { (finding.remedy) }
                    }
                }
            }
        }
    }
}

fn kept(report: &Report) -> Markup {
    html! {
        @if !report.kept.is_empty() {
            h2 id="kept" { "Kept: results on real data that are not on this machine" }
            table {
                caption { (KEPT) }
                thead {
                    tr {
                        th scope="col" { "kept" }
                        th scope="col" { "real data (SHA-256)" }
                        th scope="col" { "computed by the run that ended" }
                        th scope="col" { "only stand-ins here" }
                        th scope="col" { "this machine's results" }
                    }
                }
                tbody {
                    @for kept in &report.kept {
                        tr {
                            th scope="row" { code { (kept.table) } }
                            td { @for (name, hash) in kept_data(kept) { (name) " " code { (hash) } br; } }
                            td { (kept_run(kept)) }
                            td { (kept.missing.join(", ")) }
                            td { code { (kept.own) } }
                        }
                    }
                }
            }
        }
    }
}

fn summary(report: &Report) -> Markup {
    html! {
        h2 id="summary" { "Summary" }
        table {
            caption { "Number of values per verdict" }
            thead {
                tr {
                    th scope="col" { "values" }
                    @for verdict in Verdict::ALL {
                        th.number scope="col" title=(verdict.meaning()) { (badge(verdict)) }
                    }
                    th.number scope="col" { "all" }
                }
            }
            tbody {
                @for ((paper, reference), counts) in report.counts_by_paper() {
                    (row_of_counts(&format!("{paper} {}", source_name(reference)), &counts))
                }
                (row_of_counts("all", &report.counts()))
            }
        }
        p.soft { @for verdict in Verdict::ALL { (badge(verdict)) ": " (verdict.meaning()) ". " } }
    }
}

fn row_of_counts(name: &str, counts: &Counts) -> Markup {
    html! {
        tr {
            th scope="row" { (name) }
            @for verdict in Verdict::ALL { td.number { (counts.of(verdict)) } }
            td.number { (counts.total()) }
        }
        "\n"
    }
}

fn contents(report: &Report) -> Markup {
    html! {
        nav aria-label="Experiments" {
            ul {
                @for section in &report.sections {
                    li { a href={ "#" (section.experiment) } { (section.title) } }
                    "\n"
                }
                li { a href="#remaining" { "Published values not yet reproduced" } }
            }
        }
    }
}

fn section(report: &Report, section: &Section) -> Markup {
    let shown: Vec<&Line> = section.lines.iter().filter(|line| line.verdict != Verdict::NotRun).collect();
    let not_run = section.lines.len() - shown.len();
    html! {
        "\n"
        section aria-labelledby=(section.experiment) {
            h2 id=(section.experiment) { (section.title) }
            p.soft { code { (section.experiment) } " · reproduces " (section.reproduces) }
            @if !shown.is_empty() {
                table {
                    thead {
                        tr {
                            th scope="col" { "where" }
                            th scope="col" { "cell" }
                            th scope="col" { "method" }
                            th scope="col" { "metric" }
                            th.number scope="col" { "published or reference" }
                            th.number scope="col" { "ours" }
                            th scope="col" { "lower bound, gap" }
                            th scope="col" { "verdict" }
                        }
                    }
                    tbody { @for line in &shown { (self::line(report, line)) } }
                }
            }
            @if not_run > 0 {
                p.soft { "Not run: " (not_run) " more values outside the slice of the profile " (report.profile) "." }
            }
            @for figure in &section.figures { (self::figure(figure)) }
        }
    }
}

fn line(report: &Report, line: &Line) -> Markup {
    let explanation = format!("{}{}#{}", up(report.profile), deviations::EXPLANATIONS, line.id);
    html! {
        tr {
            th scope="row" { (line.place) br; code.soft { (line.id) } }
            td { code { (line.cell) } }
            td { (line.method) }
            td { (line.metric) }
            td.number { (line.published) }
            td.number { (line.ours) }
            td { (line.certificate) }
            td {
                @if line.verdict == Verdict::Deviates { a href=(explanation) { (badge(line.verdict)) } }
                @else { (badge(line.verdict)) }
                @if !line.reason.is_empty() { br; (line.reason) }
            }
        }
        "\n"
    }
}

fn figure(figure: &Figure) -> Markup {
    let Some(svg) = &figure.svg else {
        return html! { p.soft { "Figure “" (figure.title) "”: not drawn under this profile." } };
    };
    // Inside HTML the parser knows the element, and a declaration before it would be an error.
    let drawing = svg.find("<svg").map_or("", |start| &svg[start..]);
    html! {
        figure {
            "\n"
            (PreEscaped(drawing.trim_end()))
            "\n"
            figcaption {
                strong { (figure.title) }
                @if !figure.caption.is_empty() { " " (figure.caption) }
                " " span.soft { "(" (figure.file) ")" }
            }
        }
    }
}

fn remaining(remaining: &[Remaining]) -> Markup {
    html! {
        h2 id="remaining" { "Published values not yet reproduced" }
        @if remaining.is_empty() {
            p { "None: every row of every file is selected by a config." }
        } @else {
            table {
                caption { "Rows of the files of known values that no config selects" }
                thead {
                    tr {
                        th scope="col" { "file" }
                        th.number scope="col" { "rows" }
                        th.number scope="col" { "not yet" }
                        th scope="col" { "parts" }
                    }
                }
                tbody {
                    @for file in remaining {
                        tr {
                            th scope="row" { code { (file.file) } }
                            td.number { (file.rows) }
                            td.number { (file.rows - file.selected) }
                            td {
                                @for (place, (part, count)) in file.parts.iter().enumerate() {
                                    @if place > 0 { ", " }
                                    (part) " (" (count) ")"
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A verdict's word in its colour.
fn badge(verdict: Verdict) -> Markup {
    let class = match verdict {
        Verdict::Reproduced => "reproduced",
        Verdict::Improved => "improved",
        Verdict::Lower => "lower",
        Verdict::Deviates => "deviates",
        Verdict::NotComparable => "not-comparable",
        Verdict::NotRun => "not-run",
        Verdict::Failed => "failed",
    };
    html! { span class={ "verdict " (class) } { (verdict.name()) } }
}
