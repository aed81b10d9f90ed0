//! What can go wrong, said in the terms of the person who can mend it, and with the data by which a
//! program can tell.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::linalg;
use crate::privacy::PrivacyError;

/// The result of every fallible function of the library.
pub type Result<T> = std::result::Result<T, Error>;

/// An error: what was looked at, what was expected, what was found, and how to mend it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An input (workload string, matrix, option) that does not describe what it should.
    #[error("{what}: expected {expected}, found {found}\n  remedy: {remedy}")]
    BadInput {
        /// What was looked at.
        what: String,
        /// What would have been right.
        expected: String,
        /// What was there.
        found: String,
        /// How to mend it.
        remedy: String,
    },
    /// A name that the registry does not list.
    #[error("{kind} `{name}`: expected one of {}, found `{name}`\n  remedy: {remedy}", known.join(", "))]
    UnknownName {
        /// What it should be the name of: strategy, planner, mechanism, ….
        kind: &'static str,
        /// The name.
        name: String,
        /// The names there are.
        known: Vec<String>,
        /// How to mend it.
        remedy: String,
    },
    /// A text (TOML, CSV, matrix file) that is not what it should be.
    #[error("{origin}{}: expected {expected}, found {found}\n  remedy: {remedy}", at(*place))]
    Parse {
        /// The file, or whatever the text comes from.
        origin: String,
        /// Where in it, if that is known.
        place: Option<Place>,
        /// What would have been right.
        expected: String,
        /// What was there.
        found: String,
        /// How to mend it.
        remedy: String,
    },
    /// A file that could not be read or written.
    #[error("{}: {action} failed: {source}\n  remedy: {remedy}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
        /// How to mend it.
        remedy: String,
    },
    /// A computation refused before it starts because it would not fit.
    #[error("{what}: expected at most {}, found {}\n  remedy: {remedy}", Size(*limit, unit), Size(*found, unit))]
    TooLarge {
        /// The computation.
        what: String,
        /// What is counted: `bytes`, `cells`, ….
        unit: &'static str,
        /// The most there may be.
        limit: f64,
        /// How many there would be.
        found: f64,
        /// How to mend it.
        remedy: String,
    },
    /// A privacy budget that does not pay for an access to data. Nothing was spent, and nothing was
    /// looked at.
    #[error(
        "privacy budget of {what}: expected at most {left} of zCDP, what remains of {total}, found {asked}\n  remedy: \
         spend less, or start with a larger budget"
    )]
    BudgetExhausted {
        /// The access.
        what: String,
        /// Its ρ.
        asked: f64,
        /// The ρ that is left.
        left: f64,
        /// The ρ of the whole budget.
        total: f64,
    },
    /// A privacy parameter without meaning.
    #[error(transparent)]
    Privacy(PrivacyError),
    /// The strategy cannot answer the workload: some query is not a combination of its queries.
    #[error(
        "strategy `{strategy}`: expected every workload query to be a combination of the strategy's queries, found a \
         share {share:.3e} of the workload outside its row space\n  remedy: choose a strategy of full rank \
         (`identity`, `wavelet`, `optimal`) or add the missing queries"
    )]
    Unanswered {
        /// The strategy's name.
        strategy: String,
        /// tr(G (I − P)) / tr(G), P the projector on the strategy's row space.
        share: f64,
    },
    /// The same, with a query that the strategy cannot answer.
    #[error(
        "strategy `{strategy}`: expected every query of `{workload}` to be a combination of the strategy's rows, found \
         query {query}, counted from 1 ({weights}), a share {outside:.3e} of whose squared length is outside their \
         span\n  remedy: add this query to the strategy as a row, or rows that span it; of the whole workload a share \
         {share:.3e} is outside"
    )]
    UnansweredQuery {
        /// The strategy's name.
        strategy: String,
        /// The workload's name.
        workload: String,
        /// The first query that is not answered, in the workload's order from 1.
        query: usize,
        /// What it asks.
        weights: String,
        /// `‖q (I − P)‖²/‖q‖²`, P the projector on the strategy's row space.
        outside: f64,
        /// tr(G (I − P)) / tr(G).
        share: f64,
    },
    /// A matrix that had to be symmetric positive definite and is not.
    #[error(
        "{what}: expected a symmetric positive definite matrix of order {order}, found a non-positive pivot\n  \
         remedy: check that the matrix is symmetric and has full rank; for a rank-deficient workload use a strategy \
         that works on its range (`optimal`)"
    )]
    NotPositiveDefinite {
        /// The matrix.
        what: String,
        /// Its order.
        order: usize,
    },
    /// An iterative kernel gave up.
    #[error(
        "{what}: did not converge on a matrix of order {order}\n  remedy: check the matrix for NaN or infinite entries"
    )]
    DidNotConverge {
        /// The computation.
        what: String,
        /// The order of the matrix.
        order: usize,
    },
    /// A mistake of this library, and not of its caller.
    #[error(
        "{what}: expected {expected}, found {found}\n  remedy: this is a bug in matmech; please report it"
    )]
    Bug {
        /// The computation.
        what: &'static str,
        /// What should always hold.
        expected: String,
        /// What was there.
        found: String,
    },
}

/// A place in a text, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters, or in fields where the text is a table; 0 for the line as a
    /// whole.
    pub column: usize,
}

impl Place {
    /// The place of a byte in a text.
    pub(crate) fn of_byte(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Place { line, column }
    }
}

fn at(place: Option<Place>) -> String {
    match place {
        None => String::new(),
        Some(Place { line, column: 0 }) => format!(", line {line}"),
        Some(Place { line, column }) => format!(", line {line}, column {column}"),
    }
}

/// An amount with its unit, as people read it.
struct Size<'a>(f64, &'a str);

impl fmt::Display for Size<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const GIB: f64 = (1u64 << 30) as f64;
        match *self {
            Size(bytes, "bytes") if bytes >= 1024.0 * GIB => {
                write!(f, "{:.1} TiB", bytes / (1024.0 * GIB))
            }
            Size(bytes, "bytes") if bytes >= 0.1 * GIB => write!(f, "{:.1} GiB", bytes / GIB),
            Size(amount, unit) if amount < 1e15 => write!(f, "{amount} {unit}"),
            Size(amount, unit) => write!(f, "{amount:.4e} {unit}"),
        }
    }
}

impl Error {
    /// An [`Error::BadInput`].
    pub fn bad_input(
        what: impl Into<String>,
        expected: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Error::BadInput {
            what: what.into(),
            expected: expected.into(),
            found: found.into(),
            remedy: remedy.into(),
        }
    }

    /// An [`Error::TooLarge`].
    pub fn too_large(
        what: impl Into<String>,
        unit: &'static str,
        limit: f64,
        found: f64,
        remedy: impl Into<String>,
    ) -> Self {
        Error::TooLarge { what: what.into(), unit, limit, found, remedy: remedy.into() }
    }

    /// An [`Error::UnknownName`].
    pub fn unknown_name(kind: &'static str, name: &str, known: &[&str], remedy: &str) -> Self {
        let suggestion =
            nearest(name, known).map(|near| format!("did you mean `{near}`? Otherwise "));
        let remedy = format!("{}{remedy}", suggestion.unwrap_or_default());
        let known = known.iter().map(|&name| name.to_owned()).collect();
        Error::UnknownName { kind, name: name.to_owned(), known, remedy }
    }

    /// An [`Error::Bug`].
    pub(crate) fn bug(
        what: &'static str,
        expected: impl Into<String>,
        found: impl ToString,
    ) -> Self {
        Error::Bug { what, expected: expected.into(), found: found.to_string() }
    }

    /// An [`Error::Io`].
    pub fn io(
        path: &Path,
        action: &'static str,
        source: std::io::Error,
        remedy: impl Into<String>,
    ) -> Self {
        Error::Io { path: path.to_path_buf(), action, source, remedy: remedy.into() }
    }

    /// A text in TOML that does not parse; `text` shows where.
    pub(crate) fn toml(origin: &str, text: &str, expected: &str, error: &toml::de::Error) -> Self {
        Error::Parse {
            origin: origin.to_owned(),
            place: error.span().map(|span| Place::of_byte(text, span.start)),
            expected: expected.to_owned(),
            found: error.to_string().trim_end().to_owned(),
            remedy: "correct the line shown".into(),
        }
    }

    /// A CSV file that cannot be read, or that is none.
    pub fn csv(path: &Path, error: csv::Error, remedy: &str) -> Self {
        let place = error.position().map(|p| Place { line: p.line() as usize, column: 0 });
        match error.into_kind() {
            csv::ErrorKind::Io(source) => Error::io(path, "reading", source, remedy),
            csv::ErrorKind::Utf8 { err, .. } => {
                Self::not_csv(path, place, format!("{err}"), remedy)
            }
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => Self::not_csv(
                path,
                place,
                format!("{len} values where the line before has {expected_len}"),
                remedy,
            ),
            other => Self::not_csv(path, place, format!("{other:?}"), remedy),
        }
    }

    fn not_csv(path: &Path, place: Option<Place>, found: String, remedy: &str) -> Self {
        let origin = path.display().to_string();
        Error::Parse {
            origin,
            place,
            expected: "a CSV file in UTF-8".into(),
            found,
            remedy: remedy.into(),
        }
    }

    /// The same error with the file (and the table in it) in front of what an inner check says.
    pub(crate) fn located(self, origin: &str) -> Self {
        match self {
            Error::BadInput { what, expected, found, remedy } if !what.starts_with(origin) => {
                Error::BadInput { what: format!("{origin}: {what}"), expected, found, remedy }
            }
            other => other,
        }
    }
}

impl From<PrivacyError> for Error {
    fn from(error: PrivacyError) -> Self {
        match error {
            PrivacyError::BudgetExhausted { what, asked, left, total } => {
                Error::BudgetExhausted { what, asked, left, total }
            }
            PrivacyError::StreamUsedTwice { round } => {
                Error::bug("noise", "every stream once", format!("round {round} twice"))
            }
            other => Error::Privacy(other),
        }
    }
}

impl From<linalg::Error> for Error {
    fn from(error: linalg::Error) -> Self {
        match error {
            linalg::Error::Shape { what, expected, found, remedy } => {
                Error::bad_input(what, expected, found, remedy)
            }
            linalg::Error::NotPositiveDefinite { what, order } => {
                Error::NotPositiveDefinite { what, order }
            }
            linalg::Error::DidNotConverge { what, order } => Error::DidNotConverge { what, order },
            other => Error::bug("linear algebra", "an error of a known kind", other),
        }
    }
}

/// The known name nearest to `found`, if it is near enough to be a slip: up to a third of its
/// letters, and never all letters of the name.
pub fn nearest<'n, N: AsRef<str>>(found: &str, known: &'n [N]) -> Option<&'n str> {
    let limit = (found.chars().count() / 3).max(2);
    known
        .iter()
        .map(|name| (strsim::osa_distance(found, name.as_ref()), name.as_ref()))
        .filter(|(distance, name)| *distance <= limit && *distance < name.chars().count())
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_from_one() {
        let text = "a = 1\nbé = x\n";
        assert_eq!(Place::of_byte(text, 0), Place { line: 1, column: 1 });
        assert_eq!(Place::of_byte(text, text.find('x').unwrap()), Place { line: 2, column: 6 });
        assert_eq!(at(Some(Place { line: 7, column: 0 })), ", line 7");
    }

    #[test]
    fn sizes_are_printed_for_people() {
        for (amount, unit, text) in [
            (27_000.0, "cells", "27000 cells"),
            (1.8e19, "cells", "1.8000e19 cells"),
            (51.7e9, "bytes", "48.1 GiB"),
            (9.6e13, "bytes", "87.3 TiB"),
        ] {
            assert_eq!(Size(amount, unit).to_string(), text);
        }
    }

    #[test]
    fn only_what_is_near_is_suggested() {
        let known = ["seed", "title", "kind"];
        assert_eq!(nearest("sede", &known), Some("seed"));
        assert_eq!(nearest("completely-else", &known), None);
        assert_eq!(nearest("a", &known), None);
    }
}
