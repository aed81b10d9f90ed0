//! The report of `matmech release`, before (`--dry-run`) and after. It does not depend on the
//! records: time and memory are taken before they are read.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::forecast::Forecast;
use crate::cli::output;
use matmech::release::{IntegerPlan, Statement, as_in_json};
use matmech::workload::GroupedWorkload;

#[derive(Debug, Serialize)]
pub(super) struct Report {
    planner: String,
    queries: String,
    rmse: f64,
    epsilon: f64,
    delta: f64,
    rho: f64,
    /// Whether some pair of neighbours attains ρ; otherwise ρ is an upper bound.
    rho_is_exact_sum: bool,
    unit: String,
    planned_variance: f64,
    rounded_variance: f64,
    measurements: usize,
    noisy_integers: usize,
    expected_seconds: f64,
    expected_mb: f64,
    /// Additional memory per record.
    expected_bytes_per_record: usize,
    groups: Vec<Group>,
    out: Option<String>,
}

#[derive(Debug, Serialize)]
struct Group {
    attributes: String,
    family: &'static str,
    queries: String,
    rmse: f64,
}

impl Report {
    pub(super) fn of(
        plan: &IntegerPlan,
        statement: &Statement,
        workload: &GroupedWorkload,
        planning: Duration,
    ) -> matmech::Result<Self> {
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
        Ok(Report {
            planner: plan.plan().planner().to_owned(),
            queries: plan.plan().queries().to_string(),
            rmse: plan.plan().rmse(),
            epsilon,
            delta,
            rho: rho.get(),
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
        let Report { rmse, expected_seconds, expected_mb, expected_bytes_per_record, .. } = self;
        format!(
            "expected      RMSE {rmse:.6}, {expected_seconds:.1} s, {expected_mb:.0} MB and \
             {expected_bytes_per_record} bytes per record; reserving rho {}, which then counts as \
             spent",
            as_in_json(self.rho)
        )
    }

    pub(super) fn written(&mut self, out: &Path) {
        self.out = Some(out.display().to_string());
    }
}

pub(super) fn print(out: &mut dyn Write, report: &Report) -> std::io::Result<()> {
    let [epsilon, delta, rho] = [report.epsilon, report.delta, report.rho].map(as_in_json);
    let attained =
        if report.rho_is_exact_sum { "attained by some neighbours" } else { "an upper bound" };
    writeln!(out, "planner       {}", report.planner)?;
    writeln!(out, "queries       {} in {} groups", report.queries, report.groups.len())?;
    writeln!(out, "privacy       epsilon {epsilon} at delta {delta}; rho {rho}, {attained}")?;
    writeln!(out, "protects      {}", report.unit)?;
    writeln!(out, "RMSE          {:.6}   exact; estimates are unbiased", report.rmse)?;
    let excess = report.rounded_variance / report.planned_variance - 1.0;
    writeln!(out, "rounding      {excess:.1e} relative increase of the total variance")?;
    writeln!(
        out,
        "measurements  {} subspaces, {} noisy integers",
        report.measurements, report.noisy_integers
    )?;
    match &report.out {
        None => {
            let Report { expected_seconds, expected_mb, expected_bytes_per_record, .. } = report;
            writeln!(
                out,
                "expected      {expected_seconds:.1} s, {expected_mb:.0} MB and \
                 {expected_bytes_per_record} bytes per record"
            )?;
            writeln!(out, "dry run       no data read, nothing spent or written")?;
        }
        Some(folder) => writeln!(out, "written       {folder}")?,
    }
    let describe = |group: &Group| {
        let description = format!("{} on {}", group.family, group.attributes);
        (group.rmse, group.queries.clone(), description)
    };
    output::print_groups(out, report.groups.iter().map(describe))
}
