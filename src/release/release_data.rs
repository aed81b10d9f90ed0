//! What a release reads: records, or counts of an engine.

use crate::access::CountSource;
use crate::data::{CountedMarginals, OpenTable, OutOfDomain, PersonLimit};
use crate::domain::AttributeSet;
use crate::error::Result;
use crate::schema::Schema;

/// What a release reads.
#[derive(Debug)]
pub enum ReleaseData {
    /// Records, which are read after the reservation, with the rule for values outside the schema.
    Records(OpenTable, OutOfDomain),
    /// The counts of an engine, which applies the same rules.
    Counts {
        /// The marginals.
        marginals: CountedMarginals,
        /// The limit on the records of a person.
        person: Option<PersonLimit>,
    },
}

impl ReleaseData {
    /// Returns the limit on the records of a person.
    pub(super) fn person(&self) -> Option<&PersonLimit> {
        match self {
            ReleaseData::Records(table, _) => table.person(),
            ReleaseData::Counts { person, .. } => person.as_ref(),
        }
    }

    /// Reads the records, of which the values of the attributes `kept` are counted.
    pub(super) fn read(self, schema: &Schema, kept: AttributeSet) -> Result<Box<dyn CountSource>> {
        Ok(match self {
            ReleaseData::Records(table, rule) => Box::new(table.read_private(schema, rule, kept)?),
            ReleaseData::Counts { marginals, .. } => Box::new(marginals),
        })
    }
}
