//! σ, ε and δ of random allocation.

use std::fmt;
use std::str::FromStr;

use super::bins::Bins;
use super::confidence::Weights;
use super::mixture::Mixture;
use super::outputs::Outputs;
use super::removed::Removal;
use super::search::zero_of_decreasing;
use super::{added, removed};
use crate::error::{Error, Result};
use matmech_privacy::sampled::RandomAllocation;

/// Samples times bins of a confidence bound by default.
const WORK: f64 = 1e8;

/// Samples by default, from and to.
const SAMPLES: (f64, f64) = (2e5, 4e5);

/// Failure probability by default, as a share of δ, and at most.
const FAILURE: (f64, f64) = (0.01, 1e-6);

/// Samples for the search, as a share, first and last.
const SHARES_OF_SEARCH: [f64; 2] = [0.02, 0.1];

/// Relative step for the derivative of ln δ.
const STEP: f64 = 0.03;

/// Samples of a rough estimate.
const ROUGH_SAMPLES: usize = 20_000;

/// Smallest estimate of δ, as a share of the bound on it.
const MIN_ESTIMATE: f64 = 0.2;

/// Distances of ln δ from its target between which the search takes a line, first and last.
const NEAR: [f64; 2] = [1.0, 0.5];

/// Maximum number of confidence bounds.
const TRIES: u32 = 16;

/// Smallest share by which a confidence bound on δ may be lower, above its standard error, for which
/// one with less noise is tried.
const ROOM: f64 = 0.03;

/// Number of confidence bounds after which the steps to the next one grow, by this change of ln δ.
const PATIENCE: u32 = 5;
const GROWTH: f64 = 0.005;

/// How δ is bounded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Method {
    /// Deterministic for exchangeable bins, Monte Carlo otherwise.
    #[default]
    Auto,
    /// By the exchangeable bins that dominate M: with no failure probability, but larger.
    Deterministic,
    /// A confidence bound from samples.
    MonteCarlo,
}

/// The Monte Carlo of an accountant.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MonteCarloOptions {
    /// How δ is bounded.
    pub method: Method,
    /// Samples of a confidence bound; by default 1e8/b, from 2e5 to 4e5.
    pub samples: Option<usize>,
    /// The probability with which a confidence bound does not hold. By default the smaller of δ/100
    /// and 1e-6. It is a part of δ.
    pub failure_probability: Option<f64>,
    /// The seed. The same arguments give the same result.
    pub seed: u64,
}

/// A guarantee of random allocation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AllocationGuarantee {
    /// σ.
    pub sigma: f64,
    /// ε.
    pub epsilon: f64,
    /// δ, the failure probability included.
    pub delta: f64,
    /// The probability with which the confidence bound does not hold; 0 if there is none.
    pub failure_probability: f64,
    /// An estimate of δ, not a bound; none for deterministic bounds.
    pub estimate: Option<f64>,
    /// Whether the bound is deterministic, exact for exchangeable bins.
    pub method: Method,
}

/// Bounds the privacy of one strategy under random allocation.
#[derive(Debug)]
pub struct AllocationAccountant<'a> {
    bins: &'a Bins,
    options: MonteCarloOptions,
    samples: usize,
}

impl<'a> AllocationAccountant<'a> {
    /// Creates an accountant.
    ///
    /// # Errors
    /// Fewer than 1000 samples, or a failure probability outside (0, 1).
    pub fn new(bins: &'a Bins, options: MonteCarloOptions) -> Result<Self> {
        let default = (WORK / bins.count() as f64).clamp(SAMPLES.0, SAMPLES.1) as usize;
        let samples = options.samples.unwrap_or(default);
        let valid = options.failure_probability.is_none_or(|p| p > 0.0 && p < 1.0);
        if samples < 1000 || !valid {
            return Err(Error::bad_input(
                "Monte Carlo of random allocation",
                "at least 1000 samples and a failure probability between 0 and 1",
                format!("{samples} samples, failure probability {:?}", options.failure_probability),
                "leave both out for the defaults",
            ));
        }
        Ok(AllocationAccountant { bins, options, samples })
    }

    /// Returns the exchangeable bins of a deterministic bound, or none for Monte Carlo.
    fn exchangeable(&self) -> Result<Option<RandomAllocation>> {
        let deterministic = match self.options.method {
            Method::Auto => self.bins.is_exchangeable(),
            Method::Deterministic => true,
            Method::MonteCarlo => false,
        };
        let (diagonal, other) = self.bins.largest();
        let dominating = || RandomAllocation::dominating(self.bins.count(), diagonal, other);
        Ok(deterministic.then(dominating).transpose()?)
    }

    /// Returns the smallest σ that was found to provide (ε, δ). It is never below the smallest σ
    /// that provides it, but with the failure probability.
    ///
    /// # Errors
    /// ε or δ is not positive, δ is 1 or more, or δ is out of reach of the samples.
    pub fn sigma(&self, epsilon: f64, delta: f64) -> Result<AllocationGuarantee> {
        check_budget(epsilon, delta)?;
        if let Some(exchangeable) = self.exchangeable()? {
            let sigma = exchangeable.sigma(epsilon, delta)?;
            return Ok(deterministic(sigma, epsilon, delta));
        }
        let start = self.bins.largest().0.sqrt();
        self.searched(start, delta, |sigma| (sigma, epsilon))
    }

    /// Returns the smallest ε that was found for σ and δ; as [`sigma`](Self::sigma).
    ///
    /// # Errors
    /// As [`sigma`](Self::sigma).
    pub fn epsilon(&self, sigma: f64, delta: f64) -> Result<AllocationGuarantee> {
        check_positive("sigma", sigma)?;
        check_delta(delta)?;
        if let Some(exchangeable) = self.exchangeable()? {
            return Ok(deterministic(sigma, exchangeable.epsilon(sigma, delta)?, delta));
        }
        self.searched(1.0, delta, |epsilon| (sigma, epsilon))
    }

    /// Returns a bound on δ for σ and ε.
    ///
    /// # Errors
    /// σ or ε is not positive.
    pub fn delta(&self, sigma: f64, epsilon: f64) -> Result<AllocationGuarantee> {
        check_positive("sigma", sigma)?;
        check_positive("epsilon", epsilon)?;
        if let Some(exchangeable) = self.exchangeable()? {
            return Ok(deterministic(sigma, epsilon, exchangeable.delta(sigma, epsilon)?));
        }
        let failure = match self.options.failure_probability {
            Some(failure) => failure,
            None => {
                let mixture = Mixture::new(self.bins, (sigma, epsilon), self.seed(0) ^ 1);
                let outputs = Outputs::new(self.bins, ROUGH_SAMPLES, self.seed(0));
                let rough = added::weights(&mixture, epsilon, &outputs);
                (FAILURE.0 * rough.mean()).clamp(1e-30, FAILURE.1)
            }
        };
        let pilot = self.pilot(SHARES_OF_SEARCH[1]);
        let (evaluation, _, upper) = self.certified((sigma, epsilon), failure, 1, &pilot);
        Ok(AllocationGuarantee {
            sigma,
            epsilon,
            delta: (upper + failure).min(1.0),
            failure_probability: failure,
            estimate: Some(evaluation.mean()),
            method: Method::MonteCarlo,
        })
    }

    /// Searches for the smallest x with δ ≤ `delta` at `at(x)`, (σ, ε).
    fn searched(
        &self,
        start: f64,
        delta: f64,
        at: impl Fn(f64) -> (f64, f64),
    ) -> Result<AllocationGuarantee> {
        let default = (FAILURE.0 * delta).min(FAILURE.1);
        let failure = self.options.failure_probability.unwrap_or(default);
        if failure >= delta {
            return Err(Error::bad_input(
                "failure probability of random allocation",
                format!("a number below delta = {delta:e}, of which it is a part"),
                failure.to_string(),
                "leave it out for a hundredth of delta",
            ));
        }
        let target = delta - failure;
        // The logarithm of a predicted confidence bound, relative to the target.
        let excess = |x: f64, pilot: &Outputs<'_>| {
            let (sigma, epsilon) = at(x);
            let predicted = |found: Weights| {
                let part = 0.25 * failure;
                let bet = found.best_bet(self.samples, part);
                found.upper(bet, self.samples, part) + found.standard_error()
            };
            let mixture = Mixture::new(self.bins, (sigma, epsilon), self.seed(0) ^ 1);
            let mut bound = predicted(added::weights(&mixture, epsilon, pilot));
            if removed::jensen(self.bins, at(x)) > bound {
                let removal = Removal::new(pilot, at(x), self.samples, 0.25 * failure);
                bound = bound.max(removal.predicted);
            }
            Ok::<_, Error>((bound / target).ln())
        };
        let pilot = self.pilot(SHARES_OF_SEARCH[0]);
        let rough = zero_of_decreasing(start, NEAR[0], |x| excess(x, &pilot))?;
        let rough = rough.ok_or_else(|| self.out_of_reach(delta))?;
        let pilot = self.pilot(SHARES_OF_SEARCH[1]);
        let found = zero_of_decreasing(rough, NEAR[1], |x| excess(x, &pilot))?;
        let mut x = found.ok_or_else(|| self.out_of_reach(delta))?;
        let slope = (excess(x, &pilot)? - excess(x * (1.0 + STEP), &pilot)?) / STEP;
        let mut failed = 0.0;
        let mut passed: Option<AllocationGuarantee> = None;
        for attempt in 1..=TRIES {
            // The failure probabilities of all attempts add up to at most the stated one.
            let probability = failure / 2f64.powi(attempt as i32);
            failed += probability;
            let (sigma, epsilon) = at(x);
            let (evaluation, added, upper) =
                self.certified((sigma, epsilon), probability, attempt, &pilot);
            // A bound far above the estimate says that the samples are too few, not what is needed.
            let too_few = added > 0.5 * target && evaluation.mean() < MIN_ESTIMATE * added;
            let fails = if passed.is_some() { upper > target } else { too_few };
            if fails {
                break;
            }
            // No sample with a loss above ε has a mean and a standard error of 0.
            let noise = evaluation.standard_error() / evaluation.mean().max(f64::MIN_POSITIVE);
            let above = (upper / target).ln();
            if above > 0.0 {
                let more = GROWTH * f64::from(attempt.saturating_sub(PATIENCE));
                x *= 1.0 + (1.1 * above + 0.5 * noise + more) / slope.max(1.0) + 2e-4;
                continue;
            }
            let room = (-above - noise).min(NEAR[1]);
            let is_last = passed.is_some() || room < ROOM;
            passed = Some(AllocationGuarantee {
                sigma,
                epsilon,
                delta,
                failure_probability: 0.0,
                estimate: Some(evaluation.mean()),
                method: Method::MonteCarlo,
            });
            if is_last {
                break;
            }
            x *= 1.0 - room / slope.max(1.0);
        }
        match passed {
            Some(found) => Ok(AllocationGuarantee { failure_probability: failed, ..found }),
            None => Err(self.out_of_reach(delta)),
        }
    }

    /// Returns weights whose mean estimates δ, and bounds from fresh samples, on the direction that
    /// adds a record and on both, that hold but with the failure probability.
    fn certified(
        &self,
        at: (f64, f64),
        failure: f64,
        attempt: u32,
        pilot: &Outputs<'_>,
    ) -> (Weights, f64, f64) {
        let part = 0.25 * failure;
        let mixture = Mixture::new(self.bins, at, self.seed(0) ^ 1);
        let bet = added::weights(&mixture, at.1, pilot).best_bet(self.samples, part);
        let mixture = mixture.certified(self.samples, part, self.seed(attempt) ^ 1);
        let outputs = Outputs::new(self.bins, self.samples, self.seed(attempt));
        let found = added::weights(&mixture, at.1, &outputs);
        let added = found.upper(bet, self.samples, part);
        let mut removed = removed::jensen(self.bins, at);
        if removed > added {
            let outputs = Outputs::new(self.bins, self.samples, self.seed(attempt) ^ 3);
            let removal = Removal::new(pilot, at, self.samples, part);
            removed = removed.min(removal.bound(&outputs, at, part));
        }
        (found, added, removed.max(added))
    }

    /// Draws outputs for searches, bets and levels, a share of the samples of a confidence bound.
    fn pilot(&self, share: f64) -> Outputs<'a> {
        let samples = ((self.samples as f64 * share) as usize).max(1000);
        Outputs::kept(self.bins, samples, self.seed(0) ^ 2)
    }

    /// Returns an estimate of the σ of (ε, δ), not a bound, near `start`; for fits.
    ///
    /// # Errors
    /// As [`sigma`](Self::sigma).
    pub(crate) fn estimated_sigma(
        &self,
        (epsilon, delta): (f64, f64),
        samples: usize,
        start: f64,
    ) -> Result<f64> {
        check_budget(epsilon, delta)?;
        let outputs = Outputs::kept(self.bins, samples, self.seed(0) ^ 2);
        let excess = |sigma: f64| {
            let mixture = Mixture::new(self.bins, (sigma, epsilon), self.seed(0) ^ 1);
            let found = added::weights(&mixture, epsilon, &outputs);
            Ok::<_, Error>((found.mean() / delta).ln())
        };
        zero_of_decreasing(start, NEAR[1], excess)?.ok_or_else(|| self.out_of_reach(delta))
    }

    /// Returns a seed for one purpose; the lowest two bits are free.
    fn seed(&self, stream: u32) -> u64 {
        self.options.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(u64::from(stream) << 8)
    }

    fn out_of_reach(&self, delta: f64) -> Error {
        Error::bad_input(
            "Monte Carlo of random allocation",
            format!("a delta within the reach of {} samples", self.samples),
            format!("delta = {delta:e}"),
            "use more samples, a larger delta, or the method `deterministic` (an upper bound with \
             more noise)",
        )
    }
}

/// Returns a deterministic guarantee.
fn deterministic(sigma: f64, epsilon: f64, delta: f64) -> AllocationGuarantee {
    AllocationGuarantee {
        sigma,
        epsilon,
        delta,
        failure_probability: 0.0,
        estimate: None,
        method: Method::Deterministic,
    }
}

/// Checks that a number is positive.
fn check_positive(name: &str, value: f64) -> Result<()> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(Error::bad_input(
        format!("{name} of random allocation"),
        "a finite number above 0",
        value.to_string(),
        "use e.g. epsilon 1, delta 1e-6",
    ))
}

/// Checks ε and δ.
fn check_budget(epsilon: f64, delta: f64) -> Result<()> {
    check_positive("epsilon", epsilon)?;
    check_delta(delta)
}

/// Checks δ.
fn check_delta(delta: f64) -> Result<()> {
    if delta > 0.0 && delta < 1.0 {
        return Ok(());
    }
    Err(Error::bad_input(
        "delta of random allocation",
        "a number between 0 and 1",
        delta.to_string(),
        "use e.g. delta 1e-6",
    ))
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Auto => "auto",
            Method::Deterministic => "deterministic",
            Method::MonteCarlo => "monte-carlo",
        })
    }
}

impl FromStr for Method {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let all = [Method::Auto, Method::Deterministic, Method::MonteCarlo];
        all.into_iter().find(|method| method.to_string() == text).ok_or_else(|| {
            Error::bad_input(
                "method of random allocation",
                "auto, deterministic or monte-carlo",
                format!("`{text}`"),
                "leave it out for auto",
            )
        })
    }
}
