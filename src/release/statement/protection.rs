//! Whom a release protects, under which rules, and what is not protected.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::decimals::shortest;
use super::terms::Terms;
use crate::data::{OutOfDomain, PersonLimit};
use crate::privacy::{Neighbours, PrivacyUnit};
use crate::release::document::{Block, Line, Part, code, strong, text};
use crate::release::ledger::Reservation;
use crate::release::report::Fact;

/// What releases do not protect.
const NOT_PROTECTED: [&str; 6] = [
    "running time and memory, which depend on the records",
    "the sizes of files and the location of the data on the disk, from those who can see them",
    "whether the file of records could be read to its end",
    "the header line of the file of records, which is public",
    "the schema and the workload, which must not be made from the records",
    "people who are in other releases: the costs of all releases about a person add up, and only \
     those in the same ledger are counted",
];

/// What a release without a limit per person does not protect either.
const MORE_RECORDS: &str = "people with more records than the privacy unit allows";

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
            not_protected: {
                let more = terms.person.is_none().then_some(MORE_RECORDS);
                NOT_PROTECTED.into_iter().chain(more).map(str::to_owned).collect()
            },
            person_limit: terms.person,
            number_of_records_is_public: unit.neighbours == Neighbours::ReplaceOneRecord,
            ledger: None,
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

    /// Returns the title of a statement, and where it comes from.
    pub(in crate::release) fn title(&self) -> Vec<Block> {
        let mut made: Line = format!("Made by {} {}.", self.program, self.version).into();
        if let Some(LedgerLine { file, line, sha256 }) = &self.ledger {
            made.extend([
                text(format!(" The budget was reserved in line {line} of the ledger ")),
                code(file),
                text(format!(" (SHA-256 of the line: {sha256}).")),
            ]);
        }
        vec![Block::Title("Statement of a private release".into()), Block::Paragraph(made)]
    }

    /// Returns the facts of a report that all releases have.
    pub(in crate::release) fn facts(&self) -> Vec<Fact> {
        let mut facts = vec![Fact::new("Neighbouring tables", self.unit_in_words.clone())];
        if let Some(LedgerLine { file, line, .. }) = &self.ledger {
            facts.push(Fact::new("Ledger", [text(format!("line {line} of ")), code(file)]));
        }
        facts
    }

    /// Returns (ε, δ), who is protected, and between which tables.
    pub(in crate::release) fn guarantee(&self, epsilon: f64) -> Vec<Part> {
        let (epsilon, delta) = (shortest(epsilon), shortest(self.delta));
        let mut parts = vec![text(format!("({epsilon}, {delta})-differential privacy for "))];
        match &self.person_limit {
            None => {
                parts.push(text(format!("everybody with at most {} record(s)", self.unit.rows)));
            }
            Some(PersonLimit { column, .. }) => parts.extend([
                text("everybody, with all records that have the same value of "),
                code(column),
            ]),
        }
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
        parts.push(text(format!(", {neighbours}")));
        parts
    }

    /// Returns how records are handled.
    pub(in crate::release) fn records_in_words(&self) -> Line {
        let mut line: Line = [
            strong("Records."),
            text(
                " A value outside the schema is treated as the value that the schema declares for \
                  others (",
            ),
            code("other"),
            text("); if it declares none, the record is dropped."),
        ]
        .into();
        if self.out_of_domain == OutOfDomain::Clamp {
            line.extend([text(
                " A number outside the range of a numeric attribute is moved to its nearest cell.",
            )]);
        }
        if let Some(PersonLimit { column, rows }) = &self.person_limit {
            line.extend([
                text(" Of the records with the same value of "),
                code(column),
                text(format!(
                    ", the first {rows} of the table were kept, and records without a \
                              value of "
                )),
                code(column),
                text(" were dropped."),
            ]);
        }
        line.extend([text(
            " Only the noisy integers were computed from the records; every other output is \
             computed from them or without the records.",
        )]);
        line
    }

    /// Returns the list of what is not protected.
    pub(in crate::release) fn not_protected_in_words(&self) -> Vec<Block> {
        let items = self.not_protected.iter().map(|what| what.as_str().into()).collect();
        vec![Block::Paragraph([strong("Not protected:")].into()), Block::List(items)]
    }

    /// Returns the texts of schema and workload.
    pub(in crate::release) fn sources(&self) -> Vec<Block> {
        let file = |text: &str| Block::Code { language: "toml", text: text.to_owned() };
        vec![
            Block::Heading("Schema".into()),
            file(&self.schema),
            Block::Heading("Workload".into()),
            file(&self.workload),
        ]
    }
}
