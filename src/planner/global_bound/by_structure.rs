//! The bound for product measures, from the structure of the workload.

use super::axis::Axis;
use super::bound::{BoundMethod, BoundWeights, GlobalBound, ROUNDING};
use super::schur::Step;
use super::structure::{Form, Structure};
use crate::error::{Error, Result};
use crate::planner::minimise::{Limits, minimise, reference_measure, softmax};
use crate::residual::ReferenceMeasure;
use crate::strategy::Status;

/// The maximum number of rows of a dense block whose weights are optimised.
const MAX_OPTIMISED_ROWS: usize = 700;

/// The step of the quadrature for the result.
pub(super) const FINE: Step = Step(0.3);
/// The step of the quadrature in the search.
const COARSE: Step = Step(0.8);

/// Returns tr √K at weights given by their logarithms, its error, and its gradient if requested.
pub(super) fn evaluate(
    structure: &Structure,
    z: &[f64],
    step: Step,
    gradient: bool,
) -> Result<(f64, f64, Vec<f64>)> {
    let weights = softmax(z, &structure.class_sizes);
    let axes = (structure.axes.iter())
        .map(|axis| Axis::of(&axis.gram, axis.alone.as_ref(), &weights[axis.class]))
        .collect::<Result<Vec<_>>>()?;
    let mut by: Vec<_> = axes.iter().map(Axis::no_derivative).collect();
    let (trace, error) = match &structure.form {
        Form::Exchangeable(form) => form.root_trace(&axes[0], step, gradient.then_some(&mut by[0])),
        Form::Pairs(form) => form.root_trace(&axes, step, gradient.then_some(by.as_mut_slice())),
    };
    let mut gradients: Vec<Vec<f64>> =
        structure.class_sizes.iter().map(|&n| vec![0.0; n]).collect();
    if gradient {
        for ((axis, by), listed) in axes.iter().zip(&by).zip(&structure.axes) {
            let axis_gradient = axis.by_logits(by);
            gradients[listed.class].iter_mut().zip(axis_gradient).for_each(|(sum, g)| *sum += g);
        }
    }
    Ok((trace, error, gradients.into_iter().flatten().collect()))
}

/// Returns the bound for a structure, at the given weights or at optimised ones.
pub(super) fn by_structure(
    structure: &Structure,
    weights: &BoundWeights,
    near: Option<&ReferenceMeasure>,
) -> Result<GlobalBound> {
    let uniform = vec![0.0; structure.class_sizes.iter().sum()];
    let (mut starts, optimise) = match weights {
        BoundWeights::Uniform | BoundWeights::Cells(_) => (vec![uniform], false),
        BoundWeights::Given(measure) => (vec![structure.logits(measure)], false),
        BoundWeights::Optimised => (vec![uniform], structure.dense_rows() <= MAX_OPTIMISED_ROWS),
    };
    if let (BoundWeights::Optimised, Some(near)) = (weights, near) {
        starts.push(structure.logits(near));
    }
    let limits = Limits { tolerance: 1e-7, steps: 40, evaluations: 60 };
    let alone = starts.len() == 1;
    let mut best: Option<(f64, Vec<f64>, Status)> = None;
    let mut evaluations = 0;
    for start in starts {
        let (value, point, status) = if optimise {
            let (unit, ..) = evaluate(structure, &start, COARSE, false)?;
            let mut function = |z: &[f64]| {
                let (trace, _, gradient) = evaluate(structure, z, COARSE, true)?;
                let factor = -unit / (trace * trace);
                Ok((unit / trace, gradient.iter().map(|g| g * factor).collect()))
            };
            let found = minimise(&mut function, start, &limits)?;
            evaluations += found.evaluations + 1;
            (unit / found.value, found.x, found.status)
        } else if alone {
            (0.0, start, Status::Converged)
        } else {
            evaluations += 1;
            (evaluate(structure, &start, COARSE, false)?.0, start, Status::Converged)
        };
        if best.as_ref().is_none_or(|(known, ..)| value > *known) {
            best = Some((value, point, status));
        }
    }
    let Some((_, point, status)) = best else {
        return Err(Error::DidNotConverge {
            what: "global lower bound".into(),
            order: structure.axes.len(),
        });
    };
    let (trace, error, _) = evaluate(structure, &point, FINE, false)?;
    let lower_bound = (trace - error).max(0.0) * (1.0 - ROUNDING);
    Ok(GlobalBound {
        total_variance: lower_bound * lower_bound,
        quadrature_error: 2.0 * error / trace,
        method: match structure.form {
            Form::Exchangeable(_) => BoundMethod::Exchangeable,
            Form::Pairs(_) => BoundMethod::Pairs,
        },
        weights: Some(reference_measure(&point, &structure.class_sizes, &structure.classes)?),
        proof: None,
        status,
        evaluations: evaluations + 1,
    })
}
