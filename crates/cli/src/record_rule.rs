//! What happens to records with values outside the schema, on the command line.

use clap::ValueEnum;
use matmech::data::OutOfDomain;

/// The rule of a release for a value outside the schema.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RecordRule {
    /// Drop the record
    Drop,
    /// Move numbers of numeric attributes to the nearest cell; drop the record if there is none
    Clamp,
}

impl From<RecordRule> for OutOfDomain {
    fn from(rule: RecordRule) -> Self {
        match rule {
            RecordRule::Drop => OutOfDomain::Drop,
            RecordRule::Clamp => OutOfDomain::Clamp,
        }
    }
}
