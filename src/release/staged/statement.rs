//! The statement of a staged release: every question of every stage, its cost, and the guarantee.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::plan::StagedPlan;
use crate::access::IntegerQuestion;
use crate::error::{Error, Result};
use crate::mechanism::Staged;
use crate::privacy::{ExactRho, PrivacyUnit, fine_noise};
use crate::release::document::{Block, Line, code, strong, text, to_markdown};
use crate::release::integer_plan::IntegerMeasurement;
use crate::release::ledger::Reservation;
use crate::release::measurements::strategies::MeasuredList;
use crate::release::records::SyntheticRecords;
use crate::release::report::Fact;
use crate::release::statement::{Protection, Terms, at_most, shortest};
use crate::schema::Schema;

/// The contents of `statement.json` of a staged release.
///
/// Before the first stage it has no questions; nothing else in it depends on the records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StagedStatement {
    #[serde(flatten)]
    pub(super) protection: Protection,
    mechanism: String,
    settings: Staged,
    /// The share of ρ for the certificate of the error.
    certificate_share: f64,
    /// The ρ that no sequence of questions exceeds: the reserved one.
    rho: f64,
    epsilon: f64,
    queries: String,
    /// Σ of the costs of all questions, rounded up.
    pub(super) rho_of_questions: f64,
    pub(super) stages: Vec<Stage>,
    pub(super) certificate: Option<CertificateStatement>,
    synthetic: Option<SyntheticRecords>,
}

/// A stage with its questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Stage {
    /// The joint ρ of its questions, rounded up.
    rho: f64,
    /// Whether some neighbours attain ρ; otherwise it is an upper bound.
    rho_is_exact_sum: bool,
    questions: Vec<Question>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Question {
    attributes: String,
    /// ρ of this question alone; the joint ρ is at most the sum.
    rho: f64,
    squared_sensitivity: String,
    deviation: String,
    answers: usize,
}

/// The certificate of the error in a statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CertificateStatement {
    /// ρ of the distances and their sum, rounded up.
    pub(super) rho: f64,
    pub(super) marginals: usize,
    /// Published numbers are multiples of 2^−bits.
    pub(super) bits: u32,
    pub(super) deviation: String,
    pub(super) deviation_of_sum: String,
    /// 95 % upper bounds of the mean L1 error of the marginals: in records, and per record.
    pub(super) mean_error_bound_95: f64,
    pub(super) mean_error_bound_95_per_record: Option<f64>,
    /// The largest of the bounds that hold for all marginals together at 95 %.
    pub(super) largest_error_bound_95_of_all: f64,
}

impl StagedStatement {
    /// Returns the statement before the first stage; `schema` and `workload` are their texts.
    ///
    /// # Errors
    /// An invalid δ.
    pub fn of(
        plan: &StagedPlan,
        terms: Terms,
        queries: String,
        schema: &str,
        workload: &str,
    ) -> Result<Self> {
        Ok(StagedStatement {
            mechanism: "staged integer residuals with discrete Gaussian noise from the operating \
                        system"
                .into(),
            settings: plan.settings(),
            certificate_share: plan.certificate_share(),
            rho: terms.rho.get(),
            epsilon: fine_noise::epsilon_rounded_up(terms.rho, terms.delta)?,
            queries,
            rho_of_questions: 0.0,
            stages: Vec::new(),
            certificate: None,
            synthetic: None,
            protection: Protection::of(plan.unit(), terms, schema, workload),
        })
    }

    /// Adds the ledger line of the budget's reservation.
    #[must_use]
    pub fn reserved(mut self, ledger: &Path, reservation: &Reservation) -> Self {
        self.protection.reserve(ledger, reservation);
        self
    }

    /// Adds synthetic records.
    #[must_use]
    pub fn with_records(mut self, records: Option<SyntheticRecords>) -> Self {
        self.synthetic = records;
        self
    }

    /// Returns the synthetic records, if there are any.
    pub fn synthetic(&self) -> Option<&SyntheticRecords> {
        self.synthetic.as_ref()
    }

    /// Returns the most important facts.
    pub fn facts(&self) -> Vec<Fact> {
        let (epsilon, delta) = self.epsilon_and_delta();
        let budget = format!("({}, {})", shortest(epsilon), shortest(delta));
        let mut facts = vec![
            Fact::new("Differential privacy (ε, δ)", budget),
            Fact::new("Concentrated differential privacy ρ", shortest(self.rho)),
        ];
        if let Some(certificate) = &self.certificate {
            let bound = format!(
                "at most {} records, with a probability of at least 95 %",
                at_most(certificate.mean_error_bound_95, 1)
            );
            facts.push(Fact::new("Mean L1 error of a marginal", bound));
        }
        facts.extend(self.protection.facts());
        facts
    }

    /// Returns the part that all releases have.
    pub(in crate::release) fn protection(&self) -> &Protection {
        &self.protection
    }

    /// Returns the settings of the mechanism.
    pub fn settings(&self) -> Staged {
        self.settings
    }

    /// Returns the share of ρ for the certificate.
    pub fn certificate_share(&self) -> f64 {
        self.certificate_share
    }

    /// Returns the stated (ε, δ), with ε rounded up.
    pub fn epsilon_and_delta(&self) -> (f64, f64) {
        (self.epsilon, self.protection.delta)
    }

    /// Returns the text of the workload.
    pub fn workload(&self) -> &str {
        self.protection.workload()
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
        let mut blocks = self.protection.title();
        blocks.push(Block::Paragraph(self.guarantee()));
        blocks.push(Block::Paragraph(self.mechanism_in_words()));
        blocks.push(Block::Paragraph(self.answers_in_words()));
        blocks.push(Block::Paragraph(self.protection.records_in_words()));
        blocks.extend(self.synthetic.as_ref().map(|records| Block::Paragraph(records.in_words())));
        blocks.extend(self.protection.not_protected_in_words());
        let columns = [
            ("stage", true),
            ("measured", false),
            ("ρ alone", true),
            ("Δ²", true),
            ("σ", true),
            ("integers", true),
        ];
        let rows = self.stages.iter().enumerate().flat_map(|(stage, Stage { questions, .. })| {
            questions.iter().map(move |question| {
                let Question { attributes, squared_sensitivity, deviation, answers, .. } = question;
                vec![
                    stage.to_string().into(),
                    attributes.as_str().into(),
                    shortest(question.rho).into(),
                    squared_sensitivity.as_str().into(),
                    deviation.as_str().into(),
                    answers.to_string().into(),
                ]
            })
        });
        blocks.push(Block::Table {
            columns: columns.map(|(name, is_number)| (name.to_owned(), is_number)).to_vec(),
            rows: rows.collect(),
        });
        blocks.extend(self.protection.sources());
        blocks
    }

    fn guarantee(&self) -> Line {
        let stages: Vec<String> = self.stages.iter().map(|stage| shortest(stage.rho)).collect();
        let certificate = match &self.certificate {
            Some(certificate) => {
                format!(", and the certificate costs {}", shortest(certificate.rho))
            }
            None => String::new(),
        };
        let mut line: Line = [strong("Guarantee."), text(" ")].into();
        line.extend(self.protection.guarantee(self.epsilon));
        line.extend([text(format!(
            ": ρ = {} of zero-concentrated differential privacy. Questions of later stages depend \
             on earlier answers; whatever these are, the sum of all costs, recomputed from the \
             integers, is at most ρ. In this release the stages cost {}{certificate}, together {}.",
            shortest(self.rho),
            stages.join(", "),
            shortest(self.rho_of_questions),
        ))]);
        line
    }

    fn mechanism_in_words(&self) -> Line {
        [
            strong("Mechanism."),
            text(format!(
                " {}: {} stages; each after the first is planned from earlier noisy integers.",
                self.mechanism,
                self.stages.len()
            )),
        ]
        .into()
    }

    fn answers_in_words(&self) -> Line {
        let mut line: Line = [
            strong("Answers."),
            text(format!(
                " {} queries. Estimates can be biased, and their errors depend on the records: \
                 there are no standard errors. ",
                self.queries
            )),
        ]
        .into();
        match &self.certificate {
            None => line.extend([text("There is no certificate of their errors.")]),
            Some(certificate) => {
                let per_record = match certificate.mean_error_bound_95_per_record {
                    Some(bound) => format!(", {} per record", at_most(bound, 6)),
                    None => String::new(),
                };
                line.extend([
                    code("error_bound_95"),
                    text(format!(
                        " bounds the absolute error of the answer, in the unit of the answer: it \
                         is the largest absolute weight of the query times a bound on the sum of \
                         the absolute errors of all cells of the query's marginal. Each bound \
                         holds for its marginal alone with a probability of at least 95 %: for \
                         the discrete noise itself, after rounding. The mean of these sums over \
                         the {} marginals of the workload is at most {} records{per_record} (each \
                         at 95 %). All marginals together have sums of at most {} records at 95 %.",
                        certificate.marginals,
                        at_most(certificate.mean_error_bound_95, 6),
                        at_most(certificate.largest_error_bound_95_of_all, 6),
                    )),
                ]);
            }
        }
        line.extend([text(
            " Extrapolated answers are on sets of attributes that no marginal of the workload \
             contains; they have no bound.",
        )]);
        line
    }
}

impl Stage {
    /// Returns a stage and its exact joint cost.
    pub(super) fn of(
        schema: &Schema,
        list: &MeasuredList,
        unit: PrivacyUnit,
    ) -> Result<(Self, ExactRho)> {
        let questions: Vec<IntegerQuestion<'_>> = list.iter().map(|(m, _)| m.question()).collect();
        let joint = IntegerQuestion::joint_cost(&questions, unit)?;
        let question = |(measurement, noisy): &(IntegerMeasurement, Vec<i128>)| {
            let attributes = match schema.names(measurement.attributes) {
                none if none.is_empty() => "(number of records)".to_owned(),
                names => names,
            };
            let sensitivity = measurement.strategy.squared_sensitivity(unit.neighbours);
            Ok(Question {
                attributes,
                rho: measurement.question().cost(unit)?.to_f64_rounded_up(),
                squared_sensitivity: sensitivity.value.to_string(),
                deviation: measurement.deviation.to_string(),
                answers: noisy.len(),
            })
        };
        let stage = Stage {
            rho: joint.rho.to_f64_rounded_up(),
            rho_is_exact_sum: joint.is_attained,
            questions: list.iter().map(question).collect::<Result<_>>()?,
        };
        Ok((stage, joint.rho))
    }
}
