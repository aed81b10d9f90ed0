//! What a comparison found, ready to be written.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;

use super::verdict::Verdict;
use crate::config::Profile;
use crate::engine::Kept;

/// One known value next to ours, with everything as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where the paper states it.
    pub place: String,
    /// Id of the known value, or `file:line`.
    pub id: String,
    /// Address of the result's cell without the experiment; of a missing result, what was looked for.
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
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// Whether the known value is an independently computed one.
    pub reference: bool,
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
    /// Title of the config.
    pub title: String,
    /// What of which paper it reproduces.
    pub reproduces: String,
    /// The values, in the order of config and file.
    pub lines: Vec<Line>,
    /// The figures.
    pub figures: Vec<Figure>,
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

    /// Counts one value.
    pub fn add(&mut self, verdict: Verdict) {
        *self.0.entry(verdict).or_default() += 1;
    }
}

/// The whole comparison.
#[derive(Clone, Debug)]
pub struct Report {
    /// The profile whose results were compared.
    pub profile: Profile,
    /// Tables on real data that this machine has stand-ins of only; the comparison is with them.
    pub kept: Vec<Kept>,
    /// Experiments, by id.
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
        let mut counts = Counts::default();
        for line in self.sections.iter().flat_map(|section| &section.lines) {
            counts.add(line.verdict);
        }
        counts
    }

    /// Number of values per verdict, per paper (the first part of the experiment id, in capitals).
    ///
    /// Published and reference values are counted apart: the key's second part says whether they are references.
    #[must_use]
    pub fn counts_by_paper(&self) -> BTreeMap<(String, bool), Counts> {
        let mut papers: BTreeMap<(String, bool), Counts> = BTreeMap::new();
        for section in &self.sections {
            let paper = section.experiment.split('/').next().unwrap_or_default();
            for line in &section.lines {
                papers.entry((paper.to_uppercase(), line.reference)).or_default().add(line.verdict);
            }
        }
        papers
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
