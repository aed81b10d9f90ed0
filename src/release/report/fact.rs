//! Names with values.

use crate::release::document::Line;

/// A name and a value, at the top of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Line,
}

impl Fact {
    /// Returns a fact.
    pub fn new(name: &str, value: impl Into<Line>) -> Self {
        Fact { name: name.to_owned(), value: value.into() }
    }
}
