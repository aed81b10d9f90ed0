//! The statement of a release: what was measured, for whom it is private, how exact it is, and what is not protected.

use std::fmt::Write as _;

use serde::Serialize;

use super::integer_plan::IntegerPlan;
use super::reach::Reach;
use super::rounding::Precision;
use crate::data::OutOfDomainRule;
use crate::error::Result;
use crate::privacy::{Neighbours, PrivacyUnit, Rho};
use crate::schema::Schema;

/// What no release protects.
const NOT_PROTECTED: [&str; 5] = [
    "running time and memory, which depend on the records",
    "the sizes of files and the place of the data on the disk, to whoever can see them",
    "whether the file of records could be read to its end",
    "people with more records than the unit says",
    "the schema and the workload, which must not be made from the records",
];

/// The library that draws the noise, and its version; a test holds it against the lock file.
const NOISE_LIBRARY: [&str; 2] = ["prio", "0.18.1"];

/// What the lengths of intervals are multiples of.
const INTERVAL_UNIT: &str = "sqrt(sum of a^2 sigma^2) over the noisy integers, a their coefficients in the answer: the standard error, unless a \
                             sigma is below 2";

/// The budget as it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Budget {
    /// ρ that was reserved.
    pub rho: Rho,
    /// δ for which ε is stated.
    pub delta: f64,
}

/// `statement.json`. Nothing in it depends on the records.
#[derive(Debug, Serialize)]
pub struct Statement {
    program: &'static str,
    version: &'static str,
    /// Name and version.
    noise_library: [&'static str; 2],
    mechanism: &'static str,
    planner: String,
    unit: PrivacyUnit,
    unit_in_words: String,
    /// Σ k²Δ²/(2σ²), rounded up.
    rho: f64,
    rho_reserved: f64,
    /// Whether ρ is attained by some neighbours' sensitivities, or an upper bound.
    rho_is_exact_sum: bool,
    epsilon: f64,
    delta: f64,
    out_of_domain: OutOfDomainRule,
    queries: String,
    /// √(Σ weight · variance / queries) of what was measured.
    rmse: f64,
    /// Total variance at the plan's shares, planned and with integer strategies.
    planned_variance: f64,
    rounded_variance: f64,
    rounding_excess: f64,
    precision: Option<Precision>,
    intervals: Reach,
    interval_unit: &'static str,
    subspaces: Vec<Subspace>,
    adjusted: Option<String>,
    not_protected: [&'static str; 5],
    schema: String,
    workload: String,
}

#[derive(Debug, Serialize)]
struct Subspace {
    attributes: String,
    rho: f64,
    squared_sensitivity: String,
    sensitivity_is_attained: bool,
    deviation: String,
    answers: usize,
}

impl Statement {
    /// The statement of a plan. `schema` and `workload` are the texts they were read from.
    ///
    /// # Errors
    /// A δ without meaning.
    pub fn of(
        plan: &IntegerPlan,
        budget: Budget,
        rule: OutOfDomainRule,
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
        let subspaces = plan.measurements().iter().map(|own| {
            let sensitivity = own.strategy.squared_sensitivity(unit.neighbours);
            Subspace {
                attributes: names(own.attributes),
                rho: own.question().cost(unit).to_f64_rounded_up(),
                squared_sensitivity: sensitivity.value.to_string(),
                sensitivity_is_attained: sensitivity.exact,
                deviation: own.deviation.to_string(),
                answers: own.strategy.rows(),
            }
        });
        let (planned, rounded) = plan.rounding();
        let queries = plan.plan().queries();
        let smallest = plan.measurements().iter().map(|own| own.deviation.to_f64()).fold(f64::INFINITY, f64::min);
        Ok(Statement {
            program: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
            noise_library: NOISE_LIBRARY,
            mechanism: "integer queries on residual subspaces with discrete Gaussian noise from the operating system",
            planner: plan.plan().planner().to_owned(),
            unit,
            unit_in_words: unit.to_string(),
            rho: rho.get(),
            rho_reserved: budget.rho.get(),
            rho_is_exact_sum: plan.is_exact(),
            epsilon: rho.epsilon_rounded_up(budget.delta)?,
            delta: budget.delta,
            out_of_domain: rule,
            queries: queries.to_string(),
            rmse: plan.plan().rmse(),
            planned_variance: planned,
            rounded_variance: rounded,
            rounding_excess: rounded / planned - 1.0,
            precision: plan.precision(),
            intervals: Reach::of(queries.as_f64(), smallest, plan.answers()),
            interval_unit: INTERVAL_UNIT,
            subspaces: subspaces.collect(),
            adjusted,
            not_protected: NOT_PROTECTED,
            schema: schema.to_owned(),
            workload: workload.to_owned(),
        })
    }

    /// As JSON.
    ///
    /// # Errors
    /// None that a statement can have.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string_pretty(self).map_err(|e| crate::error::Error::bug("statement", "a text", e))
    }

    /// In words, as Markdown.
    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        let sure =
            if self.rho_is_exact_sum { "recomputed from the integers" } else { "an upper bound from the integers" };
        let neighbours = match self.unit.neighbours {
            Neighbours::AddOrRemoveOneRecord => "whose records are there or not",
            _ => "whose records have these values or others; the number of records is public",
        };
        let rule = match self.out_of_domain {
            OutOfDomainRule::Drop => "is left out",
            OutOfDomainRule::Clamp => "is moved to the nearest value of a numeric attribute, and left out otherwise",
        };
        let rounding = match self.precision {
            None => "the strategies are whole numbers without rounding".to_owned(),
            Some(precision) => format!(
                "rounding to {} bits (measures: {}) adds a share of {:.1e} to the total variance",
                precision.strategy_bits, precision.measure_bits, self.rounding_excess
            ),
        };
        let lines = [
            format!(
                "# Statement of a private release\n\nMade by {} {}; noise drawn by {} {}.",
                self.program, self.version, self.noise_library[0], self.noise_library[1]
            ),
            format!(
                "**Guarantee.** ({:.6}, {:e})-differential privacy for everybody with at most {} record(s), {neighbours}: ρ = {:e} of \
                 zero-concentrated differential privacy, {sure}; {:e} was reserved in the ledger.",
                self.epsilon, self.delta, self.unit.rows, self.rho, self.rho_reserved
            ),
            format!("**Mechanism.** {}, planned by `{}`; {rounding}.", self.mechanism, self.planner),
            format!(
                "**Answers.** {} queries, root mean square error {:.6} (weighted). Estimates are unbiased, standard errors exact. Intervals reach \
                 {:.4} s for one query and {:.4} s for all together, s = {INTERVAL_UNIT}. Either kind misses with a probability of at most \
                 5 %: a bound for the discrete noise itself, not the normal distribution's.",
                self.queries, self.rmse, self.intervals.single, self.intervals.simultaneous
            ),
            format!(
                "**Records.** A record with a value outside the schema {rule}. Nothing was read off the records but the noisy integers."
            ),
        ];
        for line in lines {
            let _ = writeln!(text, "{line}\n");
        }
        if let Some(adjusted) = &self.adjusted {
            let _ = writeln!(text, "**Adjusted answers.** {adjusted}\n");
        }
        let _ = writeln!(text, "**Not protected:**\n");
        self.not_protected.iter().for_each(|what| {
            let _ = writeln!(text, "- {what}");
        });
        let _ = writeln!(text, "\n| measured | ρ | Δ² | σ | integers |\n|---|---:|---:|---:|---:|");
        for own in &self.subspaces {
            let bound = if own.sensitivity_is_attained { "" } else { "at most " };
            let _ = writeln!(
                text,
                "| {} | {:e} | {bound}{} | {} | {} |",
                own.attributes, own.rho, own.squared_sensitivity, own.deviation, own.answers
            );
        }
        let _ = writeln!(
            text,
            "\n## Schema\n\n```toml\n{}\n```\n\n## Workload\n\n```toml\n{}\n```",
            self.schema, self.workload
        );
        text
    }
}

#[cfg(test)]
mod tests {
    /// The statement names the version that is compiled in.
    #[test]
    fn the_noise_library_is_that_of_the_lock_file() {
        let [name, version] = super::NOISE_LIBRARY;
        let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock")).unwrap();
        let entry = format!("name = \"{name}\"\nversion = \"");
        let versions: Vec<&str> = lock.split(&entry).skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(versions, [version]);
    }
}
