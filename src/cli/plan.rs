//! `matmech plan`: plans measurements for a workload over many attributes and prints the expected
//! errors. Does not read data.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use super::budget::BudgetArguments;
use super::output;
use matmech::Result;
use matmech::planner::{self, BoundWeights, GlobalBound, MeasureStart, ObjectiveSummary, Plan};
use matmech::privacy::{Neighbours, PrivacyCost};
use matmech::schema::Schema;
use matmech::strategy::Status;
use matmech::workload::{GroupedWorkload, QueryCount};

/// Arguments of `matmech plan`.
#[derive(Debug, Args)]
pub(super) struct PlanCommand {
    /// Schema file (TOML): [[attribute]] tables with name, size, kind
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

/// The output of `plan --json`. Errors are root mean squares at the plan's privacy cost.
#[derive(Debug, Serialize)]
struct Report {
    planner: String,
    queries: QueryCount,
    /// √(Σ weight · variance / queries)
    rmse: f64,
    /// Certified lower bound over all strategies for the measured subspaces; absent if unknown.
    lower_bound_rmse: Option<f64>,
    /// Certified lower bound over all matrix mechanisms; absent if not requested or unavailable.
    global_lower_bound_rmse: Option<f64>,
    /// Relative quadrature error of the global bound, which is rounded down by this much.
    global_lower_bound_error: Option<f64>,
    /// The method of the global bound, or the reason why there is none.
    global_lower_bound_note: Option<String>,
    /// The value of another objective than the mean, in mean square errors.
    #[serde(flatten)]
    objective: Option<ObjectiveSummary>,
    /// The reference measure on the attributes where it is not uniform.
    measure: Vec<MeasureReport>,
    /// The search for the measure.
    measure_search: Option<SearchReport>,
    groups: Vec<GroupReport>,
    privacy_cost: PrivacyCost,
    /// The neighbouring tables of the privacy cost.
    neighbours: Neighbours,
    /// The cost of the measurements, recomputed from the matrices of their strategies.
    recomputed_privacy_cost: f64,
    /// Measured residual subspaces, or marginals for planners that measure marginals.
    residuals: usize,
    /// Distinct strategy problems that were solved.
    solves: usize,
    seconds: f64,
    /// Peak memory of the process in MB (10⁶ bytes); absent if the system does not report it.
    peak_mb: Option<f64>,
}

#[derive(Debug, Serialize)]
struct MeasureReport {
    attribute: String,
    measure: Vec<f64>,
}

#[derive(Debug, Serialize)]
struct SearchReport {
    status: Status,
    start: MeasureStart,
    evaluations: usize,
    /// Distinct measures: interchangeable attributes share one.
    classes: usize,
    /// The error for the uniform measure, i.e. of `query-smasher`.
    uniform_rmse: f64,
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
        let budget = self.budget.budget()?;
        let cost = budget.privacy_cost()?;
        let schema = Schema::read(&self.schema)?;
        let workload = GroupedWorkload::read(&schema, &self.workload)?;
        let flags =
            [("measure", self.measure.as_deref()), ("objective", self.objective.as_deref())];
        let planner = planner::with_flags(&self.planner, &flags)?;
        let started = Instant::now();
        let plan = planner.plan(&workload, cost)?;
        let bound = self
            .global_bound
            .then(|| GlobalBound::of(&workload, &BoundWeights::Optimised, Some(plan.measure())));
        let report = report(&plan, bound, budget.neighbours, started.elapsed().as_secs_f64());
        output::write(&report, self.json, print)
    }
}

fn report(
    plan: &Plan,
    bound: Option<Result<GlobalBound>>,
    neighbours: Neighbours,
    seconds: f64,
) -> Report {
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
    let measure = (attributes.iter().zip(plan.measure().measures()))
        .filter(|(_, measure)| !measure.is_uniform())
        .map(|(attribute, measure)| MeasureReport {
            attribute: attribute.name.clone(),
            measure: measure.to_vec(),
        })
        .collect();
    let queries = plan.queries().as_f64();
    let (global, note) = match bound {
        Some(Ok(bound)) => {
            let note = serde_json::to_value(bound.method)
                .ok()
                .and_then(|name| name.as_str().map(str::to_owned));
            (
                Some((
                    bound.rmse(queries, plan.privacy_cost().get()),
                    bound.quadrature_error / 2.0,
                )),
                note,
            )
        }
        Some(Err(reason)) => (None, Some(reason.to_string())),
        None => (None, None),
    };
    Report {
        planner: plan.planner().to_string(),
        queries: plan.queries(),
        rmse: plan.rmse(),
        lower_bound_rmse: plan.lower_bound_rmse(),
        global_lower_bound_rmse: global.map(|(rmse, _)| rmse),
        global_lower_bound_error: global.map(|(_, error)| error),
        global_lower_bound_note: note,
        objective: ObjectiveSummary::of(plan),
        measure,
        measure_search: plan.measure_search().map(|search| SearchReport {
            status: search.status,
            start: search.start,
            evaluations: search.evaluations,
            classes: search.classes,
            uniform_rmse: (search.uniform_variance / queries).sqrt(),
        }),
        groups,
        privacy_cost: plan.privacy_cost(),
        neighbours,
        recomputed_privacy_cost: plan.recomputed_privacy_cost(),
        residuals: plan.measurements().len(),
        solves: plan.solves(),
        seconds,
        peak_mb: crate::cli::process::peak_mb(),
    }
}

fn print(out: &mut dyn Write, report: &Report) -> std::io::Result<()> {
    writeln!(out, "planner       {}", report.planner)?;
    writeln!(out, "queries       {} in {} groups", report.queries, report.groups.len())?;
    writeln!(
        out,
        "privacy cost  {} ({} recomputed)",
        report.privacy_cost, report.recomputed_privacy_cost
    )?;
    writeln!(out, "neighbours    {}", report.neighbours)?;
    writeln!(out, "RMSE          {:.6}", report.rmse)?;
    if let Some(bound) = report.lower_bound_rmse {
        writeln!(
            out,
            "lower bound   {bound:.6}   certified; gap {:.2e}",
            report.rmse / bound - 1.0
        )?;
    }
    if let Some(objective) = &report.objective {
        writeln!(out, "objective     {}: {}", objective.objective, objective.in_words())?;
    }
    if let Some(bound) = report.global_lower_bound_rmse {
        let error = report.global_lower_bound_error.unwrap_or_default();
        writeln!(
            out,
            "global bound  {bound:.6}   over all matrix mechanisms; {:.3} % below the RMSE \
             (quadrature error {error:.0e})",
            100.0 * (1.0 - bound / report.rmse)
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
