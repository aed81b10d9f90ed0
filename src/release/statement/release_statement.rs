//! The statement of a release: the sections of every release, and where those of a mechanism are.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::decimals::shortest;
use crate::data::{OutOfDomain, PersonLimit, ValuesOutside};
use crate::error::{Error, Result};
use crate::privacy::{Neighbours, PrivacyUnit, Rho};
use crate::release::document::{Block, Line, code, strong, text, to_markdown};
use crate::release::ledger::Reservation;
use crate::release::query_words::condition_in_words;
use crate::release::release_data::ReleaseData;
use crate::release::report::Fact;
use crate::schema::Schema;

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

/// What the statement of a mechanism has besides what every statement has.
pub trait Sections {
    /// Returns ε of the reserved ρ, rounded up.
    fn epsilon(&self) -> f64;

    /// Returns the most important facts, with those of every release among them.
    ///
    /// `budget` is ε, δ and the reserved ρ, as texts.
    fn facts(&self, budget: [String; 3], of_every_release: Vec<Fact>) -> Vec<Fact>;

    /// Returns the cost, as the end of the sentence of the guarantee.
    fn cost_in_words(&self, rho_reserved: f64) -> String;

    /// Returns how the answers were made.
    fn mechanism_in_words(&self) -> Line;

    /// Returns the errors of the answers.
    fn answers_in_words(&self) -> Line;

    /// Returns what is published, as the object of a sentence.
    fn published_in_words(&self) -> String;

    /// Returns how exact the answers are, as a sentence for readers without a technical background.
    fn exactness_in_words(&self) -> Line;

    /// Returns the description of what was computed from the answers, if anything was.
    fn derived_in_words(&self) -> Option<Line>;

    /// Returns the columns of the table of measurements, with whether they are numbers, and its
    /// rows.
    fn measurements(&self) -> (Vec<(&'static str, bool)>, Vec<Vec<Line>>);
}

/// The contents of `statement.json`: what every release states, and the sections of its mechanism.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReleaseStatement<S> {
    program: String,
    version: String,
    /// Name and version of the program that draws the noise.
    noise_library: [String; 2],
    unit: PrivacyUnit,
    unit_in_words: String,
    rho_reserved: f64,
    delta: f64,
    out_of_domain: OutOfDomain,
    /// Whether an engine counted the marginals, and no record was read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    counted_by_engine: bool,
    /// What happens to missing values and values outside every attribute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    values_outside: Vec<ValuesOutside>,
    /// The column that identifies persons, and the maximum records per person.
    person_limit: Option<PersonLimit>,
    /// Whether the number of records is public: then it is published without noise.
    number_of_records_is_public: bool,
    /// The reservation in the ledger.
    ledger: Option<LedgerLine>,
    not_protected: Vec<String>,
    /// The counts that the schema declares public.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    public_counts: Vec<PublicCount>,
    /// The conditions that no record meets, as the schema declares.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    impossible: Vec<String>,
    schema: String,
    workload: String,
    #[serde(flatten)]
    pub(in crate::release) sections: S,
}

/// A number of records that is published without noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct PublicCount {
    /// The condition of the records in words; empty for all records.
    records: String,
    /// The number, once the records were read.
    count: Option<u64>,
}

impl PublicCount {
    fn in_words(&self) -> String {
        match self.records.as_str() {
            "" => "the number of records".to_owned(),
            records => format!("the number of records with {records}"),
        }
    }
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

impl<S> ReleaseStatement<S> {
    /// Returns the statement of a release; `schema_text` and `workload` are texts.
    pub(in crate::release) fn new(
        unit: PrivacyUnit,
        terms: Terms,
        schema: &Schema,
        [schema_text, workload]: [&str; 2],
        sections: S,
    ) -> Self {
        let [name, version] = [env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")];
        ReleaseStatement {
            program: name.to_owned(),
            version: version.to_owned(),
            noise_library: [name, version].map(str::to_owned),
            unit,
            unit_in_words: unit.to_string(),
            rho_reserved: terms.rho.get(),
            delta: terms.delta,
            out_of_domain: terms.rule,
            counted_by_engine: false,
            values_outside: ValuesOutside::of(schema, terms.rule),
            not_protected: {
                let more = terms.person.is_none().then_some(MORE_RECORDS);
                NOT_PROTECTED.into_iter().chain(more).map(str::to_owned).collect()
            },
            person_limit: terms.person,
            number_of_records_is_public: unit.neighbours == Neighbours::ReplaceOneRecord,
            ledger: None,
            public_counts: {
                let boxes = schema.public_counts().iter();
                let count =
                    |cells| PublicCount { records: condition_in_words(schema, cells), count: None };
                boxes.map(count).collect()
            },
            impossible: {
                let boxes = schema.impossible().iter();
                boxes.map(|cells| condition_in_words(schema, cells)).collect()
            },
            schema: schema_text.to_owned(),
            workload: workload.to_owned(),
            sections,
        }
    }

    /// Adds the ledger line of the budget's reservation.
    #[must_use]
    pub fn reserved(mut self, ledger: &Path, reservation: &Reservation) -> Self {
        let (file, line) = (ledger.display().to_string(), reservation.line());
        self.ledger = Some(LedgerLine { file, line, sha256: reservation.hash().to_owned() });
        self
    }

    /// States where the marginals of a release were counted.
    #[must_use]
    pub(in crate::release) fn counted_from(mut self, data: &ReleaseData) -> Self {
        self.counted_by_engine = matches!(data, ReleaseData::Counts { .. });
        self
    }

    /// Adds the numbers of the public counts.
    #[must_use]
    pub fn with_public_counts(mut self, counts: &[u64]) -> Self {
        let public = self.public_counts.iter_mut().zip(counts);
        public.for_each(|(public, count)| public.count = Some(*count));
        self
    }

    /// Returns the privacy unit.
    pub fn unit(&self) -> PrivacyUnit {
        self.unit
    }

    /// Returns the ρ reserved in the ledger.
    pub fn rho_reserved(&self) -> f64 {
        self.rho_reserved
    }

    /// Returns what happens to missing values and values outside every attribute.
    pub fn values_outside(&self) -> &[ValuesOutside] {
        &self.values_outside
    }

    /// Returns δ.
    pub(super) fn delta(&self) -> f64 {
        self.delta
    }

    /// Returns the column that identifies persons, if there is one.
    pub(super) fn person_column(&self) -> Option<&str> {
        self.person_limit.as_ref().map(|limit| limit.column.as_str())
    }

    /// Returns whether counts are published without noise.
    pub(super) fn has_public_counts(&self) -> bool {
        !self.public_counts.is_empty() || self.number_of_records_is_public
    }

    /// Returns the text of the workload.
    pub fn workload(&self) -> &str {
        &self.workload
    }
}

impl<S: Sections + Serialize> ReleaseStatement<S> {
    /// Returns the stated (ε, δ), with ε rounded up.
    pub fn epsilon_and_delta(&self) -> (f64, f64) {
        (self.sections.epsilon(), self.delta)
    }

    /// Returns the most important facts for a report.
    pub(in crate::release) fn facts(&self) -> Vec<Fact> {
        let mut facts = vec![Fact::new("Neighbouring tables", self.unit_in_words.clone())];
        if let Some(LedgerLine { file, line, .. }) = &self.ledger {
            facts.push(Fact::new("Ledger", [text(format!("line {line} of ")), code(file)]));
        }
        let budget = [self.sections.epsilon(), self.delta, self.rho_reserved].map(shortest);
        self.sections.facts(budget, facts)
    }

    /// Returns the statement as JSON.
    ///
    /// # Errors
    /// None for a valid statement.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string_pretty(self).map_err(|e| Error::bug("statement", "a text", e))
    }

    /// Returns the statement as Markdown.
    pub fn to_markdown(&self) -> String {
        to_markdown(&self.blocks())
    }

    /// Returns the statement as a document.
    pub fn blocks(&self) -> Vec<Block> {
        let lines = [
            self.made_by(),
            self.guarantee(),
            self.sections.mechanism_in_words(),
            self.sections.answers_in_words(),
            self.records_in_words(),
        ];
        let not_protected = self.not_protected.iter().map(|what| what.as_str().into()).collect();
        let (columns, rows) = self.sections.measurements();
        let columns = columns.into_iter().map(|(name, is_number)| (name.to_owned(), is_number));
        let file = |text: &str| Block::Code { language: "toml", text: text.to_owned() };
        let mut blocks = vec![Block::Title("Statement of a private release".into())];
        blocks.extend(
            lines.into_iter().chain(self.sections.derived_in_words()).map(Block::Paragraph),
        );
        if !self.values_outside.is_empty() {
            let handled = |outside: &ValuesOutside| -> Line {
                [code(&outside.attribute), text(format!(": {}", outside.handling))].into()
            };
            blocks.extend([
                Block::Paragraph([strong("Values outside the schema:")].into()),
                Block::List(self.values_outside.iter().map(handled).collect()),
            ]);
        }
        blocks.extend([
            Block::Paragraph([strong("Not protected:")].into()),
            Block::List(not_protected),
            Block::Table { columns: columns.collect(), rows },
            Block::Heading("Schema".into()),
            file(&self.schema),
            Block::Heading("Workload".into()),
            file(&self.workload),
        ]);
        blocks
    }

    /// Returns which program made the release, and where its budget was reserved.
    fn made_by(&self) -> Line {
        let mut made: Line = format!("Made by {} {}.", self.program, self.version).into();
        if let Some(LedgerLine { file, line, sha256 }) = &self.ledger {
            made.extend([
                text(format!(" The budget was reserved in line {line} of the ledger ")),
                code(file),
                text(format!(" (SHA-256 of the line: {sha256}).")),
            ]);
        }
        made
    }

    /// Returns (ε, δ), who is protected, between which tables, and the cost.
    fn guarantee(&self) -> Line {
        let (epsilon, delta) = (shortest(self.sections.epsilon()), shortest(self.delta));
        let mut line: Line = [
            strong("Guarantee."),
            text(" "),
            text(format!("({epsilon}, {delta})-differential privacy for ")),
        ]
        .into();
        match &self.person_limit {
            None => {
                line.extend([text(format!("everybody with at most {} record(s)", self.unit.rows))]);
            }
            Some(PersonLimit { column, .. }) => line.extend([
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
        let cost = self.sections.cost_in_words(self.rho_reserved);
        line.extend([text(format!(", {neighbours}")), text(format!(": {cost}."))]);
        if !self.public_counts.is_empty() {
            let counts = self.public_counts.iter().map(|public| match public.count {
                Some(count) => format!("{} ({count})", public.in_words()),
                None => public.in_words(),
            });
            line.extend([text(format!(
                " Outside this guarantee, and published without noise: {}. The guarantee is for \
                 tables that agree in these counts.",
                counts.collect::<Vec<_>>().join("; ")
            ))]);
        }
        line
    }

    /// Returns how records are handled.
    fn records_in_words(&self) -> Line {
        let mut line: Line = [strong("Records.")].into();
        if self.counted_by_engine {
            line.extend([text(
                " An engine counted the marginals, and this program read no records. These are \
                 the rules of its statements.",
            )]);
        }
        line.extend([
            text(
                " A value outside the schema is treated as the value that the schema declares for \
                  others (",
            ),
            code("other"),
            text("); if it declares none, the record is dropped."),
        ]);
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
        for condition in &self.impossible {
            line.extend([text(format!(
                " No record is supposed to have {condition}: where these attributes were measured \
                 together, the estimates of such records are 0."
            ))]);
        }
        line.extend([text(match self.public_counts.as_slice() {
            [] => {
                " Only the noisy integers were computed from the records; every other output is \
                 computed from them or without the records."
            }
            _ => {
                " Only the noisy integers and the public counts were computed from the records; \
                 every other output is computed from them or without the records."
            }
        })]);
        line
    }
}
