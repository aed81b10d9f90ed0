//! The errors of the library: readable for people, structured for programs.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::counted::counted;
use crate::privacy::PrivacyError;
use matmech_linalg as linalg;

/// The result type of the library.
pub type Result<T> = std::result::Result<T, Error>;

/// An error: the object checked, what was expected, what was found, and how to fix it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An invalid input (workload string, matrix, option).
    #[error("{what}: expected {expected}, found {found}\n  remedy: {remedy}")]
    BadInput {
        /// The object checked.
        what: String,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
        /// How to fix it.
        remedy: String,
    },
    /// A name that is not in the registry.
    #[error(
        "{kind} `{name}`: expected one of {}, found `{name}`\n  remedy: {remedy}",
        known.join(", ")
    )]
    UnknownName {
        /// The kind of name: strategy, planner, mechanism, ….
        kind: &'static str,
        /// The unknown name.
        name: String,
        /// The known names.
        known: Vec<String>,
        /// How to fix it.
        remedy: String,
    },
    /// A text (TOML, CSV, matrix file) that cannot be parsed.
    #[error("{origin}{}: expected {expected}, found {found}\n  remedy: {remedy}", location(*place))]
    Parse {
        /// The file, or another source of the text.
        origin: String,
        /// The position in the text, if known.
        place: Option<Place>,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
        /// How to fix it.
        remedy: String,
    },
    /// A file that could not be read or written.
    #[error("{}: {action} failed: {source}\n  remedy: {remedy}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The failed action, such as `reading`.
        action: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
        /// How to fix it.
        remedy: String,
    },
    /// A computation that exceeds a size limit, refused before it starts.
    #[error(
        "{what}: expected at most {}, found {}\n  remedy: {remedy}",
        Size(*limit, unit),
        Size(*found, unit)
    )]
    TooLarge {
        /// The computation.
        what: String,
        /// The unit of the sizes: `bytes`, `cells`, ….
        unit: &'static str,
        /// The largest size allowed.
        limit: f64,
        /// The size required.
        found: f64,
        /// How to fix it.
        remedy: String,
    },
    /// An access to data that costs more than the remaining privacy budget.
    ///
    /// Nothing was spent and no data was read.
    #[error(
        "privacy budget of {what}: expected at most rho = {left}, the rest of {total}, found \
         {asked}\n  remedy: spend less, or start with a larger budget"
    )]
    BudgetExhausted {
        /// The access.
        what: String,
        /// Its ρ.
        asked: f64,
        /// The remaining ρ.
        left: f64,
        /// The total ρ.
        total: f64,
    },
    /// An invalid privacy parameter.
    #[error(transparent)]
    Privacy(PrivacyError),
    /// A strategy whose row space does not contain the workload.
    #[error(
        "strategy `{strategy}`: expected every workload query to be a combination of the \
         strategy's queries, found a share {share:.3e} of the workload outside its row space\n  \
         remedy: choose a strategy of full rank (`identity`, `wavelet`, `optimal`) or add the \
         missing queries"
    )]
    Unanswered {
        /// The strategy's name.
        strategy: String,
        /// tr(G (I − P)) / tr(G), P the projector on the strategy's row space.
        share: f64,
    },
    /// A strategy that cannot answer the workload, with the first query that it cannot answer.
    #[error(
        "strategy `{strategy}`: expected every query of `{workload}` to be a combination of the \
         strategy's rows, found query {query}, counted from 1 ({weights}), with a share \
         {outside:.3e} of its squared length outside their span (whole workload: {share:.3e})\n  \
         remedy: add this query, or rows that span it, to the strategy"
    )]
    UnansweredQuery {
        /// The strategy's name.
        strategy: String,
        /// The workload's name.
        workload: String,
        /// The first unanswered query, in the workload's order, from 1.
        query: usize,
        /// Its weights.
        weights: String,
        /// `‖q (I − P)‖²/‖q‖²`, P the projector on the strategy's row space.
        outside: f64,
        /// tr(G (I − P)) / tr(G).
        share: f64,
    },
    /// A matrix that is not symmetric positive definite where that is required.
    #[error(
        "{what}: expected a symmetric positive definite matrix of order {order}, found a \
         non-positive pivot\n  remedy: check that the matrix is symmetric and has full rank; for a \
         rank-deficient workload use a strategy that works on its range (`optimal`)"
    )]
    NotPositiveDefinite {
        /// The matrix.
        what: String,
        /// Its order.
        order: usize,
    },
    /// An iterative kernel that did not converge.
    #[error(
        "{what}: did not converge on a matrix of order {order}\n  remedy: check the matrix for \
         NaN or infinite entries"
    )]
    DidNotConverge {
        /// The computation.
        what: String,
        /// The order of the matrix.
        order: usize,
    },
    /// An error after a step that cannot be undone.
    #[error("{done}: {source}")]
    After {
        /// The step, such as `after reserving rho = 0.1`.
        done: String,
        /// The error.
        source: Box<Error>,
    },
    /// A bug in this library.
    #[error(
        "{what}: expected {expected}, found {found}\n  remedy: this is a bug in matmech; please \
         report it"
    )]
    Bug {
        /// The computation.
        what: &'static str,
        /// The violated invariant.
        expected: String,
        /// What was found.
        found: String,
    },
}

/// A position in a text, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column in characters (in fields for a table); 0 for the whole line.
    pub column: usize,
}

impl Place {
    /// Returns the position of a byte in a text.
    pub(crate) fn of_byte(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Place { line, column }
    }
}

fn location(place: Option<Place>) -> String {
    match place {
        None => String::new(),
        Some(Place { line, column: 0 }) => format!(", line {line}"),
        Some(Place { line, column }) => format!(", line {line}, column {column}"),
    }
}

/// Formats an amount with its unit.
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
    /// Returns an [`Error::BadInput`].
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

    /// Returns an [`Error::TooLarge`].
    pub fn too_large(
        what: impl Into<String>,
        unit: &'static str,
        limit: f64,
        found: f64,
        remedy: impl Into<String>,
    ) -> Self {
        Error::TooLarge { what: what.into(), unit, limit, found, remedy: remedy.into() }
    }

    /// Returns an [`Error::UnknownName`].
    pub fn unknown_name(kind: &'static str, name: &str, known: &[&str], remedy: &str) -> Self {
        let suggestion =
            nearest(name, known).map(|near| format!("did you mean `{near}`? Otherwise "));
        let remedy = format!("{}{remedy}", suggestion.unwrap_or_default());
        let known = known.iter().map(|&name| name.to_owned()).collect();
        Error::UnknownName { kind, name: name.to_owned(), known, remedy }
    }

    /// Returns an [`Error::Bug`].
    pub fn bug(what: &'static str, expected: impl Into<String>, found: impl ToString) -> Self {
        Error::Bug { what, expected: expected.into(), found: found.to_string() }
    }

    /// Returns an [`Error::Io`].
    pub fn io(
        path: &Path,
        action: &'static str,
        source: std::io::Error,
        remedy: impl Into<String>,
    ) -> Self {
        Error::Io { path: path.to_path_buf(), action, source, remedy: remedy.into() }
    }

    /// Returns an [`Error::Parse`] of a TOML text; `text` gives the position.
    pub(crate) fn toml(origin: &str, text: &str, expected: &str, error: &toml::de::Error) -> Self {
        Error::Parse {
            origin: origin.to_owned(),
            place: error.span().map(|span| Place::of_byte(text, span.start)),
            expected: expected.to_owned(),
            found: error.to_string().trim_end().to_owned(),
            remedy: "correct the line shown".into(),
        }
    }

    /// Returns the error of a CSV file that cannot be read or parsed.
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
                format!(
                    "{} where the line before has {expected_len}",
                    counted(len, ["value", "values"])
                ),
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

    /// Prefixes an [`Error::BadInput`] with its origin: a file, or a table in it.
    pub fn located(self, origin: &str) -> Self {
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

/// Returns the known name nearest to `found`, to suggest it for a typing error.
///
/// The edit distance is at most max(2, a third of the letters of `found`) and less than the length
/// of the name.
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
    fn positions_are_counted_from_one() {
        let text = "a = 1\nbé = x\n";
        assert_eq!(Place::of_byte(text, 0), Place { line: 1, column: 1 });
        assert_eq!(Place::of_byte(text, text.find('x').unwrap()), Place { line: 2, column: 6 });
        assert_eq!(location(Some(Place { line: 7, column: 0 })), ", line 7");
    }

    #[test]
    fn sizes_have_readable_units() {
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
    fn only_similar_names_are_suggested() {
        let known = ["seed", "title", "kind"];
        assert_eq!(nearest("sede", &known), Some("seed"));
        assert_eq!(nearest("completely-else", &known), None);
        assert_eq!(nearest("a", &known), None);
    }
}
