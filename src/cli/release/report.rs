//! What `matmech release` prints: before (`--dry-run`) and after. Nothing in it depends on the records.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use crate::privacy::OperatingSystemNoise;
use crate::release::{Budget, IntegerPlan};

/// Groups listed; `--json` lists all.
const SHOWN: usize = 20;

/// Noise that is drawn to learn how long drawing takes.
const SAMPLE: usize = 2000;

#[derive(Debug, Serialize)]
pub(super) struct Report {
    planner: String,
    queries: String,
    rmse: f64,
    epsilon: f64,
    delta: f64,
    rho: f64,
    unit: String,
    planned_variance: f64,
    rounded_variance: f64,
    measurements: usize,
    noisy_integers: usize,
    expected_seconds: f64,
    expected_mb: f64,
    groups: Vec<Group>,
    seconds: f64,
    peak_mb: Option<f64>,
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
    pub(super) fn of(plan: &IntegerPlan, budget: Budget, seconds: f64) -> crate::Result<Self> {
        let rho = plan.cost().rounded_up()?;
        let (planned, rounded) = plan.rounding();
        let schema = plan.plan().schema();
        let groups = plan.plan().groups();
        let queries = plan.plan().queries();
        Ok(Report {
            planner: plan.plan().planner().to_owned(),
            queries: queries.to_string(),
            rmse: plan.plan().rmse(),
            epsilon: rho.epsilon_rounded_up(budget.delta)?,
            delta: budget.delta,
            rho: rho.get(),
            unit: plan.unit().to_string(),
            planned_variance: planned,
            rounded_variance: rounded,
            measurements: plan.measurements().len(),
            noisy_integers: plan.answers(),
            expected_seconds: 2.0 * seconds + drawing(plan)? + 4e-6 * queries.as_f64(),
            expected_mb: memory_mb(plan),
            groups: (groups.iter())
                .map(|group| Group {
                    attributes: schema.names(group.attributes),
                    family: group.family,
                    queries: group.queries.to_string(),
                    rmse: group.rmse(),
                })
                .collect(),
            seconds,
            peak_mb: None,
            out: None,
        })
    }

    /// What to expect, in a line.
    pub(super) fn expectation(&self) -> String {
        let Report { rmse, expected_seconds, expected_mb, .. } = self;
        format!(
            "expected      RMSE {rmse:.6}, {expected_seconds:.1} s, {expected_mb:.0} MB; {} of rho is asked of the ledger, and spent once it is reserved",
            self.rho
        )
    }

    pub(super) fn finished(&mut self, out: &Path, seconds: f64) {
        self.out = Some(out.display().to_string());
        self.seconds = seconds;
        self.peak_mb = crate::process::peak_mb();
    }
}

/// Seconds that the plan's noise will take, from a sample of it that is thrown away.
fn drawing(plan: &IntegerPlan) -> crate::Result<f64> {
    let Some(largest) = plan.measurements().iter().max_by_key(|own| own.strategy.rows()) else { return Ok(0.0) };
    let started = Instant::now();
    OperatingSystemNoise::new().add(&mut [0; SAMPLE], largest.deviation)?;
    Ok(started.elapsed().as_secs_f64() / SAMPLE as f64 * plan.answers() as f64)
}

/// Noisy integers of 16 bytes and their estimates of 8 bytes a cell, the largest group three times, and what every process has.
fn memory_mb(plan: &IntegerPlan) -> f64 {
    let largest = plan.plan().groups().iter().map(|group| group.queries.as_f64()).fold(0.0, f64::max);
    40.0 + (32.0 * plan.answers() as f64 + 24.0 * largest) / 1e6
}

pub(super) fn print(out: &mut dyn Write, report: &Report) -> std::io::Result<()> {
    writeln!(out, "planner       {}", report.planner)?;
    writeln!(out, "queries       {} in {} groups", report.queries, report.groups.len())?;
    writeln!(out, "privacy       epsilon {:.6} at delta {:e}; rho {:e}", report.epsilon, report.delta, report.rho)?;
    writeln!(out, "protects      {}", report.unit)?;
    writeln!(out, "RMSE          {:.6}   exact; estimates are unbiased", report.rmse)?;
    let excess = report.rounded_variance / report.planned_variance - 1.0;
    writeln!(out, "whole numbers add a share of {excess:.1e} to the total variance")?;
    writeln!(out, "measurements  {} subspaces, {} noisy integers", report.measurements, report.noisy_integers)?;
    match &report.out {
        None => {
            writeln!(out, "expected      {:.1} s, {:.0} MB", report.expected_seconds, report.expected_mb)?;
            writeln!(out, "dry run       nothing was opened, spent or written")?;
        }
        Some(folder) => {
            writeln!(out, "time          {:.1} s", report.seconds)?;
            if let Some(peak) = report.peak_mb {
                writeln!(out, "peak memory   {peak:.0} MB")?;
            }
            writeln!(out, "written       {folder}")?;
        }
    }
    writeln!(out, "{:>14}  {:>14}  group", "RMSE", "queries")?;
    for group in report.groups.iter().take(SHOWN) {
        writeln!(out, "{:>14.6}  {:>14}  {} on {}", group.rmse, group.queries, group.family, group.attributes)?;
    }
    if report.groups.len() > SHOWN {
        writeln!(out, "… and {} more groups; --json lists all", report.groups.len() - SHOWN)?;
    }
    Ok(())
}
