//! Whom a release protects.

use clap::{Args, ValueEnum};

use crate::privacy::{Neighbours, PrivacyUnit};
use crate::schema::Schema;

/// The unit of privacy.
#[derive(Debug, Args)]
pub(in crate::cli) struct UnitArguments {
    /// What happens to one record between neighbouring tables
    #[arg(long, value_enum, default_value_t = NeighboursArgument::AddRemove)]
    neighbours: NeighboursArgument,
    /// Maximum records per person
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    unit_rows: u32,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum NeighboursArgument {
    /// It is there or not
    AddRemove,
    /// It has other values. The number of records is public if the schema declares a cell for other
    /// values (`other`) in every attribute and no --person is named; otherwise it is protected too,
    /// since a record can then be left out
    Replace,
}

impl UnitArguments {
    /// The unit as a ledger names it.
    pub(in crate::cli) fn unit(&self) -> PrivacyUnit {
        let neighbours = match self.neighbours {
            NeighboursArgument::AddRemove => Neighbours::AddOrRemoveOneRecord,
            NeighboursArgument::Replace => Neighbours::ReplaceOneRecord,
        };
        PrivacyUnit { neighbours, rows: self.unit_rows }
    }

    /// The unit that a release has to be accounted for with. Where another value can leave a record
    /// out, replacing a record includes adding and removing one.
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
