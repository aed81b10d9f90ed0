//! The totals at the top of the report, and one index per paper.

use super::report::{Counts, KnownKind, Line, Report, Section};
use super::subject::Subject;
use super::verdict::Verdict;

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
    /// The numbers of its known values, for every kind that it has.
    pub counts: Vec<(KnownKind, Counts)>,
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
            counts: KnownKind::ALL
                .map(|kind| (kind, counts(sections, kind)))
                .into_iter()
                .filter(|(_, counts)| counts.total() > 0)
                .collect(),
            sections: sections.iter().collect(),
        })
        .collect()
}

/// The values of each kind, by paper; printed values also by subject; then all.
#[must_use]
pub fn totals(report: &Report) -> Vec<Total> {
    let mut totals = Vec::new();
    for kind in KnownKind::ALL {
        let source = kind.name();
        for sections in report.sections.chunk_by(|a, b| a.paper == b.paper) {
            let paper = sections.first().map_or("", |section| &section.paper);
            add(&mut totals, format!("{paper} {source}"), false, counts(sections, kind));
            add_subjects(&mut totals, paper, sections, kind);
        }
        add(&mut totals, format!("all {source}"), true, counts(&report.sections, kind));
        add_subjects(&mut totals, "all", &report.sections, kind);
    }
    add(&mut totals, "all".to_owned(), true, report.counts());
    totals
}

/// Returns the totals as CSV: one line per group of values, one column per verdict.
#[must_use]
pub fn totals_as_csv(report: &Report) -> String {
    let names: Vec<&str> = Verdict::ALL.iter().map(|verdict| verdict.name()).collect();
    let mut out = format!("values,{},all\n", names.join(",").to_lowercase());
    for Total { name, counts, .. } in totals(report) {
        let numbers: Vec<String> =
            Verdict::ALL.iter().map(|&verdict| counts.of(verdict).to_string()).collect();
        out += &format!("{name},{},{}\n", numbers.join(","), counts.total());
    }
    out
}

/// Adds the numbers of the printed values of each subject, if there are several.
fn add_subjects(totals: &mut Vec<Total>, of: &str, sections: &[Section], kind: KnownKind) {
    let by_subject = |subject| -> Counts {
        let lines = lines(sections, kind).filter(|line| line.subject == subject);
        lines.map(|line| line.verdict).collect()
    };
    let parts = Subject::ALL.map(|subject| (subject, by_subject(subject)));
    let several = parts.iter().filter(|(_, part)| part.total() > 0).count() > 1;
    if kind == KnownKind::Published && several {
        for (subject, part) in parts {
            add(totals, format!("{of}: {}", subject.name()), false, part);
        }
    }
}

fn add(totals: &mut Vec<Total>, name: String, is_sum: bool, counts: Counts) {
    if counts.total() > 0 {
        totals.push(Total { name, is_sum, counts });
    }
}

/// Returns the number of values of one kind, per verdict.
#[must_use]
pub fn counts(sections: &[Section], kind: KnownKind) -> Counts {
    lines(sections, kind).map(|line| line.verdict).collect()
}

fn lines(sections: &[Section], kind: KnownKind) -> impl Iterator<Item = &Line> {
    sections.iter().flat_map(|section| &section.lines).filter(move |line| line.kind == kind)
}
