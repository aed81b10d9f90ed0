//! The error of any strategy matrix and its certified distance to the optimum.

use std::path::PathBuf;
use std::time::Instant;

use serde::Serialize;

use crate::solve::add_target;
use matmech::error::Result;
use matmech::privacy::{Neighbours, gaussian};
use matmech::strategy::{DualWeights, Optimal, Participation, Problem, Status, Strategy};
use matmech::workload::QueryCount;

/// The output of `certify --json`. Errors are squared errors at unit privacy cost, as the objective
/// combines them; for `mean` they are totals over the workload.
#[derive(Debug, Serialize)]
pub struct CertifyReport {
    /// The workload string, or a description of a workload without one.
    pub workload: String,
    /// The number of cells.
    pub cells: usize,
    /// The number of queries.
    pub queries: QueryCount,
    /// The name of the strategy.
    pub strategy: String,
    /// The number of queries of the strategy: the rows of its matrix.
    pub strategy_queries: usize,
    /// The rank of the strategy matrix.
    pub rank: usize,
    /// The condition number: the largest over the smallest non-zero singular value.
    pub condition: f64,
    /// The objective: `mean`, `max` or `balanced:SHARE`.
    pub objective: String,
    /// The participation: `single`, `epochs:K`, `min-sep:B,K` or `random:K`.
    pub participation: String,
    /// The largest column norm; for repeated participation, the largest change of the answers.
    pub sensitivity: f64,
    /// `exact`, or the name of the upper bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sensitivity_kind: Option<&'static str>,
    /// The error of the strategy; an upper bound if the sensitivity is one.
    pub error: f64,
    /// The SVD bound, a lower bound on the error of every strategy; omitted for random allocation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub svd_bound: Option<f64>,
    /// error / svd_bound
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Certified: the error of every strategy is at least this. For random allocation: of every
    /// strategy with at most the chi-square divergence in `details`.
    pub lower_bound: f64,
    /// The smallest known error: of this strategy or of the best one that the solver found.
    pub upper_bound: f64,
    /// upper_bound / lower_bound − 1, the uncertainty of the optimum.
    pub gap: f64,
    /// error / upper_bound − 1
    pub at_least_above_optimum: f64,
    /// error / lower_bound − 1
    pub at_most_above_optimum: f64,
    /// The number of iterations of the solver.
    pub iterations: usize,
    /// The status of the solver; the bounds hold for every status.
    pub status: Status,
    /// The neighbouring tables of the sensitivity.
    pub neighbours: Neighbours,
    /// The time of the computation in seconds, without reading and writing files.
    pub seconds: f64,
    /// The file of the dual weights, if they were written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dual: Option<PathBuf>,
    /// `query_weight`, the common weight of the queries, if it is not 1. For random allocation: ε, δ,
    /// the σ and the mean squared error for them, the lower bound as a mean squared error, and the
    /// chi-square divergence with this σ.
    pub details: serde_json::Map<String, serde_json::Value>,
}

/// Compares a strategy with the optimum of a problem; returns the weights that prove the bound, none
/// for random allocation.
///
/// # Errors
/// As [`Optimal::assess`].
pub fn certify(
    optimal: &Optimal,
    strategy: &Strategy,
    problem: &Problem<'_>,
) -> Result<(CertifyReport, Option<DualWeights>)> {
    let started = Instant::now();
    let found = optimal.assess(strategy, problem)?;
    let seconds = started.elapsed().as_secs_f64();
    let workload = problem.workload;
    let mut strategy_queries = 1;
    for factor in strategy.factors() {
        strategy_queries *= factor.queries()?.nrows();
    }
    let mut details = serde_json::Map::new();
    if workload.query_weight() != 1.0 {
        details.insert("query_weight".into(), serde_json::json!(workload.query_weight()));
    }
    let participation = problem.participation;
    if let Participation::Random { target: Some(target), .. } = participation {
        add_target(&mut details, problem, target, found.error)?;
        let unit = gaussian::analytic_sigma_rounded_up(1.0, target.epsilon, target.delta)?;
        let bound = unit * unit * found.lower_bound / workload.count().as_f64();
        let sigma = unit * found.sensitivity.squared.sqrt();
        details.insert("sigma".into(), serde_json::json!(sigma));
        details.insert("chi_square_divergence".into(), serde_json::json!(found.chi_square));
        details.insert("chi_square_lower_bound".into(), serde_json::json!(bound));
    }
    let report = CertifyReport {
        workload: workload.name().to_string(),
        cells: workload.cells(),
        queries: workload.count(),
        strategy: strategy.name().to_string(),
        strategy_queries,
        rank: found.rank,
        condition: found.condition,
        objective: problem.objective.to_string(),
        participation: participation.to_string(),
        sensitivity: found.sensitivity.squared.sqrt(),
        sensitivity_kind: (participation != Participation::Single)
            .then_some(found.sensitivity.bound.unwrap_or("exact")),
        error: found.error,
        svd_bound: found.svd_bound,
        ratio: found.svd_bound.map(|bound| found.error / bound),
        lower_bound: found.lower_bound,
        upper_bound: found.upper_bound,
        gap: found.upper_bound / found.lower_bound - 1.0,
        at_least_above_optimum: found.error / found.upper_bound - 1.0,
        at_most_above_optimum: found.error / found.lower_bound - 1.0,
        iterations: found.certificate.iterations,
        status: found.certificate.status,
        neighbours: Neighbours::default(),
        seconds,
        dual: None,
        details,
    };
    Ok((report, found.dual))
}
