//! The result rows of plans, shared by the experiments of S3.

use std::time::Instant;

use matmech::planner::{BoundWeights, GlobalBound, Plan, Planner};
use matmech::privacy::PrivacyCost;
use matmech::workload::{GroupedWorkload, QueryCount};

use super::planners;
use crate::error::{Error, Result};
use crate::experiment::Row;
use crate::remembered::Remembered;

/// Maximum difference between the recomputed and the requested privacy cost.
const MAX_COST_ERROR: f64 = 1e-9;

/// The planner that certifies its error.
const CERTIFIED: &str = "query-smasher";

/// Plans at unit privacy cost, and returns the plan and the time of planning in seconds.
///
/// # Errors
/// Returns an error if planning fails or the recomputed privacy cost is not 1.
pub(super) fn timed(method: &str, workload: &GroupedWorkload) -> Result<(Plan, f64)> {
    let planner = planners::named("method", method)?;
    let started = Instant::now();
    let plan = planner.plan(workload, PrivacyCost::UNIT)?;
    let seconds = started.elapsed().as_secs_f64();
    let spent = plan.recomputed_privacy_cost();
    if (spent - 1.0).abs() > MAX_COST_ERROR {
        return Err(Error::bug(
            format!("planner {method}"),
            "measurements of privacy cost 1",
            spent,
        ));
    }
    Ok((plan, seconds))
}

/// Returns the row `metric` with the error of a plan and its lower bound, if the planner has one.
///
/// `seconds` is the time of planning.
pub(super) fn error(metric: &str, plan: &Plan, seconds: f64) -> Row {
    let value = plan.rmse();
    let row = match plan.lower_bound_rmse() {
        // Rounding can make the bound larger than an optimal value.
        Some(bound) => {
            Row::certified(metric, value, bound.min(value), (value / bound - 1.0).max(0.0))
        }
        None => Row::new(metric, value),
    };
    Row { seconds: Some(seconds), ..row }
}

/// The method that reports the lower bound over all matrix mechanisms. It is not a planner.
pub(super) const GLOBAL_BOUND: &str = "global-bound";

/// The planner whose reference measure is a start of the search for the weights of the bound,
/// together with the uniform measure.
const START: &str = "anova";

/// A cache of bounds over all matrix mechanisms, by the params of their cells.
#[derive(Debug)]
pub(super) struct KnownBounds<P>(Remembered<P, Vec<Row>>);

impl<P: PartialEq> Default for KnownBounds<P> {
    fn default() -> Self {
        KnownBounds(Remembered::new(100))
    }
}

/// Returns the rows of a method: error, number of queries and number of solved strategy problems.
///
/// The rows of [`GLOBAL_BOUND`] are the bound, the relative error of its quadrature (by which it is
/// rounded down), and the evaluations of the search.
pub(super) fn all<P: PartialEq + Clone>(
    metric: &str,
    method: &str,
    workload: &GroupedWorkload,
    params: &P,
    bounds: &KnownBounds<P>,
) -> Result<Vec<Row>> {
    if method == GLOBAL_BOUND {
        let rows = bounds.0.get(params.clone(), || global_bound(metric, workload))?;
        return Ok(rows.as_ref().clone());
    }
    let (plan, seconds) = timed(method, workload)?;
    let queries = match plan.queries() {
        QueryCount::Exact(count) => Row::new("queries", count as f64),
        power => Row::text("queries", power.to_string()),
    };
    let search =
        plan.measure_search().map(|search| Row::new("evaluations", search.evaluations as f64));
    let rows = [error(metric, &plan, seconds), queries, Row::new("solves", plan.solves() as f64)];
    Ok(rows.into_iter().chain(search).collect())
}

fn global_bound(metric: &str, workload: &GroupedWorkload) -> Result<Vec<Row>> {
    let (plan, _) = timed(START, workload)?;
    let started = Instant::now();
    let bound = GlobalBound::of(workload, &BoundWeights::Optimised, Some(plan.measure()))?;
    let seconds = started.elapsed().as_secs_f64();
    let value = bound.rmse(plan.queries().as_f64(), 1.0);
    Ok(vec![
        Row { seconds: Some(seconds), ..Row::new(metric, value) },
        Row::new("quadrature_error", bound.quadrature_error / 2.0),
        Row::new("evaluations", bound.evaluations as f64),
    ])
}

/// Returns the planner whose lower bound holds for a planner without one.
///
/// QuerySmasher's bound holds for any choice of strategies for the residual subspaces.
pub(super) fn bounded_by(method: &str) -> Option<&'static str> {
    let needs_bound =
        |planner: &dyn Planner| planner.over_residual_subspaces() && planner.name() != CERTIFIED;
    planners::named("method", method)
        .is_ok_and(|planner| needs_bound(planner.as_ref()))
        .then_some(CERTIFIED)
}

/// Refuses methods that are neither planners nor [`GLOBAL_BOUND`], under `key[0]`, `key[1]`, ….
pub(super) fn check_methods(key: &str, methods: &[String]) -> Result<()> {
    for (i, method) in methods.iter().enumerate().filter(|(_, method)| *method != GLOBAL_BOUND) {
        planners::named(&format!("{key}[{i}]"), method)?;
    }
    Ok(())
}

/// Refuses unknown workloads, under `key[0]`, `key[1]`, ….
pub(super) fn check_workloads(key: &str, names: &[String], known: &[&str]) -> Result<()> {
    names
        .iter()
        .enumerate()
        .try_for_each(|(i, name)| check_workload(&format!("{key}[{i}]"), name, known))
}

/// Refuses an unknown workload, under the config key `key`.
pub(super) fn check_workload(key: &str, name: &str, known: &[&str]) -> Result<()> {
    if known.contains(&name) {
        return Ok(());
    }
    Err(Error::unknown_name(key, "workload", name, known))
}
