//! Published values of a column and their noisy counts.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::access::{OpenValuesQuestion, ReleaseNoise};
use crate::data::OpenTable;
use crate::error::{Error, Result};
use crate::privacy::PrivacyUnit;
use crate::release::ledger::Reservation;
use crate::release::measurements::files::{self, Files, REMEDY};

/// The name of the file of values.
const VALUES: &str = "values.json";

/// The values of a column that had a large enough noisy count, in the order of their bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedValues {
    column: String,
    unit: PrivacyUnit,
    /// One record adds 2^bits to a noisy integer.
    bits: u32,
    deviation: String,
    /// The smallest noisy integer that is published.
    threshold: String,
    /// Texts and noisy integers.
    values: Vec<(String, String)>,
}

impl PublishedValues {
    /// Reads the records and publishes values, paid by a reservation that is in the ledger on disk.
    ///
    /// `reserved` texts are never published.
    ///
    /// # Errors
    /// The question costs more than was reserved, or the persons of the table are others: then no
    /// record is read, or no count used. The table cannot be read to its end.
    pub fn measure(
        column: &str,
        question: &OpenValuesQuestion,
        reserved: &[&str],
        table: OpenTable,
        reservation: &Reservation,
    ) -> Result<Self> {
        let person = table.person().map(|limit| limit.column.as_str());
        if person != reservation.person() {
            let expected = format!("persons by {:?}", reservation.person());
            return Err(Error::bug("release of values", expected, format!("by {person:?}")));
        }
        let counts = table.count_private_values(reserved)?;
        let paid = (reservation.rho(), reservation.new_delta());
        let unit = reservation.unit();
        let values = question.answer(&counts, paid, unit, &mut ReleaseNoise::new())?;
        Ok(PublishedValues {
            column: column.to_owned(),
            unit,
            bits: question.bits,
            deviation: question.deviation.to_string(),
            threshold: question.threshold.to_string(),
            values: values.into_iter().map(|(text, noisy)| (text, noisy.to_string())).collect(),
        })
    }

    /// Returns the published values.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|(text, _)| text.as_str())
    }

    /// Writes the folder `measurements` in a folder and syncs it to the disk.
    ///
    /// # Errors
    /// The folder exists, or cannot be written.
    pub fn write(&self, parent: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|e| Error::bug("published values", "a text", e))?;
        files::write_new(parent, "measurements", &[(VALUES, &|out| writeln!(out, "{text}"))])
    }

    /// Reads the folder that [`PublishedValues::write`] wrote.
    ///
    /// # Errors
    /// Files that cannot be read or were edited.
    pub fn read(folder: &Path) -> Result<Self> {
        let text = Files::read(folder, &[VALUES])?.text(VALUES)?;
        serde_json::from_str(&text).map_err(|e| {
            let what = folder.join(VALUES).display().to_string();
            Error::bad_input(what, "published values", e.to_string(), REMEDY)
        })
    }
}
