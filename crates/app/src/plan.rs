//! Measurements for a workload over many attributes, with their expected errors.

use std::time::Instant;

use serde::Serialize;

use super::error_target::{FoundBudget, Target};
use matmech::error::Result;
use matmech::planner::{BoundWeights, GlobalBound, MeasureStart, ObjectiveSummary, Plan, Planner};
use matmech::privacy::{Neighbours, PrivacyBudget, PrivacyCost};
use matmech::strategy::Status;
use matmech::workload::{GroupedWorkload, QueryCount};

/// The output of `plan --json`. Errors are root mean squares at the plan's privacy cost.
#[derive(Debug, Serialize)]
pub struct PlanReport {
    /// The name of the planner.
    pub planner: String,
    /// The number of queries.
    pub queries: QueryCount,
    /// √(Σ weight · variance / queries)
    pub rmse: f64,
    /// Certified lower bound over all strategies for the measured subspaces; absent if unknown.
    pub lower_bound_rmse: Option<f64>,
    /// Certified lower bound over all matrix mechanisms; absent if not requested or unavailable.
    pub global_lower_bound_rmse: Option<f64>,
    /// Relative quadrature error of the global bound, which is rounded down by this much.
    pub global_lower_bound_error: Option<f64>,
    /// The method of the global bound, or the reason why there is none.
    pub global_lower_bound_note: Option<String>,
    /// The value of another objective than the mean, in mean square errors.
    #[serde(flatten)]
    pub objective: Option<ObjectiveSummary>,
    /// The reference measure on the attributes where it is not uniform.
    pub measure: Vec<MeasureReport>,
    /// The search for the measure.
    pub measure_search: Option<SearchReport>,
    /// The errors of the query groups.
    pub groups: Vec<GroupReport>,
    /// The privacy cost β of the budget.
    pub privacy_cost: PrivacyCost,
    /// The neighbouring tables of the privacy cost.
    pub neighbours: Neighbours,
    /// The cost of the measurements, recomputed from the matrices of their strategies.
    pub recomputed_privacy_cost: f64,
    /// Measured residual subspaces, or marginals for planners that measure marginals.
    pub residuals: usize,
    /// Distinct strategy problems that were solved.
    pub solves: usize,
    /// The time of planning and of the global bound, in seconds.
    pub seconds: f64,
    /// Peak memory of the process in MB (10⁶ bytes); absent if the system does not report it.
    pub peak_mb: Option<f64>,
    /// The budget that was found for a target of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found_budget: Option<FoundBudget>,
}

/// The reference measure of an attribute.
#[derive(Debug, Serialize)]
pub struct MeasureReport {
    /// The name of the attribute.
    pub attribute: String,
    /// The measure: one number per value, with sum 1.
    pub measure: Vec<f64>,
}

/// The search for the reference measure.
#[derive(Debug, Serialize)]
pub struct SearchReport {
    /// The status of the optimiser for the start that led to the measure.
    pub status: Status,
    /// The start that led to the measure.
    pub start: MeasureStart,
    /// Evaluations of the total error and its gradient, over all starts.
    pub evaluations: usize,
    /// Distinct measures: interchangeable attributes share one.
    pub classes: usize,
    /// The error for the uniform measure, i.e. of `query-smasher`.
    pub uniform_rmse: f64,
}

/// The error of a query group.
#[derive(Debug, Serialize)]
pub struct GroupReport {
    /// The names of the attributes.
    pub attributes: Vec<String>,
    /// The family of the queries.
    pub family: &'static str,
    /// The number of queries.
    pub queries: QueryCount,
    /// The weight of the group in the objective.
    pub weight: f64,
    /// The root mean square error of the queries, without the group's weight.
    pub rmse: f64,
}

/// Plans the measurements, and computes the bound over all matrix mechanisms if asked.
///
/// # Errors
/// As [`Planner::plan`].
pub fn plan(
    planner: &dyn Planner,
    workload: &GroupedWorkload,
    budget: &PrivacyBudget,
    global_bound: bool,
) -> Result<PlanReport> {
    let cost = budget.privacy_cost()?;
    let started = Instant::now();
    let plan = planner.plan(workload, cost)?;
    let bound = global_bound.then(|| bound_of(workload, &plan));
    Ok(report(&plan, bound, budget.neighbours, started.elapsed().as_secs_f64()))
}

/// Plans the measurements for the smallest budget that meets a target.
///
/// # Errors
/// As [`Planner::plan`], or an invalid target.
pub fn plan_for_target(
    planner: &dyn Planner,
    workload: &GroupedWorkload,
    target: &Target,
    global_bound: bool,
) -> Result<PlanReport> {
    target.check()?;
    let started = Instant::now();
    let (plan, found) = target.scaled(planner.plan(workload, PrivacyCost::UNIT)?)?;
    let bound = global_bound.then(|| bound_of(workload, &plan));
    let seconds = started.elapsed().as_secs_f64();
    let report = report(&plan, bound, Neighbours::default(), seconds);
    Ok(PlanReport { found_budget: Some(found), ..report })
}

fn bound_of(workload: &GroupedWorkload, plan: &Plan) -> Result<GlobalBound> {
    GlobalBound::of(workload, &BoundWeights::Optimised, Some(plan.measure()))
}

fn report(
    plan: &Plan,
    bound: Option<Result<GlobalBound>>,
    neighbours: Neighbours,
    seconds: f64,
) -> PlanReport {
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
    PlanReport {
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
        peak_mb: super::process::peak_mb(),
        found_budget: None,
    }
}
