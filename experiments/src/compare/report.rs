//! What a comparison found, ready to be written.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use super::verdict::Verdict;
use crate::columns;
use crate::config::Profile;
use crate::engine::Kept;

/// One known value next to ours, with everything as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where the paper states it.
    pub place: String,
    /// Id of the known value, or `file:line`.
    pub id: String,
    /// Address of the result's cell without the experiment; of a missing result, what was looked
    /// for.
    pub cell: String,
    /// Method, in our spelling.
    pub method: String,
    /// Metric, in our spelling.
    pub metric: String,
    /// The known value, as printed.
    pub published: String,
    /// Our value.
    pub ours: String,
    /// Our lower bound and gap, if there are any.
    pub certificate: String,
    /// What no method at all can go below, and how far above it our value is; empty if nothing is
    /// known.
    pub bound_on_all: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// Whether the known value is an independently computed one.
    pub reference: bool,
    /// What it is about.
    pub subject: Subject,
}

/// What a value is about. Totals are given for each, so that hundreds of counts that anybody
/// reproduces do not hide an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Errors, their ratios, and everything else.
    Value,
    /// Numbers of queries.
    QueryCount,
    /// Times and memory.
    Cost,
}

impl Subject {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 3] = [Self::Value, Self::QueryCount, Self::Cost];

    /// The subject of a metric; `of_cost` says that it is made of times or of memory.
    #[must_use]
    pub fn of(metric: &str, of_cost: bool) -> Self {
        if of_cost || columns::COSTS.contains(&metric) {
            Self::Cost
        } else if metric == columns::QUERIES {
            Self::QueryCount
        } else {
            Self::Value
        }
    }

    /// What the totals call them.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Value => "errors and other values",
            Self::QueryCount => "query counts",
            Self::Cost => "times and memory",
        }
    }
}

/// A figure of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Path without extension, below the folder of figures.
    pub file: String,
    /// Heading.
    pub title: String,
    /// Text under the figure.
    pub caption: String,
    /// The drawing, `None` if it has not been drawn.
    pub svg: Option<String>,
}

/// One experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Experiment id.
    pub experiment: String,
    /// The paper, such as `S1`.
    pub paper: String,
    /// The item of the paper, such as `App. B.3`; empty if the config names none.
    pub item: String,
    /// Title of the config.
    pub title: String,
    /// What of which paper it reproduces.
    pub reproduces: String,
    /// The values, in the order of config and file.
    pub lines: Vec<Line>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// Expected time and memory under the report's profile.
    pub cost: String,
    /// Data sets of the results, each with its label, such as `adult (real)`.
    pub data: String,
}

impl Section {
    /// Paper and item.
    #[must_use]
    pub fn place(&self) -> String {
        if self.item.is_empty() {
            self.paper.clone()
        } else {
            format!("{}, {}", self.paper, self.item)
        }
    }

    /// The title, which starts with the paper's item.
    #[must_use]
    pub fn heading(&self) -> String {
        format!("{}: {}", self.place(), self.title)
    }

    /// The values that were run, what differs from the paper first.
    #[must_use]
    pub fn by_interest(&self) -> Vec<&Line> {
        let mut lines: Vec<&Line> =
            self.lines.iter().filter(|line| line.verdict != Verdict::NotRun).collect();
        lines.sort_by_key(|line| line.verdict.interest());
        lines
    }

    /// Whether a bound on all methods is known for any of its values.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        self.lines.iter().any(|line| !line.bound_on_all.is_empty())
    }

    /// The number of values that were not run.
    #[must_use]
    pub fn not_run(&self) -> usize {
        self.lines.iter().filter(|line| line.verdict == Verdict::NotRun).count()
    }
}

/// Something that must be put right before the artifact can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What failed, in a few words.
    pub title: String,
    /// Where: experiment and file.
    pub place: String,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// How to mend it.
    pub remedy: String,
}

/// Rows of a file of known values that no config selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remaining {
    /// The file, relative to the root.
    pub file: String,
    /// Rows in the file.
    pub rows: usize,
    /// Rows that some config selects.
    pub selected: usize,
    /// Part of the paper → rows not selected.
    pub parts: Vec<(String, usize)>,
}

/// Number of values per verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<Verdict, usize>);

impl Counts {
    /// The number of values with a verdict.
    #[must_use]
    pub fn of(&self, verdict: Verdict) -> usize {
        self.0.get(&verdict).copied().unwrap_or(0)
    }

    /// The number of values.
    #[must_use]
    pub fn total(&self) -> usize {
        self.0.values().sum()
    }

    /// The verdicts that were given, such as `14 reproduced, 2 improved`; what differs from the
    /// paper first.
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut given: Vec<(&Verdict, &usize)> = self.0.iter().collect();
        given.sort_by_key(|(verdict, _)| verdict.interest());
        let words: Vec<String> =
            given.iter().map(|(verdict, count)| format!("{count} {}", verdict.name())).collect();
        words.join(", ")
    }
}

impl FromIterator<Verdict> for Counts {
    fn from_iter<I: IntoIterator<Item = Verdict>>(verdicts: I) -> Self {
        let mut counts = Self::default();
        for verdict in verdicts {
            *counts.0.entry(verdict).or_default() += 1;
        }
        counts
    }
}

/// The whole comparison.
#[derive(Clone, Debug)]
pub struct Report {
    /// The profile whose results were compared.
    pub profile: Profile,
    /// Tables on real data that this machine has stand-ins of only; the comparison is with them.
    pub kept: Vec<Kept>,
    /// Experiments, in the order of the papers.
    pub sections: Vec<Section>,
    /// Everything to put right, mismatches included; none means success.
    pub findings: Vec<Finding>,
    /// What no config selects yet.
    pub remaining: Vec<Remaining>,
    /// The report as Markdown.
    pub markdown: PathBuf,
    /// The report as a web page.
    pub html: PathBuf,
}

impl Report {
    /// Number of values per verdict.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.sections.iter().flat_map(|section| &section.lines).map(|line| line.verdict).collect()
    }

    /// Prints counts and failures for a terminal.
    ///
    /// # Errors
    /// `out` cannot be written to.
    pub fn write_summary(&self, out: &mut dyn Write) -> io::Result<()> {
        let counts = self.counts();
        writeln!(out, "compared {} values (profile {})", counts.total(), self.profile)?;
        for verdict in Verdict::ALL {
            let count = counts.of(verdict);
            if count > 0 {
                writeln!(out, "  {count:>5}  {:<14}  {}", verdict.name(), verdict.meaning())?;
            }
        }
        let remaining: usize = self.remaining.iter().map(|file| file.rows - file.selected).sum();
        if remaining > 0 {
            writeln!(out, "  {remaining:>5}  not yet reproduced (no config selects these rows)")?;
        }
        for kept in &self.kept {
            writeln!(out, "\n{kept}")?;
        }
        if !self.findings.is_empty() {
            writeln!(out, "\n{} to put right:", self.findings.len())?;
        }
        for finding in self.findings.iter().take(SHOWN_FINDINGS) {
            writeln!(out, "\n{} · {}", finding.title, finding.place)?;
            writeln!(out, "  expected: {}", finding.expected)?;
            writeln!(out, "  found:    {}", finding.found)?;
            writeln!(out, "  remedy:   {}", finding.remedy)?;
        }
        if self.findings.len() > SHOWN_FINDINGS {
            writeln!(out, "\n… and {} more in the report", self.findings.len() - SHOWN_FINDINGS)?;
        }
        writeln!(out, "\nreport: {}\n        {}", self.markdown.display(), self.html.display())
    }
}

/// As many findings as fit one screen.
const SHOWN_FINDINGS: usize = 6;
