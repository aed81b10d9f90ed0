//! The first screen of the page: totals per paper, what is certified, what is new.

use maud::{Markup, html};

use super::badge::{badge, class};
use super::index::{self, PaperIndex};
use super::report::{Counts, KnownKind, Line, Report};
use super::verdict::Verdict;

/// Returns one card per paper with printed values, then certificates and experiments beyond the
/// papers.
pub(super) fn overview(report: &Report) -> Markup {
    let papers = index::papers(report);
    let (printed, beyond): (Vec<&PaperIndex<'_>>, Vec<&PaperIndex<'_>>) =
        papers.iter().partition(|paper| paper.counts_of(KnownKind::Published).total() > 0);
    html! {
        section.overview aria-label="Overview" {
            div.cards { @for paper in &printed { (card(paper)) } }
            div.facts {
                (certified(report))
                (new(report, &beyond))
            }
        }
    }
}

fn card(paper: &PaperIndex<'_>) -> Markup {
    let counts = paper.counts_of(KnownKind::Published);
    html! {
        div.card {
            h2 {
                a href={ "#" (paper.anchor()) } { (paper.paper) } " "
                small.soft { (counts.total()) " published values" }
            }
            (bar(&counts))
            ul { @for verdict in nonzero(&counts) { li { (badge(verdict)) " " (counts.of(verdict)) } } }
        }
        "\n"
    }
}

/// Returns a bar with one part per verdict, as long as its share.
fn bar(counts: &Counts) -> Markup {
    html! {
        div.bar aria-hidden="true" {
            @for verdict in nonzero(counts) {
                span class=(class(verdict)) style={ "flex:" (counts.of(verdict)) } {}
            }
        }
    }
}

fn nonzero(counts: &Counts) -> impl Iterator<Item = Verdict> {
    Verdict::ALL.into_iter().filter(|&verdict| counts.of(verdict) > 0)
}

fn certified(report: &Report) -> Markup {
    let lines = || report.sections.iter().flat_map(|section| &section.lines);
    let count = |is: fn(&&Line) -> bool| lines().filter(is).count();
    let independent: Counts =
        lines().filter(|line| line.kind.is_independent()).map(|line| line.verdict).collect();
    html! {
        div {
            h2 { "Certified" }
            ul {
                li {
                    (count(|line| !line.certificate.is_empty())) " of " (lines().count())
                    " compared values have a certificate: a lower bound on the error, and the gap."
                }
                li {
                    (count(|line| !line.lower_bound.is_empty()))
                    " have a lower bound for any matrix mechanism."
                }
                li {
                    code { "reproduce verify --proofs" }
                    " proves bounds again from the certificate files next to the tables."
                }
                @if independent.total() > 0 {
                    li {
                        (independent.of(Verdict::Reproduced)) " of " (independent.total())
                        " values computed independently of this program are reproduced."
                    }
                }
            }
        }
    }
}

fn new(report: &Report, beyond: &[&PaperIndex<'_>]) -> Markup {
    let improved = report.counts().of(Verdict::Improved);
    html! {
        div {
            h2 { "New" }
            ul {
                @if improved > 0 {
                    li { "Errors lower than published and certified optimal: " (improved) "." }
                }
                @for paper in beyond {
                    li {
                        a href={ "#" (paper.anchor()) } { (paper.paper) } ": "
                        @for (index, section) in paper.sections.iter().enumerate() {
                            @if index > 0 { "; " }
                            a href={ "#" (section.experiment) } { (section.title) }
                        }
                        "."
                    }
                }
            }
        }
    }
}
