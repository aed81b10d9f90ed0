//! The statement of a staged release: every question of every stage, its cost, and the guarantee.

use serde::{Deserialize, Serialize};

use super::certificate::BoundSummary;
use super::plan::StagedPlan;
use crate::access::IntegerQuestion;
use crate::counted::counted;
use crate::error::Result;
use crate::mechanism::Staged;
use crate::privacy::{ExactRho, Neighbours, PrivacyUnit, fine_noise};
use crate::release::document::{Line, code, strong, text};
use crate::release::integer_plan::IntegerMeasurement;
use crate::release::measurements::strategies::MeasuredList;
use crate::release::records::SyntheticRecords;
use crate::release::report::Fact;
use crate::release::statement::{
    COLUMNS, MeasuredRow, ReleaseStatement, Sections, Terms, at_most, shortest,
};
use crate::schema::LevelSchema;

/// The statement of a staged release.
///
/// Before the first stage it has no questions; nothing else in it depends on the records.
pub type StagedStatement = ReleaseStatement<StagedSections>;

/// The sections of a staged release in `statement.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StagedSections {
    mechanism: String,
    pub(super) settings: Staged,
    /// The share of ρ for the certificate of the error.
    pub(super) certificate_share: f64,
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
    questions: Vec<MeasuredRow>,
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
    #[serde(flatten)]
    pub(super) bounds: BoundSummary,
}

impl ReleaseStatement<StagedSections> {
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
        let sections = StagedSections {
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
        };
        Ok(ReleaseStatement::new(plan.unit(), terms, plan.schema(), [schema, workload], sections))
    }

    /// Adds synthetic records.
    #[must_use]
    pub fn with_records(mut self, records: Option<SyntheticRecords>) -> Self {
        self.sections.synthetic = records;
        self
    }

    /// Returns the synthetic records, if there are any.
    pub fn synthetic(&self) -> Option<&SyntheticRecords> {
        self.sections.synthetic.as_ref()
    }
}

impl Sections for StagedSections {
    fn epsilon(&self) -> f64 {
        self.epsilon
    }

    fn facts(&self, [epsilon, delta, rho]: [String; 3], of_every_release: Vec<Fact>) -> Vec<Fact> {
        let mut facts = vec![
            Fact::new("Differential privacy (ε, δ)", format!("({epsilon}, {delta})")),
            Fact::new("Concentrated differential privacy ρ", rho),
        ];
        if let Some(certificate) = &self.certificate {
            let bound = format!(
                "at most {} records, with a probability of at least 95 %",
                at_most(certificate.bounds.mean_error_bound_95, 1)
            );
            facts.push(Fact::new("Mean L1 error of a marginal", bound));
        }
        facts.extend(of_every_release);
        facts
    }

    fn cost_in_words(&self, rho_reserved: f64) -> String {
        let stages: Vec<String> = self.stages.iter().map(|stage| shortest(stage.rho)).collect();
        let certificate = match &self.certificate {
            Some(certificate) => {
                format!(", and the certificate costs {}", shortest(certificate.rho))
            }
            None => String::new(),
        };
        format!(
            "ρ = {} of zero-concentrated differential privacy. Questions of later stages depend \
             on earlier answers; whatever these are, the sum of all costs, recomputed from the \
             integers, is at most ρ. In this release the stages cost {}{certificate}, together {}",
            shortest(rho_reserved),
            stages.join(", "),
            shortest(self.rho_of_questions),
        )
    }

    fn mechanism_in_words(&self) -> Line {
        [
            strong("Mechanism."),
            text(format!(
                " {}: {}; each after the first is planned from earlier noisy integers.",
                self.mechanism,
                counted(self.stages.len(), ["stage", "stages"])
            )),
        ]
        .into()
    }

    fn answers_in_words(&self) -> Line {
        let mut line: Line = [
            strong("Answers."),
            text(format!(
                " {}. Estimates can be biased, and their errors depend on the records: \
                 there are no standard errors. ",
                counted(&self.queries, ["query", "queries"])
            )),
        ]
        .into();
        match &self.certificate {
            None => line.extend([text("There is no certificate of their errors.")]),
            Some(certificate) => {
                let per_record = match certificate.bounds.mean_error_bound_95_per_record {
                    Some(bound) => format!(", {} per record", at_most(bound, 6)),
                    None => String::new(),
                };
                line.extend([
                    code("error_bound_95"),
                    text(format!(
                        " bounds the absolute error of the answer, in the unit of the answer. It \
                         is computed from the smallest and the largest weight of the query and two \
                         bounds for its marginal: on the sum of the absolute errors of all cells, \
                         and on the error of their total. For a count it is half of the sum of both. \
                         The bounds of a marginal hold with a probability of at least 95 %: for the \
                         discrete noise itself, after rounding. The absolute errors of the cells of \
                         a marginal add up to at most {} records{per_record}, on average over the \
                         {} of the workload (each at 95 %), and to at most {} records for all \
                         marginals together (95 %).",
                        at_most(certificate.bounds.mean_error_bound_95, 6),
                        counted(certificate.marginals, ["marginal", "marginals"]),
                        at_most(certificate.bounds.largest_error_bound_95_of_all, 6),
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

    fn published_in_words(&self) -> String {
        format!("estimated answers to {}", counted(&self.queries, ["query", "queries"]))
    }

    fn exactness_in_words(&self) -> Line {
        match &self.certificate {
            None => "The errors of the answers depend on the records and have no bound.".into(),
            Some(certificate) => format!(
                "With a probability of at least 95 %, the absolute errors of a marginal add up to \
                 at most {} records on average over the marginals, and every answer on them has an \
                 error bound.",
                at_most(certificate.bounds.mean_error_bound_95, 1)
            )
            .into(),
        }
    }

    fn derived_in_words(&self) -> Option<Line> {
        self.synthetic.as_ref().map(SyntheticRecords::in_words)
    }

    fn measurements(&self) -> (Vec<(&'static str, bool)>, Vec<Vec<Line>>) {
        let row = |stage: usize, question: &MeasuredRow| {
            [vec![stage.to_string().into()], question.cells()].concat()
        };
        let rows = self.stages.iter().enumerate().flat_map(|(stage, Stage { questions, .. })| {
            questions.iter().map(move |question| row(stage, question))
        });
        ([&[("stage", true)], COLUMNS.as_slice()].concat(), rows.collect())
    }
}

impl Stage {
    /// Returns a stage and its exact joint cost.
    ///
    /// For replaced records the cost is the largest over pairs of cells of the attributes and levels,
    /// of which some belong to no pair of records: then it is an upper bound.
    pub(super) fn of(
        domain: &LevelSchema,
        list: &MeasuredList,
        unit: PrivacyUnit,
    ) -> Result<(Self, ExactRho)> {
        let questions: Vec<IntegerQuestion<'_>> = list.iter().map(|(m, _)| m.question()).collect();
        let joint = IntegerQuestion::joint_cost(&questions, unit)?;
        let question = |(measurement, _): &(IntegerMeasurement, Vec<i128>)| {
            MeasuredRow::of(domain.schema(), measurement, unit).map(MeasuredRow::without_attainment)
        };
        let stage = Stage {
            rho: joint.rho.to_f64_rounded_up(),
            rho_is_exact_sum: joint.is_attained
                && (!domain.has_levels() || unit.neighbours == Neighbours::AddOrRemoveOneRecord),
            questions: list.iter().map(question).collect::<Result<_>>()?,
        };
        Ok((stage, joint.rho))
    }
}
