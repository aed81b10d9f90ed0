//! The statement of a release: measurements, guarantee, accuracy, and what is not protected.

use std::fmt::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::integer_plan::IntegerPlan;
use super::ledger::Reservation;
use super::reach::Reach;
use super::rounding::Precision;
use crate::data::{OutOfDomain, PersonLimit};
use crate::error::Result;
use crate::privacy::{Neighbours, PrivacyUnit, Rho, fine_noise};
use crate::schema::Schema;

/// What releases do not protect.
const NOT_PROTECTED: [&str; 6] = [
    "running time and memory, which depend on the records",
    "the sizes of files and the location of the data on the disk, from those who can see them",
    "whether the file of records could be read to its end",
    "the header line of the file of records, which is public",
    "people with more records than the privacy unit allows",
    "the schema and the workload, which must not be made from the records",
];

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

/// The contents of `statement.json`, none of which depends on the records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    program: String,
    version: String,
    /// Name and version of the program that draws the noise.
    noise_library: [String; 2],
    mechanism: String,
    planner: String,
    unit: PrivacyUnit,
    unit_in_words: String,
    /// max over neighbours of Σ k²|B(x − x')|²/(2σ²), rounded up.
    rho: f64,
    rho_reserved: f64,
    /// Whether some neighbours attain ρ; otherwise it is an upper bound.
    rho_is_exact_sum: bool,
    epsilon: f64,
    delta: f64,
    out_of_domain: OutOfDomain,
    /// The column that identifies persons, and the maximum records per person.
    person_limit: Option<PersonLimit>,
    /// Whether the number of records is public: then it is published without noise.
    number_of_records_is_public: bool,
    /// The reservation in the ledger.
    ledger: Option<LedgerLine>,
    queries: String,
    /// √(Σ weight · variance / queries) of the measurements.
    rmse: f64,
    /// Total variance at the plan's shares, planned and with integer strategies.
    planned_variance: f64,
    rounded_variance: f64,
    rounding_excess: f64,
    precision: Option<Precision>,
    intervals: Reach,
    interval_unit: String,
    subspaces: Vec<Subspace>,
    adjusted: Option<String>,
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Subspace {
    attributes: String,
    /// ρ of this measurement alone; the joint ρ is at most the sum.
    rho: f64,
    squared_sensitivity: String,
    sensitivity_is_attained: bool,
    deviation: String,
    answers: usize,
}

/// Formats a number as JSON: the shortest text that reads back as the same double.
pub(crate) fn as_in_json(number: f64) -> String {
    serde_json::to_string(&number).unwrap_or_else(|_| number.to_string())
}

impl Statement {
    /// Returns the statement of a plan; `schema` and `workload` are their texts.
    ///
    /// # Errors
    /// An invalid δ.
    pub fn of(
        plan: &IntegerPlan,
        terms: Terms,
        schema: &str,
        workload: &str,
        adjusted: Option<String>,
    ) -> Result<Self> {
        let unit = plan.unit();
        let rho = plan.cost().rounded_up()?;
        let names = |set| match Schema::names(plan.plan().schema(), set) {
            none if none.is_empty() => "(number of records)".to_owned(),
            names => names,
        };
        let subspaces = plan.measurements().iter().map(|measurement| {
            let strategy = &measurement.strategy;
            let sensitivity = strategy.squared_sensitivity(unit.neighbours);
            Ok(Subspace {
                attributes: names(measurement.attributes),
                rho: measurement.question().cost(unit)?.to_f64_rounded_up(),
                squared_sensitivity: sensitivity.value.to_string(),
                sensitivity_is_attained: sensitivity.exact,
                deviation: measurement.deviation.to_string(),
                answers: strategy.rows(),
            })
        });
        let (planned, rounded) = plan.rounding();
        let queries = plan.plan().queries();
        let [name, version] = [env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")];
        Ok(Statement {
            program: name.to_owned(),
            version: version.to_owned(),
            noise_library: [name, version].map(str::to_owned),
            mechanism: "integer queries on residual subspaces with discrete Gaussian noise from \
                        the operating system"
                .into(),
            planner: plan.plan().planner().to_owned(),
            unit,
            unit_in_words: unit.to_string(),
            rho: rho.get(),
            rho_reserved: terms.rho.get(),
            rho_is_exact_sum: plan.is_attained(),
            epsilon: fine_noise::epsilon_rounded_up(rho, terms.delta)?,
            delta: terms.delta,
            out_of_domain: terms.rule,
            person_limit: terms.person,
            number_of_records_is_public: unit.neighbours == Neighbours::ReplaceOneRecord,
            ledger: None,
            queries: queries.to_string(),
            rmse: plan.plan().rmse(),
            planned_variance: planned,
            rounded_variance: rounded,
            rounding_excess: rounded / planned - 1.0,
            precision: plan.precision(),
            intervals: Reach::of(queries.as_f64()),
            interval_unit: "standard errors".into(),
            subspaces: subspaces.collect::<Result<_>>()?,
            adjusted,
            not_protected: NOT_PROTECTED.map(str::to_owned).to_vec(),
            schema: schema.to_owned(),
            workload: workload.to_owned(),
        })
    }

    /// Adds the ledger line of the budget's reservation.
    #[must_use]
    pub fn reserved(mut self, ledger: &Path, reservation: &Reservation) -> Self {
        let (file, line) = (ledger.display().to_string(), reservation.line());
        self.ledger = Some(LedgerLine { file, line, sha256: reservation.hash().to_owned() });
        self
    }

    /// Sets the description of adjusted answers.
    #[must_use]
    pub fn adjusted(mut self, adjusted: Option<String>) -> Self {
        self.adjusted = adjusted;
        self
    }

    /// Returns the stated (ε, δ), with ε rounded up.
    pub fn epsilon_and_delta(&self) -> (f64, f64) {
        (self.epsilon, self.delta)
    }

    /// Returns the text of the workload.
    pub fn workload(&self) -> &str {
        &self.workload
    }

    /// Returns the statement as JSON.
    ///
    /// # Errors
    /// None for a valid statement.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string_pretty(self)
            .map_err(|e| crate::error::Error::bug("statement", "a text", e))
    }

    /// Returns the statement as Markdown text.
    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        for paragraph in [
            self.title(),
            self.guarantee(),
            self.mechanism_in_words(),
            self.answers_in_words(),
            self.records_in_words(),
        ] {
            let _ = writeln!(text, "{paragraph}\n");
        }
        if let Some(adjusted) = &self.adjusted {
            let _ = writeln!(text, "**Adjusted answers.** {adjusted}\n");
        }
        let _ = writeln!(text, "**Not protected:**\n");
        for what in &self.not_protected {
            let _ = writeln!(text, "- {what}");
        }
        let _ = writeln!(
            text,
            "\n| measured | ρ alone | Δ² | σ | integers |\n|---|---:|---:|---:|---:|"
        );
        for subspace in &self.subspaces {
            let bound = if subspace.sensitivity_is_attained { "" } else { "at most " };
            let (rho, square) = (as_in_json(subspace.rho), &subspace.squared_sensitivity);
            let _ = writeln!(
                text,
                "| {} | {rho} | {bound}{square} | {} | {} |",
                subspace.attributes, subspace.deviation, subspace.answers
            );
        }
        let _ = writeln!(
            text,
            "\n## Schema\n\n```toml\n{}\n```\n\n## Workload\n\n```toml\n{}\n```",
            self.schema, self.workload
        );
        text
    }

    fn title(&self) -> String {
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

    fn guarantee(&self) -> String {
        let is_attained = match self.rho_is_exact_sum {
            true => "recomputed from the integers and attained by some neighbours",
            false => "an upper bound recomputed from the integers",
        };
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
        let (epsilon, delta) = (as_in_json(self.epsilon), as_in_json(self.delta));
        format!(
            "**Guarantee.** ({epsilon}, {delta})-differential privacy for {who}, {neighbours}: \
             ρ = {} of zero-concentrated differential privacy, {is_attained}; {} was reserved.",
            as_in_json(self.rho),
            as_in_json(self.rho_reserved)
        )
    }

    fn mechanism_in_words(&self) -> String {
        let rounding = match self.precision {
            None => "the strategies are integers without rounding".to_owned(),
            Some(precision) => format!(
                "rounding to {} bits (measures: {}) adds a share of {:.1e} to the total variance",
                precision.strategy_bits, precision.measure_bits, self.rounding_excess
            ),
        };
        format!("**Mechanism.** {}, planned by `{}`; {rounding}.", self.mechanism, self.planner)
    }

    fn answers_in_words(&self) -> String {
        format!(
            "**Answers.** {} queries, root mean square error {:.6} (weighted). Estimates are \
             unbiased and standard errors are exact. Intervals extend {:.4} standard errors to \
             each side for one query and {:.4} for all queries together. Either kind misses with \
             a probability of at most 5 %: a bound for the discrete noise itself, not for a \
             normal distribution.",
            self.queries, self.rmse, self.intervals.single, self.intervals.simultaneous
        )
    }

    fn records_in_words(&self) -> String {
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
}
