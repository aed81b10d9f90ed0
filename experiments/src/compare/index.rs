//! The totals at the top of the report, and one index per paper.

use super::report::{Counts, Line, Report, Section, Subject};

/// A row of the table of totals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Total {
    /// What is counted.
    pub name: String,
    /// Whether it is a sum over papers.
    pub is_sum: bool,
    /// The numbers.
    pub counts: Counts,
}

/// The index of a paper.
#[derive(Clone, Debug)]
pub struct PaperIndex<'r> {
    /// The paper.
    pub paper: &'r str,
    /// Its printed values.
    pub published: Counts,
    /// Its reference values.
    pub reference: Counts,
    /// Its items, in its order.
    pub sections: Vec<&'r Section>,
}

/// Returns the papers with known values or figures, in their order.
#[must_use]
pub fn papers(report: &Report) -> Vec<PaperIndex<'_>> {
    report
        .sections
        .chunk_by(|a, b| a.paper == b.paper)
        .map(|sections| PaperIndex {
            paper: sections.first().map_or("", |section| &section.paper),
            published: counts(sections, false),
            reference: counts(sections, true),
            sections: sections.iter().collect(),
        })
        .collect()
}

/// Printed values of each paper, of all their kinds and of each; then the independently computed
/// ones; then all.
#[must_use]
pub fn totals(report: &Report) -> Vec<Total> {
    let mut totals = Vec::new();
    for reference in [false, true] {
        let source = source_name(reference);
        for sections in report.sections.chunk_by(|a, b| a.paper == b.paper) {
            let paper = sections.first().map_or("", |section| &section.paper);
            add(&mut totals, format!("{paper} {source}"), false, counts(sections, reference));
            let by_subject = |subject| {
                lines(sections, reference)
                    .filter(move |line| line.subject == subject)
                    .map(|line| line.verdict)
                    .collect()
            };
            let parts: Vec<(Subject, Counts)> =
                Subject::ALL.map(|subject| (subject, by_subject(subject))).into_iter().collect();
            if !reference && parts.iter().filter(|(_, part)| part.total() > 0).count() > 1 {
                for (subject, part) in parts {
                    add(&mut totals, format!("{paper}: {}", subject.name()), false, part);
                }
            }
        }
        add(&mut totals, format!("all {source}"), true, counts(&report.sections, reference));
    }
    add(&mut totals, "all".to_owned(), true, report.counts());
    totals
}

fn add(totals: &mut Vec<Total>, name: String, is_sum: bool, counts: Counts) {
    if counts.total() > 0 {
        totals.push(Total { name, is_sum, counts });
    }
}

/// How the totals call a group of values.
#[must_use]
pub fn source_name(reference: bool) -> &'static str {
    if reference { "independent reference" } else { "published" }
}

/// Returns the number of values per verdict of printed values, or of references.
#[must_use]
pub fn counts(sections: &[Section], reference: bool) -> Counts {
    lines(sections, reference).map(|line| line.verdict).collect()
}

fn lines(sections: &[Section], reference: bool) -> impl Iterator<Item = &Line> {
    sections
        .iter()
        .flat_map(|section| &section.lines)
        .filter(move |line| line.reference == reference)
}
