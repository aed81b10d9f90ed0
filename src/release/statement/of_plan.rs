//! The statement of a release of a data-independent plan.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::decimals::{at_most, in_digits, shortest};
use super::protection::Protection;
use super::terms::Terms;
use crate::error::Result;
use crate::planner::ObjectiveSummary;
use crate::privacy::fine_noise;
use crate::release::document::{Block, Line, code, strong, text, to_markdown};
use crate::release::integer_plan::IntegerPlan;
use crate::release::ledger::Reservation;
use crate::release::reach::Reach;
use crate::release::report::Fact;
use crate::release::rounding::Precision;
use crate::schema::Schema;

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
        let epsilon = fine_noise::epsilon_rounded_up(terms.rho, terms.delta)?;
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

    /// Returns the ρ reserved in the ledger.
    pub fn rho_reserved(&self) -> f64 {
        self.protection.rho_reserved
    }

    /// Returns the most important facts for a report.
    pub(in crate::release) fn facts(&self) -> Vec<Fact> {
        let [epsilon, delta, rho] =
            [self.epsilon, self.protection.delta, self.protection.rho_reserved].map(shortest);
        let mut facts = vec![
            Fact::new("Differential privacy", format!("ε = {epsilon} at δ = {delta}")),
            Fact::new("Zero-concentrated differential privacy", format!("ρ = {rho}")),
        ];
        facts.extend(self.protection.facts());
        facts.push(Fact::new("Queries", self.queries.clone()));
        facts.push(Fact::new("Root mean square error (weighted)", in_digits(self.rmse)));
        if let Some(objective) = &self.objective {
            let name = format!("Objective of the plan: {}", objective.objective);
            facts.push(Fact::new(&name, objective.in_words()));
        }
        facts
    }

    /// Returns whether adjusted answers were written.
    pub(in crate::release) fn is_adjusted(&self) -> bool {
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
        if let Some(adjusted) = &self.adjusted {
            let line = [strong("Adjusted answers."), text(format!(" {adjusted}"))];
            blocks.push(Block::Paragraph(line.into()));
        }
        blocks.extend(self.protection.not_protected_in_words());
        let columns =
            [("measured", false), ("ρ alone", true), ("Δ²", true), ("σ", true), ("integers", true)];
        let row = |subspace: &Subspace| {
            let bound = if subspace.sensitivity_is_attained { "" } else { "at most " };
            vec![
                subspace.attributes.as_str().into(),
                shortest(subspace.rho).into(),
                format!("{bound}{}", subspace.squared_sensitivity).into(),
                subspace.deviation.as_str().into(),
                subspace.answers.to_string().into(),
            ]
        };
        blocks.push(Block::Table {
            columns: columns.map(|(name, is_number)| (name.to_owned(), is_number)).to_vec(),
            rows: self.subspaces.iter().map(row).collect(),
        });
        blocks.extend(self.protection.sources());
        blocks
    }

    fn guarantee(&self) -> Line {
        let is_attained = match self.rho_is_exact_sum {
            true => "recomputed from the integers and attained by some neighbours",
            false => "an upper bound recomputed from the integers",
        };
        let mut line: Line = [strong("Guarantee."), text(" ")].into();
        line.extend(self.protection.guarantee(self.epsilon));
        line.extend([text(format!(
            ": ρ = {} of zero-concentrated differential privacy was reserved, and the measurements \
             cost {}, {is_attained}.",
            shortest(self.protection.rho_reserved),
            shortest(self.rho)
        ))]);
        line
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
                " {} queries, root mean square error {} (weighted). Estimates are unbiased and \
                 standard errors are exact. Intervals extend {} standard errors to each side \
                 for one query and {} for all queries together. Either kind misses with a \
                 probability of at most 5 %: a bound for the discrete noise itself, not for a \
                 normal distribution.",
                self.queries,
                in_digits(self.rmse),
                at_most(self.intervals.single, 4),
                at_most(self.intervals.simultaneous, 4)
            )),
        ]
        .into()
    }
}
