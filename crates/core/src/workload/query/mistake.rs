//! Mistakes in the text of a query, shown with their position.

use std::ops::Range;

use crate::error::{Error, Place};

/// A mistake at some bytes of a query.
#[derive(Debug)]
pub(super) struct Mistake {
    pub at: Range<usize>,
    pub expected: String,
    pub found: String,
    pub remedy: String,
}

impl Mistake {
    pub(super) fn new(
        at: Range<usize>,
        expected: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Mistake { at, expected: expected.into(), found: found.into(), remedy: remedy.into() }
    }

    /// Returns the error, with the line of the query and a caret under the mistake.
    pub(super) fn into_error(self, text: &str) -> Error {
        let place = Place::of_byte(text, self.at.start);
        let line = text.lines().nth(place.line - 1).unwrap_or_default();
        let marked = text.get(self.at.clone()).unwrap_or_default();
        let width = marked.lines().next().map_or(1, |marked| marked.chars().count().max(1));
        let is_space = |c: char| if c == '\t' { '\t' } else { ' ' };
        let indent: String = line.chars().take(place.column - 1).map(is_space).collect();
        let carets = "^".repeat(width);
        Error::Parse {
            origin: "query".into(),
            place: Some(place),
            expected: self.expected,
            found: format!("{}\n    {line}\n    {indent}{carets}", self.found),
            remedy: self.remedy,
        }
    }
}

/// Adds a remedy with the nearest name to that of an unknown name.
pub(super) fn unknown(at: Range<usize>, kind: &'static str, name: &str, known: &[&str]) -> Mistake {
    let remedy = "check the spelling";
    let remedy = match Error::unknown_name(kind, name, known, remedy) {
        Error::UnknownName { remedy, .. } => remedy,
        _ => remedy.to_owned(),
    };
    Mistake::new(at, format!("{kind}: {}", known.join(", ")), format!("`{name}`"), remedy)
}
