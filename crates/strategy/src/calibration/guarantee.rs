//! The third of σ, ε and δ.

use super::noise_strategy::NoiseStrategy;
use super::parameters::Calibration;
use crate::allocation::{
    AllocationAccountant, AllocationGuarantee, Bins, Method, MonteCarloOptions,
};
use crate::error::Result;
use crate::participation::{Participation, Sensitivity};
use crate::privacy::{gaussian, gaussian_dp};
use crate::problem::Problem;

/// What the sensitivity of random allocation is.
const OF_A_BIN: &str = "the largest contribution of a bin";

/// A guarantee of (ε, δ)-differential privacy for the noise of a strategy.
///
/// Neighbouring data sets differ in one record, which one of them has and the other has not. Every
/// gradient of a record has norm at most 1 (the clipping norm, if σ is multiplied by it).
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseGuarantee {
    /// The noise multiplier σ.
    pub sigma: f64,
    /// ε.
    pub epsilon: f64,
    /// δ, the failure probability included.
    pub delta: f64,
    /// The probability that the guarantee was computed from samples that are not typical; 0 if it
    /// was computed without samples.
    pub failure_probability: f64,
    /// The method: `Gaussian, exact`, or the name of an upper bound.
    pub method: String,
    /// The squared sensitivity of the strategy as it is.
    pub sensitivity: Sensitivity,
}

/// Computes the third of σ, ε and δ for the noise of a strategy; all are rounded up.
///
/// With fixed patterns of participation, the privacy loss is that of a Gaussian mechanism with the
/// strategy's sensitivity Δ: δ = Φ(Δ/(2σ) − εσ/Δ) − e^ε Φ(−Δ/(2σ) − εσ/Δ) (Balle & Wang 2018,
/// Theorem 8), also if gradients depend on earlier outputs (Denisov et al. 2022, Theorem 2.1). It
/// is exact if the sensitivity is: an attacker attains it.
///
/// With random allocation it is that of the [accountant](crate::allocation), with `options`.
///
/// O(n³) for the sensitivity, and O(n²) for more; random allocation takes the samples of `options`.
///
/// # Errors
/// A parameter outside its range; or as [`Problem::check`], [`NoiseStrategy::sensitivity`].
pub fn noise_guarantee(
    strategy: &NoiseStrategy,
    problem: &Problem<'_>,
    calibration: Calibration,
    options: MonteCarloOptions,
) -> Result<NoiseGuarantee> {
    match problem.participation {
        Participation::Single | Participation::Epochs(_) | Participation::MinSeparation { .. } => {
            gaussian_guarantee(strategy.sensitivity(problem)?, strategy.steps(), calibration)
        }
        Participation::Random { epochs, .. } => {
            let bins = Bins::of_strategy(strategy.matrix(problem)?.view(), epochs)?;
            allocation_guarantee(&bins, calibration, options)
        }
    }
}

/// Returns the guarantee of random allocation.
fn allocation_guarantee(
    bins: &Bins,
    calibration: Calibration,
    options: MonteCarloOptions,
) -> Result<NoiseGuarantee> {
    let accountant = AllocationAccountant::new(bins, options)?;
    let found = match calibration {
        Calibration::Sigma { epsilon, delta } => accountant.sigma(epsilon, delta)?,
        Calibration::Epsilon { sigma, delta } => accountant.epsilon(sigma, delta)?,
        Calibration::Delta { sigma, epsilon } => accountant.delta(sigma, epsilon)?,
    };
    let method = match found.method {
        Method::Deterministic if bins.is_exchangeable() => "random allocation, deterministic",
        Method::Deterministic => "random allocation, deterministic by exchangeable bins",
        Method::Auto | Method::MonteCarlo => "random allocation, Monte Carlo confidence bound",
    };
    let AllocationGuarantee { sigma, epsilon, delta, failure_probability, .. } = found;
    let squared = bins.largest().0;
    let sensitivity = Sensitivity { squared, attained: squared, bound: Some(OF_A_BIN) };
    let method = method.to_owned();
    Ok(NoiseGuarantee { sigma, epsilon, delta, failure_probability, method, sensitivity })
}

/// Returns the guarantee of a Gaussian mechanism.
fn gaussian_guarantee(
    sensitivity: Sensitivity,
    steps: usize,
    calibration: Calibration,
) -> Result<NoiseGuarantee> {
    // The squared sensitivity is a sum of at most 2·steps rounded products.
    let squared = sensitivity.squared * (1.0 + steps as f64 * f64::EPSILON);
    let l2 = squared.sqrt().next_up();
    let mu = |sigma: f64| gaussian_dp::mu_of_gaussian(l2, sigma).map(f64::next_up);
    let (sigma, epsilon, delta) = match calibration {
        Calibration::Sigma { epsilon, delta } => {
            (gaussian::analytic_sigma_rounded_up(l2, epsilon, delta)?, epsilon, delta)
        }
        Calibration::Epsilon { sigma, delta } => {
            (sigma, gaussian_dp::epsilon_rounded_up(mu(sigma)?, delta)?, delta)
        }
        Calibration::Delta { sigma, epsilon } => {
            (sigma, epsilon, gaussian_dp::delta_rounded_up(mu(sigma)?, epsilon)?)
        }
    };
    let method = match sensitivity.bound {
        None => "Gaussian, exact".to_owned(),
        Some(bound) => format!("Gaussian, {bound} on the sensitivity"),
    };
    Ok(NoiseGuarantee { sigma, epsilon, delta, failure_probability: 0.0, method, sensitivity })
}
