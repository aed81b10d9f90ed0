//! A budget that is recorded as spent.

use crate::privacy::{PrivacyUnit, Rho};

/// Whose records a release protects together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Persons<'a> {
    /// The column that identifies persons; without it, their number of records is an assumption.
    pub column: Option<&'a str>,
    /// The attribute whose values differ between the records of a person.
    pub distinct: Option<&'a str>,
}

impl<'a> From<Option<&'a str>> for Persons<'a> {
    fn from(column: Option<&'a str>) -> Self {
        Persons { column, distinct: None }
    }
}

/// A budget that the ledger on disk records as spent.
///
/// Only a ledger makes one, and opening a table for a release requires one.
#[derive(Debug)]
pub struct Reservation {
    pub(super) number: u64,
    pub(super) line: usize,
    pub(super) hash: String,
    pub(super) rho: Rho,
    pub(super) new_delta: f64,
    pub(super) unit: PrivacyUnit,
    pub(super) person: Option<String>,
    pub(super) distinct: Option<String>,
}

impl Reservation {
    /// Returns the reserved ρ.
    pub fn rho(&self) -> Rho {
        self.rho
    }

    /// Returns the reserved δ′ for values that are not public; 0 if there is none.
    pub fn new_delta(&self) -> f64 {
        self.new_delta
    }

    /// Returns the privacy unit.
    pub fn unit(&self) -> PrivacyUnit {
        self.unit
    }

    /// Returns the column that identifies persons.
    pub fn person(&self) -> Option<&str> {
        self.person.as_deref()
    }

    /// Returns the attribute whose values differ between the records of a person.
    pub fn distinct(&self) -> Option<&str> {
        self.distinct.as_deref()
    }

    /// Returns the number of its line in the ledger, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Returns the SHA-256 of the text of its line.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Returns a reservation without a ledger, for tests of this crate.
    #[cfg(test)]
    pub(crate) fn unwritten(rho: Rho, unit: PrivacyUnit) -> Self {
        Reservation {
            number: 0,
            line: 0,
            hash: String::new(),
            rho,
            new_delta: 0.0,
            unit,
            person: None,
            distinct: None,
        }
    }
}
