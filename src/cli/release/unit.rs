//! The unit of privacy on the command line.

use clap::{Args, ValueEnum};

use matmech::privacy::{Neighbours, PrivacyUnit};
use matmech::schema::Schema;

/// The unit of privacy.
#[derive(Debug, Args)]
pub(in crate::cli) struct UnitArguments {
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
    /// Returns the unit of a ledger.
    pub(in crate::cli) fn unit(&self) -> PrivacyUnit {
        let neighbours = match self.neighbours {
            NeighboursArgument::AddRemove => Neighbours::AddOrRemoveOneRecord,
            NeighboursArgument::Replace => Neighbours::ReplaceOneRecord,
        };
        PrivacyUnit { neighbours, rows: self.unit_rows }
    }

    /// Returns the unit of a release. If a record with other values can be dropped, replacing a
    /// record includes adding and removing one.
    pub(super) fn of_release(&self, schema: &Schema, has_person: bool) -> PrivacyUnit {
        let unit = self.unit();
        let keeps_every_record = schema.has_cells_for_all_values() && !has_person;
        match unit.neighbours {
            Neighbours::ReplaceOneRecord if !keeps_every_record => {
                PrivacyUnit { neighbours: Neighbours::ReplaceAddOrRemoveOneRecord, ..unit }
            }
            _ => unit,
        }
    }
}
