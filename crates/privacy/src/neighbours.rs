//! Neighbour relations and privacy units.

use std::fmt;

/// The neighbour relation of a guarantee.
///
/// Sensitivities are differences between neighbours, so a budget is meaningless without it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Neighbours {
    /// One record is added or removed. The answers of a query matrix change by one of its columns,
    /// so its sensitivity is the largest column norm.
    #[default]
    AddOrRemoveOneRecord,
    /// The values of one record change; the number of records is public. The answers of a query
    /// matrix change by the difference of two of its columns.
    ReplaceOneRecord,
    /// One record is added, removed, or changes its values. The answers of a query matrix change by
    /// a column or by the difference of two.
    ReplaceAddOrRemoveOneRecord,
}

impl fmt::Display for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddOrRemoveOneRecord => f.write_str("add or remove one record"),
            Self::ReplaceOneRecord => f.write_str("replace one record"),
            Self::ReplaceAddOrRemoveOneRecord => f.write_str("replace, add or remove one record"),
        }
    }
}

/// The unit that a guarantee protects: a person with at most `rows` records.
///
/// Each record may be added, removed or changed as `neighbours` allows. With `distinct`, the records of
/// a person have different values of an attribute, in both neighbouring tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivacyUnit {
    /// The relation for one record.
    pub neighbours: Neighbours,
    /// Records per person; zCDP's ρ grows with their square.
    pub rows: u32,
    /// The position in the schema of the attribute whose cells differ between the records of a
    /// person, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct: Option<usize>,
}

impl Default for PrivacyUnit {
    /// Adding or removing one record.
    fn default() -> Self {
        PrivacyUnit { neighbours: Neighbours::default(), rows: 1, distinct: None }
    }
}

impl PrivacyUnit {
    /// Returns the unit in words, with the attribute whose values differ and the column that
    /// identifies persons.
    pub fn in_words(&self, distinct: Option<&str>, person: Option<&str>) -> String {
        let different = distinct.filter(|_| self.rows > 1);
        let different = different.map(|name| format!(", with different values of `{name}`"));
        let person = person.map(|column| format!(", of a person by `{column}`"));
        format!("{self}{}{}", different.unwrap_or_default(), person.unwrap_or_default())
    }
}

impl fmt::Display for PrivacyUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rows {
            1 => write!(f, "{}", self.neighbours),
            rows => write!(f, "{}, up to {rows} times", self.neighbours),
        }
    }
}
