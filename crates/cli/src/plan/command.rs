//! The arguments of `matmech plan`, and the command.

use std::path::PathBuf;

use clap::Args;

use super::choice::{Choice, ChoiceArguments};
use super::report::{print, print_comparison};
use crate::output;
use crate::target::Target;
use matmech::planner;
use matmech::schema::Schema;
use matmech_app::comparison::compare;
use matmech_app::plan::{plan, plan_for_target};

/// Arguments of `matmech plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanCommand {
    /// Schema file (TOML): [[attribute]] tables with name, kind and cells
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    #[command(flatten)]
    target: Target,
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
    choice: ChoiceArguments,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

fn planner_help() -> String {
    format!("Planner, with options in parentheses:\n{}", planner::listing())
}

impl PlanCommand {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let choice = self.choice.choice()?;
        let flags =
            [("measure", self.measure.as_deref()), ("objective", self.objective.as_deref())];
        let workload = || self.target.source().read_to_plan(&Schema::read(&self.schema)?);
        let planner = || planner::with_flags(&self.planner, &flags);
        let report = match choice {
            Choice::Compare(axes, given) => {
                let budgets = axes.budgets(given, self.choice.delta())?;
                let planners = axes.planners(&self.planner, &flags)?;
                let comparison = compare(&workload()?, &axes, &planners, &budgets)?;
                return output::write(&comparison, self.json, print_comparison);
            }
            Choice::Target(target) => {
                let workload = workload()?;
                plan_for_target(planner()?.as_ref(), &workload, &target, self.global_bound)?
            }
            Choice::Budget(budget) => {
                let workload = workload()?;
                plan(planner()?.as_ref(), &workload, &budget, self.global_bound)?
            }
        };
        output::write(&report, self.json, print)
    }
}
