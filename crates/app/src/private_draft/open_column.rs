//! The release of a column of texts whose values are not public.

use std::path::Path;

use super::draft::PrivateDraft;
use super::report::DraftedColumn;
use crate::data::Data;
use crate::release::Folder;
use crate::steps::Steps;
use matmech::access::OpenValuesQuestion;
use matmech::data::table::FieldCounts;
use matmech::data::{OpenTable, OutOfDomain, open_values};
use matmech::error::{Error, Result};
use matmech::privacy::{Neighbours, PrivacyUnit, Rho};
use matmech::release::open_values::{OpenValuesStatement, PublishedValues};
use matmech::release::{Ledger, Reservation, Terms, shortest};
use matmech::schema::Schema;

impl PrivateDraft {
    /// Publishes values of a column and returns its attribute.
    ///
    /// The attribute is computed from the values as they were written.
    pub(super) fn open_column(
        &self,
        column: &str,
        index: usize,
        (rho, new_delta): (Rho, f64),
        (data, ledger, out): (&Data, &Path, &Path),
        steps: &dyn Steps,
    ) -> Result<(String, DraftedColumn)> {
        let out = out.join(format!("values-{index}"));
        let unit = self.unit_of_open_columns();
        let question = OpenValuesQuestion::of(rho, new_delta, unit)?;
        let schema = Schema::from_toml(&open_values::template(column), "columns")?;
        let table = OpenTable::new(data.open(FieldCounts::Any)?, &schema, self.person_limit())?;
        let ledger = Ledger::open(ledger, self.waiting)?;
        let folder = Folder::create(&out)?;
        let expectation = format!(
            "reserving rho {} and delta' {} for the values of a column",
            shortest(rho.get()),
            shortest(new_delta)
        );
        let what = format!("release to {}", out.display());
        let reserved = steps.reserving(&expectation).and_then(|()| {
            ledger.reserve_with((rho, Some(new_delta)), unit, self.person.as_deref(), &what)
        });
        let reservation = reserved.inspect_err(|_| folder.discard())?;
        let made = self.published(column, &question, (table, &ledger), &reservation, &folder);
        let (published, sums) = made.map_err(|error| {
            folder.discard();
            let done = format!("after reserving {rho}, which stays spent in the ledger");
            Error::After { done, source: Box::new(error) }
        })?;
        ledger.settle_folder(reservation, &sums)?;
        let drafted = DraftedColumn {
            name: column.to_owned(),
            cells: "values",
            count: published.texts().count(),
            releases: vec![out.display().to_string()],
        };
        Ok((open_values::attribute(column, published.texts()), drafted))
    }

    /// Measures, and writes measurements and statement.
    fn published(
        &self,
        column: &str,
        question: &OpenValuesQuestion,
        (table, ledger): (OpenTable, &Ledger),
        reservation: &Reservation,
        folder: &Folder,
    ) -> Result<(PublishedValues, String)> {
        let labels = &open_values::LABELS;
        PublishedValues::measure(column, question, labels, table, reservation)?
            .write(folder.path())?;
        let published = PublishedValues::read(&folder.path().join("measurements"))?;
        let new_delta = reservation.new_delta();
        let terms = Terms {
            rho: reservation.rho(),
            delta: self.delta_with(new_delta),
            rule: OutOfDomain::Other,
            person: self.person_limit(),
        };
        let attribute = open_values::attribute(column, published.texts());
        let unit = reservation.unit();
        let statement =
            OpenValuesStatement::of_values(column, question, (terms, new_delta), unit, &attribute)?;
        let statement = statement.reserved(ledger.path(), reservation);
        folder.write("statement.json", &statement.to_json()?)?;
        folder.write("statement.md", &statement.to_markdown())?;
        Ok((published, folder.finish()?))
    }

    /// Returns the unit. The records of a replaced person can be fewer than those of the other.
    fn unit_of_open_columns(&self) -> PrivacyUnit {
        match (self.unit.neighbours, &self.person) {
            (Neighbours::ReplaceOneRecord, Some(_)) => {
                PrivacyUnit { neighbours: Neighbours::ReplaceAddOrRemoveOneRecord, ..self.unit }
            }
            _ => self.unit,
        }
    }
}
