//! The statement of a release: measurements, guarantee, accuracy, and what is not protected.

mod protection;

use std::fmt::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub(super) use self::protection::Protection;
use super::integer_plan::IntegerPlan;
use super::ledger::Reservation;
use super::reach::Reach;
use super::report::Fact;
use super::rounding::Precision;
use crate::data::{OutOfDomain, PersonLimit};
use crate::error::Result;
use crate::planner::ObjectiveSummary;
use crate::privacy::{Rho, fine_noise};
use crate::schema::Schema;

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
    #[serde(flatten)]
    protection: Protection,
    mechanism: String,
    planner: String,
    /// max over neighbours of Σ k²|B(x − x')|²/(2σ²), rounded up.
    rho: f64,
    /// Whether some neighbours attain ρ; otherwise it is an upper bound.
    rho_is_exact_sum: bool,
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
    subspaces: Vec<Subspace>,
    adjusted: Option<String>,
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
pub fn as_in_json(number: f64) -> String {
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
        let epsilon = fine_noise::epsilon_rounded_up(rho, terms.delta)?;
        Ok(Statement {
            protection: Protection::of(unit, terms, schema, workload),
            mechanism: "integer queries on residual subspaces with discrete Gaussian noise from \
                        the operating system"
                .into(),
            planner: plan.plan().planner().to_owned(),
            rho: rho.get(),
            rho_is_exact_sum: plan.is_attained(),
            epsilon,
            queries: queries.to_string(),
            rmse: plan.plan().rmse(),
            objective: ObjectiveSummary::of(plan.plan()),
            planned_variance: planned,
            rounded_variance: rounded,
            rounding_excess: rounded / planned - 1.0,
            precision: plan.precision(),
            intervals: Reach::of(queries.as_f64()),
            interval_unit: "standard errors".into(),
            subspaces: subspaces.collect::<Result<_>>()?,
            adjusted,
        })
    }

    /// Adds the ledger line of the budget's reservation.
    #[must_use]
    pub fn reserved(mut self, ledger: &Path, reservation: &Reservation) -> Self {
        self.protection.reserve(ledger, reservation);
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
        (self.epsilon, self.protection.delta)
    }

    /// Returns the most important facts for a report.
    pub(super) fn facts(&self) -> Vec<Fact> {
        let [epsilon, delta, rho] = [self.epsilon, self.protection.delta, self.rho].map(as_in_json);
        let mut facts = vec![
            Fact::new("Differential privacy", format!("ε = {epsilon} at δ = {delta}")),
            Fact::new("Zero-concentrated differential privacy", format!("ρ = {rho}")),
        ];
        facts.extend(self.protection.facts());
        facts.push(Fact::new("Queries", self.queries.clone()));
        facts.push(Fact::new("Root mean square error (weighted)", format!("{:.6}", self.rmse)));
        if let Some(objective) = &self.objective {
            let name = format!("Objective of the plan: {}", objective.objective);
            facts.push(Fact::new(&name, objective.in_words()));
        }
        facts
    }

    /// Returns whether adjusted answers were written.
    pub(super) fn is_adjusted(&self) -> bool {
        self.adjusted.is_some()
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
        serde_json::to_string_pretty(self)
            .map_err(|e| crate::error::Error::bug("statement", "a text", e))
    }

    /// Returns the statement as Markdown text.
    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        for paragraph in [
            self.protection.title(),
            self.guarantee(),
            self.mechanism_in_words(),
            self.answers_in_words(),
            self.protection.records_in_words(),
        ] {
            let _ = writeln!(text, "{paragraph}\n");
        }
        if let Some(adjusted) = &self.adjusted {
            let _ = writeln!(text, "**Adjusted answers.** {adjusted}\n");
        }
        text.push_str(&self.protection.not_protected_in_words());
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
        let _ = writeln!(text, "\n{}", self.protection.sources());
        text
    }

    fn guarantee(&self) -> String {
        let is_attained = match self.rho_is_exact_sum {
            true => "recomputed from the integers and attained by some neighbours",
            false => "an upper bound recomputed from the integers",
        };
        let (epsilon, delta) = (as_in_json(self.epsilon), as_in_json(self.protection.delta));
        format!(
            "**Guarantee.** ({epsilon}, {delta})-differential privacy for {}: ρ = {} of \
             zero-concentrated differential privacy, {is_attained}; {} was reserved.",
            self.protection.whom(),
            as_in_json(self.rho),
            as_in_json(self.protection.rho_reserved)
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
        let objective = match &self.objective {
            None => String::new(),
            Some(summary) => {
                let ObjectiveSummary { objective, .. } = summary;
                format!(" with objective `{objective}` ({})", summary.in_words())
            }
        };
        format!(
            "**Mechanism.** {}, planned by `{}`{objective}; {rounding}.",
            self.mechanism, self.planner
        )
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
}
