//! `matmech plan`: what to measure for a workload over many attributes, and the error to expect. Never opens data.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use super::budget::BudgetArguments;
use super::output;
use crate::planner::{self, Plan};
use crate::privacy::{Neighbours, PrivacyCost};
use crate::schema::Schema;
use crate::workload::{GroupedWorkload, QueryCount};

/// Groups listed in the text report; `--json` lists all.
const GROUPS_SHOWN: usize = 20;

/// Arguments of `matmech plan`.
#[derive(Debug, Args)]
pub(super) struct PlanCommand {
    /// Schema in TOML: [[attribute]] tables with name, size, kind
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// Workload in TOML: [[queries]] tables with family and attributes or ways
    #[arg(long, value_name = "FILE")]
    workload: PathBuf,
    /// The planner
    #[arg(long, default_value = "query-smasher", long_help = planner_help())]
    planner: String,
    #[command(flatten)]
    budget: BudgetArguments,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

fn planner_help() -> String {
    let mut text = String::from("The planner:\n");
    for planner in planner::planners() {
        text.push_str(&format!("  {:<28} {}\n", planner.name(), planner.summary()));
    }
    text
}

/// What `plan --json` prints. Errors are root mean squares at the plan's privacy cost.
#[derive(Debug, Serialize)]
struct Report {
    planner: String,
    queries: QueryCount,
    /// √(Σ weight · variance / queries)
    rmse: f64,
    /// Certified: no other choice of strategies for what is measured does better. Absent if nothing is proved.
    lower_bound_rmse: Option<f64>,
    groups: Vec<GroupReport>,
    privacy_cost: PrivacyCost,
    /// Between which tables the cost is accounted for.
    neighbours: Neighbours,
    /// The cost of the measurements, recomputed from the matrices of their strategies.
    recomputed_privacy_cost: f64,
    /// Measurements: residual subspaces, or marginals for planners that measure those.
    residuals: usize,
    /// Distinct strategy problems that were solved.
    solves: usize,
    seconds: f64,
    /// Peak memory of the process in MB (10⁶ bytes); absent where the system does not tell.
    peak_mb: Option<f64>,
}

#[derive(Debug, Serialize)]
struct GroupReport {
    attributes: Vec<String>,
    family: &'static str,
    queries: QueryCount,
    weight: f64,
    rmse: f64,
}

impl PlanCommand {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let planner = planner::by_name(&self.planner)?;
        let budget = self.budget.budget()?;
        let cost = budget.privacy_cost()?;
        let schema = Schema::read(&self.schema)?;
        let workload = GroupedWorkload::read(&schema, &self.workload)?;
        let started = Instant::now();
        let plan = planner.plan(&workload, cost)?;
        let report = report(&plan, budget.neighbours, started.elapsed().as_secs_f64());
        output::write(&report, self.json, print)
    }
}

fn report(plan: &Plan, neighbours: Neighbours, seconds: f64) -> Report {
    let attributes = plan.schema().attributes();
    let groups = plan
        .groups()
        .iter()
        .map(|group| GroupReport {
            attributes: group.attributes.positions().map(|p| attributes[p].name.clone()).collect(),
            family: group.family,
            queries: group.queries,
            weight: group.weight,
            rmse: group.rmse(),
        })
        .collect();
    Report {
        planner: plan.planner().to_string(),
        queries: plan.queries(),
        rmse: plan.rmse(),
        lower_bound_rmse: plan.lower_bound_rmse(),
        groups,
        privacy_cost: plan.privacy_cost(),
        neighbours,
        recomputed_privacy_cost: plan.recomputed_privacy_cost(),
        residuals: plan.measurements().len(),
        solves: plan.solves(),
        seconds,
        peak_mb: crate::process::peak_mb(),
    }
}

fn print(out: &mut dyn Write, report: &Report) -> std::io::Result<()> {
    writeln!(out, "planner       {}", report.planner)?;
    writeln!(out, "queries       {} in {} groups", report.queries, report.groups.len())?;
    writeln!(out, "privacy cost  {} ({} measured)", report.privacy_cost, report.recomputed_privacy_cost)?;
    writeln!(out, "neighbours    {}", report.neighbours)?;
    writeln!(out, "RMSE          {:.6}", report.rmse)?;
    if let Some(bound) = report.lower_bound_rmse {
        writeln!(out, "lower bound   {bound:.6}   certified; gap {:.2e}", report.rmse / bound - 1.0)?;
    }
    writeln!(out, "measurements  {}, from {} distinct solves", report.residuals, report.solves)?;
    writeln!(out, "time          {:.3} s", report.seconds)?;
    if let Some(peak) = report.peak_mb {
        writeln!(out, "peak memory   {peak:.0} MB")?;
    }
    writeln!(out, "{:>14}  {:>14}  group", "RMSE", "queries")?;
    for group in report.groups.iter().take(GROUPS_SHOWN) {
        let queries = group.queries.to_string();
        writeln!(out, "{:>14.6}  {queries:>14}  {} on {}", group.rmse, group.family, group.attributes.join(", "))?;
    }
    if report.groups.len() > GROUPS_SHOWN {
        writeln!(out, "… and {} more groups; --json lists all", report.groups.len() - GROUPS_SHOWN)?;
    }
    Ok(())
}
