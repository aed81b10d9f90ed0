//! σ, ε and δ of a strategy for training.

use serde::Serialize;

use matmech::error::Result;
use matmech::privacy::Neighbours;
use matmech::strategy::Problem;
use matmech::strategy::allocation::MonteCarloOptions;
use matmech::strategy::calibration::{Calibration, NoiseGuarantee, NoiseStrategy, noise_guarantee};
use matmech::workload::QueryCount;

/// The output of `privacy --json`.
#[derive(Debug, Serialize)]
pub struct PrivacyReport {
    /// The workload string, or a description of a workload without one.
    pub workload: String,
    /// The number of steps.
    pub steps: usize,
    /// The number of queries.
    pub queries: QueryCount,
    /// The file or the name of the strategy.
    pub strategy: String,
    /// Whether the strategy is scaled to sensitivity 1, as a named one is; a file is used as it is.
    pub scaled: bool,
    /// The objective: `mean`, `max` or `balanced:SHARE`.
    pub objective: String,
    /// The participation: `single`, `epochs:K`, `min-sep:B,K` or `random:K`.
    pub participation: String,
    /// The noise multiplier: the standard deviation of the noise z per unit of the clipping norm.
    pub sigma: f64,
    /// ε of (ε, δ)-differential privacy.
    pub epsilon: f64,
    /// δ of (ε, δ)-differential privacy.
    pub delta: f64,
    /// The probability that the guarantee does not hold; 0 if it was computed without samples. It is
    /// a part of `delta`.
    pub failure_probability: f64,
    /// How the guarantee was computed: `Gaussian, exact`, or the name of an upper bound.
    pub method: String,
    /// The largest change of the measured values by one record, at clipping norm 1.
    pub sensitivity: f64,
    /// `exact`, or the name of the upper bound.
    pub sensitivity_kind: &'static str,
    /// The mean squared error of a query with this σ, σ² tr(G (CᵀC)⁻¹)/m, at clipping norm 1; with
    /// another objective, the largest or the combination.
    pub error: f64,
    /// The neighbouring data sets.
    pub neighbours: Neighbours,
}

/// Computes the third of σ, ε and δ, and the error.
///
/// # Errors
/// As [`noise_guarantee`] and [`NoiseStrategy::unit_error`].
pub fn privacy(
    problem: &Problem<'_>,
    strategy: &NoiseStrategy,
    calibration: Calibration,
    options: MonteCarloOptions,
) -> Result<PrivacyReport> {
    let NoiseGuarantee { sigma, epsilon, delta, failure_probability, method, sensitivity } =
        noise_guarantee(strategy, problem, calibration, options)?;
    Ok(PrivacyReport {
        workload: problem.workload.name().to_string(),
        steps: strategy.steps(),
        queries: problem.workload.count(),
        strategy: strategy.name().to_string(),
        scaled: strategy.is_scaled(),
        objective: problem.objective.to_string(),
        participation: problem.participation.to_string(),
        sigma,
        epsilon,
        delta,
        failure_probability,
        method,
        sensitivity: sensitivity.squared.sqrt(),
        sensitivity_kind: sensitivity.bound.unwrap_or("exact"),
        error: sigma * sigma * strategy.unit_error(problem)?,
        neighbours: Neighbours::default(),
    })
}
