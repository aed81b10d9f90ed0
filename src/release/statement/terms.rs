//! The terms of a release: its budget, and its rules for reading records.

use crate::data::{OutOfDomain, PersonLimit};
use crate::privacy::Rho;

/// The budget of a release, and its rules for reading records.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// The reserved ρ.
    pub rho: Rho,
    /// The δ for which ε is stated.
    pub delta: f64,
    /// The rule for values outside the schema.
    pub rule: OutOfDomain,
    /// The maximum records per person, if it is enforced.
    pub person: Option<PersonLimit>,
}
