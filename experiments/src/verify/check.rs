//! The checks and their findings.

use std::fmt;

/// A condition on every result table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// The table exists.
    Missing,
    /// The table has a provenance record.
    Record,
    /// The record is of this table.
    Contents,
    /// The config values are those with which the table was computed.
    Config,
    /// The kind of experiment and its revision are the same.
    Revision,
    /// The dependencies are the same.
    Lock,
    /// The sources of this program computed all tables.
    Source,
    /// The data sets are the same.
    Data,
    /// The table has the columns of its kind.
    Columns,
    /// The table has exactly the cells of the config.
    Cells,
    /// Every row has a finite value or a text.
    Values,
    /// The derived rows are those of the table and the config.
    Derived,
    /// Every certificate holds.
    Certificates,
    /// The table has the certificates of its lower bounds (`--proofs`).
    NoProof,
    /// Every certificate proves the bounds of its cell again (`--proofs`).
    Proofs,
    /// The table has a config.
    Orphan,
    /// The figure has a config.
    OrphanFigure,
    /// The tables of pages agree with the results.
    Page,
    /// The results have the proved relations and the numbers that pages state.
    Statement,
}

impl Check {
    /// Returns the problem, in a few words.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Missing => "no result table",
            Self::Record => "no readable provenance",
            Self::Contents => "the table is not that of its provenance",
            Self::Config => "computed with another config",
            Self::Revision => "computed by another kind of experiment or another revision",
            Self::Lock => "computed with another lock file",
            Self::Source => {
                "computed by several versions of the code, or by a version other than this program"
            }
            Self::Data => "computed on other data",
            Self::Columns => "columns other than those of the kind",
            Self::Cells => "cells other than those of the config",
            Self::Values => "rows that are not a result of this config",
            Self::Derived => "derived rows other than those of the table",
            Self::Certificates => "certificates that do not hold",
            Self::NoProof => "lower bounds without a certificate file",
            Self::Proofs => "bounds that their certificates do not prove",
            Self::Orphan => "tables without a config",
            Self::OrphanFigure => "figures without a config",
            Self::Page => "pages with tables that differ from the results",
            Self::Statement => "statements that the results contradict",
        }
    }

    /// Returns the expected state.
    #[must_use]
    pub fn expected(self) -> &'static str {
        match self {
            Self::Missing => "a table for every config",
            Self::Record => "a provenance record for every table",
            Self::Contents => "the table's SHA-256 in the record",
            Self::Config => {
                "the same experiment, kind, seed and grid (for old records: the same file)"
            }
            Self::Revision => "the kind and revision of this program",
            Self::Lock => "the SHA-256 of the lock file of this program's build",
            Self::Source => "only the hash of this program's sources in every record",
            Self::Data => "the files on this machine or in data/manifest.toml",
            Self::Columns => "the fixed columns, with the key columns of the kind between them",
            Self::Cells => "each cell of the grid, in grid order",
            Self::Values => {
                "the experiment's id, the config's seed, and a finite value or a text in every row"
            }
            Self::Derived => "the rows that the [[derive]] tables of the config give",
            Self::Certificates => {
                "lower_bound <= value (1 + 1e-9), gap >= 0, and gap = value / lower_bound − 1"
            }
            Self::NoProof => "the file `<table>.certificates.npz` next to the table",
            Self::Proofs => {
                "from the certificate a lower bound of at least that of the table (1 − 1e-9), and a \
                 strategy of at most its error (1 + gap + 1e-6)"
            }
            Self::Orphan => "a config for every table",
            Self::OrphanFigure => "a [[figure]] table of a config for every file",
            Self::Page => "the tables that `reproduce pages` and `reproduce compare` write",
            Self::Statement => "proved relations, and the numbers in the text of pages",
        }
    }

    /// Returns how to fix it.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Missing
            | Self::Record
            | Self::Config
            | Self::Revision
            | Self::Lock
            | Self::Source => {
                "run the experiments again with this program (`reproduce run … --fresh`) and \
                 commit the results"
            }
            Self::Contents => "restore the table or run the experiment again; never edit results",
            Self::Data => {
                "list the files with `reproduce data`, and run the experiments again on the right \
                 files"
            }
            Self::Columns | Self::Cells | Self::Values => "run the experiment again",
            Self::Derived => "run `reproduce compare`",
            Self::NoProof => "run the experiment again with `--fresh`, and commit the file",
            Self::Proofs => "restore table and certificates, or run the experiment again",
            Self::Certificates => {
                "report this as a bug of the program: an error cannot be below its lower bound"
            }
            Self::Orphan => "remove the table and its provenance, or restore its config",
            Self::OrphanFigure => "remove the file, or restore its [[figure]] table",
            Self::Page => "run `reproduce compare`",
            Self::Statement => {
                "correct the page; report a relation that does not hold as a bug of the program"
            }
        }
    }
}

/// A table that does not pass a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The check.
    pub check: Check,
    /// The experiment, source hash, table or figure.
    pub location: String,
    /// What was found.
    pub found: String,
}

/// The number of checked items, and the findings.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// Number of tables.
    pub tables: usize,
    /// Number of rows.
    pub rows: usize,
    /// Number of rows with a certificate.
    pub certificates: usize,
    /// Number of lower bounds that were proved again (`--proofs`).
    pub proved: usize,
    /// Number of statements on the results.
    pub statements: usize,
    /// The problems.
    pub findings: Vec<Finding>,
    /// Checks that are impossible on this machine, and other remarks.
    pub notes: Vec<String>,
}

impl Verified {
    /// Adds a finding.
    pub(super) fn add(&mut self, check: Check, location: &str, found: String) {
        self.findings.push(Finding { check, location: location.to_owned(), found });
    }
}

/// Maximum findings shown per check.
const MAX_SHOWN: usize = 12;

impl fmt::Display for Verified {
    /// Returns one paragraph per failed check, then the notes and totals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut findings: Vec<&Finding> = self.findings.iter().collect();
        findings.sort_by_key(|finding| finding.check);
        for same in findings.chunk_by(|a, b| a.check == b.check) {
            let Some(first) = same.first() else { continue };
            writeln!(f, "{}: {}", first.check.title(), same.len())?;
            for finding in same.iter().take(MAX_SHOWN) {
                writeln!(f, "    {}: {}", finding.location, finding.found.replace('\n', " "))?;
            }
            if same.len() > MAX_SHOWN {
                writeln!(f, "    … and {} more", same.len() - MAX_SHOWN)?;
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
        write!(f, "{tables} tables, {rows} rows, {certificates} certificates")?;
        for (count, what) in
            [(self.proved, "lower bounds proved again"), (self.statements, "statements")]
        {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        write!(f, ": ")?;
        match self.findings.len() {
            0 => write!(f, "all match their provenance"),
            found => write!(f, "{found} problems"),
        }
    }
}

/// Returns the first digits of a hash.
pub(super) fn start(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

/// Lists the first few names and the number of the others.
pub(super) fn in_short(names: &[String]) -> String {
    const MAX_SHOWN: usize = 6;
    let first = names.iter().take(MAX_SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > MAX_SHOWN {
        format!("{first} and {} more", names.len() - MAX_SHOWN)
    } else {
        first
    }
}
