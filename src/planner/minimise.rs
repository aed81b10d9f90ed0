//! Minimisation of a smooth function of product measures.

use std::cell::RefCell;

use crate::error::{Error, Result};
use crate::residual::{Measure, ReferenceMeasure};
use crate::strategy::Status;
use matmech_linalg::{QuasiNewton, SmoothFunction};

/// Stopping criteria.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limits {
    /// A step that lowers the function by less than this share ends the search.
    pub tolerance: f64,
    /// Maximum steps.
    pub steps: usize,
    /// Maximum evaluations, including those of line searches.
    pub evaluations: usize,
}

/// The best point found.
#[derive(Debug, Clone)]
pub(super) struct Minimum {
    /// The point.
    pub x: Vec<f64>,
    /// The value of the function at the point.
    pub value: f64,
    /// How the search ended.
    pub status: Status,
    /// Evaluations used.
    pub evaluations: usize,
}

/// A function with its gradient.
type Function<'f> = dyn FnMut(&[f64]) -> Result<(f64, Vec<f64>)> + 'f;

/// Minimises a positive function from a starting point.
///
/// One evaluation gives value and gradient. The search has converged if the norm of the gradient or
/// the decrease of a step is below the tolerance times the first value.
///
/// # Errors
/// Errors of the function.
pub(super) fn minimise(
    function: &mut Function<'_>,
    start: Vec<f64>,
    limits: &Limits,
) -> Result<Minimum> {
    let counted = Counted { limit: limits.evaluations, state: RefCell::new((function, 0)) };
    let variables = start.len();
    let mut search = QuasiNewton::from(&counted, start, variables)?;
    let smallest = limits.tolerance * search.value;
    let mut status = Status::IterationLimit;
    for _ in 0..limits.steps {
        let slope = search.gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        let decrease = if slope < smallest { Some(0.0) } else { search.step(&counted)? };
        match decrease {
            Some(decrease) if decrease < smallest => status = Status::Converged,
            Some(_) => continue,
            // The line search found no lower point: it reached rounding or the solvers' tolerance.
            None if counted.evaluations() < limits.evaluations => status = Status::Stalled,
            None => {}
        }
        break;
    }
    let evaluations = counted.evaluations();
    Ok(Minimum { x: search.x, value: search.value, status, evaluations })
}

/// A function with the number of its evaluations.
struct Counted<'f, 'g> {
    limit: usize,
    state: RefCell<(&'f mut Function<'g>, usize)>,
}

impl Counted<'_, '_> {
    fn evaluations(&self) -> usize {
        self.state.borrow().1
    }
}

impl SmoothFunction for Counted<'_, '_> {
    type Error = Error;

    const MEMORY: usize = 10;

    const FIRST_STEP: f64 = 0.5;

    /// Returns an infinite value beyond the maximum number of evaluations.
    fn evaluate(&self, x: &[f64]) -> Result<(f64, Vec<f64>)> {
        let (function, evaluations) = &mut *self.state.borrow_mut();
        if *evaluations >= self.limit {
            return Ok((f64::INFINITY, Vec::new()));
        }
        let found = function(x)?;
        *evaluations += 1;
        Ok(found)
    }
}

/// Returns `ν_c = e^{z_c} / Σ e^z` for consecutive blocks of the given lengths.
pub(super) fn softmax(z: &[f64], sizes: &[usize]) -> Vec<Vec<f64>> {
    let mut rest = z;
    sizes
        .iter()
        .map(|&n| {
            let (logits, others) = rest.split_at(n);
            rest = others;
            let max = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            // Weights of zero would make the decomposition degenerate.
            let powers: Vec<f64> =
                logits.iter().map(|z| (z - max).max(-MAX_LOG_RATIO).exp()).collect();
            let sum: f64 = powers.iter().sum();
            powers.iter().map(|p| p / sum).collect()
        })
        .collect()
}

/// The logarithm of the maximum ratio of two weights.
const MAX_LOG_RATIO: f64 = 25.0;

/// Returns the product measure with weights softmax(z), one block of z per class of attributes.
pub(super) fn reference_measure(
    z: &[f64],
    sizes: &[usize],
    classes: &[usize],
) -> Result<ReferenceMeasure> {
    let measures: Vec<Measure> =
        softmax(z, sizes).into_iter().map(Measure::of).collect::<Result<_>>()?;
    ReferenceMeasure::of_classes(classes.to_vec(), &measures)
}

/// Returns the logarithms of a measure's weights, one vector per class of attributes.
///
/// Weights below `min_share` of the uniform weight are raised to it.
pub(super) fn logarithms(
    measure: &ReferenceMeasure,
    classes: &[usize],
    min_share: f64,
) -> Vec<Vec<f64>> {
    let count = classes.iter().max().map_or(0, |max| max + 1);
    let first = |class: usize| classes.iter().position(|&c| c == class).unwrap_or(0);
    let class_logarithms = |class: usize| {
        let weights = measure.of_attribute(first(class)).to_vec();
        let min = min_share / weights.len() as f64;
        weights.iter().map(|w| w.max(min).ln()).collect()
    };
    (0..count).map(class_logarithms).collect()
}

/// Returns the gradient with respect to z, given the gradients with respect to ν.
///
/// `ν ∘ (g − ν·g)` per measure.
pub(super) fn through_softmax(measures: &[Vec<f64>], gradients: &[Vec<f64>]) -> Vec<f64> {
    let chained = |(nu, g): (&Vec<f64>, &Vec<f64>)| {
        let mean: f64 = nu.iter().zip(g).map(|(n, g)| n * g).sum();
        nu.iter().zip(g).map(|(n, g)| n * (g - mean)).collect::<Vec<f64>>()
    };
    measures.iter().zip(gradients).flat_map(chained).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { tolerance: 1e-12, steps: 200, evaluations: 400 };

    /// Rosenbrock's function plus one, with minimum 1 at (1, 1).
    fn rosenbrock(x: &[f64]) -> (f64, Vec<f64>) {
        let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
        (1.0 + a * a + 100.0 * b * b, vec![-2.0 * a - 400.0 * x[0] * b, 200.0 * b])
    }

    #[test]
    fn rosenbrocks_function_is_minimised() {
        let found = minimise(&mut |x| Ok(rosenbrock(x)), vec![-1.2, 1.0], &LIMITS).unwrap();
        assert!((found.x[0] - 1.0).abs() < 1e-4 && (found.value - 1.0).abs() < 1e-8, "{found:?}");
        let five = Limits { evaluations: 5, ..LIMITS };
        let stopped = minimise(&mut |x| Ok(rosenbrock(x)), vec![-1.2, 1.0], &five).unwrap();
        assert_eq!((stopped.status, stopped.evaluations), (Status::IterationLimit, 5));
        assert!(stopped.value < rosenbrock(&[-1.2, 1.0]).0);
    }

    #[test]
    fn errors_of_the_function_are_passed_on() {
        let mut calls = 0;
        let mut function = |x: &[f64]| {
            calls += 1;
            if calls < 3 {
                Ok(rosenbrock(x))
            } else {
                Err(Error::DidNotConverge { what: "test".into(), order: 2 })
            }
        };
        assert!(matches!(
            minimise(&mut function, vec![0.0, 0.5], &LIMITS),
            Err(Error::DidNotConverge { .. })
        ));
    }

    #[test]
    fn the_softmax_gradient_equals_central_differences() {
        let z = [0.3, -0.2, 1.0, 0.0, 2.0];
        let value = |z: &[f64]| {
            let nu = softmax(z, &[3, 2]);
            nu[0][0] * nu[0][2] + 3.0 * nu[1][1].powi(2)
        };
        let nu = softmax(&z, &[3, 2]);
        assert!((nu[0].iter().sum::<f64>() - 1.0).abs() < 1e-15);
        let gradient =
            through_softmax(&nu, &[vec![nu[0][2], 0.0, nu[0][0]], vec![0.0, 6.0 * nu[1][1]]]);
        for (k, derivative) in gradient.iter().enumerate() {
            let moved = |step: f64| {
                value(&std::array::from_fn::<f64, 5, _>(|j| z[j] + if j == k { step } else { 0.0 }))
            };
            assert!((derivative - (moved(1e-5) - moved(-1e-5)) / 2e-5).abs() < 1e-9);
        }
    }
}
