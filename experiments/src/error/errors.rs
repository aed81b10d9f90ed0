//! The errors of the reproduction.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use super::file::FileRole;
use super::location::{Document, Location};
use super::problem::{ConfigProblem, Parts};

/// The result of every fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The exit codes, as printed by `reproduce --help`.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the comparison has an unexplained difference or a missing result; two folders of results
     differ; results do not match their provenance
  2  wrong usage, or a config that is refused
  3  a cell could not be computed; the others are stored
  4  stored results cannot be read or written
  5  a data set is missing, cannot be fetched, or has another checksum
  6  figures or the comparison could not be made, or anything else
A command of several steps ends with the code of the first step that failed.";

/// An error of the experiments; the variants carry its parts.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An invalid config or other TOML document of the project.
    #[error("{at}{problem}")]
    Config {
        /// The location.
        at: Box<Location>,
        /// The problem.
        problem: Box<ConfigProblem>,
    },
    /// An invalid option of a command.
    #[error("option {option}\n{}", Parts(expected, found, remedy))]
    Usage {
        /// The option.
        option: &'static str,
        /// The expected state.
        expected: String,
        /// The value found.
        found: String,
        /// How to fix it.
        remedy: String,
    },
    /// An unusable file or folder.
    #[error("{role} {}\n{}", path.display(), Parts(expected, found, remedy))]
    File {
        /// The role of the file.
        role: FileRole,
        /// The file or folder.
        path: PathBuf,
        /// The expected state.
        expected: String,
        /// The state found.
        found: String,
        /// How to fix it.
        remedy: String,
    },
    /// All errors of one step; at least one.
    #[error("{}", several(.0))]
    Several(Vec<Error>),
    /// Cells that could not be computed. The others are stored.
    #[error("{}", cells(.0))]
    Cells(Vec<CellFailure>),
    /// Mismatches and other problems of the comparison.
    #[error("comparison: {failures} problems; all of them are listed in {}", report.display())]
    Comparison {
        /// Their number.
        failures: usize,
        /// The report that lists them.
        report: PathBuf,
    },
    /// Two folders of results that are not equal.
    #[error("{differences} differences between the two folders of results")]
    Different {
        /// Their number.
        differences: usize,
    },
    /// Results that do not match their provenance.
    #[error("{findings} problems in the results")]
    Unverified {
        /// Their number.
        findings: usize,
    },
    /// An error of the library during a computation.
    #[error("{}{source}", after(what))]
    Library {
        /// The attempted operation; may be empty.
        what: String,
        /// The library's error.
        source: Box<matmech::Error>,
    },
    /// A computation that failed or gave an invalid result.
    #[error("{what}: expected {expected}, found {found}\n  remedy: {remedy}")]
    Computation {
        /// The computed quantity.
        what: String,
        /// The expected state.
        expected: String,
        /// The result.
        found: String,
        /// How to fix it.
        remedy: String,
    },
    /// A defect of this program.
    #[error(
        "{what}: expected {expected}, found {found}\n  remedy: report this as a bug of the program"
    )]
    Bug {
        /// What went wrong.
        what: String,
        /// The invariant.
        expected: String,
        /// The state found instead.
        found: String,
    },
}

/// A cell without result.
#[derive(Debug, thiserror::Error)]
#[error("{address}: {reason}")]
pub struct CellFailure {
    /// The cell.
    pub address: String,
    /// The reason; an [`Error::File`] if it was computed and could not be stored.
    pub reason: Error,
}

impl Error {
    /// Returns the error of an invalid value at `key`.
    ///
    /// The key is relative to the current table; the caller prefixes it with [`Error::under`].
    pub fn config(
        key: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let problem = ConfigProblem::Mismatch {
            expected: expected.into(),
            found: found.into(),
            remedy: remedy.into(),
        };
        Self::at(key, problem)
    }

    /// Refuses a value at `key`, as [`Error::config`], unless `holds` is true.
    ///
    /// # Errors
    /// The error if `holds` is false.
    pub fn check(
        holds: bool,
        key: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Result<()> {
        if holds { Ok(()) } else { Err(Self::config(key, expected, found, remedy)) }
    }

    /// Returns the error of an unknown name; the message suggests the nearest known name.
    pub fn unknown_name(
        key: impl Into<String>,
        noun: &'static str,
        found: &str,
        known: &[&str],
    ) -> Self {
        let known = known.iter().map(|name| (*name).to_owned()).collect();
        Self::at(key, ConfigProblem::UnknownName { noun, found: found.to_owned(), known })
    }

    /// Returns the error of a value that the library refuses.
    pub fn refused(key: impl Into<String>, source: impl Into<matmech::Error>) -> Self {
        Self::at(key, ConfigProblem::Refused(source.into()))
    }

    /// Returns the error of a problem at `key` of a config.
    pub fn at(key: impl Into<String>, problem: ConfigProblem) -> Self {
        Self::Config { at: Box::new(Location::key(key)), problem: Box::new(problem) }
    }

    /// Returns the error of an unusable file or folder.
    pub fn file(
        role: FileRole,
        path: impl Into<PathBuf>,
        expected: impl Into<String>,
        found: impl Display,
        remedy: impl Into<String>,
    ) -> Self {
        let (expected, found, remedy) = (expected.into(), found.to_string(), remedy.into());
        Self::File { role, path: path.into(), expected, found, remedy }
    }

    /// Returns the error of a file or folder that cannot be written.
    pub fn unwritable(role: FileRole, path: &Path, error: &std::io::Error) -> Self {
        let remedy = "make it writable, free space, or use another folder with --root";
        Self::file(role, path, "write access", error, remedy)
    }

    /// Returns an error of the library, with the attempted operation.
    pub fn library(what: impl Into<String>, source: impl Into<matmech::Error>) -> Self {
        Self::Library { what: what.into(), source: Box::new(source.into()) }
    }

    /// Returns the error of a defect of this program.
    pub fn bug(what: impl Into<String>, expected: impl Into<String>, found: impl Display) -> Self {
        Self::Bug { what: what.into(), expected: expected.into(), found: found.to_string() }
    }

    /// Combines several errors into one; `Ok` if there is none.
    ///
    /// # Errors
    /// The single error, or [`Error::Several`].
    pub fn all(mut errors: Vec<Self>) -> Result<()> {
        match errors.pop() {
            None => Ok(()),
            Some(only) if errors.is_empty() => Err(only),
            Some(last) => {
                errors.push(last);
                Err(Self::Several(errors))
            }
        }
    }

    /// Returns the key of an invalid config, as far as it is known; empty for other errors.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::Config { at, .. } => &at.key,
            _ => "",
        }
    }

    /// Prefixes the key of an invalid config: `workloads` under `grid` becomes `grid.workloads`.
    ///
    /// Other errors are unchanged.
    #[must_use]
    pub fn under(self, table: &str) -> Self {
        self.relocated(|at| at.under(table))
    }

    /// Adds the document and file to an invalid config; other errors are unchanged.
    #[must_use]
    pub fn in_document(self, document: Document, file: &Path) -> Self {
        self.relocated(|at| Location { document, file: Some(file.to_owned()), ..at })
    }

    /// Adds the line to an invalid config without a line; other errors are unchanged.
    #[must_use]
    pub fn on_line(self, line: impl FnOnce(&str) -> Option<usize>) -> Self {
        self.relocated(|at| Location { line: at.line.or_else(|| line(&at.key)), ..at })
    }

    fn relocated(self, change: impl FnOnce(Location) -> Location) -> Self {
        match self {
            Self::Config { at, problem } => Self::Config { at: Box::new(change(*at)), problem },
            other => other,
        }
    }

    /// Returns whether stored cells or results cannot be read or written.
    #[must_use]
    pub fn is_storage_error(&self) -> bool {
        matches!(self, Self::File { role, .. } if role.is_storage_error())
    }

    /// Returns the exit code of the process, see [`EXIT_CODES`].
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Comparison { .. } | Self::Different { .. } | Self::Unverified { .. } => 1,
            Self::Config { at, .. } => at.document.exit_code(),
            Self::Usage { .. } => 2,
            Self::Cells(_) => 3,
            Self::File { role, .. } => role.exit_code(),
            Self::Several(errors) => errors.first().map_or(6, Self::exit_code),
            Self::Library { .. } | Self::Computation { .. } | Self::Bug { .. } => 6,
        }
    }
}

impl<E: Into<matmech::Error>> From<E> for Error {
    fn from(source: E) -> Self {
        Self::library("", source)
    }
}

/// Returns "what: ", or an empty text.
fn after(what: &str) -> String {
    if what.is_empty() { String::new() } else { format!("{what}: ") }
}

/// Lists the first few errors in full, and the number of the others.
fn several(errors: &[Error]) -> String {
    const MAX_SHOWN: usize = 5;
    let mut text =
        errors.iter().take(MAX_SHOWN).map(ToString::to_string).collect::<Vec<_>>().join("\n");
    if errors.len() > MAX_SHOWN {
        text.push_str(&format!("\n… and {} more", errors.len() - MAX_SHOWN));
    }
    text
}

/// Lists the first few failed cells, and the number of the others.
fn cells(failed: &[CellFailure]) -> String {
    const MAX_SHOWN: usize = 10;
    let mut text = format!(
        "{} cells failed; all others are stored, and the next run computes only these:",
        failed.len()
    );
    for failure in failed.iter().take(MAX_SHOWN) {
        text.push_str(&format!("\n  {failure}"));
    }
    if failed.len() > MAX_SHOWN {
        text.push_str(&format!("\n  … and {} more", failed.len() - MAX_SHOWN));
    }
    text
}
