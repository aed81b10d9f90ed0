//! Whom a release protects, under which rules, and what is not protected.

use std::fmt::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Terms;
use crate::data::{OutOfDomain, PersonLimit};
use crate::privacy::{Neighbours, PrivacyUnit};
use crate::release::ledger::Reservation;
use crate::release::report::Fact;

/// What releases do not protect.
const NOT_PROTECTED: [&str; 6] = [
    "running time and memory, which depend on the records",
    "the sizes of files and the location of the data on the disk, from those who can see them",
    "whether the file of records could be read to its end",
    "the header line of the file of records, which is public",
    "people with more records than the privacy unit allows",
    "the schema and the workload, which must not be made from the records",
];

/// The part of a statement that all releases have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(in crate::release) struct Protection {
    program: String,
    version: String,
    /// Name and version of the program that draws the noise.
    noise_library: [String; 2],
    pub(in crate::release) unit: PrivacyUnit,
    unit_in_words: String,
    pub(in crate::release) rho_reserved: f64,
    pub(in crate::release) delta: f64,
    out_of_domain: OutOfDomain,
    /// The column that identifies persons, and the maximum records per person.
    person_limit: Option<PersonLimit>,
    /// Whether the number of records is public: then it is published without noise.
    pub(in crate::release) number_of_records_is_public: bool,
    /// The reservation in the ledger.
    ledger: Option<LedgerLine>,
    not_protected: Vec<String>,
    schema: String,
    workload: String,
}

/// A line of a ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LedgerLine {
    file: String,
    /// The line number, from 1.
    line: usize,
    /// The SHA-256 of the text of the line.
    sha256: String,
}

impl Protection {
    /// Returns the protection of a release; `schema` and `workload` are their texts.
    pub(in crate::release) fn of(
        unit: PrivacyUnit,
        terms: Terms,
        schema: &str,
        workload: &str,
    ) -> Self {
        let [name, version] = [env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")];
        Protection {
            program: name.to_owned(),
            version: version.to_owned(),
            noise_library: [name, version].map(str::to_owned),
            unit,
            unit_in_words: unit.to_string(),
            rho_reserved: terms.rho.get(),
            delta: terms.delta,
            out_of_domain: terms.rule,
            person_limit: terms.person,
            number_of_records_is_public: unit.neighbours == Neighbours::ReplaceOneRecord,
            ledger: None,
            not_protected: NOT_PROTECTED.map(str::to_owned).to_vec(),
            schema: schema.to_owned(),
            workload: workload.to_owned(),
        }
    }

    /// Sets the ledger line of the budget's reservation.
    pub(in crate::release) fn reserve(&mut self, ledger: &Path, reservation: &Reservation) {
        let (file, line) = (ledger.display().to_string(), reservation.line());
        self.ledger = Some(LedgerLine { file, line, sha256: reservation.hash().to_owned() });
    }

    /// Returns the text of the workload.
    pub(in crate::release) fn workload(&self) -> &str {
        &self.workload
    }

    /// Returns the heading of a statement.
    pub(in crate::release) fn title(&self) -> String {
        let ledger = match &self.ledger {
            Some(LedgerLine { file, line, sha256 }) => {
                format!(
                    " The budget was reserved in line {line} of the ledger `{file}` (SHA-256 of \
                     the line: {sha256})."
                )
            }
            None => String::new(),
        };
        format!(
            "# Statement of a private release\n\nMade by {} {}.{ledger}",
            self.program, self.version
        )
    }

    /// Returns the facts of a report that all releases have.
    pub(in crate::release) fn facts(&self) -> Vec<Fact> {
        let mut facts = vec![Fact::new("Neighbouring tables", self.unit_in_words.clone())];
        if let Some(LedgerLine { file, line, .. }) = &self.ledger {
            facts.push(Fact::new("Ledger", format!("line {line} of `{file}`")));
        }
        facts
    }

    /// Returns who is protected, and between which tables.
    pub(in crate::release) fn whom(&self) -> String {
        let who = match &self.person_limit {
            None => format!("everybody with at most {} record(s)", self.unit.rows),
            Some(PersonLimit { column, .. }) => {
                format!("everybody, with all records that have the same value of `{column}`")
            }
        };
        let neighbours = match self.unit.neighbours {
            Neighbours::AddOrRemoveOneRecord => "whether or not these records are in the table",
            Neighbours::ReplaceOneRecord => {
                "whatever the values of these records are; the number of records is public and \
                 published without noise"
            }
            Neighbours::ReplaceAddOrRemoveOneRecord => {
                "whatever the values of these records are, inside or outside the schema, and \
                 whether or not they are in the table"
            }
        };
        format!("{who}, {neighbours}")
    }

    /// Returns how records are handled.
    pub(in crate::release) fn records_in_words(&self) -> String {
        let rule = match self.out_of_domain {
            OutOfDomain::Drop => "",
            OutOfDomain::Clamp => {
                " A number outside the range of a numeric attribute is moved to its nearest cell."
            }
        };
        let limit = match &self.person_limit {
            None => String::new(),
            Some(PersonLimit { column, rows }) => {
                format!(
                    " Of the records with the same value of `{column}`, the first {rows} of the \
                     file were kept, and records without a value of `{column}` were dropped."
                )
            }
        };
        format!(
            "**Records.** A value outside the schema is treated as the value that the schema \
             declares for others (`other`); if it declares none, the record is dropped.\
             {rule}{limit} Only the noisy integers were computed from the records; every other \
             output is computed from them or without the records."
        )
    }

    /// Returns the list of what is not protected.
    pub(in crate::release) fn not_protected_in_words(&self) -> String {
        let mut text = "**Not protected:**\n\n".to_owned();
        for what in &self.not_protected {
            let _ = writeln!(text, "- {what}");
        }
        text
    }

    /// Returns the texts of schema and workload.
    pub(in crate::release) fn sources(&self) -> String {
        format!(
            "## Schema\n\n```toml\n{}\n```\n\n## Workload\n\n```toml\n{}\n```",
            self.schema, self.workload
        )
    }
}
