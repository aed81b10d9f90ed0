//! The report of a release, before (`--dry-run`) and after. It does not depend on the records: time
//! and memory are taken before they are read.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::forecast::Forecast;
use matmech::error::Result;
use matmech::release::{IntegerPlan, Statement, shortest};
use matmech::workload::GroupedWorkload;

#[derive(Debug, Serialize)]
pub struct UnbiasedReport {
    pub planner: String,
    pub queries: String,
    pub rmse: f64,
    pub epsilon: f64,
    pub delta: f64,
    /// The cost of the measurements, at most the reserved ρ.
    pub rho: f64,
    pub rho_reserved: f64,
    /// Whether some pair of neighbours attains ρ; otherwise ρ is an upper bound.
    pub rho_is_exact_sum: bool,
    pub unit: String,
    pub planned_variance: f64,
    pub rounded_variance: f64,
    pub measurements: usize,
    pub noisy_integers: usize,
    pub expected_seconds: f64,
    pub expected_mb: f64,
    /// Additional memory per record.
    pub expected_bytes_per_record: usize,
    pub groups: Vec<Group>,
    pub out: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Group {
    pub attributes: String,
    pub family: &'static str,
    pub queries: String,
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
            unit: plan.unit().to_string(),
            planned_variance: planned,
            rounded_variance: rounded,
            measurements: plan.measurements().len(),
            noisy_integers: plan.answers(),
            expected_seconds: forecast.seconds,
            expected_mb: forecast.mb,
            expected_bytes_per_record: forecast.bytes_per_record,
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
