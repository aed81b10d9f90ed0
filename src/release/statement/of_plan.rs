//! The statement of a release of a data-independent plan.

use serde::{Deserialize, Serialize};

use super::decimals::{at_most, in_digits, shortest};
use super::measured_row::{COLUMNS, MeasuredRow};
use super::release_statement::{ReleaseStatement, Sections, Terms};
use crate::counted::counted;
use crate::error::Result;
use crate::planner::ObjectiveSummary;
use crate::privacy::fine_noise;
use crate::release::document::{Line, code, strong, text};
use crate::release::integer_plan::IntegerPlan;
use crate::release::reach::Reach;
use crate::release::report::Fact;
use crate::release::rounding::Precision;

/// The statement of a release of a plan, none of which depends on the records.
pub type Statement = ReleaseStatement<PlanSections>;

/// The sections of a release of a plan in `statement.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanSections {
    mechanism: String,
    planner: String,
    /// max over neighbours of Σ k²|B(x − x')|²/(2σ²), rounded up.
    rho: f64,
    /// Whether some neighbours attain ρ; otherwise it is an upper bound.
    rho_is_exact_sum: bool,
    /// ε of the reserved ρ, rounded up.
    epsilon: f64,
    queries: String,
    /// √(Σ weight · variance / queries) of the measurements.
    rmse: f64,
    /// The value of another objective than the mean, in mean square errors of the measurements.
    #[serde(flatten)]
    objective: Option<ObjectiveSummary>,
    /// Total variance at the plan's shares, planned and with integer strategies.
    planned_variance: f64,
    rounded_variance: f64,
    rounding_excess: f64,
    precision: Option<Precision>,
    intervals: Reach,
    interval_unit: String,
    subspaces: Vec<MeasuredRow>,
    adjusted: Option<String>,
}

impl ReleaseStatement<PlanSections> {
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
        let (planned, rounded) = plan.rounding();
        let queries = plan.plan().queries();
        let row = |measurement| MeasuredRow::of(plan.plan().schema(), measurement, unit);
        let sections = PlanSections {
            mechanism: "integer queries on residual subspaces with discrete Gaussian noise from \
                        the operating system"
                .into(),
            planner: plan.plan().planner().to_owned(),
            rho: plan.cost().rounded_up()?.get(),
            rho_is_exact_sum: plan.is_attained(),
            epsilon: fine_noise::epsilon_rounded_up(terms.rho, terms.delta)?,
            queries: queries.to_string(),
            rmse: plan.plan().rmse(),
            objective: ObjectiveSummary::of(plan.plan()),
            planned_variance: planned,
            rounded_variance: rounded,
            rounding_excess: rounded / planned - 1.0,
            precision: plan.precision(),
            intervals: Reach::of(queries.as_f64()),
            interval_unit: "standard errors".into(),
            subspaces: plan.measurements().iter().map(row).collect::<Result<_>>()?,
            adjusted,
        };
        let texts = [schema, workload];
        Ok(ReleaseStatement::new(unit, terms, plan.plan().schema(), texts, sections))
    }

    /// Sets the description of adjusted answers.
    #[must_use]
    pub fn adjusted(mut self, adjusted: Option<String>) -> Self {
        self.sections.adjusted = adjusted;
        self
    }

    /// Returns whether adjusted answers were written.
    pub(in crate::release) fn is_adjusted(&self) -> bool {
        self.sections.adjusted.is_some()
    }
}

impl Sections for PlanSections {
    fn epsilon(&self) -> f64 {
        self.epsilon
    }

    fn facts(&self, [epsilon, delta, rho]: [String; 3], of_every_release: Vec<Fact>) -> Vec<Fact> {
        let mut facts = vec![
            Fact::new("Differential privacy", format!("ε = {epsilon} at δ = {delta}")),
            Fact::new("Zero-concentrated differential privacy", format!("ρ = {rho}")),
        ];
        facts.extend(of_every_release);
        facts.push(Fact::new("Queries", self.queries.clone()));
        facts.push(Fact::new("Root mean square error (weighted)", in_digits(self.rmse)));
        if let Some(objective) = &self.objective {
            let name = format!("Objective of the plan: {}", objective.objective);
            facts.push(Fact::new(&name, objective.in_words()));
        }
        facts
    }

    fn cost_in_words(&self, rho_reserved: f64) -> String {
        let is_attained = match self.rho_is_exact_sum {
            true => "recomputed from the integers and attained by some neighbours",
            false => "an upper bound recomputed from the integers",
        };
        format!(
            "ρ = {} of zero-concentrated differential privacy was reserved, and the measurements \
             cost {}, {is_attained}",
            shortest(rho_reserved),
            shortest(self.rho)
        )
    }

    fn mechanism_in_words(&self) -> Line {
        let rounding = match self.precision {
            None => "the strategies are integers without rounding".to_owned(),
            Some(precision) => format!(
                "rounding to {} bits (measures: {}) adds a share of {:.1e} to the total variance",
                precision.strategy_bits, precision.measure_bits, self.rounding_excess
            ),
        };
        let mut line: Line = [
            strong("Mechanism."),
            text(format!(" {}, planned by ", self.mechanism)),
            code(&self.planner),
        ]
        .into();
        if let Some(summary) = &self.objective {
            line.extend([
                text(" with objective "),
                code(&summary.objective),
                text(format!(" ({})", summary.in_words())),
            ]);
        }
        line.extend([text(format!("; {rounding}."))]);
        line
    }

    fn answers_in_words(&self) -> Line {
        [
            strong("Answers."),
            text(format!(
                " {}, root mean square error {} (weighted). Estimates are unbiased and \
                 standard errors are exact. Intervals extend {} standard errors to each side \
                 for one query and {} for all queries together. Either kind misses with a \
                 probability of at most 5 %: a bound for the discrete noise itself, not for a \
                 normal distribution.",
                counted(&self.queries, ["query", "queries"]),
                in_digits(self.rmse),
                at_most(self.intervals.single, 4),
                at_most(self.intervals.simultaneous, 4)
            )),
        ]
        .into()
    }

    fn published_in_words(&self) -> String {
        format!("estimated answers to {}", counted(&self.queries, ["query", "queries"]))
    }

    fn exactness_in_words(&self) -> Line {
        let rmse = if self.rmse >= 1.0 { at_most(self.rmse, 1) } else { in_digits(self.rmse) };
        [
            text(format!(
                "The root mean square error of the answers is about {rmse} (in records for counts, \
                 weighted as the workload says), and "
            )),
            code("answers.csv"),
            text(" has a 95 % interval for every answer."),
        ]
        .into()
    }

    fn derived_in_words(&self) -> Option<Line> {
        let adjusted = self.adjusted.as_ref()?;
        Some([strong("Adjusted answers."), text(format!(" {adjusted}"))].into())
    }

    fn measurements(&self) -> (Vec<(&'static str, bool)>, Vec<Vec<Line>>) {
        (COLUMNS.to_vec(), self.subspaces.iter().map(MeasuredRow::cells).collect())
    }
}
