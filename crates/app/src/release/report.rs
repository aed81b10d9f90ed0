//! The report of a release, before (`--dry-run`) and after. It does not depend on the records: time
//! and memory are taken before they are read.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::forecast::Forecast;
use matmech::data::ValuesOutside;
use matmech::error::Result;
use matmech::release::{IntegerPlan, Series, Statement, shortest};
use matmech::workload::GroupedWorkload;

/// The report of a release of unbiased answers.
#[derive(Debug, Serialize)]
pub struct UnbiasedReport {
    /// The name of the planner.
    pub planner: String,
    /// The number of queries.
    pub queries: String,
    /// The root mean square error of the answers: √(Σ weight · variance / queries).
    pub rmse: f64,
    /// ε of the reserved ρ, rounded up.
    pub epsilon: f64,
    /// δ for which ε is stated.
    pub delta: f64,
    /// The cost of the measurements, at most the reserved ρ.
    pub rho: f64,
    /// The ρ that is reserved in the ledger.
    pub rho_reserved: f64,
    /// Whether some pair of neighbours attains ρ; otherwise ρ is an upper bound.
    pub rho_is_exact_sum: bool,
    /// The privacy unit in words.
    pub unit: String,
    /// The earlier releases of a series, and the total.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// The total variance of the planned strategies, at the plan's shares of the cost.
    pub planned_variance: f64,
    /// The total variance of the integer strategies, at the same shares.
    pub rounded_variance: f64,
    /// The number of measured residual subspaces.
    pub measurements: usize,
    /// The number of measured integers.
    pub noisy_integers: usize,
    /// Expected time in seconds, without reading the records.
    pub expected_seconds: f64,
    /// Expected peak memory in MB (10⁶ bytes), without the records.
    pub expected_mb: f64,
    /// Additional memory per record.
    pub expected_bytes_per_record: usize,
    /// What happens to missing values and values outside every attribute.
    pub values_outside: Vec<ValuesOutside>,
    /// The errors of the query groups.
    pub groups: Vec<Group>,
    /// The folder that was written; null in a dry run.
    pub out: Option<String>,
}

/// The error of a query group.
#[derive(Debug, Serialize)]
pub struct Group {
    /// The names of the attributes, separated by commas.
    pub attributes: String,
    /// The family of the queries.
    pub family: &'static str,
    /// The number of queries.
    pub queries: String,
    /// The root mean square error of the queries, without the group's weight.
    pub rmse: f64,
}

impl UnbiasedReport {
    pub(super) fn of(
        plan: &IntegerPlan,
        statement: &Statement,
        workload: &GroupedWorkload,
        planning: Duration,
    ) -> Result<Self> {
        let rho = plan.cost().rounded_up()?;
        let (planned, rounded) = plan.rounding();
        let schema = plan.plan().schema();
        let forecast = Forecast::of(plan, workload, planning)?;
        let (epsilon, delta) = statement.epsilon_and_delta();
        let group = |group: &matmech::planner::GroupError| Group {
            attributes: schema.names(group.attributes),
            family: group.family,
            queries: group.queries.to_string(),
            rmse: group.rmse(),
        };
        Ok(UnbiasedReport {
            planner: plan.plan().planner().to_owned(),
            queries: plan.plan().queries().to_string(),
            rmse: plan.plan().rmse(),
            epsilon,
            delta,
            rho: rho.get(),
            rho_reserved: statement.rho_reserved(),
            rho_is_exact_sum: plan.is_attained(),
            unit: statement.unit_in_words().to_owned(),
            series: statement.series().cloned(),
            planned_variance: planned,
            rounded_variance: rounded,
            measurements: plan.measurements().len(),
            noisy_integers: plan.answers(),
            expected_seconds: forecast.seconds,
            expected_mb: forecast.memory.mb,
            expected_bytes_per_record: forecast.memory.bytes_per_record,
            values_outside: statement.values_outside().to_vec(),
            groups: plan.plan().groups().iter().map(group).collect(),
            out: None,
        })
    }

    /// Returns the expected error, time, memory and cost in one line.
    pub(super) fn expectation(&self) -> String {
        let UnbiasedReport {
            rmse, expected_seconds, expected_mb, expected_bytes_per_record, ..
        } = self;
        format!(
            "expected      RMSE {rmse:.6}, {expected_seconds:.1} s, {expected_mb:.0} MB and \
             {expected_bytes_per_record} bytes per record; reserving rho {}, which then counts as \
             spent",
            shortest(self.rho_reserved)
        )
    }

    pub(super) fn written(&mut self, out: &Path) {
        self.out = Some(out.display().to_string());
    }
}
