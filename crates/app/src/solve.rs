//! One strategy for one workload.

use std::time::Instant;

use serde::Serialize;

use matmech::error::Result;
use matmech::privacy::{Neighbours, gaussian};
use matmech::strategy::participation::Sensitivity;
use matmech::strategy::{
    self, DualWeights, Objective, Participation, PrivacyTarget, Problem, Request, Selection,
    Status, Strategy,
};
use matmech::workload::{QueryCount, Workload};

/// Maximum cells for which the SVD bound of a workload that is solved in linear time is computed.
const MAX_SVD_CELLS: usize = 4096;

/// The output of `solve --json`. Errors are squared errors at unit privacy cost, as the objective
/// combines them; for `mean` they are totals over the workload.
#[derive(Debug, Serialize)]
pub struct SolveReport {
    /// The workload string, or a description of a workload without one.
    pub workload: String,
    /// The number of cells.
    pub cells: usize,
    /// The number of queries.
    pub queries: QueryCount,
    /// The name of the strategy.
    pub strategy: String,
    /// The objective: `mean`, `max` or `balanced:SHARE`.
    pub objective: String,
    /// The participation: `single`, `epochs:K`, `min-sep:B,K` or `random:K`.
    pub participation: String,
    /// The error of the strategy; an upper bound if the sensitivity is one.
    pub error: f64,
    /// The squared sensitivity; omitted for the participation `single`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<SensitivityReport>,
    /// Omitted for workloads of more than 4096 cells that are solved without a matrix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub svd_bound: Option<f64>,
    /// error / svd_bound
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Certified: the error of every strategy is at least this. For random allocation with
    /// `divergence=chi-square`: of every strategy with at most the chi-square divergence in `details`;
    /// otherwise omitted for random allocation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower_bound: Option<f64>,
    /// The smallest known error, which is `error`.
    pub upper_bound: f64,
    /// upper_bound / lower_bound − 1
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<f64>,
    /// The number of iterations of the solver; 0 without a certificate.
    pub iterations: usize,
    /// The status of the solver; omitted without a certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// The neighbouring tables of the sensitivity.
    pub neighbours: Neighbours,
    /// The time of the selection in seconds.
    pub seconds: f64,
    /// Values specific to the strategy, by name, and `query_weight` if it is not 1.
    pub details: serde_json::Map<String, serde_json::Value>,
}

/// The squared sensitivity of a strategy under a participation other than `single`.
#[derive(Debug, Serialize)]
pub struct SensitivityReport {
    /// The squared sensitivity, or an upper bound on it.
    pub squared: f64,
    /// A value that a contribution attains; equal to `squared` if that is exact.
    pub attained: f64,
    /// `exact`, or the name of the upper bound.
    pub kind: &'static str,
}

impl SensitivityReport {
    /// Returns the report, unless the participation is `single`.
    fn of(problem: &Problem<'_>, strategy: &Strategy) -> Result<Option<Self>> {
        if problem.participation == Participation::Single {
            return Ok(None);
        }
        let Sensitivity { squared, attained, bound } = problem.sensitivity(strategy)?;
        Ok(Some(SensitivityReport { squared, attained, kind: bound.unwrap_or("exact") }))
    }
}

/// A selected strategy.
#[derive(Debug)]
pub struct Solved {
    /// The report.
    pub report: SolveReport,
    /// The strategy, with its error and certificate.
    pub selection: Selection,
    /// The weights that prove the lower bound of `optimal`, if it was solved as a whole.
    pub dual: Option<DualWeights>,
}

/// Selects a strategy.
///
/// # Errors
/// As [`StrategySelector::solve`](matmech::strategy::StrategySelector::solve).
pub fn solve(request: &Request, workload: &Workload) -> Result<Solved> {
    let started = Instant::now();
    let problem = request.problem(workload);
    let (selection, dual) = request.selector.solve(&problem)?;
    let seconds = started.elapsed().as_secs_f64();
    let report = report(&problem, &selection, seconds)?;
    Ok(Solved { report, selection, dual })
}

fn report(problem: &Problem<'_>, selection: &Selection, seconds: f64) -> Result<SolveReport> {
    let workload = problem.workload;
    let without_matrix = workload.recurrence().is_some() || workload.nodes().is_some();
    let solved = without_matrix && selection.certificate.is_some();
    let target = match problem.participation {
        Participation::Random { target, .. } => target,
        _ => None,
    };
    // Bounds are for noise that depends on a sensitivity.
    let svd_bound = if target.is_some() || (solved && workload.cells() > MAX_SVD_CELLS) {
        None
    } else {
        Some(problem.svd_bound(strategy::svd_bound(&workload.gram()?)?))
    };
    let certified = selection.certificate.map(|c| c.lower_bound);
    let lower_bound = match target {
        Some(_) => certified,
        None => Some(svd_bound.unwrap_or(0.0).max(certified.unwrap_or(0.0))),
    };
    let mut details: serde_json::Map<String, serde_json::Value> = selection
        .details
        .iter()
        .map(|(name, value)| ((*name).to_string(), serde_json::json!(value)))
        .collect();
    if workload.query_weight() != 1.0 {
        details.insert("query_weight".into(), serde_json::json!(workload.query_weight()));
    }
    if let Some(target) = target {
        add_target(&mut details, problem, target, selection.error)?;
    }
    Ok(SolveReport {
        workload: workload.name().to_string(),
        cells: workload.cells(),
        queries: workload.count(),
        strategy: selection.strategy.name().to_string(),
        objective: problem.objective.to_string(),
        participation: problem.participation.to_string(),
        error: selection.error,
        sensitivity: SensitivityReport::of(problem, &selection.strategy)?,
        svd_bound,
        ratio: svd_bound.map(|bound| selection.error / bound),
        lower_bound,
        upper_bound: selection.error,
        gap: lower_bound.map(|bound| selection.error / bound - 1.0),
        iterations: selection.certificate.map_or(0, |c| c.iterations),
        status: selection.certificate.map(|c| c.status),
        neighbours: Neighbours::default(),
        seconds,
        details,
    })
}

/// Adds ε, δ and the mean squared error with the noise for them, for an error at unit privacy cost.
pub(crate) fn add_target(
    details: &mut serde_json::Map<String, serde_json::Value>,
    problem: &Problem<'_>,
    PrivacyTarget { epsilon, delta }: PrivacyTarget,
    error: f64,
) -> Result<()> {
    let sigma = gaussian::analytic_sigma_rounded_up(1.0, epsilon, delta)?;
    let queries = match problem.objective {
        Objective::Mean => problem.workload.count().as_f64(),
        Objective::Max | Objective::Balanced(_) => 1.0,
    };
    details.insert("epsilon".into(), serde_json::json!(epsilon));
    details.insert("delta".into(), serde_json::json!(delta));
    details.insert(
        "error_at_epsilon_delta".into(),
        serde_json::json!(error * sigma * sigma / queries),
    );
    Ok(())
}
