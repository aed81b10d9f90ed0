//! What a known value is about.

/// The subject of a value.
///
/// Reports have totals per subject, so that many easily reproduced counts do not hide an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Errors, their ratios, and everything else that an evaluation measures.
    Value,
    /// Statements in words, as inequalities.
    Statement,
    /// Theorems, formulas and misprints, checked numerically.
    Theorem,
    /// Entries of worked examples.
    WorkedExample,
    /// Numbers of queries, views and attributes.
    QueryCount,
    /// Exponents of growth, derived from printed times and memory.
    Exponent,
    /// Times and memory.
    Cost,
}

impl Subject {
    /// All subjects, in the order of reports.
    pub const ALL: [Self; 7] = [
        Self::Value,
        Self::Statement,
        Self::Theorem,
        Self::WorkedExample,
        Self::QueryCount,
        Self::Exponent,
        Self::Cost,
    ];

    /// Returns the name in the column `subject` of files of known values.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Statement => "statement",
            Self::Theorem => "theorem",
            Self::WorkedExample => "worked-example",
            Self::QueryCount => "query-count",
            Self::Exponent => "exponent",
            Self::Cost => "cost",
        }
    }

    /// Returns the name in the table of totals.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Value => "evaluation values",
            Self::Statement => "statements in words",
            Self::Theorem => "theorems and formulas",
            Self::WorkedExample => "entries of worked examples",
            Self::QueryCount => "query counts",
            Self::Exponent => "exponents of growth",
            Self::Cost => "times and memory",
        }
    }
}
