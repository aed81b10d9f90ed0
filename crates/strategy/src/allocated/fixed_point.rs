//! The fixed point of a strategy and the derivative of its privacy loss.

use ndarray::{Array2, ArrayView2};

use super::chi_square::variance_of;
use super::cost::{Cost, PrivacyLimit};
use super::form::AllocatedForm;
use super::loss::{Loss, Parts, total_error};
use super::posterior::posterior;
use crate::allocation::{AllocationAccountant, Bins, MonteCarloOptions};
use crate::error::Result;
use crate::progress::goes_on;
use crate::{PrivacyTarget, Status};
use matmech_linalg::QuasiNewton;

/// Seeds of the fit, which the accountant does not use.
const SEED: u64 = 0x5eed_0f17;

/// Samples times bins of an estimate, and their number, from and to.
const WORK: f64 = 1e7;
const SAMPLES: (f64, f64) = (2e4, 3e4);

/// η at ε ≤ 1, divided by ε above.
const MOVE: f64 = 0.6;

/// The steps and the tolerance for a chi-square divergence, whose derivative is computed at every
/// step.
const CHI_SQUARE_LIMITS: FitLimits = FitLimits { rounds: Some(4), steps: 400, tolerance: 1e-6 };

/// The limits of a fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitLimits {
    /// Maximum number of estimates of Λ. By default 12/η, with η = 0.6/max(1, ε) for (ε, δ).
    pub rounds: Option<usize>,
    /// Maximum number of steps for one Λ. Default 30.
    pub steps: usize,
    /// Stop when 2/η rounds lower the error by at most this share. Default 1e-3.
    pub tolerance: f64,
}

impl Default for FitLimits {
    fn default() -> Self {
        FitLimits { rounds: None, steps: 30, tolerance: 1e-3 }
    }
}

impl FitLimits {
    /// Returns the defaults for a limit on the privacy loss.
    pub fn of(limit: PrivacyLimit) -> Self {
        match limit {
            PrivacyLimit::HockeyStick(_) => FitLimits::default(),
            PrivacyLimit::ChiSquare(_) => CHI_SQUARE_LIMITS,
        }
    }
}

/// A fitted strategy.
#[derive(Debug, Clone)]
pub struct AllocatedFit {
    /// The variables of the form.
    pub variables: Vec<f64>,
    /// C.
    pub strategy: Array2<f64>,
    /// The total squared error at an estimate of the noise that (ε, δ) needs, not a bound; or at the
    /// noise of a chi-square divergence.
    pub estimate: f64,
    /// `Σ |x ∘ ∇(ln error + ln cost)| / Σ |x ∘ ∇ ln error|` over the nonnegative variables x, with a
    /// fresh Λ: 0 at a stationary point.
    pub residual: f64,
    /// The number of estimates of Λ.
    pub rounds: usize,
    /// The status.
    pub status: Status,
}

/// Fits a strategy of a form to random allocation, from given variables or from the form's start with
/// the best number of bands, of powers of 2 up to where the error rises.
///
/// `gram` is G, n×n. Deterministic. O(n³) per step and, for (ε, δ), O(b²) per sample.
///
/// # Errors
/// As [`AllocationAccountant::new`], or ε or δ is invalid.
pub fn fit(
    form: &dyn AllocatedForm,
    gram: ArrayView2<'_, f64>,
    epochs: usize,
    limit: PrivacyLimit,
    start: Option<Vec<f64>>,
    limits: &FitLimits,
) -> Result<AllocatedFit> {
    let (steps, count) = (gram.nrows(), gram.nrows() / epochs);
    let eta = match limit {
        PrivacyLimit::HockeyStick(target) => MOVE / target.epsilon.max(1.0),
        PrivacyLimit::ChiSquare(_) => 1.0,
    };
    let rounds = limits.rounds.unwrap_or((12.0 / eta).ceil() as usize);
    let patience = (2.0 / eta).ceil() as usize;
    // σ of the last strategy, over the norm of its largest bin: the loss does not fix the scale of C.
    let mut near = 1.0;
    // The strategy of variables, M, the noise variance and the error.
    let mut assessed = |x: &[f64]| -> Result<(Array2<f64>, Bins, f64, f64)> {
        let strategy = form.matrix(x);
        let bins = Bins::of_strategy(strategy.view(), epochs)?;
        let variance = match limit {
            PrivacyLimit::HockeyStick(target) => {
                let norm = bins.largest().0.sqrt();
                let sigma = estimated_noise(&bins, target, near * norm)?;
                near = sigma / norm;
                sigma * sigma
            }
            PrivacyLimit::ChiSquare(divergence) => variance_of(bins.gram(), divergence),
        };
        let error = variance * total_error(gram, strategy.view());
        Ok((strategy, bins, variance, error))
    };
    let mut x = match start {
        Some(start) => start,
        None => {
            let mut best = (f64::INFINITY, Vec::new());
            for bands in std::iter::successors(Some(2), |bands| Some(2 * bands)) {
                let x = form.start(bands);
                let (.., error) = assessed(&x)?;
                if error >= best.0 {
                    break;
                }
                best = (error, x);
                if bands >= steps {
                    break;
                }
            }
            best.1
        }
    };
    // The strategy, its error and the cost of variables.
    let mut estimated = |x: &[f64], round: u64| -> Result<(Array2<f64>, f64, Cost)> {
        let (strategy, bins, variance, error) = assessed(x)?;
        let cost = match limit {
            PrivacyLimit::HockeyStick(target) => {
                let drawn = (samples_of(count), SEED ^ (round + 1) << 32);
                Cost::linear(posterior(&bins, (variance.sqrt(), target.epsilon), drawn))
            }
            PrivacyLimit::ChiSquare(divergence) => Cost::Variance(divergence),
        };
        Ok((strategy, error, cost))
    };
    let (mut strategy, mut error, mut old) = estimated(&x, 0)?;
    let mut best = (x.clone(), strategy, error);
    let mut reference = error;
    let (mut round, mut since, mut status) = (0, 0, Status::IterationLimit);
    while round < rounds {
        round += 1;
        let loss = Loss { form, gram, cost: &old, bins: count };
        let mut state = QuasiNewton::from(&loss, x, form.first_bounded())?;
        for _ in 0..limits.steps {
            if state.step(&loss)?.is_none_or(|decrease| decrease < 0.01 * limits.tolerance) {
                break;
            }
        }
        x = state.x;
        let new;
        (strategy, error, new) = estimated(&x, round as u64)?;
        old = old.averaged(new, eta);
        since += 1;
        if error < reference * (1.0 - limits.tolerance) {
            (since, reference) = (0, error);
        }
        if error < best.2 {
            best = (x.clone(), strategy, error);
        }
        if since == patience {
            status = Status::Converged;
            break;
        }
        if !goes_on(round, 0.0, error) {
            status = Status::Interrupted;
            break;
        }
    }
    let (variables, strategy, estimate) = best;
    let (.., fresh) = estimated(&variables, u64::MAX >> 33)?;
    let residual = Parts::of(gram, (&fresh, count), &strategy).map_or(f64::INFINITY, |parts| {
        let of_error = parts.of_error / parts.error;
        let both = &of_error + &(parts.of_cost / parts.cost);
        let sum = |of_matrix: &Array2<f64>| -> f64 {
            let gradient = form.gradient(&variables, of_matrix);
            let pairs = gradient.iter().zip(&variables).skip(form.first_bounded());
            pairs.map(|(g, x)| (g * x).abs()).sum()
        };
        sum(&both) / sum(&of_error)
    });
    Ok(AllocatedFit { variables, strategy, estimate, residual, rounds: round, status })
}

/// Returns an estimate of the σ of (ε, δ), near a value. Not a bound.
///
/// # Errors
/// As [`fit`].
pub(super) fn estimated_noise(bins: &Bins, target: PrivacyTarget, near: f64) -> Result<f64> {
    let options = MonteCarloOptions { seed: SEED, ..MonteCarloOptions::default() };
    let accountant = AllocationAccountant::new(bins, options)?;
    let budget = (target.epsilon, target.delta);
    accountant.estimated_sigma(budget, samples_of(bins.count()), near)
}

/// Returns the number of samples of an estimate for b bins.
fn samples_of(count: usize) -> usize {
    (WORK / count as f64).clamp(SAMPLES.0, SAMPLES.1) as usize
}
