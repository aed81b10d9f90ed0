//! What every experiment of S3 reports of a plan.

use std::time::Instant;

use matmech::planner::{BoundWeights, GlobalBound, Plan, Planner};
use matmech::privacy::PrivacyCost;
use matmech::workload::{GroupedWorkload, QueryCount};

use super::planners;
use crate::error::{Error, Result};
use crate::experiment::Row;
use crate::remembered::Remembered;

/// How far the privacy cost of what is measured may be from the one asked for.
const ROUNDING: f64 = 1e-9;

/// The planner that certifies its error.
const BOUNDED_BY: &str = "query-smasher";

/// A plan at unit privacy cost that spends exactly that, and the seconds that planning took.
pub(super) fn timed(method: &str, workload: &GroupedWorkload) -> Result<(Plan, f64)> {
    let planner = planners::named("method", method)?;
    let started = Instant::now();
    let plan = planner.plan(workload, PrivacyCost::UNIT)?;
    let seconds = started.elapsed().as_secs_f64();
    let spent = plan.recomputed_privacy_cost();
    if (spent - 1.0).abs() > ROUNDING {
        return Err(Error::bug(
            format!("planner {method}"),
            "measurements of privacy cost 1",
            spent,
        ));
    }
    Ok((plan, seconds))
}

/// The error of a plan under the name `metric`, with the certificate where the planner proves one;
/// its seconds are those of planning.
pub(super) fn error(metric: &str, plan: &Plan, seconds: f64) -> Row {
    let value = plan.rmse();
    let row = match plan.lower_bound_rmse() {
        // Rounding can lift the bound above the value where both are the optimum.
        Some(bound) => {
            Row::certified(metric, value, bound.min(value), (value / bound - 1.0).max(0.0))
        }
        None => Row::new(metric, value),
    };
    Row { seconds: Some(seconds), ..row }
}

/// The method that is no planner: the lower bound over all matrix mechanisms.
pub(super) const GLOBAL_BOUND: &str = "global-bound";

/// The planner whose reference measure the search for the bound's weights starts from, beside the
/// uniform one.
const NEAR: &str = "anova";

/// Bounds over all mechanisms, by the params of their cells: several experiments show the same.
#[derive(Debug)]
pub(super) struct KnownBounds<P>(Remembered<P, Vec<Row>>);

impl<P: PartialEq> Default for KnownBounds<P> {
    fn default() -> Self {
        KnownBounds(Remembered::new(100))
    }
}

/// Error, number of queries, and how many strategy problems were solved; of [`GLOBAL_BOUND`] the
/// bound, the error of its quadrature as a share of it, by which it has been rounded down, and the
/// evaluations of the search.
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
    let (plan, _) = timed(NEAR, workload)?;
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

/// The planner whose lower bound holds for a planner that proves none itself: QuerySmasher's is on
/// the error of any choice of strategies for the residual subspaces.
pub(super) fn bounded_by(method: &str) -> Option<&'static str> {
    let other =
        |planner: &dyn Planner| planner.over_residual_subspaces() && planner.name() != BOUNDED_BY;
    planners::named("method", method)
        .is_ok_and(|planner| other(planner.as_ref()))
        .then_some(BOUNDED_BY)
}

/// Refuses a method that is no planner, naming the key.
pub(super) fn check_method(key: &str, method: &str) -> Result<()> {
    if method == GLOBAL_BOUND { Ok(()) } else { planners::named(key, method).map(drop) }
}

/// Refuses an unknown name, naming the key.
pub(super) fn check_workload(key: &str, name: &str, known: &[&str]) -> Result<()> {
    if known.contains(&name) {
        return Ok(());
    }
    Err(Error::unknown_name(key, "workload", name, known))
}
