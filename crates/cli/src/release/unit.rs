//! The unit of privacy on the command line.

use clap::{Args, ValueEnum};

use matmech::privacy::{Neighbours, PrivacyUnit};

/// The unit of privacy.
#[derive(Debug, Args)]
pub(crate) struct UnitArguments {
    /// How neighbouring tables differ in one record
    #[arg(long, value_enum, default_value_t = NeighboursArgument::AddRemove)]
    neighbours: NeighboursArgument,
    /// Maximum records per person
    #[arg(
        long,
        value_name = "K",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    unit_rows: u32,
    /// Column that identifies a person: the unit is all records of a person, of which the first
    /// --unit-rows are kept; a ledger is for releases with the same column
    #[arg(long, value_name = "COLUMN")]
    person: Option<String>,
}

/// What differs between the records of a person.
#[derive(Debug, Args)]
pub(crate) struct DistinctArgument {
    /// Attribute of which a person's records have different values, such as the year
    ///
    /// Tables by this attribute then cost K instead of K². With --person the first record of every
    /// value is kept; without it, this is an assumption. Needs --unit-rows.
    #[arg(long, value_name = "ATTRIBUTE")]
    pub(crate) distinct: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum NeighboursArgument {
    /// The record is added or removed
    AddRemove,
    /// The record has other values; the number of records is public only if every attribute has a
    /// cell for other values (`other`) and --person is not used
    Replace,
}

impl UnitArguments {
    /// Returns the column that identifies a person.
    pub(crate) fn person(&self) -> Option<String> {
        self.person.clone()
    }

    /// Returns the unit of a ledger.
    pub(crate) fn unit(&self) -> PrivacyUnit {
        let neighbours = match self.neighbours {
            NeighboursArgument::AddRemove => Neighbours::AddOrRemoveOneRecord,
            NeighboursArgument::Replace => Neighbours::ReplaceOneRecord,
        };
        PrivacyUnit { neighbours, rows: self.unit_rows, distinct: None }
    }
}
