//! The result of a comparison, ready for output.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use super::subject::Subject;
use super::verdict::Verdict;
use crate::config::Profile;

/// One known value next to ours, formatted for the reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The part of the paper that states it.
    pub source: String,
    /// Id of the known value, or `file:line`.
    pub id: String,
    /// Address of the result's cell without the experiment; for a missing result, its join key.
    pub cell: String,
    /// Method, in our spelling.
    pub method: String,
    /// Metric, in our spelling.
    pub metric: String,
    /// The known value, as printed.
    pub published: String,
    /// Our value.
    pub ours: String,
    /// Our lower bound and gap, if any.
    pub certificate: String,
    /// The lower bound for any matrix mechanism, and how far above it our value is; empty if no
    /// bound is known.
    pub lower_bound: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason for the verdict.
    pub reason: String,
    /// The kind of known value.
    pub kind: KnownKind,
    /// The subject of the value.
    pub subject: Subject,
}

/// The kind of a known value. Reports count each kind apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KnownKind {
    /// Printed in a paper.
    Published,
    /// Recalled: the supplied text of the paper lacks it.
    Recalled,
    /// Computed independently of this program, and equal to all stated digits.
    Reference,
    /// From elsewhere: a lower or an upper bound, or both, or a prediction interval.
    Interval,
}

impl KnownKind {
    /// All kinds, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Published, Self::Recalled, Self::Reference, Self::Interval];

    /// Returns the name in the table of totals.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Recalled => "recalled",
            Self::Reference => "independent reference",
            Self::Interval => "independent interval",
        }
    }

    /// Returns the meaning, for the legend of reports.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Published => "printed in the paper",
            Self::Recalled => "not in the supplied text of the paper, and stated from memory",
            Self::Reference => {
                "computed independently of this program; reproduced if equal to all stated digits"
            }
            Self::Interval => {
                "computed independently of this program: a lower or an upper bound, or both, or a \
                 prediction interval of a random value"
            }
        }
    }

    /// Returns whether the value was computed independently of the paper; it must be reproduced.
    #[must_use]
    pub fn is_independent(self) -> bool {
        matches!(self, Self::Reference | Self::Interval)
    }
}

/// A figure of an experiment's section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Path without extension, below the folder of figures.
    pub file: String,
    /// Heading.
    pub title: String,
    /// Text under the figure.
    pub caption: String,
    /// The SVG file; `None` if it does not exist.
    pub svg: Option<String>,
}

/// The values and figures of one experiment.
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
    /// Paper and item that the experiment reproduces, if any.
    pub reproduces: Option<String>,
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
    /// Returns paper and item.
    #[must_use]
    pub fn paper_and_item(&self) -> String {
        if self.item.is_empty() {
            self.paper.clone()
        } else {
            format!("{}, {}", self.paper, self.item)
        }
    }

    /// Returns the heading: paper, item and title.
    #[must_use]
    pub fn heading(&self) -> String {
        format!("{}: {}", self.paper_and_item(), self.title)
    }

    /// Returns the values that were run, differences from the paper first.
    #[must_use]
    pub fn by_interest(&self) -> Vec<&Line> {
        let mut lines: Vec<&Line> =
            self.lines.iter().filter(|line| line.verdict != Verdict::NotRun).collect();
        lines.sort_by_key(|line| line.verdict.interest());
        lines
    }

    /// Returns whether any value has a lower bound for any matrix mechanism.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        self.lines.iter().any(|line| !line.lower_bound.is_empty())
    }

    /// Returns the number of values of the selected kinds, per verdict.
    #[must_use]
    pub fn counts(&self, of: impl Fn(KnownKind) -> bool) -> Counts {
        self.lines.iter().filter(|line| of(line.kind)).map(|line| line.verdict).collect()
    }

    /// Returns the number of values that were not run.
    #[must_use]
    pub fn not_run(&self) -> usize {
        self.lines.iter().filter(|line| line.verdict == Verdict::NotRun).count()
    }
}

/// A problem that must be fixed before the results can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The problem, in a few words.
    pub title: String,
    /// Location: experiment and file.
    pub location: String,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// How to fix it.
    pub remedy: String,
}

/// Rows of a file of known values that no config selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remaining {
    /// The file, relative to the root.
    pub file: String,
    /// Rows in the file.
    pub rows: usize,
    /// Rows that configs select.
    pub selected: usize,
    /// Part of the paper → number of rows not selected.
    pub parts: Vec<(String, usize)>,
}

/// Number of values per verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<Verdict, usize>);

impl Counts {
    /// Returns the number of values with a verdict.
    #[must_use]
    pub fn of(&self, verdict: Verdict) -> usize {
        self.0.get(&verdict).copied().unwrap_or(0)
    }

    /// Returns the number of values.
    #[must_use]
    pub fn total(&self) -> usize {
        self.0.values().sum()
    }

    /// Returns the nonzero counts, such as `2 improved, 14 reproduced`, differences from the paper
    /// first.
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut counts: Vec<(&Verdict, &usize)> = self.0.iter().collect();
        counts.sort_by_key(|(verdict, _)| verdict.interest());
        let words: Vec<String> =
            counts.iter().map(|(verdict, count)| format!("{count} {}", verdict.name())).collect();
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
    /// Experiments, in the order of the papers.
    pub sections: Vec<Section>,
    /// All problems, mismatches included; empty on success.
    pub findings: Vec<Finding>,
    /// Id of a deviation → its section of `docs/deviations.md`, as Markdown.
    pub explanations: BTreeMap<String, String>,
    /// Known values that no config selects.
    pub remaining: Vec<Remaining>,
    /// The Markdown file.
    pub markdown: PathBuf,
    /// The HTML file.
    pub html: PathBuf,
}

impl Report {
    /// Returns the number of values per verdict.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.sections.iter().flat_map(|section| &section.lines).map(|line| line.verdict).collect()
    }

    /// Writes counts and problems for a terminal.
    ///
    /// # Errors
    /// A failure to write to `out`.
    pub fn write_summary(&self, out: &mut dyn Write) -> io::Result<()> {
        let counts = self.counts();
        writeln!(out, "compared {} values (profile {})", counts.total(), self.profile)?;
        for verdict in Verdict::ALL {
            let count = counts.of(verdict);
            if count > 0 {
                writeln!(out, "  {count:>5}  {:<27}  {}", verdict.name(), verdict.meaning())?;
            }
        }
        let remaining: usize = self.remaining.iter().map(|file| file.rows - file.selected).sum();
        if remaining > 0 {
            writeln!(
                out,
                "  {remaining:>5}  not compared                 no config selects these rows"
            )?;
        }
        if !self.findings.is_empty() {
            writeln!(out, "\n{} problems:", self.findings.len())?;
        }
        for finding in self.findings.iter().take(MAX_FINDINGS) {
            writeln!(out, "\n{} · {}", finding.title, finding.location)?;
            writeln!(out, "  expected: {}", finding.expected)?;
            writeln!(out, "  found:    {}", finding.found)?;
            writeln!(out, "  remedy:   {}", finding.remedy)?;
        }
        if self.findings.len() > MAX_FINDINGS {
            writeln!(out, "\n… and {} more in the report", self.findings.len() - MAX_FINDINGS)?;
        }
        writeln!(out, "\nreport: {}\n        {}", self.markdown.display(), self.html.display())
    }
}

/// Maximum findings on one screen.
const MAX_FINDINGS: usize = 6;
