//! `matmech plan`: plans measurements for a workload over many attributes and prints the expected
//! errors. Does not read data.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::bounds::{at_least_decimals, at_most, at_most_decimals};
use super::budget::BudgetArguments;
use super::output;
use matmech::planner;
use matmech::release::in_digits;
use matmech::schema::Schema;
use matmech::workload::GroupedWorkload;
use matmech_app::plan::{GroupReport, PlanReport, SearchReport, plan};

/// Arguments of `matmech plan`.
#[derive(Debug, Args)]
pub(super) struct PlanCommand {
    /// Schema file (TOML): [[attribute]] tables with name, kind and cells
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// Workload file (TOML): [[queries]] tables with family and attributes or ways
    #[arg(long, value_name = "FILE")]
    workload: PathBuf,
    /// Planner, with options in parentheses, e.g. anova(measure=uniform)
    #[arg(long, default_value = "query-smasher", long_help = planner_help())]
    planner: String,
    /// Reference measure: the option `measure` of `anova`
    ///
    /// `uniform`, `optimised`, or a TOML file of [[attribute]] tables with name and measure.
    #[arg(long, value_name = "uniform|optimised|FILE")]
    measure: Option<String>,
    /// Objective: the option `objective` of planners over residual subspaces [default: mean]
    ///
    /// `mean` of all queries, `max` of the weighted mean square errors of the groups, or
    /// `balanced:SHARE`, that share of the mean and the rest of the maximum.
    #[arg(long, value_name = "mean|max|balanced:SHARE")]
    objective: Option<String>,
    /// Also compute a lower bound over all matrix mechanisms
    ///
    /// Available for product queries on one and two attributes, and for small domains.
    #[arg(long)]
    global_bound: bool,
    #[command(flatten)]
    budget: BudgetArguments,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

fn planner_help() -> String {
    format!("Planner, with options in parentheses:\n{}", planner::listing())
}

impl PlanCommand {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let budget = self.budget.budget()?;
        // An invalid budget is found before a file is read.
        budget.privacy_cost()?;
        let schema = Schema::read(&self.schema)?;
        let workload = GroupedWorkload::read(&schema, &self.workload)?;
        let flags =
            [("measure", self.measure.as_deref()), ("objective", self.objective.as_deref())];
        let planner = planner::with_flags(&self.planner, &flags)?;
        let report = plan(planner.as_ref(), &workload, &budget, self.global_bound)?;
        output::write(&report, self.json, print)
    }
}

fn print(out: &mut dyn Write, report: &PlanReport) -> std::io::Result<()> {
    writeln!(out, "planner       {}", report.planner)?;
    writeln!(out, "queries       {} in {} groups", report.queries, report.groups.len())?;
    writeln!(
        out,
        "privacy cost  {} ({} recomputed)",
        report.privacy_cost, report.recomputed_privacy_cost
    )?;
    writeln!(out, "neighbours    {}", report.neighbours)?;
    writeln!(out, "RMSE          {}", in_digits(report.rmse))?;
    if let Some(bound) = report.lower_bound_rmse {
        let (lower, gap) = (at_least_decimals(bound, 6), at_most(report.rmse / bound - 1.0, 2));
        writeln!(out, "lower bound   {lower}   certified; gap {gap}")?;
    }
    if let Some(objective) = &report.objective {
        writeln!(out, "objective     {}: {}", objective.objective, objective.in_words())?;
    }
    if let Some(bound) = report.global_lower_bound_rmse {
        let error = report.global_lower_bound_error.unwrap_or_default();
        writeln!(
            out,
            "global bound  {}   over all matrix mechanisms; {} % below the RMSE \
             (quadrature error {})",
            at_least_decimals(bound, 6),
            at_most_decimals(100.0 * (1.0 - bound / report.rmse), 3),
            at_most(error, 0)
        )?;
    } else if let Some(reason) = &report.global_lower_bound_note {
        writeln!(out, "global bound  none: {reason}")?;
    }
    if let Some(search) = &report.measure_search {
        let SearchReport { evaluations, classes, uniform_rmse, .. } = search;
        writeln!(
            out,
            "measure       {:?} after {evaluations} evaluations, {classes} distinct measures; \
             RMSE {uniform_rmse:.6} with the uniform one",
            search.status
        )?;
    }
    writeln!(out, "measurements  {}, from {} distinct problems", report.residuals, report.solves)?;
    writeln!(out, "time          {:.3} s", report.seconds)?;
    if let Some(peak) = report.peak_mb {
        writeln!(out, "peak memory   {peak:.0} MB")?;
    }
    let describe = |group: &GroupReport| {
        let description = format!("{} on {}", group.family, group.attributes.join(", "));
        (group.rmse, group.queries.to_string(), description)
    };
    output::print_groups(out, report.groups.iter().map(describe))
}
