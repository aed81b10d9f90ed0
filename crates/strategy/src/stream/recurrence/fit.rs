//! The fit of a recurrence.

use ndarray::Array2;

use super::answers::Errors;
use super::coefficients::{Certified, NoiseRecurrence, factors_and_gains};
use super::columns::Columns;
use super::knots::Knots;
use super::objective::{Goal, unit_factor};
use super::patterns::Blocks;
use crate::error::{Error, Result};
use crate::progress::goes_on;
use crate::{Objective, Participation, Problem, Status};
use matmech_linalg::{QuasiNewton, SmoothFunction};

/// Maximum number of steps: four matrices of 128 MiB.
const MAX_STEPS: usize = 4096;

/// Maximum number of buffers.
const MAX_BUFFERS: usize = 32;

/// Number of iterations over which the decrease is compared with the tolerance.
const STRIDE: usize = 10;

/// The powers q for which the maximum is approximated by `(mean e^q)^{1/q}`, one after the other.
const POWERS: [f64; 6] = [100.0, 400.0, 1600.0, 6400.0, 25600.0, 102400.0];

/// Root mean square of the inner products of columns of the result, relative to d.
const ORTHOGONALITY: f64 = 1e-12;

/// Number of sweeps of the nonnegative least squares of the start.
const SWEEPS: usize = 200;

/// Smallest product of input and output weights of the start. At zero both derivatives vanish.
const MIN_WEIGHT: f64 = 1e-4;

/// Minimum number of steps of which the start takes account.
const MIN_HORIZON: usize = 16;

/// The limits of a fit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitOptions {
    /// Maximum number of iterations of a minimisation. There is one for the mean, and six for
    /// objectives with the maximum. Default 2000.
    pub max_iterations: usize,
    /// Stop when ten iterations lower the error by at most this share. Default 1e-6.
    pub tolerance: f64,
}

impl Default for FitOptions {
    fn default() -> Self {
        FitOptions { max_iterations: 2000, tolerance: 1e-6 }
    }
}

/// A fitted recurrence with its error.
#[derive(Debug, Clone)]
pub struct RecurrenceFit {
    /// The coefficients.
    pub recurrence: NoiseRecurrence,
    /// The status of the minimisation. Error and sensitivity are valid for every status.
    pub status: Status,
    /// The number of iterations.
    pub iterations: usize,
    /// The objective of the squared errors of the queries at unit privacy cost: their mean, their
    /// maximum, or both as in [`Objective::Balanced`]. It includes `sensitivity.upper`.
    pub squared_error: f64,
    /// Bounds on the squared sensitivity of these coefficients, about 1.
    pub sensitivity: Certified,
}

/// Fits a recurrence with N buffers to a problem.
///
/// Minimises the logarithm of the objective by L-BFGS over piecewise linear coefficients
/// and global rates. The start has rates from 1.5/n to 1 and equal coefficients for all
/// steps, from the square root of the prefix sums. For the largest error it minimises
/// `(mean e^q)^{1/q}` with increasing q. Sensitivity and errors are then computed from the
/// coefficients as they are returned.
///
/// *Workloads*: prefix sums over one attribute, with decay or learning rates, up to 4096 steps.
/// *Participation*: single and fixed epochs. *Cost*: O(nN²(N + kp)) per iteration, with p ≈ 30
/// products of two linear systems for several epochs. The sensitivity and the errors of the result
/// are computed in O(n²(N + k)), with n² numbers of memory. Deterministic.
///
/// # Errors
/// Another workload or participation, no or too many buffers or steps, or invalid options.
pub fn fit_recurrence(
    problem: &Problem<'_>,
    buffers: usize,
    options: &FitOptions,
) -> Result<RecurrenceFit> {
    problem.check()?;
    let count = match problem.participation {
        Participation::Single => 1,
        Participation::Epochs(count) => count,
        Participation::MinSeparation { .. } | Participation::Random { .. } => {
            return Err(Error::bad_input(
                "streaming recurrence",
                "participation single or epochs:K",
                format!("`{}`", problem.participation),
                "use truncated exponentials for min-separation",
            ));
        }
    };
    let (factors, gains) = factors_and_gains(problem.workload)?;
    let n = gains.len();
    if n > MAX_STEPS {
        return Err(Error::too_large(
            "streaming recurrence",
            "steps",
            MAX_STEPS as f64,
            n as f64,
            "use fewer steps, or a sum of chains for one participation",
        ));
    }
    if buffers == 0
        || buffers > MAX_BUFFERS
        || options.max_iterations == 0
        || !(options.tolerance >= 0.0 && options.tolerance.is_finite())
    {
        return Err(Error::bad_input(
            "options of a streaming recurrence",
            format!(
                "1 to {MAX_BUFFERS} buffers, at least one iteration and a nonnegative tolerance"
            ),
            format!(
                "{buffers} buffers, max_iterations {}, tolerance {}",
                options.max_iterations, options.tolerance
            ),
            "use e.g. 4 buffers, 2000 iterations and tolerance 1e-6",
        ));
    }
    let errors = Errors::new(count, n / count, factors, gains);
    let knots = Knots::new(buffers, count, errors.period);
    let (rates, input) = start(buffers, n, errors.period);
    let mut x = knots.constant(&rates, &input);
    let share = match problem.objective {
        Objective::Mean => 1.0,
        Objective::Max => 0.0,
        Objective::Balanced(share) => share,
    };
    let powers: &[f64] = if share == 1.0 { &POWERS[..1] } else { &POWERS };
    let (mut iterations, mut status) = (0, Status::Converged);
    for &power in powers {
        let function = Loss { errors: &errors, knots: &knots, goal: Goal { share, power } };
        let (found, used, ended) = minimise(&function, x, options)?;
        (x, status) = (found, ended);
        iterations += used;
    }
    let recurrence = recurrence(&errors, &knots, &x)?;
    let sensitivity = recurrence.squared_sensitivity()?;
    let variances = recurrence.variances(problem.workload)?;
    let largest = variances.iter().copied().fold(0.0, f64::max);
    let mean = variances.iter().sum::<f64>() / n as f64;
    let squared_error = sensitivity.upper * (share * mean + (1.0 - share) * largest);
    Ok(RecurrenceFit { recurrence, status, iterations, squared_error, sensitivity })
}

/// Returns the rates and the products of input and output weights, as their roots, such that
/// `Σ_j h_j e^{−λ_j t}` is close to the coefficients of the square root of the prefix sums.
fn start(buffers: usize, steps: usize, period: usize) -> (Vec<f64>, Vec<f64>) {
    let horizon = period.max(MIN_HORIZON);
    let lowest = 1.5 / steps.max(MIN_HORIZON) as f64;
    let rates: Vec<f64> = (0..buffers)
        .map(|j| {
            let position = if buffers == 1 { 0.5 } else { j as f64 / (buffers - 1) as f64 };
            lowest.powf(1.0 - position)
        })
        .collect();
    let mut coefficient = 1.0;
    let mut residual: Vec<f64> = (1..horizon)
        .map(|t| {
            coefficient *= (2 * t - 1) as f64 / (2 * t) as f64;
            coefficient
        })
        .collect();
    let curves: Vec<Vec<f64>> =
        rates.iter().map(|rate| (1..horizon).map(|t| (-rate * t as f64).exp()).collect()).collect();
    let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    let mut weights = vec![0.0; buffers];
    for _ in 0..SWEEPS {
        for (weight, curve) in weights.iter_mut().zip(&curves) {
            let change = (dot(curve, &residual) / dot(curve, curve)).max(MIN_WEIGHT - *weight);
            *weight += change;
            residual.iter_mut().zip(curve).for_each(|(r, c)| *r -= change * c);
        }
    }
    (rates, weights.into_iter().map(f64::sqrt).collect())
}

/// The logarithm of the objective as a function of the variables.
struct Loss<'a> {
    errors: &'a Errors,
    knots: &'a Knots,
    goal: Goal,
}

impl SmoothFunction for Loss<'_> {
    type Error = Error;

    // The coefficients of neighbouring knots are strongly coupled. A step costs O(1000) numbers per
    // variable, less than an evaluation.
    const MEMORY: usize = 300;

    fn evaluate(&self, x: &[f64]) -> Result<(f64, Vec<f64>)> {
        let form = self.knots.form(x);
        Ok(match self.errors.evaluate(&form, self.goal) {
            Some((value, gradient)) => (value, self.knots.gradient(&form, &gradient)),
            None => (f64::INFINITY, vec![0.0; x.len()]),
        })
    }
}

/// Minimises a function; returns the variables, the number of iterations and the status.
fn minimise(
    function: &Loss<'_>,
    start: Vec<f64>,
    options: &FitOptions,
) -> Result<(Vec<f64>, usize, Status)> {
    let free = start.len();
    let mut state = QuasiNewton::from(function, start, free)?;
    if !state.value.is_finite() {
        return Err(Error::bug("streaming recurrence", "a start with finite errors", "none"));
    }
    let mut before = state.value;
    for iteration in 1..=options.max_iterations {
        if state.step(function)?.is_none() {
            return Ok((state.x, iteration, Status::Stalled));
        }
        if !goes_on(iteration, 0.0, state.value.exp()) {
            return Ok((state.x, iteration, Status::Interrupted));
        }
        if iteration % STRIDE == 0 {
            if before - state.value <= options.tolerance {
                return Ok((state.x, iteration, Status::Converged));
            }
            before = state.value;
        }
    }
    Ok((state.x, options.max_iterations, Status::IterationLimit))
}

/// Returns the recurrence of the variables, with squared sensitivity 1 for every pattern.
fn recurrence(errors: &Errors, knots: &Knots, x: &[f64]) -> Result<NoiseRecurrence> {
    let failed = || Error::DidNotConverge {
        what: "orthogonal columns of a streaming recurrence".into(),
        order: errors.gains.len(),
    };
    let (k, b) = (errors.count, errors.period);
    let mut form = knots.form(x);
    let n = form.steps();
    let columns = Columns::new(&form, k, b);
    let last = errors.last.borrow().0.clone();
    let above =
        errors.coupling(&columns, &form.diagonal, last, ORTHOGONALITY).ok_or_else(failed)?;
    let coupling = Blocks::symmetric(k, b, &above, 1.0);
    let inverse = errors.inverse_coupling(&coupling).ok_or_else(failed)?;
    let mut taps = Array2::zeros((k - 1, n));
    for c in 0..b {
        let (diagonal, factor) = unit_factor(&inverse.block(c)).ok_or_else(failed)?;
        for (g, delta) in diagonal.iter().enumerate() {
            let t = c + g * b;
            form.diagonal[t] /= delta;
            form.output.row_mut(t).mapv_inplace(|h| h / delta);
            for h in 0..g {
                taps[[g - h - 1, t]] = factor[[g, h]];
            }
        }
    }
    let mut recurrence = NoiseRecurrence {
        rates: form.rates,
        input: form.input,
        output: form.output,
        diagonal: form.diagonal,
        scale: vec![1.0; n],
        taps,
        period: b,
    };
    for (c, pattern) in recurrence.pattern_sensitivities()?.into_iter().enumerate() {
        (0..k).for_each(|g| recurrence.scale[c + g * b] = pattern.upper.sqrt());
    }
    Ok(recurrence)
}
