//! The report as blocks: totals, one index per paper, and one section per experiment.

use super::blocks::{Block, Part, Style, Table, Text, badge, code, prose, slug, text};
use super::index::{self, Total};
use super::report::{Counts, Figure, KnownKind, Line, Report, Section};
use super::subject::Subject;
use super::verdict::Verdict;
use super::{deviations, explanation};
use crate::config::Profile;

/// The heading of the report.
pub(super) const TITLE: &str = "Comparison with the published values";

/// Returns the blocks of the report.
pub(super) fn blocks(report: &Report) -> Vec<Block<'_>> {
    let mut blocks = header(report);
    blocks.push(Block::Paragraph(in_five_sentences(report)));
    blocks.extend(summary(report));
    blocks.push(Block::PageOnly(overview(report)));
    blocks.extend(indexes(report));
    blocks.extend(report.sections.iter().flat_map(|section| self::section(report, section)));
    blocks.extend(remaining(report));
    blocks
}

/// Returns the relative path from the report's folder to the root.
fn up(profile: Profile) -> &'static str {
    match profile {
        Profile::Standard => "../",
        Profile::Quick | Profile::Paper => "../../",
    }
}

/// Returns the relative path from the report's folder to a figure.
fn drawing(profile: Profile, figure: &Figure) -> String {
    match profile {
        Profile::Standard => format!("../figures/{}.svg", figure.file),
        Profile::Quick | Profile::Paper => format!("figures/{}.svg", figure.file),
    }
}

/// Returns the title and the problems.
fn header(report: &Report) -> Vec<Block<'_>> {
    let written = format!(
        "Profile `{}`. Written by `reproduce compare` (`make compare`) as `COMPARISON.md`, and as \
         `comparison.html`: one page with the figures included, which is not committed.",
        report.profile
    );
    let mut blocks = vec![
        Block::Heading { level: 1, id: None, text: TITLE.to_owned() },
        Block::Paragraph(prose(&written)),
    ];
    if !report.findings.is_empty() {
        blocks.push(Block::heading(format!("Problems: {}", report.findings.len())));
    }
    for finding in &report.findings {
        let title = Part { verdict: Some(Verdict::Failed), ..text(&finding.title) };
        let location = text(format!(" — {}", finding.location));
        let list = [
            ("expected", &finding.expected),
            ("found", &finding.found),
            ("remedy", &finding.remedy),
        ];
        blocks.push(Block::Paragraph(vec![title.styled(Style::Strong), location]));
        blocks.push(Block::List(list.map(|(name, is)| vec![text(format!("{name}: {is}"))]).into()));
    }
    blocks
}

/// Returns what was reproduced, what was not, and what is new.
fn in_five_sentences(report: &Report) -> Text {
    let lines = || report.sections.iter().flat_map(|section| &section.lines);
    let counted = |is: &dyn Fn(&Line) -> bool| {
        lines().filter(|line| is(line)).map(|line| line.verdict).collect::<Counts>()
    };
    let published = counted(&|line| line.kind == KnownKind::Published);
    let values =
        counted(&|line| line.kind == KnownKind::Published && line.subject == Subject::Value);
    let independent = counted(&|line| line.kind.is_independent());
    let of = |verdict| published.of(verdict);
    let certified = lines().filter(|line| !line.certificate.is_empty()).count();
    let beyond = report.sections.iter().filter(|s| s.paper.starts_with("Beyond")).count();
    let sentences = format!(
        "Of {} published values, {} are reproduced, {} more with a fitted reading; of the {} values \
         of evaluations among them, {} and {}. {} deviate for a proven reason, and {} without one. \
         {} cannot be compared, mostly times on other hardware, and {} were not run. {} of {} values \
         that were computed independently of this program are reproduced. New are errors lower than \
         published ({} of them certified optimal), certificates of {certified} compared values, and \
         {beyond} experiments beyond the papers.",
        published.total(),
        of(Verdict::Reproduced),
        of(Verdict::Fitted),
        values.total(),
        values.of(Verdict::Reproduced),
        values.of(Verdict::Fitted),
        of(Verdict::Deviates),
        of(Verdict::Unexplained),
        of(Verdict::NotComparable),
        of(Verdict::NotRun),
        independent.of(Verdict::Reproduced),
        independent.total(),
        of(Verdict::Improved),
    );
    vec![text(sentences)]
}

/// Returns what only the page says below the totals: the certificates, and links to the papers.
fn overview(report: &Report) -> Vec<Block<'_>> {
    let lines = || report.sections.iter().flat_map(|section| &section.lines);
    let count = |is: fn(&&Line) -> bool| lines().filter(is).count();
    let certified = format!(
        "{} of {} compared values have a certificate: a lower bound on the error, and the gap. {} \
         have a lower bound for any matrix mechanism. `reproduce verify --proofs` proves bounds \
         again from the certificate files next to the tables.",
        count(|line| !line.certificate.is_empty()),
        lines().count(),
        count(|line| !line.lower_bound.is_empty())
    );
    let figures = "Rings in figures are published values; a mark or a line on top of another is \
                   drawn as an outline or dashed.";
    let papers = index::papers(report)
        .into_iter()
        .flat_map(|paper| [text(" · "), text(paper.paper).to(format!("#{}", slug(paper.paper)))]);
    let papers = [text("index").to("#index")].into_iter().chain(papers).collect();
    [prose(&certified), prose(figures), papers].map(Block::Paragraph).into()
}

fn summary(report: &Report) -> Vec<Block<'_>> {
    let mut table = Table::new("totals", &["values"]);
    table.columns.extend(Verdict::ALL.map(|verdict| (badge(verdict), true)));
    table.columns.push((text("all"), true));
    for Total { name, is_sum, counts } in index::totals(report) {
        let name = text(name).styled(if is_sum { Style::Strong } else { Style::Plain });
        let numbers = Verdict::ALL.iter().map(|&verdict| counts.of(verdict));
        let numbers = numbers.chain([counts.total()]).map(|number| vec![text(number.to_string())]);
        table.rows.push([vec![name]].into_iter().chain(numbers).collect());
    }
    let verdicts = Verdict::ALL.map(|verdict| (badge(verdict), verdict.meaning()));
    let kinds = KnownKind::ALL.map(|kind| (text(kind.name()), kind.meaning()));
    let terms = verdicts.into_iter().chain(kinds);
    let terms = terms
        .map(|(term, meaning)| vec![term.styled(Style::Emphasis), text(format!(": {meaning}"))]);
    vec![Block::heading("Summary"), Block::Table(table), Block::List(terms.collect())]
}

/// Returns one table per paper: its items in order, with their verdicts.
fn indexes(report: &Report) -> Vec<Block<'_>> {
    let mut blocks = vec![Block::heading("Index")];
    for paper in index::papers(report) {
        let counts = paper.counts.iter().map(|(kind, counts)| {
            vec![text(format!("{} {}: {}", counts.total(), kind.name(), counts.in_words()))]
        });
        let mut table = Table::new(
            "items",
            &["item", "command", "#expected", "files", "data", "published", "independent"],
        );
        for section in &paper.sections {
            let of = |independent| section.counts(|kind| kind.is_independent() == independent);
            let id = &section.experiment;
            let mut files = files(report.profile, id);
            for figure in &section.figures {
                let drawing = drawing(report.profile, figure);
                files.extend([text(", "), text(&figure.file).to(drawing)]);
            }
            table.rows.push(vec![
                vec![text(section.heading()).to(format!("#{id}"))],
                vec![code(format!("reproduce run {id}"))],
                vec![text(&section.cost)],
                files,
                vec![text(&section.data)],
                vec![text(of(false).in_words())],
                vec![text(of(true).in_words())],
            ]);
        }
        blocks.extend([
            Block::Heading { level: 3, id: None, text: paper.paper.to_owned() },
            Block::List(counts.collect()),
            Block::Table(table),
        ]);
    }
    blocks
}

/// Returns links to config and table of an experiment.
fn files(profile: Profile, id: &str) -> Text {
    vec![
        text("config").to(format!("{}configs/{id}.toml", up(profile))),
        text(", "),
        text("table").to(format!("{id}.csv")),
    ]
}

/// Returns a section: differences from the paper first, and the reproduced values folded.
fn section<'r>(report: &'r Report, section: &'r Section) -> Vec<Block<'r>> {
    let id = &section.experiment;
    let mut where_to_look = vec![text(format!("Expected: {}. Files: ", section.cost))];
    where_to_look.extend(files(report.profile, id));
    where_to_look.extend([text(". Back to the "), text("index").to("#index"), text(".")]);
    let mut blocks = vec![
        Block::Heading { level: 2, id: Some(id), text: section.heading() },
        Block::Paragraph(match &section.reproduces {
            Some(reproduces) => vec![code(id), text(format!(" · reproduces {reproduces}"))],
            None => vec![code(id)],
        }),
        Block::PageOnly(vec![Block::Paragraph(where_to_look)]),
    ];
    if section.not_run() < section.lines.len() {
        blocks.push(Block::Table(values(report, section)));
        blocks.extend(explanations(report, section));
    }
    if section.not_run() > 0 {
        blocks.push(Block::Paragraph(prose(&format!(
            "Not run: {} values that are not in the grid of the profile `{}`.",
            section.not_run(),
            report.profile
        ))));
    }
    blocks.extend(section.figures.iter().map(|figure| match &figure.svg {
        Some(svg) => Block::Figure {
            title: &figure.title,
            target: drawing(report.profile, figure),
            caption: &figure.caption,
            svg,
        },
        None => Block::Paragraph(vec![text(format!(
            "Figure \"{}\": not drawn, because there is no result for it.",
            figure.title
        ))]),
    }));
    blocks
}

/// Returns the explanations of the values of a section, each once, for the page.
fn explanations<'r>(report: &Report, section: &Section) -> Vec<Block<'r>> {
    let mut grouped: Vec<(&String, Vec<&str>)> = Vec::new();
    for line in section.by_interest() {
        let Some(explanation) = report.explanations.get(&line.id) else { continue };
        match grouped.iter_mut().find(|(known, _)| *known == explanation) {
            Some((_, ids)) if ids.contains(&line.id.as_str()) => {}
            Some((_, ids)) => ids.push(&line.id),
            None => grouped.push((explanation, vec![&line.id])),
        }
    }
    let explained = grouped.into_iter().map(|(markdown, ids)| {
        let separated =
            |(index, id): (usize, &&str)| [text(if index == 0 { "" } else { ", " }), code(*id)];
        let mut blocks =
            vec![Block::Paragraph(ids.iter().enumerate().flat_map(separated).collect())];
        blocks.extend(explanation::blocks(markdown));
        Block::Explained { targets: ids.into_iter().map(why).collect(), blocks }
    });
    explained.collect()
}

/// Returns the target of the explanation of a deviation in the page.
fn why(id: &str) -> String {
    format!("why-{id}")
}

fn values(report: &Report, section: &Section) -> Table {
    let mut table = Table::new(
        "values",
        &[
            "source",
            "cell",
            "method",
            "metric",
            "#published or reference",
            "#ours",
            "lower bound, gap",
        ],
    );
    let bounded = section.is_bounded();
    table.columns.extend(bounded.then(|| (text("any matrix mechanism"), false)));
    table.columns.push((text("verdict"), false));
    for line in section.by_interest() {
        let mut row = vec![
            vec![text(format!("{} ", line.source)), code(&line.id)],
            vec![code(&line.cell)],
            vec![text(&line.method)],
            vec![text(&line.metric)],
            vec![text(&line.published)],
            vec![text(&line.ours)],
            vec![text(&line.certificate)],
        ];
        row.extend(bounded.then(|| vec![text(&line.lower_bound)]));
        row.push(verdict(report, line));
        table.rows.push(row);
    }
    let counts = section.counts(|_| true);
    let folded =
        [Verdict::Fitted, Verdict::Reproduced].map(|verdict| (verdict, counts.of(verdict)));
    let mut summary = Text::new();
    for (verdict, count) in folded.into_iter().filter(|(_, count)| *count > 0) {
        let separator = (!summary.is_empty()).then(|| text(", "));
        summary.extend(separator);
        summary.extend([badge(verdict), text(format!(": {count}"))]);
    }
    let number = folded.iter().map(|(_, count)| count).sum();
    table.folded = (number > 0).then_some((number, summary));
    table
}

fn verdict(report: &Report, line: &Line) -> Text {
    let name = badge(line.verdict);
    let name = match line.verdict {
        Verdict::Deviates | Verdict::Unexplained => {
            let explained = report.explanations.contains_key(&line.id);
            name.to(format!("{}{}#{}", up(report.profile), deviations::EXPLANATIONS, line.id))
                .with_page_target(explained.then(|| format!("#{}", why(&line.id))))
        }
        Verdict::Failed => name.styled(Style::Strong),
        _ => name,
    };
    if line.reason.is_empty() { vec![name] } else { vec![name, text(format!(": {}", line.reason))] }
}

fn remaining(report: &Report) -> Vec<Block<'_>> {
    let heading = Block::heading("Known values that are not compared");
    if report.remaining.is_empty() {
        let all = "None: configs select every row of `data/published` and `data/expected`.";
        return vec![heading, Block::Paragraph(prose(all))];
    }
    let mut table = Table::new("remaining", &["file", "#rows", "#not compared", "parts"]);
    for file in &report.remaining {
        let parts: Vec<String> =
            file.parts.iter().map(|(part, count)| format!("{part} ({count})")).collect();
        table.rows.push(vec![
            vec![code(&file.file)],
            vec![text(file.rows.to_string())],
            vec![text((file.rows - file.selected).to_string())],
            vec![text(parts.join(", "))],
        ]);
    }
    vec![heading, Block::Paragraph(prose("No config selects these rows.")), Block::Table(table)]
}
