//! What can go wrong, with its parts, and the exit code that says so.

mod file;
mod parts;
mod place;
mod problem;

use std::fmt::Display;
use std::path::{Path, PathBuf};

use parts::Parts;

pub use file::FileRole;
pub use place::{Document, Place};
pub use problem::Problem;

/// The result of every fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The exit codes, as `reproduce --help` prints them.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  the comparison has an unexplained difference or a missing result; two folders of results differ;
     results are not what their provenance says
  2  wrong usage, or a config that is refused
  3  a cell could not be computed; the others are stored
  4  stored results cannot be read or written
  5  a data set is missing, cannot be fetched, or has another checksum
  6  figures or the comparison could not be made, or anything else
A command of several steps ends with the code of the first step that failed.";

/// Why something cannot be done. Every variant carries what a caller needs to tell one case from
/// another.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A config, or another TOML document of the project, that is refused.
    #[error("{at}{problem}")]
    Config {
        /// Which document, and where in it.
        at: Box<Place>,
        /// What is wrong there.
        problem: Box<Problem>,
    },
    /// An option that selects nothing.
    #[error("option {option}\n{}", Parts(expected, found, remedy))]
    Usage {
        /// The option.
        option: &'static str,
        /// What would be right.
        expected: String,
        /// What was given.
        found: String,
        /// What to do.
        remedy: String,
    },
    /// A file or folder that is not what it should be.
    #[error("{role} {}\n{}", path.display(), Parts(expected, found, remedy))]
    File {
        /// What the file is for.
        role: FileRole,
        /// The file or folder.
        path: PathBuf,
        /// What would be right.
        expected: String,
        /// What is there.
        found: String,
        /// What to do.
        remedy: String,
    },
    /// Several errors of one step, so that one run of the command shows all of them. At least one.
    #[error("{}", several(.0))]
    Several(Vec<Error>),
    /// Cells that could not be computed. The others are stored.
    #[error("{}", cells(.0))]
    Cells(Vec<CellFailure>),
    /// Known values that are not met, and whatever else the comparison found.
    #[error("comparison: {failures} things to put right; all of them are in {}", report.display())]
    Comparison {
        /// How many there are.
        failures: usize,
        /// The report that names them.
        report: PathBuf,
    },
    /// Two folders of results that are not equal.
    #[error("{differences} differences between the two folders of results")]
    Different {
        /// How many there are.
        differences: usize,
    },
    /// Results that are not what their provenance says.
    #[error("{findings} things to put right in the results")]
    Unverified {
        /// How many there are.
        findings: usize,
    },
    /// What the library refuses, in the course of a computation.
    #[error("{}{source}", after(what))]
    Library {
        /// What was to be done; may be empty.
        what: String,
        /// The library's error.
        source: Box<matmech::Error>,
    },
    /// A computation whose result is not what it must be, or that cannot be carried out.
    #[error("{what}: expected {expected}, found {found}\n  remedy: {remedy}")]
    Computation {
        /// What was computed.
        what: String,
        /// What would be right.
        expected: String,
        /// What came out.
        found: String,
        /// What to do.
        remedy: String,
    },
    /// A defect of this program.
    #[error(
        "{what}: expected {expected}, found {found}\n  remedy: report this as a bug of the program"
    )]
    Bug {
        /// What went wrong.
        what: String,
        /// What must always be.
        expected: String,
        /// What was there instead.
        found: String,
    },
}

/// A cell without result.
#[derive(Debug, thiserror::Error)]
#[error("{address}: {reason}")]
pub struct CellFailure {
    /// The cell.
    pub address: String,
    /// Why. An [`Error::File`] if it was computed and could not be stored.
    pub reason: Error,
}

impl Error {
    /// A value that is not what it should be, at `key` (relative to the table at hand; the caller
    /// adds the rest with [`Error::under`]).
    pub fn config(
        key: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let problem = Problem::Mismatch {
            expected: expected.into(),
            found: found.into(),
            remedy: remedy.into(),
        };
        Self::at(key, problem)
    }

    /// A name that is not among the known ones; the message proposes the nearest.
    pub fn unknown_name(
        key: impl Into<String>,
        noun: &'static str,
        found: &str,
        known: &[&str],
    ) -> Self {
        let known = known.iter().map(|name| (*name).to_owned()).collect();
        Self::at(key, Problem::UnknownName { noun, found: found.to_owned(), known })
    }

    /// A value that the library refuses.
    pub fn refused(key: impl Into<String>, source: impl Into<matmech::Error>) -> Self {
        Self::at(key, Problem::Refused(source.into()))
    }

    /// A problem at `key` of a config.
    pub fn at(key: impl Into<String>, problem: Problem) -> Self {
        Self::Config { at: Box::new(Place::key(key)), problem: Box::new(problem) }
    }

    /// A file or folder that is not what it should be.
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

    /// A file or folder below the root that cannot be written.
    pub fn unwritable(role: FileRole, path: &Path, error: &std::io::Error) -> Self {
        let remedy = "make it writable, free space, or work in another folder with --root";
        Self::file(role, path, "to be able to write it", error, remedy)
    }

    /// The library's error, with what was to be done.
    pub fn library(what: impl Into<String>, source: impl Into<matmech::Error>) -> Self {
        Self::Library { what: what.into(), source: Box::new(source.into()) }
    }

    /// A defect of this program.
    pub fn bug(what: impl Into<String>, expected: impl Into<String>, found: impl Display) -> Self {
        Self::Bug { what: what.into(), expected: expected.into(), found: found.to_string() }
    }

    /// Several errors as one; nothing if there is none.
    ///
    /// # Errors
    /// The only one as it is, or all of them.
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

    /// The key at which a config is refused, relative to what is known of its place so far; empty
    /// for other errors.
    #[must_use]
    pub fn key(&self) -> &str {
        match self {
            Self::Config { at, .. } => &at.key,
            _ => "",
        }
    }

    /// Prefixes the key of a refused config: `workloads` under `grid` becomes `grid.workloads`.
    /// Other errors stay as they are.
    #[must_use]
    pub fn under(self, table: &str) -> Self {
        self.placed(|at| at.under(table))
    }

    /// Names the document of a refused config; other errors stay as they are.
    #[must_use]
    pub fn in_document(self, document: Document, file: &Path) -> Self {
        self.placed(|at| Place { document, file: Some(file.to_owned()), ..at })
    }

    /// Names the line of a refused config; other errors, and those that have one, stay as they are.
    #[must_use]
    pub fn on_line(self, line: impl FnOnce(&str) -> Option<usize>) -> Self {
        self.placed(|at| Place { line: at.line.or_else(|| line(&at.key)), ..at })
    }

    fn placed(self, change: impl FnOnce(Place) -> Place) -> Self {
        match self {
            Self::Config { at, problem } => Self::Config { at: Box::new(change(*at)), problem },
            other => other,
        }
    }

    /// Whether a result or the store of results cannot be read or written.
    #[must_use]
    pub fn is_of_the_store(&self) -> bool {
        matches!(self, Self::File { role, .. } if role.is_of_the_store())
    }

    /// The process's exit code, see [`EXIT_CODES`].
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

/// "what: ", or nothing.
fn after(what: &str) -> String {
    if what.is_empty() { String::new() } else { format!("{what}: ") }
}

/// The first few in full and the number of the others: one screen.
fn several(errors: &[Error]) -> String {
    const SHOWN: usize = 5;
    let mut text =
        errors.iter().take(SHOWN).map(ToString::to_string).collect::<Vec<_>>().join("\n");
    if errors.len() > SHOWN {
        text.push_str(&format!("\n… and {} more of this kind", errors.len() - SHOWN));
    }
    text
}

/// How many, and the first few.
fn cells(failed: &[CellFailure]) -> String {
    const SHOWN: usize = 10;
    let mut text = format!(
        "{} cells failed; all others are stored, and a second run computes only these:",
        failed.len()
    );
    for failure in failed.iter().take(SHOWN) {
        text.push_str(&format!("\n  {failure}"));
    }
    if failed.len() > SHOWN {
        text.push_str(&format!("\n  … and {} more", failed.len() - SHOWN));
    }
    text
}
