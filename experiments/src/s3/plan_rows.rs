//! The result rows of plans, shared by the experiments of S3.

use std::time::Instant;

use matmech::planner::{
    BoundWeights, GlobalBound, Hdmm, Plan, Planner, ProvedSolver, SubspaceProof,
};
use matmech::privacy::PrivacyCost;
use matmech::residual::{Measure, ReferenceMeasure};
use matmech::workload::{GroupedWorkload, QueryCount};

use super::planners;
use crate::error::{Error, Result};
use crate::experiment::{CellCertificate, Row, unfit};
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
    let certificate = (!plan.proofs().is_empty()).then(|| certificate(plan));
    Row { seconds: Some(seconds), certificate, ..row }
}

/// Returns the certificate of a plan: its measure, one array per class, and its proofs with their
/// attributes.
fn certificate(plan: &Plan) -> CellCertificate {
    let mut certificate = CellCertificate::default();
    insert_measure(&mut certificate, plan.measure());
    for (k, SubspaceProof { attributes, proof }) in plan.proofs().iter().enumerate() {
        let positions: Vec<f64> = attributes.positions().map(|p| p as f64).collect();
        certificate.insert(&format!("problem.{k}.attributes"), &positions);
        certificate.insert_proof(&format!("problem.{k}."), proof);
    }
    certificate
}

/// Adds a measure that is not uniform.
fn insert_measure(certificate: &mut CellCertificate, measure: &ReferenceMeasure) {
    if measure.is_uniform() {
        return;
    }
    let classes: Vec<f64> = measure.classes().iter().map(|&class| class as f64).collect();
    certificate.insert("classes", &classes);
    for (position, class) in measure.classes().iter().enumerate() {
        let known = measure.classes()[..position].contains(class);
        if !known && !measure.of_attribute(position).is_uniform() {
            let weights = measure.of_attribute(position).to_vec();
            certificate.insert_exactly(&format!("measure.{class}"), &weights);
        }
    }
}

/// Returns the measure of a certificate.
///
/// Its weights are exact: rounding could make residual problems differ that were equal.
fn measure(certificate: &CellCertificate, sizes: &[usize]) -> Result<ReferenceMeasure> {
    let Some(classes) = certificate.values("classes")? else {
        return Ok(ReferenceMeasure::uniform(sizes));
    };
    let classes: Vec<usize> = classes.iter().map(|&class| class as usize).collect();
    let count = classes.iter().max().map_or(0, |&class| class.min(sizes.len()) + 1);
    let measures = (0..count)
        .map(|class| match certificate.exact_values(&format!("measure.{class}"))? {
            Some(weights) => {
                let expected = || "weights of a measure with sum 1".to_owned();
                let found = || format!("the sum {}", weights.iter().sum::<f64>());
                Measure::signed(&weights).ok_or_else(|| unfit(expected(), found()))
            }
            None => {
                let first = classes.iter().position(|&known| known == class);
                Ok(Measure::uniform(first.and_then(|k| sizes.get(k)).copied().unwrap_or(1)))
            }
        })
        .collect::<Result<Vec<_>>>()?;
    let measure = ReferenceMeasure::of_classes(classes, &measures)?;
    measure.check_sizes(sizes)?;
    Ok(measure)
}

/// Returns the proved rows of a method; see
/// [`Experiment::prove`](crate::experiment::Experiment::prove).
///
/// # Errors
/// The certificate does not fit the workload.
pub(super) fn proved(
    metric: &str,
    method: &str,
    workload: &GroupedWorkload,
    certificate: &CellCertificate,
) -> Result<Vec<Row>> {
    let sizes = workload.schema().sizes();
    if certificate.is_empty() {
        return Ok(Vec::new());
    }
    if method == GLOBAL_BOUND {
        let proof = match certificate.proof("")? {
            Some(proof) => BoundWeights::Cells(proof),
            None => BoundWeights::Given(measure(certificate, &sizes)?),
        };
        let bound = GlobalBound::of(workload, &proof, None)?;
        let value = bound.rmse(workload.count().as_f64(), 1.0);
        return Ok(vec![Row::proved(metric, value, None)]);
    }
    let mut proofs = Vec::new();
    while let Some(proof) = certificate.proof(&format!("problem.{}.", proofs.len()))? {
        proofs.push(proof);
    }
    let plan = if method.starts_with(HDMM) {
        Hdmm::default().proved(workload, PrivacyCost::UNIT, proofs)?
    } else {
        let solver = ProvedSolver::new(proofs);
        let measure = measure(certificate, &sizes)?;
        let plan =
            Plan::by_reference_measure(method, workload, PrivacyCost::UNIT, &measure, &solver)?;
        if solver.unused() > 0 {
            let found = format!("{} more", solver.unused());
            return Err(unfit("one proof per residual problem".to_owned(), found));
        }
        plan
    };
    let lower = plan
        .lower_bound_rmse()
        .ok_or_else(|| Error::bug("a plan of proofs", "a lower bound", "none"))?;
    Ok(vec![Row::proved(metric, lower, Some(plan.rmse()))])
}

/// The start of the names of planners with one strategy per attribute set.
const HDMM: &str = "hdmm";

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
    let mut certificate = CellCertificate::default();
    match (&bound.proof, &bound.weights) {
        (Some(proof), _) => certificate.insert_proof("", proof),
        (None, Some(weights)) => insert_measure(&mut certificate, weights),
        (None, None) => {}
    }
    let certificate = Some(certificate);
    Ok(vec![
        Row { seconds: Some(seconds), certificate, ..Row::new(metric, value) },
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
    let check = |(i, method): (usize, &String)| check_method(&format!("{key}[{i}]"), method);
    methods.iter().enumerate().try_for_each(check)
}

/// Refuses a method that is neither a planner nor [`GLOBAL_BOUND`], under the config key `key`.
pub(super) fn check_method(key: &str, method: &str) -> Result<()> {
    if method == GLOBAL_BOUND { Ok(()) } else { planners::named(key, method).map(drop) }
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
