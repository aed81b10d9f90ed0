//! The report as one HTML file, with style and figures inlined and no external resources.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::badge::badge;
use super::deviations;
use super::index::{self, Total};
use super::markdown::{
    ALL_COMPARED, KEPT, KEPT_HEADING, NOT_COMPARED, TITLE, kept_data, kept_run, up,
};
use super::overview::overview;
use super::report::{Figure, KnownKind, Line, Remaining, Report, Section};
use super::verdict::Verdict;

const STYLE: &str = include_str!("comparison.css");

/// Returns the page `comparison.html`, with one line per table row so that versions can be diffed.
#[must_use]
pub fn render(report: &Report) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (head())
            body {
                (header(report))
                main {
                    (overview(report))
                    (findings(report))
                    (kept(report))
                    (summary(report))
                    (contents(report))
                    @for section in &report.sections { (self::section(report, section)) }
                    (remaining(&report.remaining))
                }
                footer { "This page is self-contained and needs no network." }
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
            title { (TITLE) }
            style { (PreEscaped(STYLE)) }
        }
    }
}

fn header(report: &Report) -> Markup {
    html! {
        header {
            h1 { (TITLE) }
            p.soft {
                "Profile " code { (report.profile) } ". Written by " code { "reproduce compare" }
                ". " a href="COMPARISON.md" { "COMPARISON.md" } " has the same tables. "
                @if !report.findings.is_empty() {
                    a.failed href="#failures" { "Problems: " (report.findings.len()) }
                }
            }
        }
    }
}

fn findings(report: &Report) -> Markup {
    html! {
        @if !report.findings.is_empty() {
            section.failures aria-labelledby="failures" {
                h2 id="failures" { "Problems: " (report.findings.len()) }
                @for finding in &report.findings {
                    h3 { (finding.title) }
                    dl {
                        dt { "location" } dd { (finding.location) }
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
            h2 id="kept" { (KEPT_HEADING) }
            p.soft { (KEPT) }
            (boxed("kept results", html! { table {
                thead {
                    tr {
                        th scope="col" { "kept table" }
                        th scope="col" { "real data (SHA-256)" }
                        th scope="col" { "computed (end of the run, UTC)" }
                        th scope="col" { "stand-ins on this machine" }
                        th scope="col" { "results of this machine" }
                    }
                }
                tbody {
                    @for kept in &report.kept {
                        tr {
                            th scope="row" { code { (kept.table) } }
                            td {
                                @for (name, hash) in kept_data(kept) {
                                    (name) " " code { (hash) } br;
                                }
                            }
                            td { (kept_run(kept)) }
                            td { (kept.stand_ins.join(", ")) }
                            td { code { (kept.local_table) } }
                        }
                    }
                }
            } }))
        }
    }
}

fn summary(report: &Report) -> Markup {
    html! {
        h2 id="summary" { "Number of values per verdict" }
        (boxed("number of values per verdict", html! { table {
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
                @for total in index::totals(report) { (row_of_counts(&total)) }
            }
        } }))
        dl.terms {
            @for verdict in Verdict::ALL { dt { (badge(verdict)) } dd { (verdict.meaning()) } }
            @for kind in KnownKind::ALL { dt { (kind.name()) } dd { (kind.meaning()) } }
            dt { "figures" }
            dd {
                "rings are published values; a mark or a line on top of another is drawn as an \
                 outline or dashed"
            }
        }
    }
}

fn row_of_counts(Total { name, is_sum, counts }: &Total) -> Markup {
    html! {
        tr {
            th scope="row" { @if *is_sum { strong { (name) } } @else { (name) } }
            @for verdict in Verdict::ALL { td.number { (counts.of(verdict)) } }
            td.number { (counts.total()) }
        }
        "\n"
    }
}

/// Returns one index per paper: its totals, and its items in order.
fn contents(report: &Report) -> Markup {
    html! {
        nav id="index" aria-label="Papers and their items" {
            @for paper in index::papers(report) {
                h2 id=(paper.anchor()) { (paper.paper) }
                @for (kind, counts) in &paper.counts {
                    p { (counts.total()) " " (kind.name()) ": " (counts.in_words()) "." }
                }
                ul {
                    @for section in &paper.sections {
                        li {
                            a href={ "#" (section.experiment) } { (section.heading()) }
                            @let counts = section.counts(|_| true);
                            @if counts.total() > 0 { br; span.soft { (counts.in_words()) } }
                        }
                        "\n"
                    }
                }
            }
            p { a href="#remaining" { (NOT_COMPARED) } }
        }
    }
}

/// Returns a section: differences from the paper are shown, reproduced values are folded.
fn section(report: &Report, section: &Section) -> Markup {
    let (reproduced, others): (Vec<&Line>, Vec<&Line>) =
        section.by_interest().into_iter().partition(|line| line.verdict == Verdict::Reproduced);
    let not_run = section.not_run();
    html! {
        "\n"
        section aria-labelledby=(section.experiment) {
            h2 id=(section.experiment) { (section.heading()) }
            p.soft {
                code { "reproduce run " (section.experiment) } " · " (section.cost)
                @if !section.data.is_empty() { " · " (section.data) }
                " · " a href={ (up(report.profile)) "configs/" (section.experiment) ".toml" } { "config" }
                " · " a href={ (section.experiment) ".csv" } { "table" }
                " · " a href="#index" { "index" }
                br;
                "Reproduces " (section.reproduces)
            }
            @if !others.is_empty() { (lines(report, &others, section.is_bounded())) }
            @if !reproduced.is_empty() {
                details {
                    summary { (badge(Verdict::Reproduced)) ": " (reproduced.len()) }
                    (lines(report, &reproduced, section.is_bounded()))
                }
            }
            @if not_run > 0 {
                p.soft {
                    "Not run: " (not_run) " values that are not in the grid of the profile "
                    (report.profile) "."
                }
            }
            @for figure in &section.figures { (self::figure(figure)) }
        }
    }
}

fn lines(report: &Report, lines: &[&Line], bounded: bool) -> Markup {
    let table = html! {
        table.values {
            thead {
                tr {
                    th scope="col" { "source" }
                    th scope="col" { "cell" }
                    th scope="col" { "method" }
                    th scope="col" { "metric" }
                    th.number scope="col" { "published or reference" }
                    th.number scope="col" { "ours" }
                    th scope="col" { "lower bound, gap" }
                    @if bounded { th scope="col" { "any matrix mechanism" } }
                    th scope="col" { "verdict" }
                }
            }
            tbody { @for line in lines { (self::line(report, line, bounded)) } }
        }
    };
    boxed("values", table)
}

/// Returns a table in a box that scrolls, so that the page never scrolls sideways.
fn boxed(name: &str, table: Markup) -> Markup {
    html! { div.box role="region" aria-label=(name) tabindex="0" { (table) } }
}

fn line(report: &Report, line: &Line, bounded: bool) -> Markup {
    let explanation = format!("{}{}#{}", up(report.profile), deviations::EXPLANATIONS, line.id);
    html! {
        tr {
            th scope="row" { (line.source) br; code.soft { (line.id) } }
            td { code { (line.cell) } }
            td { (line.method) }
            td { (line.metric) }
            td.number { (line.published) }
            td.number { (line.ours) }
            td { (line.certificate) }
            @if bounded { td { (line.lower_bound) } }
            td {
                @if line.verdict == Verdict::Deviates {
                    a href=(explanation) { (badge(line.verdict)) }
                }
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
    // An XML declaration is invalid inside HTML, so the text before the element is dropped.
    let drawing = svg.find("<svg").map_or("", |start| &svg[start..]);
    html! {
        figure {
            "\n"
            div.drawing role="region" aria-label=(figure.title) tabindex="0" {
                "\n"
                (PreEscaped(drawing.trim_end()))
                "\n"
            }
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
        h2 id="remaining" { (NOT_COMPARED) }
        @if remaining.is_empty() {
            p { (ALL_COMPARED.replace('`', "")) }
        } @else {
            p.soft { "No config selects these rows." }
            (boxed("rows that are not compared", html! { table {
                thead {
                    tr {
                        th scope="col" { "file" }
                        th.number scope="col" { "rows" }
                        th.number scope="col" { "not compared" }
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
                                @for (index, (part, count)) in file.parts.iter().enumerate() {
                                    @if index > 0 { ", " }
                                    (part) " (" (count) ")"
                                }
                            }
                        }
                    }
                }
            } }))
        }
    }
}
