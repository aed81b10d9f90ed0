//! What is checked, and what was found.

use std::fmt;

/// One thing that must hold of every result table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// There is a table.
    Missing,
    /// There is a provenance record beside it.
    Record,
    /// The record is of this table.
    Contents,
    /// The config says what it said when the table was computed, as far as it decides values.
    Config,
    /// The kind computes what it computed then.
    Revision,
    /// The dependencies are the same.
    Lock,
    /// One source, that of this program, computed all tables.
    Source,
    /// The data sets are the same.
    Data,
    /// The table has the columns of its kind.
    Columns,
    /// The table has the cells of the config, and no others.
    Cells,
    /// Every row has a finite value or a text.
    Values,
    /// Every certificate holds.
    Certificates,
    /// A config makes the table.
    Orphan,
    /// A config makes the figure.
    OrphanFigure,
    /// The tables of pages are those of the results.
    Page,
}

impl Check {
    /// What is wrong, in a few words.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Missing => "no result table",
            Self::Record => "no readable provenance",
            Self::Contents => "the table is not the one that its provenance is of",
            Self::Config => "computed under another config",
            Self::Revision => "computed by another kind of experiment, or another revision of it",
            Self::Lock => "computed with another lock file",
            Self::Source => {
                "computed by several versions of the code, or by another one than this program"
            }
            Self::Data => "computed on other data",
            Self::Columns => "not the columns of the kind",
            Self::Cells => "not the cells of the config",
            Self::Values => "rows that are no result of this config",
            Self::Certificates => "certificates that do not hold",
            Self::Orphan => "tables that no config makes",
            Self::OrphanFigure => "figures that no config makes",
            Self::Page => "pages with tables that are not those of the results",
        }
    }

    /// What should be.
    #[must_use]
    pub fn expected(self) -> &'static str {
        match self {
            Self::Missing => "a table for every config",
            Self::Record => "a record beside every table",
            Self::Contents => "the table's SHA-256 in the record",
            Self::Config => {
                "the same experiment, kind, seed and grid (of older records: the same file)"
            }
            Self::Revision => "the kind and revision that this program has",
            Self::Lock => "the SHA-256 of the lock file that this program was built with",
            Self::Source => "the hash of this program's sources in every record, and no other",
            Self::Data => {
                "the files that are here or in data/manifest.toml; where there are none, the present stand-ins"
            }
            Self::Columns => "the fixed columns with the key columns of the kind between them",
            Self::Cells => "each cell of the grid, in its order",
            Self::Values => {
                "the experiment's id, the config's seed, and a finite value or a text in every row"
            }
            Self::Certificates => {
                "lower_bound <= value (1 + 1e-9), gap >= 0, and gap = value / lower_bound − 1"
            }
            Self::Orphan => "a config for every table",
            Self::OrphanFigure => "a [[figure]] table of a config for every file",
            Self::Page => "the tables that `reproduce pages` writes",
        }
    }

    /// How to mend it.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Missing
            | Self::Record
            | Self::Config
            | Self::Revision
            | Self::Lock
            | Self::Source => {
                "run the experiments again with this program (`reproduce run … --fresh`) and commit what they write"
            }
            Self::Contents => {
                "restore the table, or run the experiment again; results are never edited"
            }
            Self::Data => {
                "`reproduce data` shows which files are here; run the experiments again on the right ones"
            }
            Self::Columns | Self::Cells | Self::Values => "run the experiment again",
            Self::Certificates => {
                "a defect of the program: an error below its bound cannot be; report it"
            }
            Self::Orphan => "remove the table with its provenance, or restore its config",
            Self::OrphanFigure => "remove the file, or restore its [[figure]] table",
            Self::Page => "run `reproduce pages`",
        }
    }
}

/// A table that does not pass a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The check.
    pub check: Check,
    /// The experiment, source or table.
    pub place: String,
    /// What is there.
    pub found: String,
}

/// How much was checked, and what was found.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// Tables.
    pub tables: usize,
    /// Their rows.
    pub rows: usize,
    /// Rows that carry a certificate.
    pub certificates: usize,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// What cannot be checked on this machine, or is worth knowing and not wrong.
    pub notes: Vec<String>,
}

impl Verified {
    /// Adds a finding.
    pub(super) fn add(&mut self, check: Check, place: &str, found: String) {
        self.findings.push(Finding { check, place: place.to_owned(), found });
    }
}

/// As many places of one check as fit a screen.
const SHOWN: usize = 12;

impl fmt::Display for Verified {
    /// One paragraph per check that found something, then the totals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut findings: Vec<&Finding> = self.findings.iter().collect();
        findings.sort_by_key(|finding| finding.check);
        for same in findings.chunk_by(|a, b| a.check == b.check) {
            let Some(first) = same.first() else { continue };
            writeln!(f, "{}: {}", first.check.title(), same.len())?;
            for finding in same.iter().take(SHOWN) {
                writeln!(f, "    {}: {}", finding.place, finding.found.replace('\n', " "))?;
            }
            if same.len() > SHOWN {
                writeln!(f, "    … and {} more", same.len() - SHOWN)?;
            }
            writeln!(
                f,
                "  expected: {}\n  remedy:   {}\n",
                first.check.expected(),
                first.check.remedy()
            )?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        let Self { tables, rows, certificates, .. } = self;
        write!(f, "{tables} tables, {rows} rows, {certificates} certificates: ")?;
        match self.findings.len() {
            0 => write!(f, "all as their provenance says"),
            found => write!(f, "{found} things to put right"),
        }
    }
}
